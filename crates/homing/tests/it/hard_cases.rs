//! Inputs that are known to break implementations.

use homing::{Linear, Noise, Plan, Task};

use crate::oracle::{Oracle, assert_greedy, points, rng, run, uniform_rows, view};

#[test]
fn identical_rows_go_by_index_wherever_they_stand() {
    let mut rng = rng(1);
    let distinct = uniform_rows(&mut rng, 90, 7);
    // Each row occurs four times, at different positions within blocks.
    let s: Vec<Vec<f64>> = (0..360).map(|i| distinct[(i * 7) % 90].clone()).collect();
    let pool = view(&s);
    let targets = view(&uniform_rows(&mut rng, 4, 7));
    let task = Task::new(points(&pool, 7), points(&targets, 7));
    for rule in ["itl", "itl-exact", "itl-value", "vtl", "ctl", "undirected-itl", "max-dist", "cosine", "itl-top-b"] {
        let selection = run(&task, &Plan::default().strategy(rule.parse().unwrap()).count(20));
        for (i, pick) in selection.picks.iter().enumerate() {
            let earlier = &selection.rows()[..i];
            let first = (0..360).find(|j| s[*j] == s[pick.row] && !earlier.contains(j));
            assert_eq!(first, Some(pick.row), "{rule} rank {}", pick.rank);
        }
    }
}

#[test]
fn noise_from_1e_6_to_1e3_with_norms_from_1e_3_to_1e3() {
    let mut rng = rng(2);
    for norm in [1e-3, 1.0, 1e3] {
        for std in [1e-6, 1e-3, 1.0, 1e3] {
            let scale = |rows: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
                rows.into_iter().map(|row| row.into_iter().map(|x| x * norm).collect()).collect()
            };
            let mut s = scale(uniform_rows(&mut rng, 60, 5));
            let a = scale(uniform_rows(&mut rng, 3, 5));
            s[17] = a[1].clone();
            s[40] = s[3].clone();
            let (pool, target) = (view(&s), view(&a));
            let task = Task::new(points(&pool, 5), points(&target, 5));
            for rule in ["itl", "itl-exact", "itl-value", "vtl", "ctl", "undirected-itl"] {
                let plan = Plan::default().strategy(rule.parse().unwrap()).count(60).noise(Noise::Std(std));
                let selection = run(&task, &plan);
                assert_eq!(selection.picks.len(), 60);
                for pick in &selection.picks {
                    assert!(
                        pick.score.is_finite() && pick.information.is_finite(),
                        "{rule} norm {norm} ρ {std}: {pick:?}"
                    );
                    assert!(rule == "ctl" || pick.score >= 0.0, "{rule} norm {norm} ρ {std}: {pick:?}");
                }
            }
        }
    }
}

/// With ρ = 1e-6 and norms near 1e3, v and u differ from ρ² by eighteen orders of magnitude, and the scores must still be
/// right. The oracle is exact: in four orthogonal directions, each variance has a closed form.
#[test]
fn eighteen_orders_of_magnitude_between_signal_and_noise() {
    let axis = |i: usize, length: f64| -> Vec<f64> { (0..4).map(|j| if i == j { length } else { 0.0 }).collect() };
    let s = [axis(0, 1000.0), axis(1, 900.0), axis(0, 1000.0), axis(2, 500.0), axis(3, 1000.0)];
    let a = [axis(0, 1000.0), axis(1, 1000.0), axis(2, 700.0)];
    let (pool, target) = (view(&s), view(&a));
    let task = Task::new(points(&pool, 4), points(&target, 4));
    let noise: f64 = 1e-12;
    for (rule, in_ratio) in [("itl", noise), ("itl-value", 0.0)] {
        let plan = Plan::default().strategy(rule.parse().unwrap()).count(5).noise(Noise::Std(1e-6));
        let selection = run(&task, &plan);
        let mut posterior = [[1.0; 4], [1.0; 4]]; // Var β along each axis, given the picks, and given the targets as well
        for row in &a {
            let i = row.iter().position(|&x| x != 0.0).unwrap();
            posterior[1][i] = 1.0 / (1.0 / posterior[1][i] + row[i] * row[i] / noise);
        }
        for pick in &selection.picks {
            let row = &s[pick.row];
            let i = row.iter().position(|&x| x != 0.0).unwrap();
            let var = |given: usize, posterior: &[[f64; 4]; 2]| posterior[given][i] * row[i] * row[i] + in_ratio;
            let want = 0.5 * (var(0, &posterior) / var(1, &posterior)).ln();
            assert!((pick.score - want).abs() < 1e-6, "{rule} rank {}: {} {want}", pick.rank, pick.score);
            for given in &mut posterior {
                given[i] = 1.0 / (1.0 / given[i] + row[i] * row[i] / noise);
            }
        }
        let mut first = selection.rows()[..3].to_vec();
        first.sort_unstable();
        assert_eq!(first, [0, 1, 3], "{rule}: the repeated row and the row off the task come last");
    }
}

#[test]
fn more_targets_than_dimensions() {
    let mut rng = rng(4);
    let (s, a) = (uniform_rows(&mut rng, 80, 3), uniform_rows(&mut rng, 40, 3));
    let (pool, target) = (view(&s), view(&a));
    let task = Task::new(points(&pool, 3), points(&target, 3));
    for rule in ["itl", "itl-exact", "itl-value", "vtl", "ctl"] {
        for std in [0.01, 0.1, 1.0] {
            let plan = Plan::default().strategy(rule.parse().unwrap()).count(10).noise(Noise::Std(std));
            assert_greedy(rule, Oracle::new(&Linear, &s, &a, &[], std * std), &run(&task, &plan), 1e-7);
        }
    }
}

#[test]
fn targets_inside_the_pool() {
    let mut rng = rng(5);
    let s = uniform_rows(&mut rng, 60, 8);
    let a: Vec<Vec<f64>> = s[10..14].to_vec();
    let (pool, target) = (view(&s), view(&a));
    let task = Task::new(points(&pool, 8), points(&target, 8));
    for rule in ["itl", "itl-exact", "itl-value", "vtl", "ctl"] {
        let plan = Plan::default().strategy(rule.parse().unwrap()).count(8).noise(Noise::Std(0.05));
        let selection = run(&task, &plan);
        assert_greedy(rule, Oracle::new(&Linear, &s, &a, &[], 0.0025), &selection, 1e-7);
        if rule.starts_with("itl") {
            let mut first = selection.rows()[..4].to_vec();
            first.sort_unstable();
            assert_eq!(first, [10, 11, 12, 13], "the targets themselves tell most");
        }
    }
}

#[test]
fn one_target_one_row_one_dimension() {
    let task_pool = [2.0];
    let target = [-1.0];
    let task = Task::new(points(&task_pool, 1), points(&target, 1));
    for entry in homing::STRATEGIES.iter().filter(|e| !homing::Strategy::from(*e).needs_probabilities()) {
        let selection = run(&task, &Plan::default().strategy(entry.into()));
        assert_eq!(selection.rows(), [0], "{}", entry.name);
    }
}

/// VTL's score is the variance that the pick removes from the targets, whatever was subtracted before.
#[test]
fn vtl_scores_near_duplicates_by_what_they_take() {
    for seed in 0..20 {
        let mut rng = rng(seed);
        let centres = uniform_rows(&mut rng, 5, 7);
        let noise = uniform_rows(&mut rng, 16, 7);
        let s: Vec<Vec<f64>> = (0..16)
            .map(|i| centres[i % 5].iter().zip(&noise[i]).map(|(c, e)| 1000.0 * (c + 1e-7 * e)).collect())
            .collect();
        let a: Vec<Vec<f64>> =
            uniform_rows(&mut rng, 6, 7).into_iter().map(|row| row.into_iter().map(|x| 1000.0 * x).collect()).collect();
        let (pool, target) = (view(&s), view(&a));
        let task = Task::new(points(&pool, 7), points(&target, 7));
        for std in [1e-4, 1e-2, 1.0] {
            let plan = Plan::default().strategy("vtl".parse().unwrap()).count(15).noise(Noise::Std(std));
            let total: f64 = target.iter().map(|x| x * x).sum();
            let mut left = total;
            for pick in run(&task, &plan).picks {
                let now = pick.variance_left.unwrap() * total;
                let removed = left - now;
                assert!((pick.score - removed).abs() < 1e-9 * total, "seed {seed} ρ {std}: {pick:?} removed {removed}");
                left = now;
            }
        }
    }
}

#[test]
fn noise_far_above_the_signal_leaves_the_order_intact() {
    let pool = [1.0, 0.0, 0.0, 2.0];
    let target = [0.0, 1.0];
    let task = Task::new(points(&pool, 2), points(&target, 2));
    for std in [1e2, 1e4, 1e5] {
        let pick = run(&task, &Plan::default().noise(Noise::Std(std))).picks[0];
        let want = 0.5 * 4.0 / std.powi(4);
        assert_eq!(pick.row, 1, "ρ = {std}");
        assert!((pick.score / want - 1.0).abs() < 1e-3, "ρ = {std}: {} {want}", pick.score);
    }
}

#[test]
fn a_target_given_twice_counts_twice_under_every_kernel() {
    let pool: Vec<f64> = (0..16).map(|i| f64::from(u8::from(i % 5 == 0))).collect();
    let targets = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
    let kernel = homing::Gaussian::new(1.0).unwrap();
    let task = Task::new(points(&pool, 4), points(&targets, 4)).kernel(&kernel);
    let pick = run(&task, &Plan::default().noise(Noise::Std(1e-6))).picks[0];
    assert_eq!(pick.row, 1, "row 1 is the target that occurs twice");
}

#[test]
fn equal_cosines_are_a_tie_although_their_last_digits_differ() {
    let mut rng = rng(30);
    let pool: Vec<f64> = uniform_rows(&mut rng, 40, 1).into_iter().map(|row| row[0].abs() + 0.1).collect();
    let targets = [0.3, -0.7, 0.9];
    let task = Task::new(points(&pool, 1), points(&targets, 1));
    let selection = run(&task, &Plan::default().strategy("cosine".parse().unwrap()).count(40));
    assert_eq!(selection.rows(), (0..40).collect::<Vec<_>>());
}
