//! The objective Γ_n and the variance bounds (Theorem 3.1, Theorem D.1, Lemma D.2).

use homing::theory::{
    Boundary, Constants, bound_within_pool, boundary, exact_capacity, objective_bound, reducible_bound,
    sharp_variance_bound, trajectory, variance_bound,
};
use proptest::prelude::*;

use super::dense::Dense;

proptest! {
    #![proptest_config(crate::oracle::cases(48))]

    /// Theorem D.1 (Eq. 7): Γ_{n−1} ≤ γ_n/n with S ⊆ A, whether or not rows may be observed again. Γ_n decreases along the
    /// way.
    #[test]
    fn the_objective_falls_below_the_capacity_a_row(seed in any::<u64>(), rows in 2usize..7, repeat: bool) {
        let dense = Dense::random(seed, rows, 1, true);
        let picks = dense.itl(rows.min(4), repeat);
        let mut before = f64::INFINITY;
        for n in 1..=picks.len() {
            let open = dense.rows().filter(|x| repeat || !picks[..n - 1].contains(x));
            let objective = open.map(|x| dense.about_targets(&[x], &picks[..n - 1])).fold(0.0, f64::max);
            prop_assert!(objective <= before + 1e-9);
            let gamma = dense.model(|model| exact_capacity(model, n, repeat).unwrap());
            prop_assert!(objective <= objective_bound(gamma, n) + 1e-9, "{objective} {gamma} {n}");
            before = objective;
        }
    }

    /// Lemma D.2 (Eq. 8): σ²_n(x) ≤ 2σ̃²·Γ_n for x in both S and A, with the constants of the definition.
    #[test]
    fn variance_within_the_pool_is_bounded_by_the_objective(seed in any::<u64>(), rows in 2usize..7) {
        let dense = Dense::random(seed, rows, 1, true);
        let picks = dense.itl(rows.min(3), true);
        let (max_var, max_total) = dense.most();
        dense.model(|model| {
            let constants = Constants::of(model);
            prop_assert!((constants.max_var - max_var).abs() < 1e-12);
            prop_assert!((constants.max_total_var - max_total).abs() < 1e-12);
            prop_assert_eq!(constants.rows, rows);
            for n in 0..=picks.len() {
                let after = model.given(&picks[..n]).unwrap();
                let bound = bound_within_pool(&constants, after.objective().value);
                // The targets are one point outside the pool, then the pool.
                prop_assert!(after.target_vars()[1..].iter().all(|&var| var <= bound + 1e-9));
            }
            Ok(())
        })?;
    }

    /// Theorem 3.1 (Eq. 2) with C = 2σ² + c for every target, at square n, for which the proof's b = √n is an integer. The
    /// constant is that of the definition.
    #[test]
    fn the_variance_of_every_target_converges_as_the_theorem_says(seed in any::<u64>(), rows in 2usize..5) {
        let dense = Dense::random(seed, rows, 2, true);
        let picks = dense.itl(9, true);
        let lambda = dense.least_eigenvalue();
        let (max_var, max_total) = dense.most();
        let floors = dense.irreducible();
        dense.model(|model| {
            let constants = Constants::of(model);
            let c = 2.0 * (rows * rows) as f64 * max_var * max_var * max_total / (lambda * lambda);
            let factor = constants.theorem_factor().unwrap();
            if lambda > 1e-6 {
                prop_assert!((factor / (2.0 * max_var + c) - 1.0).abs() < 1e-6);
            }
            for n in [1, 4, 9] {
                let gamma = dense.capacity(n, true);
                let bound = reducible_bound(&constants, gamma, n).unwrap();
                let vars = model.given(&picks[..n]).unwrap().target_vars();
                for (var, floor) in vars.iter().zip(&floors) {
                    prop_assert!(*var <= floor + bound + 1e-9, "{var} {floor} {bound}");
                }
            }
            Ok(())
        })?;
    }

    /// The theorem's proof before ε is chosen, step by step for every target, n and prefix of a boundary, and the bounds of
    /// `trajectory` for any A and any picks.
    #[test]
    fn the_bound_of_a_run_is_above_its_variance(seed in any::<u64>(), rows in 3usize..8, inside: bool, itl: bool) {
        let dense = Dense::random(seed, rows, 2, inside);
        let picks = if itl { dense.itl(3, false) } else { vec![rows - 1, 0, 1] };
        dense.model(|model| {
            let constants = Constants::of(model);
            let floors = model.irreducible_vars().unwrap();
            let boundaries: Vec<Boundary> =
                (0..2).map(|target| boundary(model, target, floors[target] + 1e-3, rows).unwrap()).collect();
            let rounds = trajectory(model, &picks, &[0, 1, 3], &constants, &boundaries).unwrap();
            prop_assert_eq!(rounds.len(), 3);
            for round in &rounds {
                let after = model.given(&picks[..round.n]).unwrap();
                prop_assert!((round.objective - after.objective().value).abs() < 1e-12);
                for target in 0..2 {
                    let (var, bound) = (round.vars[target], round.bounds[target]);
                    prop_assert!(floors[target] <= var + 1e-8 && var <= bound + 1e-8, "{var} {bound}");
                    prop_assert!(bound <= model.prior_vars()[target] + 1e-9, "a bound never exceeds the prior");
                    if inside {
                        for (size, &left) in boundaries[target].vars.iter().enumerate() {
                            let (theorem, sharp) = (
                                variance_bound(&constants, left, size, round.objective),
                                sharp_variance_bound(left, size, round.objective),
                            );
                            prop_assert!(var <= theorem + 1e-8 && var <= sharp + 1e-8);
                            // V + σ²t ≤ σ² gives V ≤ σ²(1 − t), and e^t ≤ 1/(1 − t), so the sharp bound is then the smaller
                            // one.
                            prop_assert!(theorem >= constants.max_var || sharp <= theorem + 1e-8, "{sharp} {theorem}");
                        }
                    }
                }
            }
            Ok(())
        })?;
    }
}

/// With more rows than dimensions, Var f_S is singular and the theorem's constant is reported as infinite.
#[test]
fn a_singular_pool_has_no_finite_constant() {
    use crate::oracle::{points, rng, uniform_rows, view};
    use homing::{Gaussian, Noise, Task, theory::Model};
    let mut rng = rng(1);
    let pool = view(&uniform_rows(&mut rng, 5, 3));
    let linear = Task::undirected(points(&pool, 3));
    let constants = Constants::of(&Model::new(linear, Noise::Std(0.5)).unwrap());
    assert_eq!(constants.least_eigenvalue, Some(0.0));
    assert_eq!(constants.theorem_factor(), Some(f64::INFINITY));
    let kernel = Gaussian::new(0.3).unwrap();
    let constants = Constants::of(&Model::new(linear.kernel(&kernel), Noise::Std(0.5)).unwrap());
    assert!(constants.least_eigenvalue.unwrap() > 0.1);
    let many: Vec<f64> = (0..3000).map(f64::from).collect();
    let large = Task::undirected(points(&many, 1)).kernel(&kernel);
    assert_eq!(Constants::of(&Model::new(large, Noise::Std(0.5)).unwrap()).boundary_factor(), None);
}
