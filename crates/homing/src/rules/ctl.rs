//! CTL: correlation-based transductive learning.

use super::{Bounded, Candidate, Rule, Wants};

/// Σ_a Cor(f_x, f_a | D). A candidate without variance correlates with nothing.
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

    fn may_reach(&self, bar: f32, block: &Bounded<'_>) -> bool {
        // A negative covariance scores more the larger the variance is.
        !block.all(|low, high, std_cov| std_cov < bar * low.sqrt() && std_cov < bar * high.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_candidate_scores_nothing() {
        assert_eq!(Ctl.score(&Candidate { std_cov: 1.0, ..Candidate::default() }), 0.0);
        assert_eq!(Ctl.score(&Candidate { std_cov: 1.0, var: 4.0, ..Candidate::default() }), 0.5);
    }
}
