//! Cosine similarity: the score of a vector database.

use super::{Candidate, Rule, Wants};

/// Mean cosine similarity to the targets: ∠(x, A) = mean_a φ_x·φ_a / (‖φ_x‖ ‖φ_a‖).
///
/// ```
/// use homing::rules::Cosine;
/// use homing::{Candidate, Rule};
///
/// let candidate = Candidate { cosine: 0.5, ..Candidate::default() };
/// assert!((Cosine.score(&candidate) - 0.5).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Cosine;

impl Rule for Cosine {
    fn wants(&self) -> Wants {
        Wants { cosine: true, ..Wants::default() }
    }

    fn score(&self, x: &Candidate<'_>) -> f64 {
        x.cosine
    }

    fn is_cosine(&self) -> bool {
        true
    }
}
