//! Irreducible variance η²_S(x) = Var(f_x | f_S), which no amount of data from the pool can remove.

use std::ops::Range;

use faer::Mat;
use rayon::prelude::*;

use super::moments::variances;
use super::{Law, WhitenedColumns, variance_given};
use crate::base::algebra::{axpy, dot, matrix, norm_sq, project};
use crate::shard::BLOCK;
use crate::{Error, Kernel, Points, Result};

/// Share of a row's squared norm that must lie outside the span so far for the row to add a direction.
const NEW_DIRECTION: f64 = 1e-20;

/// Number of blocks that are projected in parallel.
const TOGETHER: usize = 64;

/// Largest pool for a nonlinear kernel. Every row is then a direction of its own, so the cost is cubic.
const MOST_ROWS: usize = 8192;

/// Computes the irreducible variance η²_S of each target.
///
/// ```
/// use homing::{Embeddings, Linear, irreducible_vars};
///
/// let pool = [1.0, 0.0, 0.9, 0.0]; // all rows lie on the first axis
/// let targets = [0.8, 0.0, 0.6, 0.5]; // the second target has a component off that axis
/// let vars = irreducible_vars(Embeddings::new(&pool, 2)?.into(), Embeddings::new(&targets, 2)?.into(), &Linear)?;
/// assert!(vars[0] < 1e-12 && (vars[1] - 0.25).abs() < 1e-12);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn irreducible_vars(pool: Points<'_>, targets: Points<'_>, kernel: &dyn Kernel) -> Result<Vec<f64>> {
    if targets.dim() != pool.dim() {
        return Err(Error::Dimension { what: "targets", got: targets.dim(), pool: pool.dim() });
    }
    irreducible_given(pool, targets, Law::prior(kernel, pool.dim()), kernel)
}

/// The same under a law that is given observations: Var(f_a | f_S, D).
pub(crate) fn irreducible_given(
    pool: Points<'_>,
    targets: Points<'_>,
    mut law: Law<'_>,
    kernel: &dyn Kernel,
) -> Result<Vec<f64>> {
    let dim = pool.dim();
    if !kernel.is_linear() {
        if pool.rows() <= MOST_ROWS {
            let (rows, targets_rows) = (pool.to_vec(), targets.to_vec());
            pool.check_read()?;
            targets.check_read()?;
            return Ok(given_exactly(&law, &rows, &targets_rows, dim));
        }
        return Err(Error::PoolTooLarge { rows: pool.rows(), most: MOST_ROWS });
    }
    let basis = basis(pool);
    pool.check_read()?;
    if basis.len() == dim {
        return Ok(vec![0.0; targets.rows()]);
    }
    law.observe_all(&basis.concat(), &vec![0.0; basis.len()]);
    let vars = targets.to_vec().chunks_exact(dim).map(|a| law.var(a)).collect();
    targets.check_read()?;
    Ok(vars)
}

/// Share of the largest variance below which a variance is rounding.
const NEGLIGIBLE: f64 = 256.0 * f64::EPSILON;

/// Number of rows that a thread processes at a time.
const AT_ONCE: usize = 64;

/// Returns Var(f_a | f_S) of each target under a law.
pub(crate) fn given_exactly(law: &Law<'_>, rows: &[f64], targets: &[f64], dim: usize) -> Vec<f64> {
    eliminate(law, rows, targets, dim).1
}

/// Conditions on the exact values of the rows. Returns the order in which it does so, and the remaining variances of the
/// targets.
///
/// This is a Cholesky factorisation with pivoting: the row with the largest remaining variance comes next, until only
/// rounding is left. Rows that are nearly linearly dependent are then harmless.
pub(crate) fn eliminate(law: &Law<'_>, rows: &[f64], targets: &[f64], dim: usize) -> (Vec<usize>, Vec<f64>) {
    let points = [rows, targets].concat();
    let count = rows.len() / dim;
    let mut vars = variances(law, &points, dim);
    let least = NEGLIGIBLE * vars[..count].iter().copied().fold(0.0, f64::max);
    let mut factors: Vec<Vec<f64>> = vec![Vec::new(); vars.len()];
    let mut covs = vec![0.0; vars.len()];
    let mut columns = WhitenedColumns::default();
    let mut order = Vec::new();
    for _ in 0..count {
        let most = (0..count).max_by(|&a, &b| vars[a].total_cmp(&vars[b]).then(b.cmp(&a)));
        let Some(pivot) = most.filter(|&row| vars[row] > least) else { break };
        let std = vars[pivot].sqrt();
        let functional = law.itself(&rows[pivot * dim..(pivot + 1) * dim]);
        law.scan(&functional, &points, &mut columns, &mut covs);
        let own = std::mem::take(&mut factors[pivot]);
        vars[pivot] = f64::NEG_INFINITY;
        let open = |var: &f64| *var > f64::NEG_INFINITY;
        factors.par_iter_mut().zip(&mut vars).zip(&covs).with_min_len(AT_ONCE).for_each(|((factor, var), cov)| {
            if open(var) {
                let z = (cov - dot(factor, &own)) / std;
                factor.push(z);
                *var = variance_given(*var, z, 1.0);
            }
        });
        order.push(pivot);
    }
    (order, vars[count..].iter().map(|var| var.max(0.0)).collect())
}

/// Returns an orthonormal basis of the span of the pool's rows.
fn basis(pool: Points<'_>) -> Vec<Vec<f64>> {
    let (rows, dim) = (pool.rows(), pool.dim());
    let mut basis: Vec<Vec<f64>> = Vec::new();
    // Dimensions that are zero in every row, such as dead units of a network, cannot be spanned.
    let reachable = pool.map_blocks(|_, block| nonzero_columns(block, dim)).into_iter().reduce(either).map_or(0, count);
    let mut start = 0;
    while start < rows && basis.len() < reachable {
        // The first block usually finds most of the span. After it, many blocks are processed together.
        let end = rows.min(start + if basis.is_empty() { BLOCK } else { TOGETHER * BLOCK });
        let projection = matrix(dim, basis.len(), |i, j| basis[j][i]);
        let blocks: Vec<usize> = (start..end).step_by(BLOCK).collect();
        let candidates: Vec<Vec<(Vec<f64>, f64)>> =
            blocks.par_iter().map(|&block| outside(pool, block..end.min(block + BLOCK), &basis, &projection)).collect();
        let first_new = basis.len();
        for (mut row, norm) in candidates.into_iter().flatten() {
            for _ in 0..2 {
                for direction in &basis[first_new..] {
                    let c = dot(direction, &row);
                    axpy(-c, direction, &mut row);
                }
            }
            let rest = norm_sq(&row);
            if rest > NEW_DIRECTION * norm && basis.len() < dim {
                let inverse = rest.sqrt().recip();
                basis.push(row.iter().map(|x| x * inverse).collect());
            }
        }
        start = end;
    }
    basis
}

/// Returns the components outside the span of the rows that have one, with the rows' squared norms.
fn outside(pool: Points<'_>, range: Range<usize>, basis: &[Vec<f64>], projection: &Mat<f64>) -> Vec<(Vec<f64>, f64)> {
    let dim = pool.dim();
    let mut block = vec![0.0; range.len() * dim];
    pool.read(range, &mut block);
    let norms: Vec<f64> = block.chunks_exact(dim).map(norm_sq).collect();
    for _ in 0..2 {
        let coordinates = project(&block, projection.as_ref());
        for (i, row) in block.chunks_exact_mut(dim).enumerate() {
            for (j, direction) in basis.iter().enumerate() {
                axpy(-coordinates[(i, j)], direction, row);
            }
        }
    }
    let rows = block.chunks_exact(dim).zip(norms);
    rows.filter(|(row, norm)| norm_sq(row) > NEW_DIRECTION * norm).map(|(row, norm)| (row.to_vec(), norm)).collect()
}

fn nonzero_columns(block: &[f64], dim: usize) -> Vec<bool> {
    let mut nonzero = vec![false; dim];
    for row in block.chunks_exact(dim) {
        nonzero.iter_mut().zip(row).for_each(|(nonzero, x)| *nonzero |= *x != 0.0);
    }
    nonzero
}

fn either(mut a: Vec<bool>, b: Vec<bool>) -> Vec<bool> {
    a.iter_mut().zip(b).for_each(|(a, b)| *a |= b);
    a
}

fn count(columns: Vec<bool>) -> usize {
    columns.into_iter().filter(|&nonzero| nonzero).count()
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
    fn directions_that_come_late_are_found() {
        // Four dead dimensions, and one live dimension that is nonzero only in the last of many rows.
        let dim = 8;
        let mut rows = vec![0.0; 40_000 * dim];
        for (i, row) in rows.chunks_exact_mut(dim).enumerate() {
            (row[0], row[1], row[2]) = ((i as f64).sin(), (i as f64 * 0.7).cos(), 1.0);
        }
        rows[39_999 * dim + 3] = 1e-3;
        let targets = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 1.0];
        let vars = irreducible_vars(view(&rows, dim), view(&targets, dim), &Linear).unwrap();
        assert!(vars[0].abs() < 1e-12 && (vars[1] - 5.0).abs() < 1e-12, "{vars:?}");
    }

    /// A hundred points within a few length scales. Their kernel matrix has only about twenty eigenvalues that f64 can
    /// distinguish from zero, and eliminating the rows in their original order gives wrong results.
    #[test]
    fn rows_that_nearly_depend_on_one_another_do_no_harm() {
        let kernel = Gaussian::new(0.3).unwrap();
        let pool: Vec<f64> = (0..100).map(|i| f64::from(i) / 99.0).collect();
        let targets = [0.503, 1.05, 9.0];
        let vars = irreducible_vars(view(&pool, 1), view(&targets, 1), &kernel).unwrap();
        assert!(vars[0] < 1e-10 && vars[1] < 1e-4 && (vars[2] - 1.0).abs() < 1e-12, "{vars:?}");
        let fewer = irreducible_vars(view(&pool[60..], 1), view(&targets, 1), &kernel).unwrap();
        assert!(fewer[1] >= vars[1] - 1e-9, "{fewer:?} {vars:?}");
    }

    #[test]
    fn a_target_inside_the_pool_can_be_known() {
        let kernel = Gaussian::new(1.0).unwrap();
        let vars = irreducible_vars(view(&[0.0, 1.0, 2.5], 1), view(&[1.0, 9.0], 1), &kernel).unwrap();
        assert!(vars[0] < 1e-12 && vars[1] > 0.99, "{vars:?}");
    }
}
