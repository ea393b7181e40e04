//! ITL of a candidate's value in place of its observation, as the authors' code has it.

use super::{Bounded, Candidate, Rule, TargetNoise, Wants};

/// I(y_A; f_x | D) = ½ ln( Var(f_x | D) / Var(f_x | y_A, D) ), in nats: Eq. 21 without ρ² in its ratio.
///
/// Neither the length of a candidate's row nor the noise ρ²(x) of its observation counts, where Eq. 21 under much noise prefers
/// long rows; rows that are multiples of one another tie but for rounding. A candidate without variance tells nothing, and none
/// tells more than some 36 nats.
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
        // Bounds are never zero: the smallest number stands for a row whose variance is lost in rounding.
        if x.var <= f64::MIN_POSITIVE {
            return 0.0;
        }
        (x.var - x.var_given_targets) / x.var_given_targets.max(f64::EPSILON * f64::EPSILON * x.var)
    }

    fn is_monotone(&self) -> bool {
        true
    }

    fn may_reach(&self, bar: f32, block: &Bounded<'_>) -> bool {
        !block.all(|_, high, given| high - given.max(0.0) < bar * given.max(0.0))
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
