//! MaxEntropy: the entropy of the predicted class.

use super::{Candidate, Rule, Wants, entropy};

/// Entropy of the class probabilities: H(p(x)).
///
/// ```
/// use homing::rules::MaxEntropy;
/// use homing::{Candidate, Rule};
///
/// let candidate = Candidate { probabilities: &[0.5, 0.5], ..Candidate::default() };
/// assert!((MaxEntropy.score(&candidate) - 2f64.ln()).abs() < 1e-15);
/// ```
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
    fn a_certain_prediction_has_no_entropy() {
        let score = |p: &[f64]| MaxEntropy.score(&Candidate { probabilities: p, ..Candidate::default() });
        assert_eq!(score(&[0.0, 1.0]), 0.0);
        assert!((score(&[0.25; 4]) - 4f64.ln()).abs() < 1e-15);
    }
}
