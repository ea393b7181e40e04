//! η²_S(x) = Var(f_x | f_S): what no amount of data from the pool can take away.

use faer::Mat;

use crate::algebra::{axpy, dot, norm_sq, project};
use crate::embeddings::BLOCK;
use crate::law::Law;
use crate::{Error, Kernel, Points, Result};

/// A row adds a direction when more than this share of its squared norm lies outside of the span so far.
const NEW_DIRECTION: f64 = 1e-20;

/// With a kernel that is not linear, every row is a direction of its own: the cost is cubic, so there is a limit.
const MOST_ROWS: usize = 8192;

/// η²_S of each target.
pub fn irreducible_vars(pool: Points<'_>, targets: Points<'_>, kernel: &dyn Kernel) -> Result<Vec<f64>> {
    irreducible_given(pool, targets, Law::prior(kernel, pool.dim()), kernel)
}

/// The same under a law given observations: Var(f_a | f_S, D).
pub(crate) fn irreducible_given(
    pool: Points<'_>,
    targets: Points<'_>,
    mut law: Law<'_>,
    kernel: &dyn Kernel,
) -> Result<Vec<f64>> {
    let known = if kernel.is_linear() {
        let basis = basis(pool);
        if basis.len() == pool.dim() {
            return Ok(vec![0.0; targets.rows()]);
        }
        basis.concat()
    } else if pool.rows() <= MOST_ROWS {
        pool.to_vec()
    } else {
        let why = "irreducible variance under a kernel that is not linear is limited to pools of 8,192 rows; \
                   stop by the least gain, or give a sample of the pool";
        return Err(Error::Unsupported(why));
    };
    pool.check_read()?;
    law.observe_all(&known, &vec![0.0; known.len() / pool.dim()]);
    let vars = targets.to_vec().chunks_exact(pool.dim()).map(|a| law.var(a)).collect();
    targets.check_read()?;
    Ok(vars)
}

/// An orthonormal basis of the span of the pool's rows.
fn basis(pool: Points<'_>) -> Vec<Vec<f64>> {
    let (rows, dim) = (pool.rows(), pool.dim());
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut block = vec![0.0; BLOCK * dim];
    for start in (0..rows).step_by(BLOCK) {
        if basis.len() == dim {
            break;
        }
        let len = BLOCK.min(rows - start);
        let block = &mut block[..len * dim];
        pool.read(start..start + len, block);
        let norms: Vec<f64> = block.chunks_exact(dim).map(norm_sq).collect();
        // Most blocks add nothing once the span is found, so they are projected as a whole first.
        let known = Mat::from_fn(dim, basis.len(), |i, j| basis[j][i]);
        for _ in 0..2 {
            let coordinates = project(block, known.as_ref());
            for (i, row) in block.chunks_exact_mut(dim).enumerate() {
                for (j, direction) in basis.iter().enumerate() {
                    axpy(-coordinates[(i, j)], direction, row);
                }
            }
        }
        let first_new = basis.len();
        for (row, norm) in block.chunks_exact_mut(dim).zip(norms) {
            for _ in 0..2 {
                for direction in &basis[first_new..] {
                    let c = dot(direction, row);
                    axpy(-c, direction, row);
                }
            }
            let rest = norm_sq(row);
            if rest > NEW_DIRECTION * norm && basis.len() < dim {
                let inverse = rest.sqrt().recip();
                basis.push(row.iter().map(|x| x * inverse).collect());
            }
        }
    }
    basis
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Embeddings, Gaussian, Linear};

    fn view(values: &[f64], dim: usize) -> Points<'_> {
        Embeddings::new(values, dim).unwrap().into()
    }

    #[test]
    fn a_plane_leaves_the_third_direction() {
        let pool = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.5, -2.0, 0.0];
        let targets = [3.0, 4.0, 2.0, 1.0, 1.0, 0.0];
        let vars = irreducible_vars(view(&pool, 3), view(&targets, 3), &Linear).unwrap();
        assert!((vars[0] - 4.0).abs() < 1e-12 && vars[1].abs() < 1e-12, "{vars:?}");
    }

    #[test]
    fn a_target_inside_the_pool_can_be_known() {
        let kernel = Gaussian::new(1.0).unwrap();
        let vars = irreducible_vars(view(&[0.0, 1.0, 2.5], 1), view(&[1.0, 9.0], 1), &kernel).unwrap();
        assert!(vars[0] < 1e-12 && vars[1] > 0.99, "{vars:?}");
    }
}
