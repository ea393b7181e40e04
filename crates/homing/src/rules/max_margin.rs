//! MaxMargin, by the paper's name: the smallest gap between the two most likely classes.

use super::{Candidate, Rule, Wants, top_two};

/// Negative gap between the two most likely classes: p₂(x) − p₁(x) for the two largest probabilities p₁ ≥ p₂.
///
/// ```
/// use homing::rules::MaxMargin;
/// use homing::{Candidate, Rule};
///
/// let candidate = Candidate { probabilities: &[0.25, 0.125, 0.625], ..Candidate::default() };
/// assert!((MaxMargin.score(&candidate) - -0.375).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct MaxMargin;

impl Rule for MaxMargin {
    fn wants(&self) -> Wants {
        Wants { probabilities: true, ..Wants::default() }
    }

    fn score(&self, x: &Candidate<'_>) -> f64 {
        let (first, second) = top_two(x.probabilities);
        second - first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_between_the_two_largest() {
        let x = Candidate { probabilities: &[0.25, 0.125, 0.625], ..Candidate::default() };
        assert_eq!(MaxMargin.score(&x), -0.375);
    }
}
