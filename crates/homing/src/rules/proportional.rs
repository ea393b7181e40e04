//! The weight of k-means++ seeding, and so of BADGE.

use super::{Candidate, Rule, Wants};

/// min_i d(x, x_i)² over the picks so far, and the same for all before the first: P(x) ∝ this.
#[derive(Debug, Clone, Copy)]
pub struct DistanceSquared;

impl Rule for DistanceSquared {
    fn wants(&self) -> Wants {
        Wants { nearest: true, ..Wants::default() }
    }

    fn score(&self, x: &Candidate<'_>) -> f64 {
        x.nearest_sq.unwrap_or(1.0)
    }
}
