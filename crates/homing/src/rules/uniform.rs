//! The weight in random sampling.

use super::{Candidate, Rule, Wants};

/// The same score, 1, for every candidate.
///
/// ```
/// use homing::rules::Uniform;
/// use homing::{Candidate, Rule};
///
/// let candidate = Candidate { var: 2.0, ..Candidate::default() };
/// assert!((Uniform.score(&candidate) - 1.0).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Uniform;

impl Rule for Uniform {
    fn wants(&self) -> Wants {
        Wants::default()
    }

    fn score(&self, _: &Candidate<'_>) -> f64 {
        1.0
    }
}
