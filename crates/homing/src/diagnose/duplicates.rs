//! Duplicate rows in a pool.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::base::algebra::{matrix, project};
use crate::base::random::sample_rows;
use crate::{Kernel, Points};

/// Correlation at which rows are near-duplicates: observing one leaves 2 % of the other's variance.
pub const NEAR: f64 = 0.99;

/// Largest number of rows that are compared with the whole pool.
const SAMPLE: usize = 256;

/// Exact and near duplicates in a pool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Duplicates {
    /// Number of rows that are equal to an earlier row.
    pub exact: usize,
    /// Share of the checked rows that correlate with another row by at least [`NEAR`], including exact duplicates.
    pub near_share: f64,
    /// Number of rows checked for near duplicates: all, or a sample.
    pub looked_at: usize,
}

/// Counts duplicate rows.
///
/// Exact duplicates are counted among all rows, by hash. Near duplicates are counted for a random sample of 256 rows, which
/// are compared with the whole pool, or for all rows of a smaller pool.
///
/// ```
/// use homing::diagnose::duplicates;
/// use homing::{Embeddings, Linear};
///
/// let pool = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0]; // the third row equals the first
/// let found = duplicates(Embeddings::new(&pool, 2)?.into(), &Linear, 0);
/// assert_eq!((found.exact, found.near_share), (1, 2.0 / 3.0));
/// # Ok::<(), homing::Error>(())
/// ```
pub fn duplicates(pool: Points<'_>, kernel: &dyn Kernel, seed: u64) -> Duplicates {
    let chosen = sample_rows(pool.rows(), SAMPLE, seed);
    let near = near(pool, kernel, &chosen);
    let near_share = near as f64 / chosen.len() as f64;
    Duplicates { exact: exact(pool), near_share, looked_at: chosen.len() }
}

fn exact(pool: Points<'_>) -> usize {
    let dim = pool.dim();
    let mut hashes: Vec<(u64, usize)> = pool
        .map_blocks(|start, block| {
            let one = |(i, row): (usize, &[f64])| (hash(row), start + i);
            block.chunks_exact(dim).enumerate().map(one).collect::<Vec<_>>()
        })
        .concat();
    hashes.sort_unstable();
    hashes
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|group| group.len() > 1)
        .map(|group| {
            let mut distinct: Vec<Vec<f64>> = Vec::new();
            for &(_, row) in group {
                let row = pool.row(row);
                if !distinct.contains(&row) {
                    distinct.push(row);
                }
            }
            group.len() - distinct.len()
        })
        .sum()
}

fn hash(row: &[f64]) -> u64 {
    let mut hasher = DefaultHasher::new();
    // Both zeros, +0 and −0, must have the same hash.
    row.iter().for_each(|x| (x + 0.0).to_bits().hash(&mut hasher));
    hasher.finish()
}

/// Returns how many of the chosen rows have a near-duplicate elsewhere in the pool.
fn near(pool: Points<'_>, kernel: &dyn Kernel, chosen: &[usize]) -> usize {
    let dim = pool.dim();
    let points = pool.gather(chosen);
    let vars: Vec<f64> = points.chunks_exact(dim).map(|x| kernel.var(x)).collect();
    let columns = kernel.is_linear().then(|| matrix(dim, chosen.len(), |i, j| points[j * dim + i]));
    let blocks = pool.map_blocks(|start, block| {
        let products = columns.as_ref().map(|columns| project(block, columns.as_ref()));
        let mut found = vec![false; chosen.len()];
        for (i, x) in block.chunks_exact(dim).enumerate() {
            let var = kernel.var(x);
            for (j, found) in found.iter_mut().enumerate() {
                let scale = NEAR * (var * vars[j]).sqrt();
                if *found || chosen[j] == start + i || scale == 0.0 {
                    continue;
                }
                let cov = match &products {
                    Some(products) => products[(i, j)],
                    None => kernel.eval(x, &points[j * dim..(j + 1) * dim]),
                };
                *found = cov >= scale;
            }
        }
        found
    });
    (0..chosen.len()).filter(|&j| blocks.iter().any(|found| found[j])).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Embeddings, Gaussian, Linear};

    #[test]
    fn copies_and_near_copies_are_counted() {
        let rows = [1.0, 0.0, 1.0, -0.0, 1.0, 0.05, 0.0, 1.0, 3.0, 3.0, 0.0, 0.0, 1.0, 0.0];
        let points: Points<'_> = Embeddings::new(&rows[..], 2).unwrap().into();
        let found = duplicates(points, &Linear, 0);
        // Three rows (1, 0), of which two equal an earlier one; (1, 0.05) resembles them; (0, 0) resembles nothing.
        assert_eq!(found, Duplicates { exact: 2, near_share: 4.0 / 7.0, looked_at: 7 });
        assert_eq!(duplicates(points, &Gaussian::new(0.01).unwrap(), 0).near_share, 3.0 / 7.0);
    }

    #[test]
    fn a_large_pool_is_sampled() {
        // Each row occurs twice.
        let rows: Vec<f64> =
            (0..3000).flat_map(|i| [f64::from(i / 2).cos(), f64::from(i / 2).sin(), f64::from(i % 2) * 0.0]).collect();
        let points: Points<'_> = Embeddings::new(&rows[..], 3).unwrap().into();
        let found = duplicates(points, &Linear, 0);
        assert_eq!((found.exact, found.near_share, found.looked_at), (1500, 1.0, 256));
    }
}
