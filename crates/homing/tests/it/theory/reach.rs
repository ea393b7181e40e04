//! The variance of a target that remains given the whole pool.

use homing::theory::{Model, reach};
use homing::{Gaussian, Noise, Task};
use proptest::prelude::*;

use super::dense::Dense;
use crate::oracle::{Oracle, points, rng, uniform_rows, view};

proptest! {
    #![proptest_config(crate::oracle::cases(64))]

    /// Var(f_a | f_S) and Var(f_a | y_S) equal those of dense conditioning, also if a pool row was already observed.
    #[test]
    fn the_reach_is_the_dense_process_s(seed in any::<u64>(), rows in 1usize..9, extra in 1usize..4) {
        let dense = Dense::random(seed, rows, extra, false);
        let (floors, after) = (dense.irreducible(), dense.given(&dense.rows().collect::<Vec<_>>()));
        dense.model(|model| {
            let found = reach(model).unwrap();
            prop_assert_eq!((found.irreducible_rows, found.labelled_rows), (rows, rows));
            for (i, a) in dense.target_positions().into_iter().enumerate() {
                prop_assert!((found.irreducible[i] - floors[i]).abs() < 1e-8);
                prop_assert!((found.labelled[i] - after[a][a]).abs() < 1e-8);
            }
            prop_assert_eq!(reach(&model.given(&[0]).unwrap()).unwrap().labelled, found.labelled, "picks are rows of the pool");
            Ok(())
        })?;
    }

    /// Observed points outside the pool count.
    #[test]
    fn what_was_observed_elsewhere_counts(seed in any::<u64>(), gaussian: bool) {
        let mut rng = rng(seed);
        let (s, a, seen) = (uniform_rows(&mut rng, 3, 5), uniform_rows(&mut rng, 2, 5), uniform_rows(&mut rng, 2, 5));
        let kernel: Box<dyn homing::Kernel> = if gaussian { Box::new(Gaussian::new(0.6).unwrap()) } else { Box::new(homing::Linear) };
        let (pool, targets, observed) = (view(&s), view(&a), view(&seen));
        let task = Task::new(points(&pool, 5), points(&targets, 5)).kernel(&*kernel).observed_points(points(&observed, 5));
        let found = reach(&Model::new(task, Noise::Std(0.5)).unwrap()).unwrap();
        let mut oracle = Oracle::new(&*kernel, &s, &a, &seen, 0.25);
        let known = super::dense::given_exactly(&oracle.k, &[0, 1, 2]);
        (0..3).for_each(|x| oracle.observe(x));
        for i in 0..2 {
            prop_assert!((found.irreducible[i] - known[3 + i][3 + i]).abs() < 1e-8);
            prop_assert!((found.labelled[i] - oracle.k[3 + i][3 + i]).abs() < 1e-8);
        }
    }
}

/// If there are too many rows for a nonlinear kernel, the nearest ones give an upper bound, and their number is reported.
#[test]
fn a_large_pool_is_bounded_from_above() {
    let kernel = Gaussian::new(0.1).unwrap();
    let pool: Vec<f64> = (0..5000).map(|i| f64::from(i) / 100.0).collect();
    let targets = [10.003, 25.0, 60.0];
    let task = Task::new(points(&pool, 1), points(&targets, 1)).kernel(&kernel);
    let found = reach(&Model::new(task, Noise::Std(0.3)).unwrap()).unwrap();
    assert_eq!((found.irreducible_rows, found.labelled_rows), (2048, 2048));
    assert!(found.irreducible[0] < 1e-6 && found.irreducible[1] < 1e-6 && found.irreducible[2] > 0.999);
    assert!(found.labelled[1] > 1e-4 && found.labelled[1] < 0.02, "{:?}", found.labelled);
}
