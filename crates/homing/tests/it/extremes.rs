//! Numbers near the limits of double precision: the same picks as for numbers near one, or a clear refusal.

use std::ops::ControlFlow;

use homing::{
    Embeddings, Engine, Error, Gaussian, Greedy, Kernel, Laplace, Linear, Matern, Noise, Plan, Precomputed, Product,
    STRATEGIES, Selection, Strategy, TargetSampling, Task, kernel_named, select, select_with,
};

use crate::oracle::{points, rng, run, uniform_rows, view};

const DIM: usize = 4;

fn refused(task: &Task<'_>, plan: &Plan) -> String {
    let error = select(task, plan).unwrap_err();
    let message = error.to_string();
    assert!(!message.contains('\n') && !message.contains(". "), "one sentence: {message}");
    message
}

fn strategies() -> impl Iterator<Item = Strategy> {
    STRATEGIES.iter().map(Strategy::from)
}

fn scaled(rows: &[f64], factor: f64) -> Vec<f64> {
    rows.iter().map(|x| x * factor).collect()
}

/// A kernel for points that are `factor` times larger.
fn kernel_at(name: &str, factor: f64) -> Box<dyn Kernel> {
    match name {
        "linear" => Box::new(Linear),
        "gaussian" => Box::new(Gaussian::new(1.5 * factor).unwrap()),
        "laplace" => Box::new(Laplace::new(1.5 * factor).unwrap()),
        "matern 1.5" => Box::new(Matern::new(1.5, 1.5 * factor).unwrap()),
        "matern 0.7" => Box::new(Matern::new(0.7, 1.5 * factor).unwrap()),
        _ => Box::new(Product::new(1, false)),
    }
}

/// Powers of two scale every number exactly, so all variances are those of size one times the squared factor.
#[test]
fn picks_do_not_depend_on_the_unit_of_the_embeddings() {
    let mut rng = rng(3);
    let (pool, targets) = (view(&uniform_rows(&mut rng, 40, DIM)), view(&uniform_rows(&mut rng, 3, DIM)));
    let probabilities: Vec<f64> = (0..40).flat_map(|i| [0.01 * f64::from(i), 1.0 - 0.01 * f64::from(i)]).collect();
    for name in ["linear", "gaussian", "laplace", "matern 1.5", "matern 0.7", "product"] {
        for strategy in strategies() {
            // Loss gradients have a bias, and therefore a unit.
            if strategy.makes_loss_gradients() {
                continue;
            }
            let at = |exponent: i32| {
                let factor = 2f64.powi(exponent);
                let (pool, targets) = (scaled(&pool, factor), scaled(&targets, factor));
                let kernel = kernel_at(name, factor);
                // A variance of this kernel is proportional to the fourth power of the unit.
                let unit = if name == "product" { factor * factor } else { factor };
                let prior = if name == "linear" || name == "product" { unit } else { 1.0 };
                let task = Task::new(points(&pool, DIM), points(&targets, DIM))
                    .kernel(&*kernel)
                    .probabilities(Embeddings::new(&probabilities[..], 2).unwrap());
                let plan = Plan::default().strategy(strategy.clone()).count(12).noise(Noise::Std(0.3 * prior));
                let selection = run(&task, &plan);
                assert!(selection.picks.iter().all(|pick| pick.score.is_finite()), "{name} {strategy:?} 2^{exponent}");
                selection
            };
            let want = at(0);
            for exponent in [-160i32, -100, -40, 40, 100, 160] {
                if name == "product" && exponent.abs() > 80 {
                    continue;
                }
                let got = at(exponent);
                assert_eq!(got.rows(), want.rows(), "{name} {strategy:?} 2^{exponent}");
                for (a, b) in got.picks.iter().zip(&want.picks) {
                    assert!((a.information - b.information).abs() < 1e-9, "{name} {strategy:?} 2^{exponent}");
                }
            }
        }
    }
}

#[test]
fn sizes_beyond_the_range_are_refused_with_the_range_under_every_rule_and_kernel() {
    let mut rng = rng(4);
    let (pool, targets) = (view(&uniform_rows(&mut rng, 20, DIM)), view(&uniform_rows(&mut rng, 3, DIM)));
    let probabilities: Vec<f64> = [0.4, 0.6].repeat(20);
    for factor in [1e-320, 1e-170, 1e-90, 1e-60, 1e60, 1e77, 1e153, 1e160, 1e300] {
        let (large_pool, large_targets) = (scaled(&pool, factor), scaled(&targets, factor));
        for strategy in strategies() {
            let plan = Plan::default().strategy(strategy).count(3);
            let ordinary = Task::new(points(&pool, DIM), points(&targets, DIM))
                .probabilities(Embeddings::new(&probabilities[..], 2).unwrap());
            let message = refused(&ordinary.pool(points(&large_pool, DIM)), &plan);
            for word in ["of the pool has norm", "between 1e-50 and 1e50", "multiply pool, targets"] {
                assert!(message.contains(word), "{factor} {plan:?}: {message}");
            }
            let message = refused(&ordinary.targets(Some(points(&large_targets, DIM))), &plan);
            assert!(message.contains("of the targets has norm"), "{factor} {plan:?}: {message}");
            let observed_points = Some(points(&large_targets, DIM));
            if !plan.strategy.makes_loss_gradients() {
                let message = refused(&ordinary.observed_points(observed_points), &plan);
                assert!(message.contains("of the observed points has norm"), "{factor} {plan:?}: {message}");
            }
            if factor > 1.0 {
                for name in ["gaussian", "laplace", "matern 1.5", "matern 0.7", "product"] {
                    let kernel = kernel_at(name, 1.0);
                    let task = ordinary.kernel(&*kernel).pool(points(&large_pool, DIM));
                    assert!(
                        refused(&task, &plan).contains("must lie between 1e-50 and 1e50"),
                        "{name} {factor} {plan:?}"
                    );
                }
            }
        }
    }
}

/// A row whose square underflows counts like a row of zeros.
#[test]
fn a_tiny_row_counts_like_a_zero_row() {
    let mut rng = rng(5);
    let mut pool = view(&uniform_rows(&mut rng, 30, DIM));
    let targets = view(&uniform_rows(&mut rng, 3, DIM));
    let mut zeros = pool.clone();
    for (row, factor) in [(3, 1e-155), (4, 1e-158), (5, 1e-161), (6, 1e-200)] {
        for (i, a) in targets[..DIM].iter().enumerate() {
            pool[row * DIM + i] = a * factor;
            zeros[row * DIM + i] = 0.0;
        }
    }
    // Distances between tiny rows are still distances.
    let by_distance = ["max-dist", "k-means++"];
    let kept = |strategy: &Strategy| !strategy.needs_probabilities() && !by_distance.contains(&strategy.name());
    for strategy in strategies().filter(kept) {
        for engine in [Engine::Plain, Engine::Speculative] {
            let plan = Plan::default().strategy(strategy.clone()).count(30).engine(engine);
            let of = |pool: &[f64]| run(&Task::new(points(pool, DIM), points(&targets, DIM)), &plan);
            assert_eq!(of(&pool).rows(), of(&zeros).rows(), "{strategy:?} {engine:?}");
        }
    }
}

#[test]
fn a_noise_so_large_that_every_score_is_zero_is_refused() {
    let mut rng = rng(6);
    let (pool, targets) = (view(&uniform_rows(&mut rng, 20, DIM)), view(&uniform_rows(&mut rng, 3, DIM)));
    let task = Task::new(points(&pool, DIM), points(&targets, DIM));
    let plan = |rule: &str, std: f64| Plan::default().strategy(rule.parse().unwrap()).count(3).noise(Noise::Std(std));
    for rule in ["itl", "itl-value", "itl-top-b"] {
        for std in [1e8, 1e12, 1e16, 1e25] {
            let message = refused(&task, &plan(rule, std));
            assert!(message.contains("the noise is") && message.contains("every score would be zero"), "{message}");
        }
        assert!(run(&task, &plan(rule, 1e5)).picks[0].score > 0.0);
        for greedy in [Greedy::Stochastic { epsilon: 0.5 }, Greedy::Partitioned { parts: 2 }] {
            if rule != "itl-top-b" {
                let message = refused(&task, &plan(rule, 1e12).greedy(greedy));
                assert!(message.contains("every score would be zero"), "{message}");
            }
        }
    }
    // These rules read covariances, which do not vanish next to the noise; the oracle is the order without conditioning.
    for rule in ["vtl", "itl-exact", "ctl", "undirected-itl"] {
        let far: Vec<usize> = run(&task, &plan(rule, 1e20)).rows();
        let further: Vec<usize> = run(&task, &plan(rule, 1e25)).rows();
        assert_eq!(far, further, "{rule}");
        assert!(run(&task, &plan(rule, 1e25)).picks[0].score > 0.0, "{rule}");
    }
    for (std, words) in [
        (1e40, "more than 10³⁰ times larger than the embeddings"),
        (1e-20, "more than 10¹⁵ times smaller than the embeddings"),
        (1e160, "it must lie between 1e-70 and 1e70"),
        (0.0, "it must be a positive number"),
    ] {
        let message = refused(&task, &plan("vtl", std));
        assert!(message.contains(words), "{std}: {message}");
    }
}

/// A part of the pool may be far smaller than the noise, which is that of the whole pool.
#[test]
fn parts_are_not_measured_by_the_noise_of_the_whole() {
    let mut rng = rng(7);
    let mut pool = view(&uniform_rows(&mut rng, 12, DIM));
    pool[DIM..].iter_mut().for_each(|x| *x *= 1e-40);
    let targets = view(&uniform_rows(&mut rng, 2, DIM));
    let task = Task::new(points(&pool, DIM), points(&targets, DIM));
    for rule in ["itl", "vtl", "undirected-itl"] {
        let greedy = Greedy::Partitioned { parts: 6 };
        let plan = Plan::default().strategy(rule.parse().unwrap()).count(2).greedy(greedy);
        assert_eq!(run(&task, &plan).rows()[0], 0, "{rule}");
    }
}

#[test]
fn costs_that_scores_cannot_be_divided_by_are_refused() {
    let mut rng = rng(8);
    let (pool, targets) = (view(&uniform_rows(&mut rng, 5, DIM)), view(&uniform_rows(&mut rng, 2, DIM)));
    for (cost, words) in [
        (1e-320, "it must lie between 1e-50 and 1e50"),
        (1e300, "it must lie between 1e-50 and 1e50"),
        (f64::INFINITY, "it must lie between 1e-50 and 1e50"),
        (0.0, "it must be a positive number"),
        (f64::NAN, "it must be a positive number"),
    ] {
        let costs = [1.0, 1.0, 1.0, cost, 1.0];
        let task = Task::new(points(&pool, DIM), points(&targets, DIM)).costs(&costs);
        let message = refused(&task, &Plan::default());
        assert!(message.starts_with("row 3 of the costs is") && message.contains(words), "{message}");
    }
    // A common unit of all costs changes no pick.
    let costs = [3.0, 1.0, 2.0, 5.0, 4.0];
    let picks = |unit: f64| {
        let costs = scaled(&costs, unit);
        let task = Task::new(points(&pool, DIM), points(&targets, DIM)).costs(&costs);
        run(&task, &Plan::default().count(5)).rows()
    };
    assert_eq!(picks(2f64.powi(-150)), picks(1.0));
    assert_eq!(picks(2f64.powi(150)), picks(1.0));
}

#[test]
fn an_indefinite_kernel_matrix_is_refused_by_row() {
    // A cycle of five rows that correlate with their neighbours: the matrix has the eigenvalue 1 + 2·0.9·cos(4π/5) = −0.46.
    let similarity = |i: usize, j: usize| match (5 + i - j) % 5 {
        0 => 1.0,
        1 | 4 => 0.9,
        _ => 0.0,
    };
    for (copies, engine) in [(1, Engine::Plain), (200, Engine::Auto), (200, Engine::Plain)] {
        let rows = 5 * copies;
        let all = rows + 1;
        // The target correlates with the first row; the cycles are independent of each other.
        let entry = |i: usize, j: usize| match (i.min(j), i.max(j)) {
            (i, j) if j == rows => f64::from(u8::from(i == rows)) + if i == 0 { 0.5 } else { 0.0 },
            (i, j) if i / 5 == j / 5 => similarity(j % 5, i % 5),
            _ => 0.0,
        };
        let matrix: Vec<f64> = (0..all * all).map(|at| entry(at / all, at % all)).collect();
        let kernel = Precomputed::new(Embeddings::new(&matrix[..], all).unwrap()).unwrap();
        let (pool, targets) = (Precomputed::points(0..rows), Precomputed::points(rows..all));
        let task = Task::new(points(&pool, 1), points(&targets, 1)).kernel(&kernel);
        for rule in ["itl", "vtl", "undirected-itl"] {
            let plan = Plan::default().strategy(rule.parse().unwrap()).count(rows).engine(engine);
            let message = refused(&task, &plan);
            assert!(message.contains("of the pool has the variance -0."), "{rule}: {message}");
            assert!(
                message.contains("not positive semi-definite") && message.contains("raise `Plan::noise`"),
                "{rule}: {message}"
            );
            // Adding the eigenvalue's size to the diagonal makes the matrix a covariance, and so does noise of that size.
            assert!(run(&task, &plan.clone().noise(Noise::Std(1.0))).picks.len() == rows, "{rule}");
        }
        for greedy in [Greedy::Stochastic { epsilon: 0.01 }, Greedy::Partitioned { parts: 1 }] {
            let plan = Plan::default().strategy("undirected-itl".parse().unwrap()).count(rows).greedy(greedy);
            assert!(refused(&task, &plan).contains("not positive semi-definite"), "{greedy:?}");
        }
    }
    // If the targets alone have no valid covariance, variances are negative from the start.
    let entry = |i: usize, j: usize| match (i.min(j), i.max(j)) {
        (0, j) => f64::from(u8::from(j == 0)),
        (i, j) => similarity(j - 1, i - 1),
    };
    let matrix: Vec<f64> = (0..36).map(|at| entry(at / 6, at % 6)).collect();
    let kernel = Precomputed::new(Embeddings::new(&matrix[..], 6).unwrap()).unwrap();
    let (pool, targets) = (Precomputed::points(0..1), Precomputed::points(1..6));
    let task = Task::new(points(&pool, 1), points(&targets, 1)).kernel(&kernel);
    let message = refused(&task, &Plan::default());
    assert!(message.starts_with("one of the targets and labelled rows has the variance"), "{message}");
}

#[test]
fn points_that_a_kernel_does_not_accept_are_refused() {
    let matrix = [1.0, 0.5, 0.5, 1.0];
    let kernel = Precomputed::new(Embeddings::new(&matrix[..], 2).unwrap()).unwrap();
    for (pool, words) in
        [([0.0, 2.0], "row 1 of the pool is not a valid point"), ([0.0, 0.5], "row 1"), ([-1.0, 0.0], "row 0")]
    {
        let task = Task::undirected(points(&pool, 1)).kernel(&kernel);
        let message = refused(&task, &Plan::default().strategy("undirected-itl".parse().unwrap()));
        assert!(message.contains(words) && message.contains("the number of its row"), "{message}");
    }
    let product = Product::new(3, true);
    let pool = [1.0, 2.0];
    let task = Task::undirected(points(&pool, 2)).kernel(&product);
    assert!(refused(&task, &Plan::default().strategy("max-dist".parse().unwrap())).contains("not a valid point"));
}

#[test]
fn kernel_parameters_beyond_their_range_are_refused_with_the_range() {
    for (name, words) in [
        ("gaussian:1e160", "the length scale is 1e160; it must lie between 1e-50 and 1e50"),
        ("laplace:1e-160", "it must lie between 1e-50 and 1e50"),
        ("matern:1.5:1e300", "it must lie between 1e-50 and 1e50"),
        ("matern:1e-9:1", "below 0.01"),
        ("matern:1e9:1", "above 50"),
        ("gaussian:0", "it must be a positive number"),
        ("gaussian:-1", "it must be a positive number"),
        ("gaussian:nan", "it must be a positive number"),
    ] {
        let Err(error) = kernel_named(name, 0) else { panic!("{name} is not a kernel") };
        assert!(error.to_string().contains(words), "{name}: {error}");
    }
    for beta in [0.0, -1.0, 101.0, f64::INFINITY, f64::NAN] {
        assert!(matches!(Strategy::information_density(beta), Err(Error::Setting { .. })));
    }
}

#[test]
fn excessive_counts_are_refused_and_take_no_memory() {
    let mut rng = rng(9);
    let (pool, targets) = (view(&uniform_rows(&mut rng, 6, DIM)), view(&uniform_rows(&mut rng, 2, DIM)));
    let task = Task::new(points(&pool, DIM), points(&targets, DIM));
    for count in [100_000_001, 1_000_000_000_000, usize::MAX] {
        for repeat in [false, true] {
            let message = refused(&task, &Plan::default().count(count).repeat(repeat));
            assert_eq!(
                message,
                format!("{count} picks were requested, but one call allows at most 100000000; request fewer")
            );
        }
        let weights = vec![1.0, 2.0];
        let target_sampling = TargetSampling::Weighted { weights, size: count };
        let message = refused(&task, &Plan::default().target_sampling(target_sampling));
        assert!(message.contains("draws of targets were requested"), "{message}");
        for target_sampling in
            [TargetSampling::Size(count), TargetSampling::MaxDet(count), TargetSampling::MaxDist(count)]
        {
            assert!(refused(&task, &Plan::default().target_sampling(target_sampling)).contains("cannot pick"));
        }
        let greedy = Greedy::Partitioned { parts: count };
        assert!(refused(&task, &Plan::default().greedy(greedy)).contains("the number of parts"));
    }
    assert!(refused(&task, &Plan::default().earlier_picks(usize::MAX)).contains("picks made before"));
    // The largest number of picks that may be requested takes no memory in advance.
    let plan = Plan::default().count(100_000_000).repeat(true).picks_per_round(usize::MAX);
    let stopped = |_: homing::Progress<'_>| ControlFlow::Break(());
    let Selection { picks, .. } = select_with(&task, &plan, stopped).unwrap();
    assert_eq!(picks.len(), 1);
    for greedy in [Greedy::Exact, Greedy::Stochastic { epsilon: 1e-300 }] {
        let rounds = Plan::default().count(6).picks_per_round(usize::MAX).greedy(greedy);
        assert_eq!(run(&task, &rounds).picks.len(), 6);
    }
}

#[test]
fn target_weights_whose_sum_overflows_are_drawn_by_their_shares() {
    let mut rng = rng(10);
    let (pool, targets) = (view(&uniform_rows(&mut rng, 30, DIM)), view(&uniform_rows(&mut rng, 4, DIM)));
    let task = Task::new(points(&pool, DIM), points(&targets, DIM));
    let picks = |unit: f64| {
        let weights = vec![0.75 * unit, 0.5 * unit, unit, 0.25 * unit];
        let target_sampling = TargetSampling::Weighted { weights, size: 2 };
        run(&task, &Plan::default().count(10).picks_per_round(1).target_sampling(target_sampling)).rows()
    };
    let want = picks(1.0);
    for exponent in [1023, 900, -900, -1020] {
        assert_eq!(picks(2f64.powi(exponent)), want, "2^{exponent}");
    }
    let drawn = |weights: Vec<f64>| {
        let target_sampling = TargetSampling::Weighted { weights, size: 2 };
        refused(&task, &Plan::default().target_sampling(target_sampling))
    };
    assert!(drawn(vec![1.0, f64::NAN, 1.0, 1.0]).starts_with("row 1 of the target weights is NaN"));
    assert!(drawn(vec![1.0, 1.0, f64::INFINITY, 1.0]).starts_with("row 2 of the target weights is inf"));
    assert!(drawn(vec![0.0; 4]).contains("not all zero"));
}

#[test]
fn invalid_probabilities_are_named_by_the_input_they_belong_to() {
    let (embeddings, good, bad) = ([1.0, 2.0], [0.3, 0.7, 0.4, 0.6], [0.3, 0.7, f64::NAN, 0.6]);
    let rows = Embeddings::new(&embeddings[..], 1).unwrap();
    let gradients = |probabilities: &'static [f64; 4]| {
        homing::Points::loss_gradient(rows, Embeddings::new(&probabilities[..], 2).unwrap()).unwrap()
    };
    let [good, bad]: [&'static [f64; 4]; 2] = [good, bad].map(|values| &*Box::leak(Box::new(values)));
    let kernel = Product::new(2, true);
    let message = |pool, targets| {
        let task = Task::new(gradients(pool), gradients(targets)).kernel(&kernel);
        refused(&task, &Plan::default())
    };
    assert!(message(good, bad).starts_with("row 1 of the target probabilities holds"), "{}", message(good, bad));
    assert!(message(bad, good).starts_with("row 1 of the probabilities holds"), "{}", message(bad, good));
}
