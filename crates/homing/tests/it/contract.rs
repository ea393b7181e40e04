//! The same checks for every row of the strategy table.

use homing::rules::{Candidate, Rule, TargetNoise, Wants};
use homing::{
    BatchMethod, Embeddings, EndReason, Engine, Error, PickMethod, Plan, STRATEGIES, Selection, Strategy, Task,
};

use crate::oracle::{points, rng, run, uniform_rows, view};

struct Data {
    pool: Vec<f64>,
    targets: Vec<f64>,
    probabilities: Vec<f64>,
}

const DIM: usize = 6;

fn data(rows: usize) -> Data {
    let mut rng = rng(42);
    let pool = view(&uniform_rows(&mut rng, rows, DIM));
    let targets = view(&uniform_rows(&mut rng, 4, DIM));
    let probabilities = uniform_rows(&mut rng, rows, 3)
        .into_iter()
        .flat_map(|logits| {
            let sum: f64 = logits.iter().map(|l| (3.0 * l).exp()).sum();
            logits.into_iter().map(move |l| (3.0 * l).exp() / sum)
        })
        .collect();
    Data { pool, targets, probabilities }
}

impl Data {
    fn task(&self) -> Task<'_> {
        Task::new(points(&self.pool, DIM), points(&self.targets, DIM))
            .probabilities(Embeddings::new(&self.probabilities[..], 3).unwrap())
    }
}

/// ITL as a user-defined rule.
struct Own;

impl Rule for Own {
    fn wants(&self) -> Wants {
        Wants { var: true, var_given_targets: Some(TargetNoise::Noisy), ..Wants::default() }
    }

    fn score(&self, x: &Candidate<'_>) -> f64 {
        0.5 * ((x.var + x.noise_var) / (x.var_given_targets + x.noise_var)).ln()
    }
}

#[test]
fn a_user_defined_rule_picks_as_a_named_one_does() {
    let data = data(40);
    let own = Strategy::new("own", Own, BatchMethod::Sequential, PickMethod::Largest);
    let named = run(&data.task(), &plan(&"itl".parse().unwrap(), 12));
    assert_eq!(run(&data.task(), &plan(&own, 12)).rows(), named.rows());
}

fn strategies() -> impl Iterator<Item = Strategy> {
    STRATEGIES.iter().map(Strategy::from)
}

fn plan(strategy: &Strategy, count: usize) -> Plan {
    Plan::default().strategy(strategy.clone()).count(count).seed(5)
}

/// The plan under each engine. Small pools would otherwise use only the plain one.
fn plans(strategy: &Strategy, count: usize) -> [Plan; 2] {
    [Engine::Plain, Engine::Speculative].map(|engine| plan(strategy, count).engine(engine))
}

fn check_selection(selection: &Selection, count: usize, name: &str) {
    assert_eq!(selection.picks.len(), count, "{name}");
    assert_eq!(selection.end_reason, EndReason::Count);
    let mut distinct = selection.rows();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), count, "{name} repeats a row");
    for (i, pick) in selection.picks.iter().enumerate() {
        assert_eq!(pick.rank, i + 1);
        assert!(pick.score.is_finite() && pick.information.is_finite(), "{name}: {pick:?}");
        assert!(pick.information >= 0.0);
        assert!(pick.variance_left.is_none_or(|left| (0.0..=1.0).contains(&left)), "{name}: {pick:?}");
    }
    assert!(selection.picks.is_sorted_by(|a, b| a.information <= b.information), "{name}: information never decreases");
}

#[test]
fn same_seed_same_batch_and_a_smaller_batch_is_a_prefix() {
    let data = data(600);
    for strategy in strategies() {
        for (long, short) in plans(&strategy, 12).iter().zip(&plans(&strategy, 5)) {
            let selection = run(&data.task(), long);
            check_selection(&selection, 12, strategy.name());
            assert_eq!(selection, run(&data.task(), long), "{strategy:?}");
            assert_eq!(selection.rows()[..5], run(&data.task(), short).rows(), "{strategy:?}");
        }
    }
}

#[test]
fn one_thread_equals_many() {
    let data = data(2000);
    for strategy in strategies() {
        for plan in plans(&strategy, 8) {
            let on = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| run(&data.task(), &plan))
            };
            assert_eq!(on(1), on(3), "{strategy:?}");
        }
    }
}

#[test]
fn a_batch_as_large_as_the_pool() {
    let data = data(40);
    for strategy in strategies() {
        for plan in plans(&strategy, 40) {
            check_selection(&run(&data.task(), &plan), 40, strategy.name());
        }
    }
}

#[test]
fn duplicates_and_zero_vectors_survive() {
    let mut data = data(40);
    let first = data.pool[..DIM].to_vec();
    for row in [7, 8, 30] {
        data.pool[row * DIM..(row + 1) * DIM].copy_from_slice(&first);
    }
    for row in [11, 12] {
        data.pool[row * DIM..(row + 1) * DIM].fill(0.0);
    }
    data.targets[..DIM].fill(0.0);
    for strategy in strategies() {
        for plan in plans(&strategy, 40) {
            check_selection(&run(&data.task(), &plan), 40, strategy.name());
        }
    }
    data.pool.fill(0.0);
    for strategy in strategies() {
        for plan in plans(&strategy, 40) {
            check_selection(&run(&data.task(), &plan), 40, strategy.name());
        }
    }
}

#[test]
fn what_a_strategy_says_it_needs_is_what_it_refuses_to_miss() {
    let data = data(20);
    let task = |targets: bool, probabilities: bool| {
        let whole = data.task();
        whole.targets(whole.targets.filter(|_| targets)).probabilities(whole.probabilities.filter(|_| probabilities))
    };
    for strategy in strategies() {
        let plan = plan(&strategy, 3);
        let outcome = |targets, probabilities| homing::select(&task(targets, probabilities), &plan).map(|_| ());
        let name = strategy.name();
        let without_targets = if strategy.needs_targets() { Err(Error::NeedsTargets { rule: name }) } else { Ok(()) };
        assert_eq!(outcome(false, true), without_targets);
        let without =
            if strategy.needs_probabilities() { Err(Error::NeedsProbabilities { rule: name }) } else { Ok(()) };
        assert_eq!(outcome(true, false), without);
    }
}

#[test]
fn a_seed_matters_exactly_where_chance_is() {
    let data = data(200);
    for strategy in strategies() {
        let with = |seed| run(&data.task(), &plan(&strategy, 6).seed(seed)).rows();
        let chance = ["k-means++", "badge", "random"].contains(&strategy.name());
        assert_eq!(with(1) != with(2), chance, "{strategy:?}");
    }
}

#[test]
fn progress_receives_every_pick_and_may_stop() {
    let data = data(50);
    for strategy in strategies() {
        let mut received = Vec::new();
        let selection = homing::select_with(&data.task(), &plan(&strategy, 9), |progress| {
            received.push(*progress.pick);
            if received.len() == 4 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
        })
        .unwrap();
        assert_eq!((selection.picks, selection.end_reason), (received, EndReason::Progress), "{strategy:?}");
    }
}
