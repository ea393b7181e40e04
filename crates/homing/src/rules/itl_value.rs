//! ITL of a candidate's value instead of its observation, as in the authors' code.

use super::{Candidate, Rule, TargetNoise, Wants};
use crate::shard::KeyForm;

/// Information between the targets and a candidate's value: I(y_A; f_x | D) = ½ ln( Var(f_x | D) / Var(f_x | y_A, D) ), in
/// nats. This is Eq. 21 without ρ² in its ratio.
///
/// The score depends neither on the norm of a candidate's row nor on the noise ρ²(x) of its observation, whereas Eq. 21
/// prefers long rows under much noise. Rows that are multiples of each other have the same score up to rounding. A
/// candidate without variance scores zero, and no score exceeds about 36 nats.
///
/// ```
/// use homing::rules::ItlValue;
/// use homing::{Candidate, Rule};
///
/// let candidate = Candidate { var: 3.0, var_given_targets: 1.0, noise_var: 5.0, ..Candidate::default() };
/// assert!((ItlValue.score(&candidate) - 0.5 * 3f64.ln()).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ItlValue;

impl Rule for ItlValue {
    fn wants(&self) -> Wants {
        Wants { var: true, var_given_targets: Some(TargetNoise::Noisy), ..Wants::default() }
    }

    fn score(&self, x: &Candidate<'_>) -> f64 {
        0.5 * self.key(x).ln_1p()
    }

    fn key(&self, x: &Candidate<'_>) -> f64 {
        // Bounds are never zero: the smallest positive number represents a variance that is lost in rounding.
        if x.var <= f64::MIN_POSITIVE {
            return 0.0;
        }
        (x.var - x.var_given_targets) / x.var_given_targets.max(f64::EPSILON * f64::EPSILON * x.var)
    }

    fn is_monotone(&self) -> bool {
        true
    }

    fn form(&self) -> Option<KeyForm> {
        Some(KeyForm::ValueRatio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_and_the_scale_of_a_candidate_do_not_count() {
        for (scale, noise_var) in [(1.0, 0.0), (1.0, 5.0), (1e6, 1.0)] {
            let x = Candidate { var: 3.0 * scale, var_given_targets: scale, noise_var, ..Candidate::default() };
            assert!((ItlValue.score(&x) - 0.5 * 3f64.ln()).abs() < 1e-15);
        }
        assert_eq!(ItlValue.score(&Candidate::default()), 0.0);
    }
}
