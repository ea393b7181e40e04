//! The picks of the device are those of one pass per pick on the CPU.

use std::sync::Arc;
use std::time::Instant;

use half::{bf16, f16};
use homing::{Embeddings, Engine, Noise, Plan, Selection, StoredValues, Task, select};
use homing_cuda::{Device, DevicePool, Format};

const RULES: [&str; 7] = ["itl", "itl-exact", "itl-value", "vtl", "ctl", "undirected-itl", "uncertainty"];
/// Rules that score every row once, and the one that takes the targets in turn. Noise changes only some of them.
const RANKED: [&str; 5] = ["cosine", "nearest-each", "itl-top-b", "ctl-top-b", "vtl-top-b"];
const NOISES: [f64; 3] = [1e-4, 1e-2, 1.0];
const COUNT: usize = 60;

/// Compares selections on pools of all kinds, and returns whether all agree.
pub fn check_all(device: &Arc<Device>) -> bool {
    let mut agree = true;
    // A third of the rows are copies, some rows are zero, and the pool is uploaded.
    let (rows, dim) = (30_000, 128);
    let base = DevicePool::generate((rows, dim), Format::F32, 300, 2, std::slice::from_ref(device));
    let mut values = download(&base.expect("there is room for a small pool"), dim);
    for i in 0..rows / 3 {
        values.copy_within(i * 31 % rows * dim..(i * 31 % rows + 1) * dim, (i * 17 + 5) % rows * dim);
    }
    values[700 * dim..703 * dim].fill(0.0);
    let half: Vec<f16> = values.iter().map(|&x| f16::from_f32(x)).collect();
    let brain: Vec<bf16> = values.iter().map(|&x| bf16::from_f32(x)).collect();
    for (format, stored) in
        [("f32", StoredValues::F32(&values)), ("f16", StoredValues::F16(&half)), ("bf16", StoredValues::Bf16(&brain))]
    {
        let embeddings = Embeddings::new(stored, dim).expect("the rows are whole");
        let pool =
            DevicePool::upload(embeddings, std::slice::from_ref(device)).expect("there is room for a small pool");
        agree &= compare(&format!("copies {rows} × {dim} {format}"), &pool, dim);
        // Two shards of one device.
        let devices = [device.clone(), device.clone()];
        let pool = DevicePool::upload(embeddings, &devices).expect("there is room for a small pool");
        agree &= compare(&format!("copies {rows} × {dim} {format} in two shards"), &pool, dim);
        // In the memory of the machine.
        let pool = DevicePool::lend(embeddings, &devices, None).expect("there is room for a small pool");
        agree &= compare(&format!("copies {rows} × {dim} {format} lent to two shards"), &pool, dim);
    }
    for (rows, dim) in [(1500, 33), (40_000, 256), (20_001, 700)] {
        for format in [Format::F32, Format::F16, Format::Bf16] {
            for (kind, clusters) in [("random", 0), ("clustered", rows / 100)] {
                let name = format!("{kind} {rows} × {dim} {format:?}");
                let pool = DevicePool::generate((rows, dim), format, clusters, 1, std::slice::from_ref(device));
                agree &= compare(&name, &pool.expect("there is room for a small pool"), dim);
            }
        }
    }
    agree
}

/// Returns all numbers of a pool.
pub fn download(pool: &DevicePool, dim: usize) -> Vec<f32> {
    let view = pool.embeddings();
    let mut values = vec![0.0; view.rows() * dim];
    view.values().write_f32(0..view.rows() * dim, &mut values);
    view.check_read().expect("the device works");
    values
}

fn compare(name: &str, pool: &DevicePool, dim: usize) -> bool {
    let start = Instant::now();
    let values = download(pool, dim);
    let targets: Vec<f32> = (0..8).flat_map(|i| values[i * 97 * dim..(i * 97 + 1) * dim].to_vec()).collect();
    let targets: Vec<f32> = targets.iter().enumerate().map(|(i, x)| x + 0.02 * ((i as f32) * 0.7).sin()).collect();
    let whole = |values| Embeddings::new(values, dim).expect("the rows are whole");
    let (here, targets) = (whole(&values), whole(&targets));
    let mean = here.mean();
    assert_eq!(pool.embeddings().mean(), mean, "{name}: the mean is that of the CPU, to the last digit");
    let (mut agree, mut passes, mut plain) = (true, 0, 0);
    let prepared = [1e-4, 1.0].map(|noise| (Some(&mean[..]), noise));
    for (mean, noise) in NOISES.map(|noise| (None, noise)).into_iter().chain(prepared) {
        let task = |rows| Task::new(as_read(rows, mean), as_read(targets, mean)).forbidden(&[5, 6]);
        let (here, there) = (task(here), task(pool.embeddings()));
        let name = format!("{name}{}", if mean.is_some() { ", prepared" } else { "" });
        let ranked = RANKED.into_iter().filter(|_| noise == 1.0);
        for rule in RULES.into_iter().chain(ranked) {
            let plan =
                Plan::default().strategy(rule.parse().expect("a rule")).count(COUNT).noise(Noise::Relative(noise));
            let a = select(&here, &plan.clone().engine(Engine::Plain));
            let b = select(&there, &plan.engine(Engine::Speculative));
            match (a, b) {
                (Ok(a), Ok(b)) => {
                    passes += b.passes;
                    plain += a.passes;
                    if !same(&a, &b) {
                        agree = false;
                        println!("DIFFERENT: {name}, {rule}, ρ² = {noise}: {:?} {:?}", a.rows(), b.rows());
                    }
                }
                (a, b) => {
                    agree = false;
                    println!("FAILED: {name}, {rule}, ρ² = {noise}: {:?} {:?}", a.err(), b.err());
                }
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{name}: {} in {passes} passes instead of {plain} ({seconds:.1} s)",
        if agree { "same" } else { "DIFFERENT" }
    );
    agree
}

/// Returns rows as they are, or centred and of unit length.
pub fn as_read<'v>(rows: Embeddings<'v>, mean: Option<&'v [f64]>) -> Embeddings<'v> {
    mean.map_or(rows, |mean| rows.centered(mean).normalized())
}

fn same(a: &Selection, b: &Selection) -> bool {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + a.abs());
    let picks = a.picks.iter().zip(&b.picks);
    a.picks.len() == b.picks.len()
        && picks
            .into_iter()
            .all(|(a, b)| a.row == b.row && close(a.score, b.score) && close(a.information, b.information))
}
