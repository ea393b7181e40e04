//! MaxEntropy.

use super::{Candidate, Rule, Wants, entropy};

/// H(p(x)).
#[derive(Debug, Clone, Copy)]
pub struct MaxEntropy;

impl Rule for MaxEntropy {
    fn wants(&self) -> Wants {
        Wants { probabilities: true, ..Wants::default() }
    }

    fn score(&self, x: &Candidate<'_>) -> f64 {
        entropy(x.probabilities)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certainty_has_none() {
        let score = |p: &[f64]| MaxEntropy.score(&Candidate { probabilities: p, ..Candidate::default() });
        assert_eq!(score(&[0.0, 1.0]), 0.0);
        assert!((score(&[0.25; 4]) - 4f64.ln()).abs() < 1e-15);
    }
}
