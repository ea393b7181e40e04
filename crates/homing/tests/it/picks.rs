//! Picks agree with the oracle's.

use homing::{Gaussian, Kernel, Laplace, Linear, Matern, Noise, Plan, Points, Product, Scaled, Task};
use proptest::prelude::*;

use crate::oracle::{Oracle, assert_greedy, greedy, points, rng, run, uniform_rows, view};

const SEQUENTIAL: [&str; 7] = ["itl", "itl-exact", "itl-value", "vtl", "ctl", "undirected-itl", "uncertainty"];

proptest! {
    #![proptest_config(crate::oracle::cases(64))]

    #[test]
    fn random_inputs(
        seed in any::<u64>(), rows in 1usize..60, dim in 1usize..12, targets in 1usize..15, observed in 0usize..4,
        noise_ln in -4.0f64..1.0, rule in prop::sample::select(&SEQUENTIAL[..]),
    ) {
        let mut rng = rng(seed);
        let (s, a, d) =
            (uniform_rows(&mut rng, rows, dim), uniform_rows(&mut rng, targets, dim), uniform_rows(&mut rng, observed, dim));
        let (pool, target, seen) = (view(&s), view(&a), view(&d));
        let task = Task::new(points(&pool, dim), points(&target, dim)).observed_points((observed > 0).then(|| points(&seen, dim)));
        let std = 10f64.powf(noise_ln);
        let plan = Plan::default().strategy(rule.parse().unwrap()).count(rows.min(12)).noise(Noise::Std(std));
        assert_greedy(rule, Oracle::new(&Linear, &s, &a, &d, std * std), &run(&task, &plan), 1e-7 + 1e-12 / (std * std));
    }
}

#[test]
fn the_very_same_rows_for_every_sequential_rule() {
    for rule in SEQUENTIAL {
        for seed in 0..20 {
            let mut rng = rng(seed);
            let (s, a) = (uniform_rows(&mut rng, 150, 8), uniform_rows(&mut rng, 5, 8));
            let (pool, target) = (view(&s), view(&a));
            let task = Task::new(points(&pool, 8), points(&target, 8));
            let plan = Plan::default().strategy(rule.parse().unwrap()).count(15).noise(Noise::Std(0.3));
            let want = greedy(rule, Oracle::new(&Linear, &s, &a, &[], 0.09), 15);
            assert_eq!(run(&task, &plan).rows(), want, "{rule}, seed {seed}");
        }
    }
}

#[test]
fn every_kernel() {
    let kernels: [(&str, &dyn Kernel); 7] = [
        ("gaussian", &Gaussian::new(1.2).unwrap()),
        ("laplace", &Laplace::new(2.0).unwrap()),
        ("matern 1/2", &Matern::new(0.5, 1.0).unwrap()),
        ("matern 3/2", &Matern::new(1.5, 1.0).unwrap()),
        ("matern 1.1", &Matern::new(1.1, 1.5).unwrap()),
        ("product", &Product::new(3, true)),
        ("scaled", &Scaled::new(3, &[0.1, 2.0, 0.7, 0.3, 1.0, 0.2]).unwrap()),
    ];
    for (name, kernel) in kernels {
        for rule in SEQUENTIAL {
            let mut rng = rng(7);
            // More than one block of rows, to test that blocks are joined.
            let (s, a, d) =
                (uniform_rows(&mut rng, 300, 5), uniform_rows(&mut rng, 4, 5), uniform_rows(&mut rng, 2, 5));
            let (pool, target, seen) = (view(&s), view(&a), view(&d));
            let task = Task::new(points(&pool, 5), points(&target, 5)).kernel(kernel).observed_points(points(&seen, 5));
            let plan = Plan::default().strategy(rule.parse().unwrap()).count(8).noise(Noise::Std(0.2));
            let selection = run(&task, &plan);
            println!("{name} {rule}");
            assert_greedy(rule, Oracle::new(kernel, &s, &a, &d, 0.04), &selection, 1e-8);
        }
    }
}

#[test]
fn a_precomputed_matrix_gives_the_picks_of_its_kernel() {
    let mut rng = rng(3);
    let (s, a) = (uniform_rows(&mut rng, 40, 3), uniform_rows(&mut rng, 3, 3));
    let kernel = Gaussian::new(0.9).unwrap();
    let all: Vec<Vec<f64>> = [s.clone(), a.clone()].concat();
    let matrix = view(&crate::oracle::gram(&kernel, &all));
    let given = homing::Precomputed::new(homing::Embeddings::new(&matrix[..], 43).unwrap()).unwrap();
    let (rows, targets) = (homing::Precomputed::points(0..40), homing::Precomputed::points(40..43));
    let plan = Plan::default().count(10).noise(Noise::Std(0.1));
    let task = Task::new(points(&rows, 1), points(&targets, 1)).kernel(&given);
    let (pool, target) = (view(&s), view(&a));
    let direct = Task::new(points(&pool, 3), points(&target, 3)).kernel(&kernel);
    let (given, direct) = (run(&task, &plan), run(&direct, &plan));
    assert_eq!(given.rows(), direct.rows());
    assert!(given.picks.iter().zip(&direct.picks).all(|(a, b)| (a.score - b.score).abs() < 1e-13));
}

#[test]
fn loss_gradients_in_factored_form_pick_as_the_gradients_written_out() {
    let mut rng = rng(11);
    let (classes, features, rows) = (3, 4, 60);
    let hidden = uniform_rows(&mut rng, rows + 5, features);
    let probabilities: Vec<Vec<f64>> = uniform_rows(&mut rng, rows + 5, classes)
        .into_iter()
        .map(|logits| {
            let sum: f64 = logits.iter().map(|l| l.exp()).sum();
            logits.iter().map(|l| l.exp() / sum).collect()
        })
        .collect();
    let gradient = |i: usize| -> Vec<f64> {
        let most_likely = (0..classes).fold(0, |b, c| if probabilities[i][c] > probabilities[i][b] { c } else { b });
        (0..classes)
            .flat_map(|c| {
                let residual = probabilities[i][c] - f64::from(u8::from(c == most_likely));
                hidden[i].iter().copied().chain([1.0]).map(move |h| residual * h)
            })
            .collect()
    };
    let gradients: Vec<Vec<f64>> = (0..rows + 5).map(gradient).collect();
    let dim = gradients[0].len();
    let flat = view(&gradients);
    let (pool, targets) = flat.split_at(rows * dim);
    let (hidden, probabilities) = (view(&hidden), view(&probabilities));
    let part = |from: usize, to: usize| {
        Points::loss_gradient(
            homing::Embeddings::new(&hidden[from * features..to * features], features).unwrap(),
            homing::Embeddings::new(&probabilities[from * classes..to * classes], classes).unwrap(),
        )
        .unwrap()
    };
    let kernel = Product::new(classes, true);
    for rule in SEQUENTIAL {
        let plan = Plan::default().strategy(rule.parse().unwrap()).count(10).noise(Noise::Std(0.1));
        let dense = run(&Task::new(points(pool, dim), points(targets, dim)), &plan);
        let factored = run(&Task::new(part(0, rows), part(rows, rows + 5)).kernel(&kernel), &plan);
        assert_eq!(dense.rows(), factored.rows(), "{rule}");
    }
}

#[test]
fn noise_of_its_own_for_every_row() {
    let mut rng = rng(5);
    let (s, a) = (uniform_rows(&mut rng, 50, 4), uniform_rows(&mut rng, 3, 4));
    let (pool, target) = (view(&s), view(&a));
    // Two copies of the pool. The second is a hundred times noisier, so none of its rows is picked before its twin.
    let twice = [pool.clone(), pool.clone()].concat();
    let noise: Vec<f64> = (0..100).map(|i| if i < 50 { 0.01 } else { 1.0 }).collect();
    for rule in ["itl", "vtl", "undirected-itl"] {
        let plan = Plan::default().strategy(rule.parse().unwrap()).count(10).noise(Noise::Std(0.1));
        let task = Task::new(points(&twice, 4), points(&target, 4)).noise_vars(&noise);
        let both = run(&task, &plan);
        let uniform = run(&Task::new(points(&pool, 4), points(&target, 4)), &plan);
        assert_eq!(both.rows(), uniform.rows(), "{rule}");
    }
}

#[test]
fn observed_rows_count_as_observed_points_and_are_not_picked() {
    let mut rng = rng(9);
    let s = uniform_rows(&mut rng, 80, 6);
    let a = uniform_rows(&mut rng, 4, 6);
    let (pool, target) = (view(&s), view(&a));
    let labelled = [3usize, 40, 77];
    let seen: Vec<f64> = labelled.iter().flat_map(|&i| s[i].clone()).collect();
    let plan = Plan::default().count(12).noise(Noise::Std(0.2));
    let base = Task::new(points(&pool, 6), points(&target, 6));
    let by_row = run(&base.observed_rows(&labelled), &plan);
    let by_point = run(&base.observed_points(points(&seen, 6)).forbidden(&labelled), &plan);
    assert_eq!(by_row, by_point);
    assert!(by_row.rows().iter().all(|i| !labelled.contains(i)));
}
