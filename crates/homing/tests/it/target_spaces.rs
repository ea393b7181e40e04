//! Appendix F: subsets of the targets.

use homing::{Noise, Plan, TargetSampling, Task};

use crate::oracle::{Oracle, points, rng, run, uniform_rows, view};

#[test]
fn a_subset_scores_as_if_it_were_all_targets() {
    let mut rng = rng(12);
    let (pool, targets) = (view(&uniform_rows(&mut rng, 60, 5)), view(&uniform_rows(&mut rng, 8, 5)));
    let task = Task::new(points(&pool, 5), points(&targets, 5));
    let base = Plan::default().count(4).noise(Noise::Std(0.2));
    for sampling in [
        TargetSampling::Fraction(0.1),
        TargetSampling::Size(1),
        TargetSampling::Weighted { weights: (0..8).map(f64::from).collect(), size: 1 },
    ] {
        let sampled = run(&task, &base.clone().target_sampling(sampling).seed(3)).rows();
        let alone = (0..8).any(|a| {
            let one = task.targets(Some(points(&targets[a * 5..(a + 1) * 5], 5)));
            run(&one, &base).rows() == sampled
        });
        assert!(alone, "{sampled:?}");
    }
}

#[test]
fn a_weight_of_zero_is_never_drawn() {
    let mut rng = rng(13);
    let (pool, targets) = (view(&uniform_rows(&mut rng, 60, 5)), view(&uniform_rows(&mut rng, 4, 5)));
    let task = Task::new(points(&pool, 5), points(&targets, 5));
    let only = task.targets(Some(points(&targets[10..15], 5)));
    let base = Plan::default().count(3).noise(Noise::Std(0.2));
    let want = run(&only, &base).rows();
    for seed in 0..10 {
        let target_sampling = TargetSampling::Weighted { weights: vec![0.0, 0.0, 2.0, 0.0], size: 3 };
        assert_eq!(run(&task, &base.clone().target_sampling(target_sampling).seed(seed)).rows(), want);
    }
}

/// Draws from P_A with repetition make a rule's sum over the drawn targets K times its mean under P_A on average. Information
/// is about a set, so there a target that is drawn twice counts once.
#[test]
fn weighted_draws_count_as_often_as_they_are_drawn_in_sums() {
    let mut rng = rng(17);
    let (pool, targets) = (view(&uniform_rows(&mut rng, 1, 5)), view(&uniform_rows(&mut rng, 3, 5)));
    let task = Task::new(points(&pool, 5), points(&targets, 5));
    let weights = [6.0, 3.0, 1.0];
    let base = |rule: &str| Plan::default().strategy(rule.parse().unwrap()).noise(Noise::Std(0.5));
    let draws = 4;
    let score = |rule: &str, seed: u64| {
        let target_sampling = TargetSampling::Weighted { weights: weights.to_vec(), size: draws };
        run(&task, &base(rule).target_sampling(target_sampling).seed(seed)).picks[0].score
    };
    for (rule, factor) in [("ctl", draws as f64), ("vtl", draws as f64), ("cosine", 1.0)] {
        let one =
            |a: usize| run(&task.targets(Some(points(&targets[a * 5..(a + 1) * 5], 5))), &base(rule)).picks[0].score;
        let expected: f64 = (0..3).map(|a| factor * weights[a] / 10.0 * one(a)).sum();
        let trials = 4000;
        let scores: Vec<f64> = (0..trials).map(|seed| score(rule, seed)).collect();
        let mean = scores.iter().sum::<f64>() / trials as f64;
        let spread = scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / trials as f64;
        assert!((mean - expected).abs() < 4.0 * (spread / trials as f64).sqrt(), "{rule}: {mean} {expected}");
    }
    // ITL's score is that of one of the seven sets of drawn targets.
    let sets: Vec<f64> = (1..8usize)
        .map(|set| {
            let rows: Vec<f64> =
                (0..3).filter(|a| set >> a & 1 == 1).flat_map(|a| targets[a * 5..(a + 1) * 5].to_vec()).collect();
            run(&task.targets(Some(points(&rows, 5))), &base("itl")).picks[0].score
        })
        .collect();
    for seed in 0..50 {
        let drawn = score("itl", seed);
        assert!(sets.iter().any(|set| (set - drawn).abs() < 1e-12), "{drawn} {sets:?}");
    }
}

#[test]
fn each_round_draws_its_own_targets_and_keeps_what_was_learned() {
    let mut rng = rng(14);
    let (s, a) = (uniform_rows(&mut rng, 80, 6), uniform_rows(&mut rng, 10, 6));
    let (pool, targets) = (view(&s), view(&a));
    let task = Task::new(points(&pool, 6), points(&targets, 6));
    let one = Plan::default().count(12).noise(Noise::Std(0.2));
    let whole = run(&task, &one);
    let rounds = run(&task, &one.clone().picks_per_round(5));
    assert_eq!(whole.rows(), rounds.rows(), "with all targets, rounds change nothing");
    let sampled = one.target_sampling(TargetSampling::Size(2));
    let (fixed, fresh) = (run(&task, &sampled), run(&task, &sampled.clone().picks_per_round(3)));
    assert_eq!(fixed.rows()[..3], fresh.rows()[..3]);
    assert_ne!(fixed.rows(), fresh.rows());
}

#[test]
fn diverse_targets_are_those_of_the_same_rules_on_the_targets() {
    let mut rng = rng(15);
    let (s, a) = (uniform_rows(&mut rng, 50, 4), uniform_rows(&mut rng, 12, 4));
    let (pool, targets) = (view(&s), view(&a));
    let task = Task::new(points(&pool, 4), points(&targets, 4));
    let base = Plan::default().count(5).noise(Noise::Std(0.2));
    let by_det = crate::oracle::greedy("undirected-itl", Oracle::new(&homing::Linear, &a, &[], &[], 0.04), 3);
    let chosen: Vec<f64> = {
        let mut rows = by_det;
        rows.sort_unstable();
        rows.into_iter().flat_map(|row| a[row].clone()).collect()
    };
    let want = run(&task.targets(Some(points(&chosen, 4))), &base).rows();
    assert_eq!(run(&task, &base.clone().target_sampling(TargetSampling::MaxDet(3))).rows(), want);
    let mut far = farthest(&a, 3);
    far.sort_unstable();
    let chosen: Vec<f64> = far.into_iter().flat_map(|row| a[row].clone()).collect();
    let want = run(&task.targets(Some(points(&chosen, 4))), &base).rows();
    assert_eq!(run(&task, &base.target_sampling(TargetSampling::MaxDist(3))).rows(), want);
}

/// Farthest-first traversal by its definition, starting from the longest row.
fn farthest(rows: &[Vec<f64>], count: usize) -> Vec<usize> {
    let distance = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let mut picks: Vec<usize> = Vec::new();
    for _ in 0..count {
        let score = |x: usize| match picks.iter().map(|&p| distance(&rows[x], &rows[p])).reduce(f64::min) {
            Some(nearest) => nearest,
            None => distance(&rows[x], &vec![0.0; rows[x].len()]),
        };
        let left = (0..rows.len()).filter(|x| !picks.contains(x));
        picks.push(left.max_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a))).unwrap());
    }
    picks
}

#[test]
fn max_dist_is_farthest_first() {
    let mut rng = rng(16);
    let s = uniform_rows(&mut rng, 300, 3);
    let pool = view(&s);
    let plan = Plan::default().strategy("max-dist".parse().unwrap()).count(20);
    assert_eq!(run(&Task::undirected(points(&pool, 3)), &plan).rows(), farthest(&s, 20));
}

#[test]
fn sampling_settings_out_of_range_are_refused() {
    let rows = [1.0, 2.0, 3.0];
    let task = Task::new(points(&rows, 1), points(&rows, 1));
    for target_sampling in [
        TargetSampling::Fraction(0.0),
        TargetSampling::Fraction(1.5),
        TargetSampling::Size(0),
        TargetSampling::Size(4),
        TargetSampling::Weighted { weights: vec![1.0], size: 1 },
        TargetSampling::Weighted { weights: vec![0.0; 3], size: 1 },
    ] {
        let plan = Plan::default().target_sampling(target_sampling);
        assert!(homing::select(&task, &plan).is_err(), "{plan:?}");
    }
}
