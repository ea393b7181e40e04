//! η²_S(x) = Var(f_x | f_S): what no amount of data from the pool can take away.

use faer::Mat;

use crate::algebra::{axpy, dot, norm_sq, project};
use crate::embeddings::BLOCK;
use crate::{Error, Kernel, Points, Result};

/// A row adds a direction when more than this share of its squared norm lies outside of the span so far.
const NEW_DIRECTION: f64 = 1e-20;

/// With a kernel that is not linear, every row is a direction of its own: the cost is cubic, so there is a limit.
const MOST_ROWS: usize = 8192;

/// η²_S of each target.
pub fn irreducible_vars(pool: Points<'_>, targets: Points<'_>, kernel: &dyn Kernel) -> Result<Vec<f64>> {
    if kernel.is_linear() {
        return Ok(outside_of_span(pool, targets));
    }
    if pool.rows() > MOST_ROWS {
        let why = "irreducible variance under a kernel that is not linear is limited to pools of 8,192 rows; \
                   stop by the least gain, or give a sample of the pool";
        return Err(Error::Unsupported(why));
    }
    let (pool, targets, dim) = (pool.to_vec(), targets.to_vec(), pool.dim());
    Ok(residual_vars(&pool, &targets, dim, kernel))
}

/// ‖φ‖² outside of the span of the pool's rows.
fn outside_of_span(pool: Points<'_>, targets: Points<'_>) -> Vec<f64> {
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
    let points = targets.to_vec();
    let rest = |x: &[f64]| {
        let mut x = x.to_vec();
        for _ in 0..2 {
            for direction in &basis {
                let c = dot(direction, &x);
                axpy(-c, direction, &mut x);
            }
        }
        if basis.len() == dim { 0.0 } else { norm_sq(&x) }
    };
    points.chunks_exact(dim).map(rest).collect()
}

/// k(a, a) − k_aS K_SS⁻¹ k_Sa by a pivoted Cholesky factor of K over pool and targets.
fn residual_vars(pool: &[f64], targets: &[f64], dim: usize, kernel: &dyn Kernel) -> Vec<f64> {
    let points: Vec<&[f64]> = pool.chunks_exact(dim).chain(targets.chunks_exact(dim)).collect();
    let rows = pool.len() / dim;
    let prior: Vec<f64> = points.iter().map(|x| kernel.var(x)).collect();
    let mut vars = prior.clone();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    loop {
        let pivot = (0..rows).max_by(|&a, &b| vars[a].total_cmp(&vars[b]).then(b.cmp(&a))).expect("a pool has rows");
        if vars[pivot] <= 1e-12 * prior[pivot] {
            return vars[rows..].iter().map(|v| v.max(0.0)).collect();
        }
        let std = vars[pivot].sqrt();
        let mut column: Vec<f64> = points.iter().map(|x| kernel.eval(x, points[pivot])).collect();
        for earlier in &columns {
            axpy(-earlier[pivot], earlier, &mut column);
        }
        for (var, c) in vars.iter_mut().zip(&mut column) {
            *c /= std;
            *var -= *c * *c;
        }
        vars[pivot] = 0.0;
        columns.push(column);
    }
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
