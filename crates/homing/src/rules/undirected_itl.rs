//! Undirected ITL, the case S ⊆ A: equal to greedy MaxDet.

use super::{Candidate, Rule, Wants};
use crate::shard::KeyForm;

/// Information about the candidate itself: I(f_x; y_x | D) = ½ ln(1 + Var(f_x | D) / ρ²).
///
/// ```
/// use homing::rules::UndirectedItl;
/// use homing::{Candidate, Rule};
///
/// let candidate = Candidate { var: 3.0, noise_var: 1.0, ..Candidate::default() };
/// assert!((UndirectedItl.score(&candidate) - 0.5 * 4f64.ln()).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct UndirectedItl;

impl Rule for UndirectedItl {
    fn wants(&self) -> Wants {
        Wants { var: true, ..Wants::default() }
    }

    fn score(&self, x: &Candidate<'_>) -> f64 {
        0.5 * (x.var / x.noise_var).ln_1p()
    }

    fn key(&self, x: &Candidate<'_>) -> f64 {
        x.var / x.noise_var
    }

    fn is_monotone(&self) -> bool {
        true
    }

    fn form(&self) -> Option<KeyForm> {
        Some(KeyForm::SignalRatio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bit_for_three_parts_signal_to_one_part_noise() {
        let x = Candidate { var: 3.0, noise_var: 1.0, ..Candidate::default() };
        assert!((UndirectedItl.score(&x) - 2f64.ln()).abs() < 1e-15);
    }
}
