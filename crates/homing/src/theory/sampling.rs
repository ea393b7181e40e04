//! Stochastic target spaces: how often a target is drawn when every round samples its own (Lemma F.1).

use crate::targets::scaled;
use crate::{Error, Linear, Noise, Points, Result, TargetSampling};

/// What Lemma F.1 says of one target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampled {
    /// ν = 1 − (1 − P_A(x))^K: the chance that a round has it.
    pub inclusion: f64,
    /// n·ν/2: it is in at least so many of n rounds …
    pub at_least: f64,
    /// … with probability 1 − exp(−n·ν/8) or more.
    pub probability: f64,
}

/// Lemma F.1 for a target drawn with probability `weight` = P_A(x) in each of K = `size` draws of a round, after `rounds`.
pub fn sampled(weight: f64, size: usize, rounds: usize) -> Result<Sampled> {
    if !(0.0..=1.0).contains(&weight) {
        let expected = "a probability lies between 0 and 1";
        return Err(Error::Setting { name: "the weight of a target", value: weight, expected });
    }
    if size == 0 {
        return Err(Error::Setting { name: "the number of targets", value: 0.0, expected: "it must be at least 1" });
    }
    // 1 − (1 − p)^K without losing a small p.
    let inclusion = if weight == 1.0 { 1.0 } else { -(size as f64 * (-weight).ln_1p()).exp_m1() };
    let expected = rounds as f64 * inclusion;
    Ok(Sampled { inclusion, at_least: 0.5 * expected, probability: -(-0.125 * expected).exp_m1() })
}

/// A simulation of Lemma F.1 with the sampler that selections use ([`TargetSampling::Weighted`]): the share of `trials` in
/// which `target` was in at least n·ν/2 of n = `rounds` rounds.
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
    let lemma = sampled(weights[target] / weights.iter().sum::<f64>(), size, rounds)?;
    let points = Points::from(crate::Embeddings::new(weights, 1)?);
    let mut held = 0;
    for trial in 0..trials {
        let mut count = 0;
        for round in 0..rounds {
            let number = (trial * rounds + round) as u64;
            let drawn = sampling.draw(points, &Linear, Noise::default(), seed, number)?;
            count += usize::from(drawn.contains(&target));
        }
        held += usize::from(count as f64 >= lemma.at_least);
    }
    Ok(held as f64 / trials.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_draw_of_two_equal_targets() {
        let lemma = sampled(0.5, 1, 16).unwrap();
        assert_eq!((lemma.inclusion, lemma.at_least), (0.5, 4.0));
        assert!((lemma.probability - (1.0 - (-1.0f64).exp())).abs() < 1e-15);
        assert!(sampled(1.5, 1, 1).is_err() && sampled(0.5, 0, 1).is_err());
    }
}
