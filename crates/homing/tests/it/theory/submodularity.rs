//! The submodularity ratio κ_n(k) and the guarantee of a greedy batch (Appendix C).

use homing::theory::{Model, bounded_ratio, exact_ratio, guarantee, submodularity_ratio};
use homing::{Error, Laplace, Noise, Plan, Task};
use proptest::prelude::*;

use super::dense::{Dense, lists, subsets};
use crate::oracle::{points, rng, run, uniform_rows, view};

/// Computes Eq. 5 as printed.
fn ratio_by_definition(dense: &Dense, batch: &[usize], observed: &[usize]) -> f64 {
    let mut least: f64 = 1.0;
    for given in subsets(batch) {
        for size in 1..=batch.len() {
            for added in lists(dense.pool.len(), size, false).iter().filter(|x| x.iter().all(|x| !given.contains(x))) {
                let observed = [observed, &given].concat();
                let alone: f64 = added.iter().map(|&x| dense.about_targets(&[x], &observed)).sum();
                let together = dense.about_targets(added, &observed);
                if together > 1e-12 {
                    least = least.min(alone / together);
                }
            }
        }
    }
    least
}

/// Returns the largest information in a batch of this size (Eq. 3).
fn best_batch(dense: &Dense, size: usize, observed: &[usize]) -> f64 {
    lists(dense.pool.len(), size, false).iter().map(|b| dense.about_targets(b, observed)).fold(0.0, f64::max)
}

/// With little noise, twins in the pool and targets among its rows, some sets have less information than rounding errors.
#[test]
fn rounding_makes_no_ratio() {
    for seed in 0..40 {
        let mut rng = rng(seed);
        let mut rows = uniform_rows(&mut rng, 6, 2);
        rows.extend_from_within(0..2);
        let targets = [rows[2].clone(), rows[4].clone(), rows[4].clone()];
        let ratio = |order: &[usize]| {
            let (pool, targets) = (view(&order.iter().map(|&i| rows[i].clone()).collect::<Vec<_>>()), view(&targets));
            let kernel = Laplace::new(1.5).unwrap();
            let task = Task::new(points(&pool, 2), points(&targets, 2)).kernel(&kernel);
            let model = Model::new(task, Noise::Std(1e-4)).unwrap();
            let batch = [4, 2, 3].map(|row| order.iter().position(|&i| i == row).unwrap());
            submodularity_ratio(&model, &batch, 0).unwrap()
        };
        // The ratio does not depend on the order of the rows, and lies between the bounds in either order.
        let (there, back) = (ratio(&[0, 1, 2, 3, 4, 5, 6, 7]), ratio(&[7, 6, 5, 4, 3, 2, 1, 0]));
        let overlap = there.lower <= back.upper + 0.02 && back.lower <= there.upper + 0.02;
        assert!(overlap && there.lower <= there.upper, "seed {seed}: {there:?} {back:?}");
        assert!((there.upper - back.upper).abs() < 0.02, "seed {seed}: {there:?} {back:?}");
    }
}

proptest! {
    #![proptest_config(crate::oracle::cases(48))]

    /// Definition C.1 and the bounds around it, and Theorem C.2 for ITL's own batch.
    #[test]
    fn the_ratio_is_its_definition_and_guarantees_the_batch(seed in any::<u64>(), rows in 3usize..8, size in 1usize..4) {
        let dense = Dense::random(seed, rows, 2, false);
        let observed = if seed.is_multiple_of(2) { vec![] } else { vec![rows - 1] };
        let batch = {
            let mut picks = observed.clone();
            for _ in 0..size {
                let score = |x: usize| dense.about_targets(&[x], &picks);
                let best = dense.rows().filter(|x| !picks[observed.len()..].contains(x));
                picks.push(best.max_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a))).unwrap());
            }
            picks.split_off(observed.len())
        };
        let want = ratio_by_definition(&dense, &batch, &observed);
        dense.model(|model| {
            let model = model.given(&observed).unwrap();
            let exact = exact_ratio(&model, &batch).unwrap();
            prop_assert!((exact - want).abs() < 1e-8, "{exact} {want}");
            let either = submodularity_ratio(&model, &batch, 1).unwrap();
            prop_assert!(either.is_exact() && either.lower == exact);
            let bounds = bounded_ratio(&model, &batch, 1).unwrap();
            prop_assert!(bounds.lower <= exact + 1e-9 && exact <= bounds.upper + 1e-9, "{bounds:?} {exact}");
            Ok(())
        })?;
        let reached = dense.about_targets(&batch, &observed);
        prop_assert!(reached >= guarantee(want) * best_batch(&dense, size, &observed) - 1e-8);
    }

    /// With S ⊆ A, F is submodular, κ = 1 (its definition includes X = ∅), and greedy reaches 1 − 1/e of the best batch.
    #[test]
    fn with_the_pool_among_the_targets_the_ratio_is_one(seed in any::<u64>(), rows in 3usize..7) {
        let dense = Dense::random(seed, rows, 1, true);
        let batch = dense.itl(2, false);
        prop_assert!(ratio_by_definition(&dense, &batch, &[]) >= 1.0 - 1e-7);
        dense.model(|model| {
            prop_assert!(exact_ratio(model, &batch).unwrap() >= 1.0 - 1e-7);
            prop_assert!(bounded_ratio(model, &batch, 0).unwrap().lower >= 1.0 - 1e-7);
            Ok(())
        })?;
        prop_assert!(dense.about_targets(&batch, &[]) >= guarantee(1.0) * best_batch(&dense, 2, &[]) - 1e-9);
    }

}

proptest! {
    #![proptest_config(crate::oracle::cases(8))]

    /// Long batches are bounded only by the variances for B′ and for ∅; the bounds still hold.
    #[test]
    fn bounds_hold_for_batches_too_long_to_enumerate(seed in any::<u64>()) {
        let mut rng = rng(seed);
        let (pool, targets) = (view(&uniform_rows(&mut rng, 300, 6)), view(&uniform_rows(&mut rng, 4, 6)));
        let task = Task::new(points(&pool, 6), points(&targets, 6));
        let noise = Noise::Std(0.8);
        let batch = run(&task, &Plan::default().strategy("itl-exact".parse().unwrap()).count(40).noise(noise)).rows();
        let model = Model::new(task, noise).unwrap();
        let long = submodularity_ratio(&model, &batch, 0).unwrap();
        prop_assert!(0.0 <= long.lower && long.lower <= long.upper && long.upper <= 1.0, "{long:?}");
        // A longer batch has more pairs, so its ratio is at most that of its start.
        let short = submodularity_ratio(&model, &batch[..2], 0).unwrap();
        prop_assert!(short.is_exact() && long.lower <= short.upper);
        prop_assert_eq!(long, submodularity_ratio(&model, &batch, 0).unwrap());
    }
}

/// Two rows that share a nuisance have little information separately and much together, so κ is far below one.
#[test]
fn a_nuisance_that_two_rows_share_makes_the_ratio_small() {
    let pool = [1.0, 10.0, 0.0, 10.0];
    let target = [1.0, 0.0];
    let task = Task::new(points(&pool, 2), points(&target, 2));
    let model = Model::new(task, Noise::Std(0.1)).unwrap();
    let ratio = exact_ratio(&model, &[0, 1]).unwrap();
    assert!(ratio < 0.05, "{ratio}");
    assert!(bounded_ratio(&model, &[0, 1], 0).unwrap().upper < 0.05);
}

/// A direction that is orthogonal to all targets has no information, and 0/0 = 1.
#[test]
fn rows_without_information_do_not_matter() {
    let pool = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];
    let target = [1.0, 0.0];
    let task = Task::new(points(&pool, 2), points(&target, 2));
    let model = Model::new(task, Noise::Std(0.5)).unwrap();
    assert_eq!(exact_ratio(&model, &[0, 1, 2]).unwrap(), 1.0);
    assert_eq!(exact_ratio(&model, &[]).unwrap(), 1.0);
}

#[test]
fn what_cannot_be_is_refused() {
    let mut rng = rng(5);
    let pool = view(&uniform_rows(&mut rng, 300, 3));
    let model = Model::new(Task::new(points(&pool, 3), points(&pool[..3], 3)), Noise::Std(0.5)).unwrap();
    let long: Vec<usize> = (0..10).collect();
    assert!(exact_ratio(&model, &long).unwrap_err().to_string().contains("bounds"));
    assert_eq!(exact_ratio(&model, &[300]), Err(Error::NoSuchRow { what: "batch", row: 300, rows: 300 }));
}
