//! Uncertainty sampling.

use super::{Candidate, Rule, Wants};

/// σ²(x) = Var(f_x | D).
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
}
