//! LeastConfidence.

use super::{Candidate, Rule, Wants, top_two};

/// 1 − p₁(x) for the largest probability p₁.
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
