//! How much of a pool says the same thing twice.

use std::hash::{DefaultHasher, Hash, Hasher};

use faer::Mat;
use rand::seq::index;

use crate::algebra::project;
use crate::random::{Stream, generator};
use crate::{Kernel, Points};

/// Rows whose values correlate by this much are near-duplicates: each leaves 2 % of the other's variance.
pub const NEAR: f64 = 0.99;

/// Rows that are compared with the whole pool, at most.
const SAMPLE: usize = 256;

/// Rows that a pool has twice, and rows that nearly are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Duplicates {
    /// Rows that equal an earlier row number for number.
    pub exact: usize,
    /// Share of the rows looked at that have another row with correlation [`NEAR`] or more, exact duplicates included.
    pub near_share: f64,
    /// Rows looked at for it: all, or a sample.
    pub looked_at: usize,
}

/// Counts exact duplicates by hash, all of them; near ones for a random sample of 256 rows against the whole pool, or for
/// all rows of a pool no larger than that.
pub fn duplicates(pool: Points<'_>, kernel: &dyn Kernel, seed: u64) -> Duplicates {
    let rows = pool.rows();
    let chosen = if rows <= SAMPLE {
        (0..rows).collect()
    } else {
        index::sample(&mut generator(seed, Stream::Estimate), rows, SAMPLE).into_vec()
    };
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
    // Zero has two signs and one value.
    row.iter().for_each(|x| (x + 0.0).to_bits().hash(&mut hasher));
    hasher.finish()
}

/// How many of the chosen rows have a near-duplicate elsewhere in the pool.
fn near(pool: Points<'_>, kernel: &dyn Kernel, chosen: &[usize]) -> usize {
    let dim = pool.dim();
    let points = pool.gather(chosen);
    let vars: Vec<f64> = points.chunks_exact(dim).map(|x| kernel.var(x)).collect();
    let columns = kernel.is_linear().then(|| Mat::from_fn(dim, chosen.len(), |i, j| points[j * dim + i]));
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
        // Three rows (1, 0), of which two equal an earlier one; (1, 0.05) is like them; (0, 0) is like nothing.
        assert_eq!(found, Duplicates { exact: 2, near_share: 4.0 / 7.0, looked_at: 7 });
        assert_eq!(duplicates(points, &Gaussian::new(0.01).unwrap(), 0).near_share, 3.0 / 7.0);
    }

    #[test]
    fn a_large_pool_is_sampled() {
        // Every row twice.
        let rows: Vec<f64> =
            (0..3000).flat_map(|i| [f64::from(i / 2).cos(), f64::from(i / 2).sin(), f64::from(i % 2) * 0.0]).collect();
        let points: Points<'_> = Embeddings::new(&rows[..], 3).unwrap().into();
        let found = duplicates(points, &Linear, 0);
        assert_eq!((found.exact, found.near_share, found.looked_at), (1500, 1.0, 256));
    }
}
