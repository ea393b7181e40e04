//! MaxDist: farthest-first traversal, also known as core-set.

use super::{Candidate, Rule, Wants};

/// Squared distance to the nearest pick: min_i d_k(x, x_i)². Before the first pick, the squared distance k(x, x) from the
/// origin.
///
/// ```
/// use homing::rules::MaxDist;
/// use homing::{Candidate, Rule};
///
/// let candidate = Candidate { prior_var: 2.0, nearest_sq: Some(0.5), ..Candidate::default() };
/// assert!((MaxDist.score(&candidate) - 0.5).abs() < 1e-15);
/// ```
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
