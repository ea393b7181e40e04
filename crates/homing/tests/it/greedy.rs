//! Picks with less work: their guarantees, and when they are the exact ones.

use homing::{Embeddings, Error, Gaussian, Greedy, Noise, Plan, Selection, Task};
use rand::RngExt;

use crate::oracle::{rng, run};

const DIM: usize = 12;

fn data(seed: u64, rows: usize) -> Vec<f64> {
    let mut rng = rng(seed);
    (0..rows * DIM).map(|_| rng.random_range(-1.0..1.0)).collect()
}

fn plan(rule: &str, count: usize, greedy: Greedy) -> Plan {
    Plan::default().strategy(rule.parse().unwrap()).count(count).greedy(greedy).noise(Noise::Std(0.5))
}

fn with<T>(rows: usize, f: impl Fn(&Task<'_>) -> T) -> T {
    let (pool, targets) = (data(1, rows), data(2, 6));
    let targets = Embeddings::new(&targets[..], DIM).unwrap();
    f(&Task::new(Embeddings::new(&pool[..], DIM).unwrap(), targets))
}

fn information(selection: &Selection) -> f64 {
    selection.picks.last().unwrap().information
}

#[test]
fn a_sample_of_everything_and_one_part_are_exact() {
    with(300, |task| {
        for rule in ["itl", "itl-exact", "itl-value", "vtl", "ctl", "undirected-itl", "max-dist"] {
            let exact = run(task, &plan(rule, 12, Greedy::Exact)).rows();
            // ln(1/ε)·m/n ≥ m once ε ≤ e⁻ⁿ.
            let all = Greedy::Stochastic { epsilon: 1e-6 };
            assert_eq!(run(task, &plan(rule, 12, all)).rows(), exact, "{rule}");
            assert_eq!(run(task, &plan(rule, 12, Greedy::Partitioned { parts: 1 })).rows(), exact, "{rule}");
        }
        let gaussian = Gaussian::new(2.0).unwrap();
        let task = task.kernel(&gaussian).observed_rows(&[4, 9]);
        let exact = run(&task, &plan("itl", 8, Greedy::Exact)).rows();
        assert_eq!(run(&task, &plan("itl", 8, Greedy::Stochastic { epsilon: 1e-6 })).rows(), exact);
        assert_eq!(run(&task, &plan("itl", 8, Greedy::Partitioned { parts: 1 })).rows(), exact);
    });
}

#[test]
fn the_guarantee_holds_on_average() {
    with(3000, |task| {
        let (count, epsilon, seeds) = (15, 0.2, 8);
        let exact = information(&run(task, &plan("itl", count, Greedy::Exact)));
        let mean = |greedy| {
            let of = |seed| information(&run(task, &plan("itl", count, greedy).seed(seed)));
            (0..seeds).map(of).sum::<f64>() / seeds as f64
        };
        // The guarantee is relative to the optimum, which exact greedy nearly reaches here; both do far better than
        // guaranteed.
        let stochastic = mean(Greedy::Stochastic { epsilon });
        let partitioned = mean(Greedy::Partitioned { parts: 7 });
        assert!((0.85..1.0).contains(&(stochastic / exact)), "{stochastic} of {exact}");
        assert!((0.9..=1.0 + 1e-9).contains(&(partitioned / exact)), "{partitioned} of {exact}");
    });
}

#[test]
fn samples_are_counted_as_shares_of_a_pass() {
    with(1000, |task| {
        for (epsilon, count) in [(0.5, 10), (0.1, 10), (0.01, 20)] {
            // Each of n picks reads ⌈(m/n)·ln(1/ε)⌉ rows; one pass before them finds the noise.
            let sample = (1000.0 / count as f64 * f64::ln(1.0 / epsilon)).ceil() as usize;
            let want = 1 + (count * sample).div_ceil(1000);
            assert_eq!(run(task, &plan("itl", count, Greedy::Stochastic { epsilon })).passes, want, "ε = {epsilon}");
        }
    });
}

#[test]
fn seeds_decide_and_threads_do_not() {
    with(2000, |task| {
        for greedy in [Greedy::Stochastic { epsilon: 0.3 }, Greedy::Partitioned { parts: 3 }] {
            let plan = plan("vtl", 10, greedy);
            let on = |threads: usize, seed: u64| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| run(task, &plan.clone().seed(seed)))
            };
            assert_eq!(on(1, 5), on(3, 5));
            assert_ne!(on(1, 5).rows(), on(1, 6).rows());
        }
    });
}

#[test]
fn limits_hold() {
    with(400, |task| {
        let forbidden: Vec<usize> = (0..200).collect();
        let (groups, costs) = ((0..400).map(|i| i % 4).collect::<Vec<_>>(), vec![1.5; 400]);
        let (groups, costs) = (Some(&groups[..]), Some(&costs[..]));
        let mut task = task.forbidden(&forbidden).observed_rows(&[210]);
        (task.groups, task.costs) = (groups, costs);
        for greedy in [Greedy::Stochastic { epsilon: 0.1 }, Greedy::Partitioned { parts: 4 }] {
            let plan = plan("itl", 20, greedy).quotas(vec![1, 2, 3]).budget(12.0);
            let picks = run(&task, &plan).rows();
            assert_eq!(picks.len(), 8, "the budget is enough for eight picks");
            assert!(picks.iter().all(|&row| row >= 200 && row != 210), "{picks:?}");
            let of = |group: usize| picks.iter().filter(|&&row| row % 4 == group).count();
            assert!(of(0) <= 1 && of(1) <= 2 && of(2) <= 3, "{picks:?}");
        }
    });
}

#[test]
fn invalid_requests_are_refused() {
    with(50, |task| {
        let refused = |rule: &str, greedy| homing::select(task, &plan(rule, 3, greedy)).unwrap_err();
        assert!(matches!(refused("random", Greedy::Stochastic { epsilon: 0.1 }), Error::NotGreedy { .. }));
        for epsilon in [0.0, 1.0, f64::NAN] {
            assert!(matches!(refused("itl", Greedy::Stochastic { epsilon }), Error::Setting { .. }));
        }
        for parts in [0, 51, usize::MAX] {
            assert!(matches!(refused("itl", Greedy::Partitioned { parts }), Error::Setting { .. }));
        }
        let many = plan("itl", 51, Greedy::Partitioned { parts: 2 });
        assert!(matches!(homing::select(task, &many), Err(Error::Count { .. })));
    });
}

#[test]
fn the_guarantee_is_a_sentence() {
    let guarantee = |rule: &str, greedy: Greedy| with(20, |task| greedy.guarantee(task, &plan(rule, 3, greedy)));
    assert_eq!(guarantee("itl", Greedy::Exact), None);
    let stochastic = guarantee("itl", Greedy::Stochastic { epsilon: 0.1 }).unwrap();
    assert!(stochastic.contains("0.59") && stochastic.contains("information"), "{stochastic}");
    assert!(guarantee("vtl", Greedy::Partitioned { parts: 8 }).unwrap().contains("0.32"));
    assert!(guarantee("ctl", Greedy::Partitioned { parts: 8 }).unwrap().contains("no guarantee"));
    let greedy = Greedy::Stochastic { epsilon: 0.1 };
    let limited = with(20, |task| greedy.guarantee(task, &plan("itl", 3, greedy).quotas(vec![2]))).unwrap();
    assert!(limited.contains("no guarantee") && limited.contains("quotas"), "{limited}");
}

/// Rows within a thousandth of the best are compared with it. In a sample, they have other positions than in the pool.
#[test]
fn a_sample_of_many_near_ties() {
    let mut rng = rng(3);
    let dim = 64;
    let pool: Vec<f64> = (0..9000 * dim).map(|_| rng.random_range(-1.0..1.0)).collect();
    let targets: Vec<f64> = (0..20 * dim).map(|_| rng.random_range(-1.0..1.0)).collect();
    let targets = Embeddings::new(&targets[..], dim).unwrap();
    let task = Task::new(Embeddings::new(&pool[..], dim).unwrap(), targets);
    for rule in ["itl", "vtl"] {
        let sampled = run(&task, &plan(rule, 60, Greedy::Stochastic { epsilon: 0.1 }));
        assert_eq!(sampled.picks.len(), 60);
    }
}

#[test]
fn a_part_may_hold_no_affordable_row() {
    with(100, |task| {
        let costs: Vec<f64> = (0..100).map(|row| if row % 50 == 0 { 0.5 } else { 10.0 }).collect();
        let task = task.costs(&costs);
        let plan = plan("itl", 5, Greedy::Partitioned { parts: 8 }).budget(1.0);
        let mut picks = run(&task, &plan).rows();
        picks.sort_unstable();
        assert_eq!(picks, [0, 50]);
    });
}
