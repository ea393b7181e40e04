//! Cosine similarity: what a vector database retrieves.

use super::{Candidate, Rule, Wants};

/// ∠(x, A) = mean_a φ_x·φ_a / (‖φ_x‖ ‖φ_a‖).
#[derive(Debug, Clone, Copy)]
pub struct Cosine;

impl Rule for Cosine {
    fn wants(&self) -> Wants {
        Wants { cosine: true, ..Wants::default() }
    }

    fn score(&self, x: &Candidate<'_>) -> f64 {
        x.cosine
    }
}
