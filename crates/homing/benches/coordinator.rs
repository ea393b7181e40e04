//! The coordinator's share of a selection on a carrier: drafts, laws and challengers in f64, beside which a GPU is idle.
//!
//! Run with `cargo bench -p homing --bench coordinator`. It runs on one thread, because many would only hide what there is
//! to do. The least of three selections counts. `-- --test` runs every case once on few rows, and `-- many` makes 1,000 picks.

#[path = "sample/mod.rs"]
mod sample;
#[path = "../tests/it/shard_model.rs"]
#[allow(dead_code, reason = "the tests count reads")]
mod shard_model;
mod timed;

use std::time::Instant;

use homing::{Embeddings, Noise, Plan, Task, select};
use shard_model::Parts;
use timed::Timed;

const DIM: usize = 512;
const TARGETS: usize = 30;

fn main() {
    homing::thread_pool(Some(1)).expect("one thread can be started").install(measure);
}

fn measure() {
    let is_smoke = std::env::args().any(|argument| argument == "--test");
    let many = std::env::args().any(|argument| argument == "many");
    let (rows, repeats) = if is_smoke {
        (2000, 1)
    } else if many {
        (20_000, 1)
    } else {
        (66_000, 3)
    };
    let data = sample::Data::new(rows, TARGETS, DIM, 3);
    let mut values = vec![0.0; rows * DIM];
    data.embeddings(0..rows).values().write_f32(0..rows * DIM, &mut values);
    let mut parts = Parts::new(&values, DIM, &[rows]);
    let targets = data.embeddings(rows..rows + TARGETS);
    println!("{rows} × {DIM}, {TARGETS} targets: the coordinator, and the shard, which is plain Rust");
    let hundred = [("itl", 1.0, 100), ("itl", 0.01, 100), ("vtl", 0.01, 100), ("ctl", 0.01, 100)];
    let thousand = [("itl", 0.01, 1000)];
    for (rule, noise, count) in if many { thousand.to_vec() } else { hundred.to_vec() } {
        let plan = Plan::default().strategy(rule.parse().expect("a rule")).count(count).noise(Noise::Relative(noise));
        let mut least = (f64::INFINITY, String::new());
        parts.only = None;
        if many {
            // A device looks again at the rows that f32 names, so that hardly more are left than those that win.
            let here = Embeddings::new(&values, DIM).expect("whole rows");
            let found = select(&Task::new(here, targets), &plan).expect("valid input");
            parts.only = Some(found.rows().into_iter().collect());
        }
        for _ in 0..repeats {
            let timed = Timed::new(&parts);
            let start = Instant::now();
            let selection = select(&Task::new(timed.embeddings(DIM), targets), &plan).expect("valid input");
            let whole = start.elapsed().as_secs_f64();
            let (questions, sum) = timed.report();
            let coordinator = whole - sum;
            if coordinator < least.0 {
                least = (coordinator, format!("{} passes, {questions}", selection.passes));
            }
        }
        println!("{rule}, {count} picks, ρ²={noise}: coordinator {:.1} ms | {}", 1e3 * least.0, least.1);
    }
}
