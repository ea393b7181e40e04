//! The same questions to every row of the strategy table.

use homing::rules::{Candidate, Rule, TargetNoise, Wants};
use homing::{Batch, Choice, Embeddings, Ended, Engine, Error, Plan, STRATEGIES, Selection, Strategy, Task};

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
        Task {
            probabilities: Some(Embeddings::new(&self.probabilities[..], 3).unwrap()),
            ..Task::new(points(&self.pool, DIM), Some(points(&self.targets, DIM)))
        }
    }
}

/// ITL as a rule of one's own.
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
fn a_rule_of_one_s_own_picks_as_a_named_one_does() {
    let data = data(40);
    let own = Strategy::new("own", Own, Batch::Sequential, Choice::Largest);
    let named = run(&data.task(), &plan(&"itl".parse().unwrap(), 12));
    assert_eq!(run(&data.task(), &plan(&own, 12)).indices(), named.indices());
}

fn strategies() -> impl Iterator<Item = Strategy> {
    STRATEGIES.iter().map(Strategy::from)
}

fn plan(strategy: &Strategy, count: usize) -> Plan {
    Plan { strategy: strategy.clone(), count, seed: 5, ..Plan::default() }
}

/// The plan under either engine; small pools would see the plain one alone.
fn plans(strategy: &Strategy, count: usize) -> [Plan; 2] {
    [Engine::Plain, Engine::Speculative].map(|engine| Plan { engine, ..plan(strategy, count) })
}

fn is_sane(selection: &Selection, count: usize, name: &str) {
    assert_eq!(selection.picks.len(), count, "{name}");
    assert_eq!(selection.ended, Ended::Count);
    let mut distinct = selection.indices();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), count, "{name} repeats a row");
    for (i, pick) in selection.picks.iter().enumerate() {
        assert_eq!(pick.rank, i + 1);
        assert!(pick.score.is_finite() && pick.information.is_finite(), "{name}: {pick:?}");
        assert!(pick.information >= 0.0);
        assert!(pick.variance_left.is_none_or(|left| (0.0..=1.0).contains(&left)), "{name}: {pick:?}");
    }
    assert!(selection.picks.is_sorted_by(|a, b| a.information <= b.information), "{name}: information never falls");
}

#[test]
fn same_seed_same_batch_and_a_smaller_batch_is_a_prefix() {
    let data = data(600);
    for strategy in strategies() {
        for (long, short) in plans(&strategy, 12).iter().zip(&plans(&strategy, 5)) {
            let selection = run(&data.task(), long);
            is_sane(&selection, 12, strategy.name());
            assert_eq!(selection, run(&data.task(), long), "{strategy:?}");
            assert_eq!(selection.indices()[..5], run(&data.task(), short).indices(), "{strategy:?}");
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
            is_sane(&run(&data.task(), &plan), 40, strategy.name());
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
            is_sane(&run(&data.task(), &plan), 40, strategy.name());
        }
    }
    data.pool.fill(0.0);
    for strategy in strategies() {
        for plan in plans(&strategy, 40) {
            is_sane(&run(&data.task(), &plan), 40, strategy.name());
        }
    }
}

#[test]
fn what_a_strategy_says_it_needs_is_what_it_refuses_to_miss() {
    let data = data(20);
    let task = |targets: bool, probabilities: bool| {
        let whole = data.task();
        Task {
            targets: whole.targets.filter(|_| targets),
            probabilities: whole.probabilities.filter(|_| probabilities),
            ..whole
        }
    };
    for strategy in strategies() {
        let plan = plan(&strategy, 3);
        let outcome = |targets, probabilities| {
            homing::select(&task(targets, probabilities), &plan, |_| std::ops::ControlFlow::Continue(())).map(|_| ())
        };
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
        let with = |seed| run(&data.task(), &Plan { seed, ..plan(&strategy, 6) }).indices();
        let chance = ["k-means++", "badge", "random"].contains(&strategy.name());
        assert_eq!(with(1) != with(2), chance, "{strategy:?}");
    }
}

#[test]
fn progress_is_told_every_pick_and_may_stop() {
    let data = data(50);
    for strategy in strategies() {
        let mut told = Vec::new();
        let selection = homing::select(&data.task(), &plan(&strategy, 9), |progress| {
            told.push(*progress.pick);
            if told.len() == 4 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
        })
        .unwrap();
        assert_eq!((selection.picks, selection.ended), (told, Ended::Asked), "{strategy:?}");
    }
}
