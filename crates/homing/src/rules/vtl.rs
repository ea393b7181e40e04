//! VTL: variance-based transductive learning.

use super::{Candidate, Rule, Wants};
use crate::shard::KeyForm;

/// Variance of the targets that an observation of x removes: Σ_a (Var(f_a | D) − Var(f_a | D, y_x)) = Σ_a Cov(f_x, f_a |
/// D)² / (Var(f_x | D) + ρ²).
///
/// ```
/// use homing::rules::Vtl;
/// use homing::{Candidate, Rule};
///
/// let candidate = Candidate { var: 3.0, sq_cov: 2.0, noise_var: 1.0, ..Candidate::default() };
/// assert!((Vtl.score(&candidate) - 0.5).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Vtl;

impl Rule for Vtl {
    fn wants(&self) -> Wants {
        Wants { var: true, sq_cov: true, ..Wants::default() }
    }

    fn score(&self, x: &Candidate<'_>) -> f64 {
        x.sq_cov / (x.var + x.noise_var)
    }

    fn is_monotone(&self) -> bool {
        true
    }

    fn form(&self) -> Option<KeyForm> {
        Some(KeyForm::SquaresRatio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_itself_takes_its_reducible_variance() {
        // x = a, Var f = 2, ρ² = 2: the variance falls from 2 to 1.
        let x = Candidate { var: 2.0, sq_cov: 4.0, noise_var: 2.0, ..Candidate::default() };
        assert_eq!(Vtl.score(&x), 1.0);
    }
}
