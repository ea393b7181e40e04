//! Information: the steps of every proof (Appendices B to E), and the model's numbers compared with their definitions.

use homing::theory::Model;
use homing::{Embeddings, Noise, Plan, Task, select};
use proptest::prelude::*;

use super::dense::{Dense, given_exactly, ln_det, subsets};

proptest! {
    #![proptest_config(crate::oracle::cases(96))]

    /// σ²_0, σ²_n, η²_S, I(f_A; y_x | D) and Γ_n equal those of dense conditioning.
    #[test]
    fn the_model_is_the_dense_process(seed in any::<u64>(), rows in 2usize..9, extra in 1usize..5, inside: bool) {
        let dense = Dense::random(seed, rows, extra, inside);
        let picks = dense.itl(rows.min(3), false);
        dense.model(|model| {
            let after = model.given(&picks).unwrap();
            let k = dense.given(&picks);
            let floors = dense.irreducible();
            for (i, a) in dense.target_positions().into_iter().enumerate() {
                prop_assert!((model.prior_vars()[i] - dense.k[a][a]).abs() < 1e-10);
                prop_assert!((after.target_vars()[i] - k[a][a]).abs() < 1e-9);
                prop_assert!((model.irreducible_vars().unwrap()[i] - floors[i]).abs() < 1e-8);
                prop_assert!((after.irreducible_vars().unwrap()[i] - floors[i]).abs() < 1e-8);
            }
            for (x, gain) in after.gains().into_iter().enumerate() {
                prop_assert!((gain - dense.about_targets(&[x], &picks)).abs() < 1e-8);
            }
            prop_assert!((after.objective().value - dense.objective(&picks)).abs() < 1e-8);
            prop_assert!((after.information() - dense.about_targets(&picks, &[])).abs() < 1e-8);
            Ok(())
        })?;
    }

    /// The model's next pick is ITL's, and a row may be observed twice.
    #[test]
    fn the_next_pick_is_itl_s(seed in any::<u64>(), rows in 3usize..9) {
        let dense = Dense::random(seed, rows, 2, false);
        let picks = dense.itl(2, false);
        dense.model(|model| {
            let next = model.given(&picks[..1]).unwrap().next_pick().unwrap();
            prop_assert!(next.row != picks[0]);
            prop_assert!((next.value - dense.about_targets(&[picks[1]], &picks[..1])).abs() < 1e-8);
            let twice = model.given(&[1, 1]).unwrap();
            let k = dense.given(&[1, 1]);
            for (var, a) in twice.target_vars().into_iter().zip(dense.target_positions()) {
                prop_assert!((var - k[a][a]).abs() < 1e-9);
            }
            Ok(())
        })?;
    }

    /// Appendix B.2: ½ (ln|Var y| − ln|Var(y | f)|) = ½ ln|I + P⁻¹K|. Appendix C: F is monotone and not negative, and its
    /// marginal gain is ITL's objective (the chain rule).
    #[test]
    fn information_is_monotone_and_chains(seed in any::<u64>(), rows in 2usize..7) {
        let dense = Dense::random(seed, rows, 2, false);
        let all: Vec<usize> = dense.rows().collect();
        let (batch, observed) = all.split_at(rows - 1);
        let mut sum = 0.0;
        for (i, &x) in batch.iter().enumerate() {
            let seen: Vec<usize> = [observed, &batch[..i]].concat();
            let step = dense.about_targets(&[x], &seen);
            prop_assert!(step >= -1e-9);
            sum += step;
            prop_assert!((dense.about_targets(&batch[..=i], observed) - sum).abs() < 1e-8);
        }
        let direct: f64 = {
            let k = dense.given(observed);
            let after = given_exactly(&k, batch);
            0.5 * (ln_det(&k, batch, &dense.noise) - ln_det(&after, batch, &dense.noise))
        };
        prop_assert!((dense.about_itself(batch, observed) - direct).abs() < 1e-7);
    }

    /// Appendix D.2: for x in A, I(f_A; y_x | D) = I(f_x; y_x | D) = ½ ln(1 + Var(f_x | D)/ρ²).
    #[test]
    fn a_row_among_the_targets_tells_about_itself(seed in any::<u64>(), rows in 2usize..7) {
        let dense = Dense::random(seed, rows, 1, true);
        let observed = [0];
        let k = dense.given(&observed);
        for x in dense.rows() {
            let want = 0.5 * (k[x][x] / dense.noise[x]).ln_1p();
            prop_assert!((dense.about_targets(&[x], &observed) - want).abs() < 1e-8);
            prop_assert!((dense.about_itself(&[x], &observed) - want).abs() < 1e-8);
        }
    }

    /// Theorem D.1 (v), the data-processing inequality: I(f_A; y_X) ≤ I(f_X; y_X) for any A. Lemma D.6 (i): more targets,
    /// more information.
    #[test]
    fn no_targets_are_told_more_than_the_function(seed in any::<u64>(), rows in 2usize..7) {
        let dense = Dense::random(seed, rows, 3, false);
        for x in subsets(&dense.rows().collect::<Vec<_>>()).iter().filter(|x| !x.is_empty()) {
            let about = dense.about_targets(x, &[]);
            prop_assert!(about <= dense.about_itself(x, &[]) + 1e-8);
            let k = &dense.k;
            for a in dense.target_positions() {
                let one = given_exactly(k, &[a]);
                let alone = 0.5 * (ln_det(k, x, &dense.noise) - ln_det(&one, x, &dense.noise));
                prop_assert!(alone <= about + 1e-8);
            }
        }
    }

    /// With S ⊆ A, conditioning never increases the information in an observation: D ⊥ y_x | f_A (Theorem D.1 (i), Lemma
    /// D.6 (ii)). The information in a batch is therefore at most the sum over its rows.
    #[test]
    fn with_the_pool_among_the_targets_information_falls(seed in any::<u64>(), rows in 3usize..7) {
        let dense = Dense::random(seed, rows, 1, true);
        let all: Vec<usize> = dense.rows().collect();
        for observed in subsets(&all[..2]) {
            for x in dense.rows() {
                prop_assert!(dense.about_targets(&[x], &observed) <= dense.about_targets(&[x], &[]) + 1e-8);
            }
            let alone: f64 = all.iter().map(|&x| dense.about_targets(&[x], &observed)).sum();
            prop_assert!(dense.about_targets(&all, &observed) <= alone + 1e-8);
        }
    }

    /// Appendix E: I(f_A; y_x | D) ≥ mean_a I(f_a; y_x | D) = −mean_a ½ ln(1 − Cor(f_a, y_x | D)²), and step (iii), by
    /// Jensen's inequality.
    #[test]
    fn ctl_bounds_itl_from_below(seed in any::<u64>(), rows in 2usize..7, extra in 1usize..4) {
        let dense = Dense::random(seed, rows, extra, false);
        let k = dense.given(&[0]);
        for x in 1..rows {
            let total = k[x][x] + dense.noise[x];
            let squares: Vec<f64> = dense.target_positions().into_iter().map(|a| k[a][x].powi(2) / (k[a][a] * total)).collect();
            let single = |a: usize| {
                let after = given_exactly(&k, &[a]);
                0.5 * (total / (after[x][x] + dense.noise[x])).ln()
            };
            let mean = dense.target_positions().into_iter().map(single).sum::<f64>() / extra as f64;
            let by_correlation = -0.5 * squares.iter().map(|c| (-c).ln_1p()).sum::<f64>() / extra as f64;
            prop_assert!((mean - by_correlation).abs() < 1e-8);
            prop_assert!(dense.about_targets(&[x], &[0]) >= mean - 1e-8);
            let average = squares.iter().sum::<f64>() / extra as f64;
            prop_assert!(by_correlation >= -0.5 * (-average).ln_1p() - 1e-12);
        }
    }
}

/// Targets so close that their kernel matrix is numerically singular: eliminated in the order of their variance, they give
/// valid results. More targets never lower a row's information about them, which never exceeds its information about
/// itself.
#[test]
fn targets_that_nearly_depend_on_one_another_do_no_harm() {
    use crate::oracle::points;
    use homing::theory::Model;
    use homing::{Gaussian, Noise, Task};
    let kernel = Gaussian::new(0.09).unwrap();
    let pool: Vec<f64> = (0..60).map(|i| f64::from(i) / 40.0).collect();
    let gains = |count: usize| {
        let targets: Vec<f64> = (0..count).map(|i| 0.1 + 0.6 * i as f64 / (count - 1) as f64).collect();
        let task = Task::new(points(&pool, 1), points(&targets, 1)).kernel(&kernel);
        Model::new(task, Noise::Std(0.1)).unwrap().gains()
    };
    let (few, many) = (gains(3), gains(121));
    let most = 0.5 * (1.0 / 0.01f64).ln_1p();
    for (row, (few, many)) in few.iter().zip(&many).enumerate() {
        assert!(*many >= few - 1e-6 && *many <= most + 1e-9, "row {row}: {few} {many}");
    }
    // All information in a row between the targets is about them.
    assert!((many[22] - most).abs() < 1e-6, "{} {most}", many[22]);
}

/// Rows with the same numbers in another order have the same information about a constant target, up to the rounding of
/// sums. The smaller row is picked, whichever rounds up.
#[test]
fn the_next_pick_of_a_model_is_that_of_a_selection_on_a_near_tie() {
    const DIM: usize = 7;
    let mut rounded_apart = 0;
    for seed in 0..200 {
        let row: Vec<f64> = (0..DIM).map(|i| 1.5 + f64::sin((seed * DIM + i) as f64)).collect();
        let pool: Vec<f64> = row.iter().chain(row.iter().rev()).copied().collect();
        let target = [0.3; DIM];
        let task = Task::new(Embeddings::new(&pool, DIM).unwrap(), Embeddings::new(&target, DIM).unwrap());
        let noise = Noise::Std(0.5);
        let model = Model::new(task, noise).unwrap();
        let plan = Plan::default().strategy("itl-exact".parse().unwrap()).noise(noise);
        let next = model.next_pick().unwrap().row;
        assert_eq!([next], select(&task, &plan).unwrap().rows()[..], "seed {seed}");
        assert_eq!(next, 0, "seed {seed}");
        let gains = model.gains();
        rounded_apart += usize::from(gains[1] > gains[0]);
    }
    assert!(rounded_apart > 0, "no sum was rounded up for the larger row");
}
