//! LeastConfidence: one minus the probability of the most likely class.

use super::{Candidate, Rule, Wants, top_two};

/// Uncertainty about the most likely class: 1 − p₁(x), where p₁ is the largest probability.
///
/// ```
/// use homing::rules::LeastConfidence;
/// use homing::{Candidate, Rule};
///
/// let candidate = Candidate { probabilities: &[0.75, 0.25], ..Candidate::default() };
/// assert!((LeastConfidence.score(&candidate) - 0.25).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct LeastConfidence;

impl Rule for LeastConfidence {
    fn wants(&self) -> Wants {
        Wants { probabilities: true, ..Wants::default() }
    }

    fn score(&self, x: &Candidate<'_>) -> f64 {
        1.0 - top_two(x.probabilities).0
    }
}
