//! The time per number read: it should not depend on the dimension, on the random numbers in the pool, or on the threads.
//!
//! Run with `cargo bench -p homing --bench evenness`. The work is the same in every case, because a small part of the rows
//! has all the large scores and no draft is ever cut: the passes are counted to make sure. The bench fails if the slowest
//! case of a rule takes more than 1.5 times as long per number and processor as the fastest. `-- --test` runs every case
//! once on few rows and judges nothing.

use std::time::Instant;

use homing::{Embeddings, Plan, Task, select, thread_pool};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const RULES: [&str; 6] = ["itl", "itl-exact", "itl-value", "vtl", "ctl", "undirected-itl"];
const DIMS: [usize; 6] = [384, 500, 512, 768, 1000, 1024];
const THREADS: [usize; 2] = [1, 2];
const TARGETS: usize = 30;
const PICKS: usize = 100;
/// Rows with large scores: fewer than those on which picks are drafted.
const RELEVANT: usize = 120;
const MOST_APART: f64 = 1.5;

fn main() {
    let is_smoke = std::env::args().any(|argument| argument == "--test");
    let (rows, seeds, repeats) = if is_smoke { (2_000, 1, 1) } else { (100_000, 3, 3) };
    println!("{rows} rows, {TARGETS} targets, {PICKS} picks; picoseconds of each thread per number of the pool\n");
    println!("| rule | passes | least | dimensions, threads | most | dimensions, threads | ratio |");
    println!("|---|---|---|---|---|---|---|");
    let mut cases: Vec<Vec<(f64, usize, usize)>> = vec![Vec::new(); RULES.len()];
    let mut passes = vec![0; RULES.len()];
    for dim in DIMS {
        for seed in 0..seeds {
            let (pool, targets) = rows_with_few_relevant(rows, dim, seed);
            let view = |values| Embeddings::new(values, dim).expect("rows are whole");
            let task = Task::new(view(&pool[..]), view(&targets[..]));
            for threads in THREADS {
                let workers = thread_pool(Some(threads)).expect("threads can be started");
                for (r, rule) in RULES.into_iter().enumerate() {
                    let plan = Plan::default().strategy(rule.parse().expect("a rule")).count(PICKS);
                    let mut run = || {
                        let start = Instant::now();
                        passes[r] =
                            passes[r].max(workers.install(|| select(&task, &plan)).expect("valid input").passes);
                        start.elapsed().as_secs_f64()
                    };
                    let seconds = (0..repeats).map(|_| run()).fold(f64::INFINITY, f64::min);
                    cases[r].push((1e12 * seconds * threads as f64 / (rows * dim) as f64, dim, threads));
                }
            }
        }
    }
    let mut worst = 0.0f64;
    for (r, rule) in RULES.into_iter().enumerate() {
        cases[r].sort_by(|a, b| a.0.total_cmp(&b.0));
        let ((least, d, t), (most, e, u)) = (cases[r][0], cases[r][cases[r].len() - 1]);
        println!("| {rule} | {} | {least:.0} | {d}, {t} | {most:.0} | {e}, {u} | {:.2} |", passes[r], most / least);
        worst = worst.max(most / least);
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
    let stride = rows / RELEVANT;
    let pool = (0..rows).flat_map(|row| if row % stride == 0 { direction(1.0, &centre) } else { direction(0.3, &[]) });
    (pool.collect(), targets)
}
