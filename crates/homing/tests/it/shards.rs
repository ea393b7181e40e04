//! Shards elsewhere: the same picks for any carrier and any split of the pool.

use std::sync::atomic::Ordering;

use homing::{Embeddings, Engine, Noise, Plan, RowSource, Task};

use crate::engines::{RULES, assert_same, clustered};
use crate::oracle::{rng, run};
use crate::shard_model::Parts;

const ROWS: usize = 3000;
const DIM: usize = 24;

/// One shard, several uneven ones, one without rows, one of a single row, and many.
fn splits() -> Vec<Vec<usize>> {
    vec![vec![ROWS], vec![1, 1, 1700, ROWS], vec![0, 2999, ROWS, ROWS], (1..=30).map(|i| i * ROWS / 30).collect()]
}

fn assert_all_splits_agree(values: &[f32], targets: &[f32], count: usize, noises: &[f64]) {
    assert_splits_agree(splits(), |view| view, values, targets, count, noises);
}

fn assert_splits_agree(
    splits: Vec<Vec<usize>>,
    prepared: impl for<'v> Fn(Embeddings<'v>) -> Embeddings<'v>,
    values: &[f32],
    targets: &[f32],
    count: usize,
    noises: &[f64],
) {
    let (mut fewer, few) = (0, splits.len() * RULES.len() * noises.len() / 2);
    for ends in splits {
        let parts = Parts::new(values, DIM, &ends);
        let targets = prepared(Embeddings::new(targets, DIM).unwrap());
        let task = |pool| Task::new(prepared(pool), targets).observed_rows(&[7]).forbidden(&[8, 2999]);
        let (here, there) = (task(Embeddings::new(values, DIM).unwrap()), task(parts.embeddings()));
        for rule in RULES {
            for &noise in noises {
                let plan = Plan::default().strategy(rule.parse().unwrap()).count(count).noise(Noise::Relative(noise));
                let plain = run(&here, &plan.clone().engine(Engine::Plain));
                let ahead = run(&there, &plan);
                assert_same(&plain, &ahead, &format!("{rule}, noise {noise}, {} shards", ends.len()));
                fewer += usize::from(ahead.passes < plain.passes);
            }
        }
        assert!(parts.passes.load(Ordering::Relaxed) > 0, "the shards were asked");
    }
    assert!(fewer > few, "{fewer} selections took fewer passes");
}

#[test]
fn the_same_picks_however_the_pool_is_split() {
    let values = clustered(&mut rng(31), ROWS, DIM, 20);
    let targets = clustered(&mut rng(32), 8, DIM, 3);
    assert_all_splits_agree(&values, &targets, 40, &[1e-4, 1e-2, 1.0]);
}

#[test]
#[expect(clippy::redundant_closure_for_method_calls, reason = "the method itself has one lifetime, not any")]
fn the_same_picks_from_rows_that_are_centred_and_scaled() {
    let mut values = clustered(&mut rng(37), ROWS, DIM, 20);
    values.iter_mut().enumerate().for_each(|(i, x)| *x += 0.3 * ((i % DIM) as f32).sin());
    values[40 * DIM..41 * DIM].fill(0.0);
    let targets = clustered(&mut rng(38), 8, DIM, 3);
    let splits = || vec![vec![1, 1700, ROWS]];
    let mean: &'static [f64] = Embeddings::new(&values, DIM).unwrap().mean().leak();
    assert_splits_agree(splits(), |view| view.normalized(), &values, &targets, 30, &[1e-2, 1.0]);
    assert_splits_agree(splits(), |view| view.centered(mean).normalized(), &values, &targets, 30, &[1e-4, 1.0]);
    assert_splits_agree(splits(), |view| view.centered(mean), &values, &targets, 30, &[1e-2]);
}

#[test]
fn copies_in_different_shards_tie_to_the_smaller_row() {
    let mut values = clustered(&mut rng(33), ROWS, DIM, 9);
    for row in 0..ROWS / 2 {
        let to = ROWS - 1 - row;
        values.copy_within(row * DIM..(row + 1) * DIM, to * DIM);
    }
    values[500 * DIM..503 * DIM].fill(0.0);
    let targets = values[10 * DIM..15 * DIM].to_vec();
    assert_all_splits_agree(&values, &targets, 30, &[1e-3, 0.1]);
}

/// The rules that score every row once, and the one that takes the targets in turn.
const RANKED: [&str; 9] = [
    "cosine",
    "nearest-each",
    "itl-top-b",
    "itl-exact-top-b",
    "itl-value-top-b",
    "ctl-top-b",
    "vtl-top-b",
    "undirected-itl-top-b",
    "uncertainty-top-b",
];

fn as_read<'v>(view: Embeddings<'v>, mean: Option<&'v [f64]>) -> Embeddings<'v> {
    mean.map_or(view, |mean| view.centered(mean).normalized())
}

/// Compares the picks of shards with those of one pass over rows in memory.
fn assert_ranked(values: &[f32], targets: &[f32], prepared: bool) {
    let mean = Embeddings::new(values, DIM).unwrap().mean();
    let mean = prepared.then_some(&mean[..]);
    for ends in splits() {
        let parts = Parts::new(values, DIM, &ends);
        let targets = as_read(Embeddings::new(targets, DIM).unwrap(), mean);
        let task = |pool| Task::new(as_read(pool, mean), targets).observed_rows(&[7, 90]).forbidden(&[8, 2999]);
        let (here, there) = (task(Embeddings::new(values, DIM).unwrap()), task(parts.embeddings()));
        for rule in RANKED {
            for count in [1, 40, 700, ROWS - 4] {
                let plan = Plan::default().strategy(rule.parse().unwrap()).count(count).noise(Noise::Relative(0.01));
                let before = parts.passes.load(Ordering::Relaxed);
                let plain = run(&here, &plan.clone().engine(Engine::Plain));
                let ranked = run(&there, &plan);
                let what = format!("{rule}, {count} picks, {} shards", ends.len());
                assert_same(&plain, &ranked, &what);
                assert!(parts.passes.load(Ordering::Relaxed) > before, "{what}: the shards were asked");
            }
        }
    }
}

#[test]
fn rows_that_are_scored_once_are_ranked_by_their_shards() {
    let values = clustered(&mut rng(41), ROWS, DIM, 20);
    let targets = clustered(&mut rng(42), 6, DIM, 3);
    assert_ranked(&values, &targets, false);
    assert_ranked(&values, &targets, true);
}

#[test]
fn ranked_copies_and_rows_of_zeros_keep_their_order() {
    let mut values = clustered(&mut rng(43), ROWS, DIM, 9);
    for row in 0..ROWS / 2 {
        values.copy_within(row * DIM..(row + 1) * DIM, (ROWS - 1 - row) * DIM);
    }
    values[500 * DIM..503 * DIM].fill(0.0);
    let targets = values[10 * DIM..15 * DIM].to_vec();
    assert_ranked(&values, &targets, false);
}

#[test]
fn ranking_reads_few_rows_in_two_passes() {
    // More rows than a carrier may name, and enough targets that a sum over them is far from their mean.
    let (rows, dim, targets, count) = (40_000, 16, 20, 20);
    let mut values = clustered(&mut rng(44), rows, dim, 20);
    let aims = clustered(&mut rng(45), targets, dim, 3);
    // Rows of one length would all tie without targets.
    for (row, x) in values.chunks_mut(dim).enumerate() {
        x.iter_mut().for_each(|x| *x *= 1.0 + (row as f32).sin() / 9.0);
    }
    for rule in RANKED {
        let parts = Parts::new(&values, dim, &[10_000, rows]);
        let task = Task::new(parts.embeddings(), Embeddings::new(&aims[..], dim).unwrap());
        let selection = run(&task, &Plan::default().strategy(rule.parse().unwrap()).count(count));
        let rankings = if rule == "nearest-each" { targets } else { 1 };
        // Those that are wanted, spare ones, and few that f32 cannot rule out.
        let read = parts.reads.load(Ordering::Relaxed) / dim;
        assert!(read <= rankings * (2 * count + 64 + 100), "{rule}: {read} rows were read");
        // The survey, and for each ranking one pass that scores rows and one that names those that may reach the bar.
        assert_eq!(selection.passes, 1 + 2 * rankings, "{rule}");
        assert_eq!(parts.starts.load(Ordering::Relaxed), 2 * rankings, "{rule}: no numbers are computed in vain");
        assert_eq!(parts.passes.load(Ordering::Relaxed), 2 * rankings, "{rule}");
        assert!(!selection.left_carrier, "{rule}");
    }
}

#[test]
fn a_selection_says_that_its_carrier_could_not_tell_rows_apart() {
    // More copies than a carrier may name.
    let (rows, dim) = (20_000, 8);
    let row = clustered(&mut rng(48), 1, dim, 1);
    let values = row.repeat(rows);
    for rule in ["cosine", "nearest-each", "itl-top-b"] {
        let plan = Plan::default().strategy(rule.parse().unwrap()).count(5);
        let parts = Parts::new(&values, dim, &[rows]);
        let targets = Embeddings::new(&values[..dim], dim).unwrap();
        let there = run(&Task::new(parts.embeddings(), targets), &plan);
        let here = run(&Task::new(Embeddings::new(&values[..], dim).unwrap(), targets), &plan);
        assert_same(&here, &there, rule);
        assert!(there.left_carrier && !here.left_carrier, "{rule}");
    }
    // A pass over few rows takes less time here.
    let few = Parts::new(&values[..100 * dim], dim, &[100]);
    let plan = Plan::default().strategy("undirected-itl".parse().unwrap()).count(5);
    assert!(run(&Task::undirected(few.embeddings()), &plan).left_carrier);
}

#[test]
fn the_mean_of_negative_cosines_is_compared_with_means() {
    // More rows than a carrier names beyond those that are wanted have the largest cosines, up to the rounding of f32.
    let (rows, dim, targets, near) = (ROWS, DIM, 30, 600);
    let mut values = clustered(&mut rng(46), rows, dim, 20);
    let base: Vec<f32> = (0..dim).map(|i| 0.3 + 0.5 * (i as f32).sin()).collect();
    for (row, x) in values.chunks_mut(dim).enumerate() {
        let is_near = row % (rows / near) == 1;
        for (i, x) in x.iter_mut().enumerate() {
            let last_digits = 1.0 + (row * row * 31 % 1009 * (i + 3) % 7) as f32 * f32::EPSILON;
            *x = if is_near { base[i] * last_digits } else { 1.0 + 0.1 * *x };
        }
    }
    let mut aims = clustered(&mut rng(47), targets, dim, 3);
    aims.iter_mut().for_each(|x| *x = 0.3 * *x - 1.0);
    let parts = Parts::new(&values, dim, &[1000, rows]);
    let targets = Embeddings::new(&aims[..], dim).unwrap();
    let plan = Plan::default().strategy("cosine".parse().unwrap());
    for count in [1, 40, 300] {
        let plan = plan.clone().count(count);
        let plain = run(&Task::new(Embeddings::new(&values[..], dim).unwrap(), targets), &plan);
        assert!(plain.picks.iter().all(|pick| pick.score < 0.0));
        assert_same(&plain, &run(&Task::new(parts.embeddings(), targets), &plan), &format!("{count} picks"));
    }
}

#[test]
fn only_few_rows_are_read_where_shards_compute() {
    let values = clustered(&mut rng(34), ROWS, DIM, 20);
    let targets = clustered(&mut rng(35), 5, DIM, 3);
    let parts = Parts::new(&values, DIM, &[1000, ROWS]);
    let task = Task::new(parts.embeddings(), Embeddings::new(&targets[..], DIM).unwrap());
    run(&task, &Plan::default().count(20));
    let rows = parts.reads.load(Ordering::Relaxed) / DIM;
    assert!(rows < ROWS, "{rows} rows were read");
    parts.embeddings().check_finite("pool").unwrap();
    assert_eq!(parts.reads.load(Ordering::Relaxed) / DIM, rows, "finite rows are not read again");
}

#[test]
fn a_bad_row_is_named_and_a_rule_without_a_closed_form_still_picks() {
    struct Halved;
    impl homing::Rule for Halved {
        fn wants(&self) -> homing::Wants {
            homing::Wants { var: true, ..homing::Wants::default() }
        }
        fn score(&self, x: &homing::Candidate<'_>) -> f64 {
            x.var / 2.0
        }
        fn is_monotone(&self) -> bool {
            true
        }
    }
    let mut values = clustered(&mut rng(36), ROWS, DIM, 20);
    let pick = |values: &[f32]| {
        let parts = Parts::new(values, DIM, &[ROWS]);
        let halved =
            homing::Strategy::new("halved", Halved, homing::BatchMethod::Sequential, homing::PickMethod::Largest);
        let there = homing::select(&Task::undirected(parts.embeddings()), &Plan::default().strategy(halved).count(20));
        assert_eq!(parts.passes.load(Ordering::Relaxed), 0);
        there.map(|selection| selection.rows())
    };
    let uncertain = Plan::default().strategy("uncertainty".parse().unwrap()).count(20);
    let here = run(&Task::undirected(Embeddings::new(&values[..], DIM).unwrap()), &uncertain);
    assert_eq!(pick(&values), Ok(here.rows()));
    values[1234 * DIM + 3] = f32::NAN;
    assert_eq!(pick(&values), Err(homing::Error::NotFinite { what: "pool", row: 1234 }));
}

#[test]
fn a_carrier_that_vanishes_in_the_middle_is_an_error() {
    let values = clustered(&mut rng(39), ROWS, DIM, 20);
    let targets = clustered(&mut rng(40), 5, DIM, 3);
    let mut failed = 0;
    for rule in RULES.into_iter().chain(RANKED) {
        for passes in [0, 1, 2, 4] {
            let parts = Parts::new(&values, DIM, &[1000, ROWS]);
            parts.vanishes_after.store(passes, Ordering::Relaxed);
            let task = Task::new(parts.embeddings(), Embeddings::new(&targets[..], DIM).unwrap());
            let plan = Plan::default().strategy(rule.parse().unwrap()).count(60);
            match homing::select(&task, &plan) {
                Ok(selection) => assert!(parts.failure().is_none() && selection.rows().len() == 60, "{rule}"),
                Err(homing::Error::Unreadable(reason)) => {
                    assert!(reason.contains("the device failed"), "{reason}");
                    failed += 1;
                }
                Err(other) => panic!("{rule} after {passes} passes: {other}"),
            }
        }
    }
    assert!(failed > RULES.len(), "{failed} carriers vanished in time");
}
