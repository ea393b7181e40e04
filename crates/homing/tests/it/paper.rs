//! Identities of the paper, over random inputs.

use homing::{Linear, Noise, Plan, Posterior, Task};
use proptest::prelude::*;

use crate::oracle::{Oracle, ln_det, points, rng, run, uniform_rows, view};

proptest! {
    #![proptest_config(crate::oracle::cases(48))]

    /// Appendix G: ½ ln(|Var y_A| / |Var(y_A | y_B)|) (forward) is the sum of the backward scores, by the chain rule.
    #[test]
    fn itl_forward_equals_backward(seed in any::<u64>(), rows in 3usize..40, dim in 1usize..8, targets in 1usize..8) {
        let mut rng = rng(seed);
        let (s, a) = (uniform_rows(&mut rng, rows, dim), uniform_rows(&mut rng, targets, dim));
        let (pool, target) = (view(&s), view(&a));
        let plan = Plan::default().count(3).noise(Noise::Std(0.5));
        let selection = run(&Task::new(points(&pool, dim), points(&target, dim)), &plan);
        let mut oracle = Oracle::new(&Linear, &s, &a, &[], 0.25);
        let of: Vec<usize> = (rows..rows + targets).collect();
        let start = ln_det(&oracle.k, &of, 0.25);
        let mut sum = 0.0;
        for pick in &selection.picks {
            oracle.observe(pick.row);
            sum += pick.score;
            let forward = 0.5 * (start - ln_det(&oracle.k, &of, 0.25));
            prop_assert!((forward - sum).abs() < 1e-9, "{forward} {sum}");
            prop_assert!((forward - pick.information).abs() < 1e-9);
        }
    }

    /// For every rule, `information` is I(y_A; y_B), and `variance_left` is the posterior's share.
    #[test]
    fn the_ledger_is_the_same_for_every_rule(
        seed in any::<u64>(), rule in prop::sample::select(vec!["random", "ctl", "k-means++", "cosine", "itl-top-b"]),
    ) {
        let mut rng = rng(seed);
        let (s, a) = (uniform_rows(&mut rng, 30, 5), uniform_rows(&mut rng, 4, 5));
        let (pool, target) = (view(&s), view(&a));
        let plan = Plan::default().strategy(rule.parse().unwrap()).count(6).noise(Noise::Std(0.4)).seed(seed);
        let selection = run(&Task::new(points(&pool, 5), points(&target, 5)), &plan);
        let mut oracle = Oracle::new(&Linear, &s, &a, &[], 0.16);
        let of: Vec<usize> = (30..34).collect();
        let trace = |oracle: &Oracle| of.iter().map(|&a| oracle.k[a][a]).sum::<f64>();
        let (start, start_var) = (ln_det(&oracle.k, &of, 0.16), trace(&oracle));
        for pick in &selection.picks {
            oracle.observe(pick.row);
            prop_assert!((0.5 * (start - ln_det(&oracle.k, &of, 0.16)) - pick.information).abs() < 1e-9);
            prop_assert!((trace(&oracle) / start_var - pick.variance_left.unwrap()).abs() < 1e-9);
        }
    }

    /// Appendix D.2: with S ⊆ A, exact ITL is undirected ITL. With one noise for all rows, both are uncertainty sampling.
    #[test]
    fn with_the_pool_among_the_targets_itl_is_undirected(seed in any::<u64>(), rows in 2usize..25, dim in 2usize..6) {
        let mut rng = rng(seed);
        let pool = view(&uniform_rows(&mut rng, rows, dim));
        let task = Task::new(points(&pool, dim), points(&pool, dim));
        let pick = |rule: &str| {
            let plan = Plan::default().strategy(rule.parse().unwrap()).count(rows.min(6)).noise(Noise::Std(0.3));
            run(&task, &plan)
        };
        let (exact, undirected) = (pick("itl-exact"), pick("undirected-itl"));
        prop_assert_eq!(exact.rows(), undirected.rows());
        prop_assert_eq!(exact.rows(), pick("uncertainty").rows());
        for (a, b) in exact.picks.iter().zip(&undirected.picks) {
            prop_assert!((a.score - b.score).abs() < 1e-9);
        }
    }

    /// Undirected ITL is greedy MaxDet: the sum of its scores is ½ ln |I + K_BB / ρ²|.
    #[test]
    fn undirected_itl_is_max_det(seed in any::<u64>()) {
        let mut rng = rng(seed);
        let s = uniform_rows(&mut rng, 20, 4);
        let pool = view(&s);
        let plan = Plan::default().strategy("undirected-itl".parse().unwrap()).count(5).noise(Noise::Std(0.3));
        let selection = run(&Task::undirected(points(&pool, 4)), &plan);
        let k = crate::oracle::gram(&Linear, &s);
        let mut sum = 0.0;
        for (i, pick) in selection.picks.iter().enumerate() {
            sum += pick.score;
            let batch = &selection.rows()[..=i];
            let want = 0.5 * (ln_det(&k, batch, 0.09) - (i + 1) as f64 * 0.09f64.ln());
            prop_assert!((sum - want).abs() < 1e-9);
            prop_assert!((pick.information - want).abs() < 1e-9, "without targets the information is about the pool");
        }
    }

    /// Section 4: for one target, one pick and a non-negative correlation, ITL, CTL and cosine similarity agree on unit
    /// vectors.
    #[test]
    fn one_target_and_one_pick_is_nearest_neighbour(seed in any::<u64>()) {
        let mut rng = rng(seed);
        let unit = |rows: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
            rows.into_iter()
                .map(|row| {
                    let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
                    row.iter().map(|x| x.abs() / norm).collect()
                })
                .collect()
        };
        let pool = view(&unit(uniform_rows(&mut rng, 30, 4)));
        let target = view(&unit(uniform_rows(&mut rng, 1, 4)));
        let task = Task::new(points(&pool, 4), points(&target, 4));
        let pick = |rule: &str| run(&task, &Plan::default().strategy(rule.parse().unwrap())).rows();
        prop_assert_eq!(pick("itl"), pick("cosine"));
        prop_assert_eq!(pick("ctl"), pick("cosine"));
    }

    /// Appendix B.2: conditioning on all observations at once or one after the other gives the same posterior, whose mean
    /// minimises the regularised squares.
    #[test]
    fn sequential_conditioning_is_joint_conditioning(seed in any::<u64>()) {
        let mut rng = rng(seed);
        let rows = uniform_rows(&mut rng, 9, 3);
        let (seen, others) = rows.split_at(6);
        let flat = view(seen);
        let y: Vec<f64> = (0..6).map(|i| f64::from(i) - 2.0).collect();
        let noise = [0.1, 0.2, 0.3, 0.1, 0.5, 0.9];
        let posterior = Posterior::new(&Linear, points(&flat, 3), &y, &noise).unwrap();
        let mut k = crate::oracle::gram(&Linear, &[others, seen].concat());
        let mut mean = [0.0; 9];
        for i in 0..6 {
            let j = 3 + i;
            let (p, surprise) = (k[j][j] + noise[i], y[i] - mean[j]);
            for (x, mean) in mean.iter_mut().enumerate() {
                *mean += k[x][j] * surprise / p;
            }
            k = crate::oracle::condition(&k, j, noise[i]);
        }
        for x in 0..3 {
            prop_assert!((posterior.mean(&others[x]) - mean[x]).abs() < 1e-9);
            for z in 0..3 {
                prop_assert!((posterior.cov(&others[x], &others[z]) - k[x][z]).abs() < 1e-9);
            }
        }
    }
}
