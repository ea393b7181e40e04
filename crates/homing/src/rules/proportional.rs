//! The weight in k-means++ seeding and in BADGE.

use super::{Candidate, Rule, Wants};

/// Squared distance to the nearest pick: min_i d(x, x_i)². Rows are drawn with P(x) proportional to it. Before the first
/// pick, it is the same for all rows.
///
/// ```
/// use homing::rules::DistanceSquared;
/// use homing::{Candidate, Rule};
///
/// let candidate = Candidate { nearest_sq: Some(0.5), ..Candidate::default() };
/// assert!((DistanceSquared.score(&candidate) - 0.5).abs() < 1e-15);
/// ```
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
