//! Many picks per pass are the same picks as one pass per pick.

use half::{bf16, f16};
use homing::{Embeddings, Engine, Noise, Plan, Selection, StoredValues, Task};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::oracle::{rng, run};

pub const RULES: [&str; 7] = ["itl", "itl-exact", "itl-value", "vtl", "ctl", "undirected-itl", "uncertainty"];

/// Clustered rows with a decaying spectrum, like embeddings of real data.
pub fn clustered(rng: &mut ChaCha8Rng, rows: usize, dim: usize, clusters: usize) -> Vec<f32> {
    let mut normal = || -> f32 { (0..6).map(|_| rng.random_range(-1.0f32..1.0)).sum::<f32>() * 0.7 };
    let scale: Vec<f32> = (1..=dim).map(|i| (i as f32).powf(-0.7)).collect();
    let centres: Vec<f32> = (0..clusters * dim).map(|i| normal() * scale[i % dim]).collect();
    (0..rows)
        .flat_map(|row| {
            let centre = (row * 7919) % clusters;
            let x: Vec<f32> = (0..dim).map(|j| centres[centre * dim + j] + 0.7 * normal() * scale[j]).collect();
            let norm = x.iter().map(|x| x * x).sum::<f32>().sqrt();
            x.into_iter().map(move |x| x / norm)
        })
        .collect()
}

pub fn both(task: &Task<'_>, plan: &Plan) -> (Selection, Selection) {
    let with = |engine| run(task, &plan.clone().engine(engine));
    (with(Engine::Plain), with(Engine::Speculative))
}

pub fn assert_same(plain: &Selection, ahead: &Selection, what: &str) {
    assert_eq!(plain.rows(), ahead.rows(), "{what}");
    for (a, b) in plain.picks.iter().zip(&ahead.picks) {
        assert!(
            (a.score - b.score).abs() <= 1e-9 * (1.0 + a.score.abs()),
            "{what} rank {}: {} {}",
            a.rank,
            a.score,
            b.score
        );
    }
}

fn assert_same_picks(plain: &Selection, ahead: &Selection, what: &str) {
    assert_eq!(plain.rows(), ahead.rows(), "{what}");
}

/// Makes `count` picks with both engines for every rule and noise, and passes them to `check` with a name.
fn compare(
    task: &Task<'_>,
    rules: &[&str],
    noises: impl IntoIterator<Item = Noise>,
    count: usize,
    check: impl Fn(&Selection, &Selection, &str),
) {
    for noise in noises {
        for rule in rules {
            let plan = Plan::default().strategy(rule.parse().unwrap()).count(count).noise(noise);
            let (plain, ahead) = both(task, &plan);
            check(&plain, &ahead, &format!("{rule}, {noise:?}"));
        }
    }
}

#[test]
fn the_same_picks_in_fewer_passes() {
    let mut rng = rng(1);
    let (rows, dim) = (6000, 40);
    let data = clustered(&mut rng, rows + 200, dim, 30);
    let (pool, targets) = data.split_at(rows * dim);
    let pool = Embeddings::new(pool, dim).unwrap();
    let targets = Embeddings::new(&targets[..12 * dim], dim).unwrap();
    let task = Task::new(pool, targets);
    compare(&task, &RULES, [0.01, 0.1, 1.0].map(Noise::Std), 60, |plain, ahead, what| {
        assert_same(plain, ahead, what);
        assert!(ahead.passes < plain.passes, "{what}: {} passes, plain {}", ahead.passes, plain.passes);
    });
}

#[test]
fn duplicates_zero_rows_and_targets_in_the_pool() {
    let mut rng = rng(2);
    let (rows, dim) = (5000, 24);
    let mut data = clustered(&mut rng, rows, dim, 12);
    for i in 0..rows / 2 {
        let from = (i * 31) % rows;
        data.copy_within(from * dim..(from + 1) * dim, ((i * 17 + 5) % rows) * dim);
    }
    data[700 * dim..703 * dim].fill(0.0);
    let targets: Vec<f32> = data[10 * dim..16 * dim].to_vec();
    let pool = Embeddings::new(&data[..], dim).unwrap();
    let task = Task::new(pool, Embeddings::new(&targets[..], dim).unwrap());
    let task = task.observed_rows(&[10, 11, 4000]).forbidden(&[20, 21]);
    compare(&task, &RULES, [0.03, 0.3].map(Noise::Std), 80, assert_same);
}

#[test]
fn every_number_format_and_a_centred_pool() {
    let mut rng = rng(3);
    let (rows, dim) = (4500, 20);
    let single = clustered(&mut rng, rows, dim, 9);
    let double: Vec<f64> = single.iter().map(|&x| f64::from(x) * 1.000_000_1).collect();
    let half: Vec<f16> = single.iter().map(|&x| f16::from_f32(x)).collect();
    let brain: Vec<bf16> = single.iter().map(|&x| bf16::from_f32(x)).collect();
    let targets = clustered(&mut rng, 5, dim, 2);
    let targets = Embeddings::new(&targets[..], dim).unwrap();
    for values in
        [StoredValues::F32(&single), StoredValues::F64(&double), StoredValues::F16(&half), StoredValues::Bf16(&brain)]
    {
        let pool = Embeddings::new(values, dim).unwrap();
        let mean = pool.mean();
        for (pool, targets) in [(pool, targets), (pool.centered(&mean), targets.centered(&mean))] {
            compare(&Task::new(pool, targets), &RULES, [Noise::default()], 30, assert_same);
        }
    }
}

#[test]
fn more_targets_than_dimensions_and_more_picks_than_dimensions() {
    let mut rng = rng(4);
    let (rows, dim) = (4200, 16);
    let data = clustered(&mut rng, rows + 50, dim, 5);
    let (pool, targets) = data.split_at(rows * dim);
    let task = Task::new(Embeddings::new(pool, dim).unwrap(), Embeddings::new(targets, dim).unwrap());
    compare(&task, &RULES, [Noise::default()], 150, assert_same);
}

#[test]
fn where_digits_are_lost_the_plain_engine_takes_over() {
    let mut rng = rng(5);
    let (rows, dim) = (4200, 8);
    let data = clustered(&mut rng, rows, dim, 4);
    let targets: Vec<f32> = data[..3 * dim].to_vec();
    let task = Task::new(Embeddings::new(&data[..], dim).unwrap(), Embeddings::new(&targets[..], dim).unwrap());
    compare(&task, &RULES, [Noise::Std(1e-6)], 30, assert_same);
}

#[test]
fn norms_that_f32_cannot_square_are_left_to_the_plain_engine() {
    for scale in [1e-25, 1e-11, 1e-7, 1e7, 1e11, 1e25] {
        let mut rng = rng(6);
        let data: Vec<f64> = clustered(&mut rng, 5000, 12, 5).into_iter().map(|x| f64::from(x) * scale).collect();
        let pool = Embeddings::new(&data[..], 12).unwrap();
        let task = Task::new(pool, Embeddings::new(&data[60..132], 12).unwrap());
        compare(&task, &RULES, [Noise::default()], 20, assert_same_picks);
    }
}

/// After a few picks most rows are known up to the noise, so the error of f32 exceeds their remaining variance.
#[test]
fn few_distinct_rows_many_times() {
    let mut rng = rng(8);
    let (rows, dim) = (12_000, 24);
    let distinct = clustered(&mut rng, 60, dim, 60);
    let data: Vec<f32> =
        (0..rows).map(|i| (i * 7919) % 60).flat_map(|at| distinct[at * dim..(at + 1) * dim].to_vec()).collect();
    let targets = clustered(&mut rng, 8, dim, 4);
    let targets = Embeddings::new(&targets[..], dim).unwrap();
    let task = Task::new(Embeddings::new(&data[..], dim).unwrap(), targets);
    compare(&task, &RULES, [1e-3, 1e-2].map(Noise::Std), 45, assert_same_picks);
}

#[test]
fn targets_from_the_pool_under_little_noise() {
    let mut rng = rng(9);
    let (rows, dim) = (5000, 16);
    let data = clustered(&mut rng, rows, dim, 8);
    let targets: Vec<f32> = [10, 400, 3000].into_iter().flat_map(|i| data[i * dim..(i + 1) * dim].to_vec()).collect();
    let targets = Embeddings::new(&targets[..], dim).unwrap();
    let task = Task::new(Embeddings::new(&data[..], dim).unwrap(), targets);
    compare(&task, &RULES, [1e-4, 1e-3].map(Noise::Std), 8, assert_same_picks);
}

/// Rows of equal norm tie at first under a rule about variance alone, all within the rounding of f32.
#[test]
fn rows_that_f32_cannot_distinguish() {
    let mut rng = rng(7);
    let (rows, dim) = (20_000, 12);
    let data = clustered(&mut rng, rows, dim, 6);
    let task = Task::undirected(Embeddings::new(&data[..], dim).unwrap());
    for rule in ["undirected-itl", "uncertainty"] {
        let plan = Plan::default().strategy(rule.parse().unwrap()).count(25);
        let (plain, ahead) = both(&task, &plan);
        assert_same(&plain, &ahead, rule);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| run(&task, &plan.clone().engine(Engine::Speculative)))
        };
        assert_eq!(on(1), on(3), "{rule}");
    }
}

/// A negative score increases with the variance.
#[test]
fn negative_correlations() {
    let mut rng = rng(12);
    let (rows, dim) = (6000, 9);
    for size in [4000.0f32, 30_000.0] {
        let mut data = Vec::new();
        for _ in 0..rows {
            data.push(size);
            data.extend((1..dim).map(|_| rng.random_range(0.3f32..2.0)));
        }
        let targets: Vec<f32> =
            (0..6 * dim).map(|i| if i % dim == 0 { 0.0 } else { -rng.random_range(0.3f32..2.0) }).collect();
        let observed: Vec<f32> = (0..dim).map(|i| if i == 0 { size } else { 0.0 }).collect();
        let view = |values| Embeddings::new(values, dim).unwrap();
        let observed_points = Some(view(&observed[..]).into());
        let task = Task::new(view(&data[..]), view(&targets[..])).observed_points(observed_points);
        compare(&task, &["ctl"], [Noise::Std(1.0)], 20, assert_same_picks);
    }
}

/// Targets and noise of sizes that f32 cannot hold.
#[test]
fn targets_and_noise_beyond_f32() {
    let mut rng = rng(13);
    let (rows, dim) = (5000, 6);
    let data = clustered(&mut rng, rows, dim, 7);
    for (scale, std) in [(1e-22f32, 0.1), (1e-24, 0.1), (1.0, 1e-13), (1.0, 1e22)] {
        let targets: Vec<f32> = clustered(&mut rng, 5, dim, 3).iter().map(|x| x * scale).collect();
        let targets = Embeddings::new(&targets[..], dim).unwrap();
        let task = Task::new(Embeddings::new(&data[..], dim).unwrap(), targets);
        compare(&task, &["vtl", "undirected-itl"], [Noise::Std(std)], 5, assert_same_picks);
    }
}
