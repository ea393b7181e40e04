//! Growth of a selection's time with rows and picks: about linear in both.
//!
//! Run with `cargo bench -p homing --bench growth`. The least of ten runs counts. `-- --test` runs every case once on few rows.

use std::hint::black_box;
use std::time::Instant;

use homing::{Embeddings, Plan, Task, select};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const DIM: usize = 128;
const TARGETS: usize = 30;
const RULES: [&str; 4] = ["itl", "vtl", "ctl", "k-means++"];
/// Rows, relative to the smallest pool, and picks.
const CASES: [(usize, usize); 5] = [(1, 20), (2, 20), (4, 20), (1, 40), (1, 80)];

fn main() {
    let is_smoke = std::env::args().any(|argument| argument == "--test");
    let (rows, repeats) = if is_smoke { (500, 1) } else { (16_000, 10) };
    let (pool, targets) = (random_rows(4 * rows, 0), random_rows(TARGETS, 1));
    let view = |values| Embeddings::new(values, DIM).expect("rows are whole");
    println!(
        "{DIM} dimensions, {TARGETS} targets; the ratio compares the time per row and pick with that of the first line\n"
    );
    println!("| rule | rows | picks | ms | ns per row and pick | ratio |");
    println!("|---|---|---|---|---|---|");
    for rule in RULES {
        let mut first = None;
        for (times, picks) in CASES {
            let rows = times * rows;
            let task = Task::new(view(&pool[..rows * DIM]), view(&targets[..]));
            let plan = Plan::default().strategy(rule.parse().expect("a rule")).count(picks);
            let run = |_| {
                let start = Instant::now();
                black_box(select(&task, &plan).expect("valid input"));
                start.elapsed().as_secs_f64()
            };
            let seconds = (0..repeats).map(run).fold(f64::INFINITY, f64::min);
            let each = 1e9 * seconds / (rows * picks) as f64;
            let ratio = each / *first.get_or_insert(each);
            println!("| {rule} | {rows} | {picks} | {:.1} | {each:.1} | {ratio:.2} |", 1e3 * seconds);
        }
    }
}

fn random_rows(count: usize, seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..count * DIM).map(|_| rng.random_range(-1.0..1.0)).collect()
}
