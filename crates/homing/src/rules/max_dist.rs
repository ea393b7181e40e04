//! MaxDist: farthest-first traversal, also known as core-set.

use super::{Candidate, Rule, Wants};

/// min_i d_k(x, x_i)² over the picks so far; k(x, x), the distance from the origin, before the first.
#[derive(Debug, Clone, Copy)]
pub struct MaxDist;

impl Rule for MaxDist {
    fn wants(&self) -> Wants {
        Wants { nearest: true, ..Wants::default() }
    }

    fn score(&self, x: &Candidate<'_>) -> f64 {
        x.nearest_sq.unwrap_or(x.prior_var)
    }
}
