//! CTL: correlation-based transductive learning.

use super::{Candidate, Rule, Wants};
use crate::shard::KeyForm;

/// Sum of the correlations with the targets: Σ_a Cor(f_x, f_a | D). A candidate without variance scores zero.
///
/// ```
/// use homing::rules::Ctl;
/// use homing::{Candidate, Rule};
///
/// let candidate = Candidate { var: 4.0, std_cov: 1.0, ..Candidate::default() };
/// assert!((Ctl.score(&candidate) - 0.5).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Ctl;

impl Rule for Ctl {
    fn wants(&self) -> Wants {
        Wants { var: true, std_cov: true, ..Wants::default() }
    }

    fn score(&self, x: &Candidate<'_>) -> f64 {
        if x.var > 0.0 { x.std_cov / x.var.sqrt() } else { 0.0 }
    }

    fn is_monotone(&self) -> bool {
        true
    }

    fn form(&self) -> Option<KeyForm> {
        Some(KeyForm::Correlation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_without_variance_scores_zero() {
        assert_eq!(Ctl.score(&Candidate { std_cov: 1.0, ..Candidate::default() }), 0.0);
        assert_eq!(Ctl.score(&Candidate { std_cov: 1.0, var: 4.0, ..Candidate::default() }), 0.5);
    }
}
