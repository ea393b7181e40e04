//! The weight of random sampling.

use super::{Candidate, Rule, Wants};

/// 1 for every candidate.
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
