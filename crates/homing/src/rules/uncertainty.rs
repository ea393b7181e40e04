//! Uncertainty sampling.

use super::{Candidate, Rule, Wants};
use crate::shard::KeyForm;

/// Variance of the candidate: σ²(x) = Var(f_x | D).
///
/// ```
/// use homing::rules::Uncertainty;
/// use homing::{Candidate, Rule};
///
/// let candidate = Candidate { var: 2.0, ..Candidate::default() };
/// assert!((Uncertainty.score(&candidate) - 2.0).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Uncertainty;

impl Rule for Uncertainty {
    fn wants(&self) -> Wants {
        Wants { var: true, ..Wants::default() }
    }

    fn score(&self, x: &Candidate<'_>) -> f64 {
        x.var
    }

    fn is_monotone(&self) -> bool {
        true
    }

    fn form(&self) -> Option<KeyForm> {
        Some(KeyForm::Variance)
    }
}
