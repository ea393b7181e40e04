//! Lemma F.1: how often a target is drawn.

use homing::theory::{sampling_bound, simulate_sampling};
use proptest::prelude::*;

/// Returns the probability of at least `least` of n rounds, each with probability ν, by the binomial sum.
fn at_least(n: usize, nu: f64, least: f64) -> f64 {
    let mut ln_choose = 0.0;
    let mut sum = 0.0;
    for count in 0..=n {
        if count as f64 >= least {
            sum += (ln_choose + count as f64 * nu.ln() + (n - count) as f64 * (-nu).ln_1p()).exp();
        }
        ln_choose += ((n - count) as f64 / (count + 1) as f64).ln();
    }
    sum
}

proptest! {
    #![proptest_config(crate::oracle::cases(128))]

    /// The proof's ν is the probability of at least one of K draws, and Chernoff's bound is below the exact probability.
    #[test]
    fn the_lemma_is_below_the_binomial(weight in 0.001f64..0.7, size in 1usize..9, rounds in 0usize..200) {
        let lemma = sampling_bound(weight, size, rounds).unwrap();
        prop_assert!((lemma.inclusion - (1.0 - (1.0 - weight).powi(size as i32))).abs() < 1e-12);
        prop_assert_eq!(lemma.at_least, rounds as f64 * lemma.inclusion / 2.0);
        prop_assert!(lemma.probability <= at_least(rounds, lemma.inclusion, lemma.at_least) + 1e-9);
    }
}

/// The sampler of selections, over many trials, is within four standard errors of the exact probability and above the
/// lemma's.
#[test]
fn the_sampler_keeps_the_lemma() {
    let weights = [3.0, 1.0, 0.5, 0.5];
    for (target, size, rounds) in [(0, 1, 20), (1, 2, 40), (3, 3, 60)] {
        let trials = 400;
        let lemma = sampling_bound(weights[target] / 5.0, size, rounds).unwrap();
        let share = simulate_sampling(&weights, target, size, rounds, trials, 7).unwrap();
        let exact = at_least(rounds, lemma.inclusion, lemma.at_least);
        let error = (exact * (1.0 - exact) / f64::from(trials as u32)).sqrt();
        assert!(share >= lemma.probability, "{share} {lemma:?}");
        assert!((share - exact).abs() <= 4.0 * error + 1e-12, "{share} {exact}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    assert!(
        sampling_bound(-0.1, 1, 1).is_err()
            && sampling_bound(f64::NAN, 1, 1).is_err()
            && sampling_bound(0.5, 0, 1).is_err()
    );
    assert!(simulate_sampling(&[1.0], 1, 1, 1, 1, 0).is_err());
    assert!(simulate_sampling(&[0.0], 0, 1, 1, 1, 0).is_err());
}
