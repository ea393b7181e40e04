//! The time per product of a row with a functional, over dimensions, random pools and thread counts.
//!
//! Run with `cargo bench -p homing --bench evenness`. The time of a case is divided by rows × dimensions × functionals, since
//! drafts that are cut cost further products. All cases of a rule and a number of threads are compared. The bench fails if
//! the slowest of them takes more than 1.5 times as long as the fastest. `-- --test` runs every case once on few rows and
//! judges nothing.

use std::collections::BTreeMap;
use std::time::Instant;

use homing::{Embeddings, Plan, Task, select, thread_pool};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const RULES: [&str; 6] = ["itl", "itl-exact", "itl-value", "vtl", "ctl", "undirected-itl"];
const DIMS: [usize; 6] = [384, 500, 512, 768, 1000, 1024];
const THREADS: [usize; 2] = [1, 2];
const TARGETS: usize = 30;
const PICKS: usize = 100;
/// Rows with large scores: fewer than those on which picks are drafted, so that few drafts are cut.
const RELEVANT: usize = 1000;
const MOST_APART: f64 = 1.5;

/// One run of a rule.
struct Case {
    /// Picoseconds per row, dimension and functional.
    time: f64,
    dim: usize,
    probes: usize,
}

fn main() {
    let is_smoke = std::env::args().any(|argument| argument == "--test");
    let (rows, seeds, repeats) = if is_smoke { (2_000, 1, 1) } else { (300_000, 2, 2) };
    let mut cases: BTreeMap<(&str, usize), Vec<Case>> = BTreeMap::new();
    for dim in DIMS {
        for seed in 0..seeds {
            let (pool, targets) = rows_with_few_relevant(rows, dim, seed);
            let view = |values| Embeddings::new(values, dim).expect("rows are whole");
            let task = Task::new(view(&pool[..]), view(&targets[..]));
            for threads in THREADS {
                let workers = thread_pool(Some(threads)).expect("threads can be started");
                for rule in RULES {
                    let plan = Plan::default().strategy(rule.parse().expect("a rule")).count(PICKS);
                    let (mut seconds, mut probes) = (f64::INFINITY, 0);
                    for _ in 0..repeats {
                        let start = Instant::now();
                        probes = workers.install(|| select(&task, &plan)).expect("valid input").probes;
                        seconds = start.elapsed().as_secs_f64().min(seconds);
                    }
                    assert!(probes > 0, "the drafting engine makes the picks");
                    let time = 1e12 * seconds / (rows * dim * probes) as f64;
                    cases.entry((rule, threads)).or_default().push(Case { time, dim, probes });
                }
            }
        }
    }
    println!("{rows} rows, {TARGETS} targets, {PICKS} picks; picoseconds per row, dimension and functional\n");
    println!("| rule | threads | cases | functionals | least | dimensions | most | dimensions | ratio |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut worst = 0.0f64;
    for ((rule, threads), mut cases) in cases {
        cases.sort_by(|a, b| a.time.total_cmp(&b.time));
        let (least, most) = (&cases[0], &cases[cases.len() - 1]);
        let (count, ratio) = (cases.len(), most.time / least.time);
        let fewest = cases.iter().map(|case| case.probes).min().expect("there are cases");
        let highest = cases.iter().map(|case| case.probes).max().expect("there are cases");
        println!(
            "| {rule} | {threads} | {count} | {fewest}–{highest} | {:.1} | {} | {:.1} | {} | {ratio:.2} |",
            least.time, least.dim, most.time, most.dim
        );
        worst = worst.max(ratio);
    }
    assert!(is_smoke || worst <= MOST_APART, "the slowest case takes {worst:.2} times as long as the fastest");
}

/// Rows of norm 0.3 in random directions, of which a few have norm 1 and resemble the targets.
fn rows_with_few_relevant(rows: usize, dim: usize, seed: u64) -> (Vec<f32>, Vec<f32>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut direction = |norm: f32, towards: &[f32]| {
        let mut x: Vec<f32> = (0..dim).map(|_| rng.random_range(-1.0f32..1.0)).collect();
        let size = |x: &[f32]| x.iter().map(|x| x * x).sum::<f32>().sqrt();
        let length = size(&x);
        x.iter_mut().enumerate().for_each(|(i, x)| *x = *x / length + towards.get(i).unwrap_or(&0.0));
        let length = size(&x);
        x.iter_mut().for_each(|x| *x *= norm / length);
        x
    };
    let centre = direction(1.0, &[]);
    let targets = (0..TARGETS).flat_map(|_| direction(1.0, &centre)).collect();
    let stride = (rows / RELEVANT).max(1);
    let pool = (0..rows).flat_map(|row| if row % stride == 0 { direction(1.0, &centre) } else { direction(0.3, &[]) });
    (pool.collect(), targets)
}
