//! ITL: information-based transductive learning, the paper's rule.

use super::{Candidate, Rule, TargetNoise, Wants};
use crate::shard::KeyForm;

/// Information about the targets: I(f_A; y_x | D) = ½ ln( Var(y_x | D) / Var(y_x | A, D) ), in nats.
///
/// With [`TargetNoise::Free`] this is Eq. 1. With [`TargetNoise::Noisy`] it is I(y_A; y_x | D), Eq. 21, which the paper
/// optimises: ρ² on the diagonal of K_AA keeps the factorisation stable when targets are nearly collinear.
///
/// ```
/// use homing::rules::{Itl, TargetNoise};
/// use homing::{Candidate, Rule};
///
/// let candidate = Candidate { var: 3.0, var_given_targets: 1.0, noise_var: 1.0, ..Candidate::default() };
/// assert!((Itl(TargetNoise::Noisy).score(&candidate) - 0.5 * 2f64.ln()).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Itl(pub TargetNoise);

impl Rule for Itl {
    fn wants(&self) -> Wants {
        Wants { var: true, var_given_targets: Some(self.0), ..Wants::default() }
    }

    fn score(&self, x: &Candidate<'_>) -> f64 {
        // ln(1 + small): under much noise, the two variances of y differ only in their last digits.
        0.5 * self.key(x).ln_1p()
    }

    fn key(&self, x: &Candidate<'_>) -> f64 {
        (x.var - x.var_given_targets) / (x.var_given_targets + x.noise_var)
    }

    fn is_monotone(&self) -> bool {
        true
    }

    fn form(&self) -> Option<KeyForm> {
        Some(KeyForm::InformationRatio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_that_the_targets_explain_halfway() {
        let x = Candidate { var: 3.0, var_given_targets: 1.0, noise_var: 1.0, ..Candidate::default() };
        assert!((Itl(TargetNoise::Noisy).score(&x) - 0.5 * 2f64.ln()).abs() < 1e-15);
    }
}
