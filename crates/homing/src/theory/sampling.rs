//! Stochastic target spaces: how often a target is drawn if each round samples its own targets (Lemma F.1).

use crate::task::sampling::scaled;
use crate::{Error, Result, TargetSampling};

/// The statement of Lemma F.1 about one target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SamplingBound {
    /// Probability ν = 1 − (1 − P_A(x))^K that a round includes the target.
    pub inclusion: f64,
    /// Number n·ν/2 of rounds, out of n, that include the target at least …
    pub at_least: f64,
    /// … with probability 1 − exp(−n·ν/8) or more.
    pub probability: f64,
}

/// Returns Lemma F.1 for a target that is drawn with probability `weight` = P_A(x) in each of the K = `size` draws of a
/// round, after `rounds`.
///
/// ```
/// use homing::theory::sampling_bound;
///
/// let bound = sampling_bound(0.5, 1, 16)?; // one of two equal targets per round, for 16 rounds
/// assert_eq!((bound.inclusion, bound.at_least), (0.5, 4.0));
/// # Ok::<(), homing::Error>(())
/// ```
pub fn sampling_bound(weight: f64, size: usize, rounds: usize) -> Result<SamplingBound> {
    if !(0.0..=1.0).contains(&weight) {
        let expected = "a probability must lie between 0 and 1";
        return Err(Error::Setting { name: "the weight of a target", value: weight, expected });
    }
    if size == 0 {
        return Err(Error::Setting { name: "the number of targets", value: 0.0, expected: "it must be at least 1" });
    }
    // 1 − (1 − p)^K without losing a small p.
    let inclusion = if weight == 1.0 { 1.0 } else { -(size as f64 * (-weight).ln_1p()).exp_m1() };
    let expected = rounds as f64 * inclusion;
    Ok(SamplingBound { inclusion, at_least: 0.5 * expected, probability: -(-0.125 * expected).exp_m1() })
}

/// Simulates Lemma F.1 with the sampler of selections ([`TargetSampling::Weighted`]). Returns the share of `trials` in
/// which `target` was in at least n·ν/2 of n = `rounds` rounds.
///
/// ```
/// use homing::theory::{sampling_bound, simulate_sampling};
///
/// let share = simulate_sampling(&[1.0, 1.0], 0, 1, 16, 200, 0)?;
/// assert!(share >= sampling_bound(0.5, 1, 16)?.probability);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn simulate_sampling(
    weights: &[f64],
    target: usize,
    size: usize,
    rounds: usize,
    trials: usize,
    seed: u64,
) -> Result<f64> {
    let sampling = TargetSampling::Weighted { weights: weights.to_vec(), size };
    sampling.check(weights.len())?;
    if target >= weights.len() {
        return Err(Error::NoSuchRow { what: "targets", row: target, rows: weights.len() });
    }
    let weights = &scaled(weights)[..];
    let lemma = sampling_bound(weights[target] / weights.iter().sum::<f64>(), size, rounds)?;
    let mut successes = 0;
    for trial in 0..trials {
        let mut count = 0;
        for round in 0..rounds {
            let number = (trial * rounds + round) as u64;
            let drawn = sampling.draw(weights.len(), seed, number).expect("weighted targets are drawn at random");
            count += usize::from(drawn.contains(&target));
        }
        successes += usize::from(count as f64 >= lemma.at_least);
    }
    Ok(successes as f64 / trials.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_draw_of_two_equal_targets() {
        let lemma = sampling_bound(0.5, 1, 16).unwrap();
        assert_eq!((lemma.inclusion, lemma.at_least), (0.5, 4.0));
        assert!((lemma.probability - (1.0 - (-1.0f64).exp())).abs() < 1e-15);
        assert!(sampling_bound(1.5, 1, 1).is_err() && sampling_bound(0.5, 0, 1).is_err());
    }
}
