//! The random samples of rows from which stochastic greedy picks.

use std::collections::BTreeSet;

use rand::RngExt;
use rand::seq::index;

use crate::base::random::{Stream, generator};
use crate::task::limits::Limits;

/// Returns how many of `rows` rows stochastic greedy scores for each of `count` picks.
pub(crate) fn sample_size(rows: usize, count: usize, epsilon: f64) -> usize {
    ((rows as f64 / count as f64 * epsilon.recip().ln()).ceil() as usize).clamp(1, rows)
}

/// Draws `size` random rows that the limits allow, or all of them if there are fewer, in increasing order.
pub(crate) fn sample(limits: &Limits<'_>, size: usize, seed: u64, pick: u64) -> Vec<usize> {
    let mut rng = generator(seed, Stream::Pick(pick));
    let rows = limits.open().len();
    let mut drawn = BTreeSet::new();
    // Rejection sampling is cheap while most rows are open and not yet drawn.
    let draws = if 4 * size < rows { 3 * size } else { 0 };
    for _ in 0..draws {
        let row = rng.random_range(0..rows);
        if limits.allows(row) {
            drawn.insert(row);
        }
        if drawn.len() == size {
            return drawn.into_iter().collect();
        }
    }
    let allowed: Vec<usize> = (0..rows).filter(|&row| limits.allows(row)).collect();
    let mut rows = index::sample(&mut rng, allowed.len(), size.min(allowed.len())).into_vec();
    rows.sort_unstable();
    rows.into_iter().map(|at| allowed[at]).collect()
}
