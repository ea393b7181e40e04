//! How long selections take on the device.

use std::sync::Arc;
use std::time::Instant;

use homing::{Embeddings, Noise, Plan, Selection, Task, select};
use homing_cuda::{Device, DevicePool, Format};

use crate::check::{as_read, download};
use crate::timed::Timed;

const DIM: usize = 512;
const TARGETS: usize = 30;

/// A pool of the timings.
pub struct Pool {
    pub name: &'static str,
    rows: usize,
    format: Format,
    clusters: usize,
}

const fn pool(name: &'static str, rows: usize, format: Format, clusters: usize) -> Pool {
    Pool { name, rows, format, clusters }
}

pub const POOLS: [Pool; 4] = [
    pool("1m", 1_000_000, Format::F32, 1000),
    pool("10m", 10_000_000, Format::F32, 1000),
    pool("random", 10_000_000, Format::F32, 0),
    pool("50m", 50_000_000, Format::Bf16, 1000),
];

pub fn selections(device: &Arc<Device>, kind: &Pool) {
    let devices = std::slice::from_ref(device);
    let clock = Instant::now();
    let generate = |rows, format, seed| DevicePool::generate((rows, DIM), format, kind.clusters, seed, devices);
    let made = generate(kind.rows, kind.format, 1).and_then(|pool| Ok((pool, generate(TARGETS * 40, Format::F32, 1)?)));
    let (pool, targets) = match made {
        Ok(made) => made,
        Err(error) => {
            println!("{}: {error}", kind.name);
            return;
        }
    };
    // Rows near some of the centres, but not rows of the pool.
    let targets: Vec<f32> = download(&targets, DIM).chunks(DIM).step_by(40).flatten().copied().collect();
    let targets: Vec<f32> = targets.iter().enumerate().map(|(i, x)| x + 0.03 * (i as f32 * 0.37).sin()).collect();
    println!("{}: generated and surveyed in {:.3} s", kind.name, clock.elapsed().as_secs_f64());
    let targets = Embeddings::new(&targets, DIM).expect("the rows are whole");
    let clock = Instant::now();
    let mean = pool.embeddings().mean();
    println!("{}: mean in {:.3} s", kind.name, clock.elapsed().as_secs_f64());
    for (rule, count, noise, is_prepared) in [
        ("itl", 100, 0.01, false),
        ("itl", 100, 1.0, false),
        ("itl", 100, 1.0, true),
        ("itl", 100, 1e-4, false),
        ("vtl", 100, 0.01, false),
        ("ctl", 100, 0.01, false),
        ("cosine", 100, 1.0, true),
        ("itl-top-b", 100, 1.0, true),
        ("nearest-each", 100, 1.0, true),
        ("itl", 1000, 0.01, false),
    ] {
        let mean = is_prepared.then_some(&mean[..]);
        let task = |rows| Task::new(as_read(rows, mean), as_read(targets, mean));
        let plan = Plan::default().strategy(rule.parse().expect("a rule")).count(count).noise(Noise::Relative(noise));
        let mut seconds = Vec::new();
        let mut last: Option<Selection> = None;
        // A thousand picks from the largest pool take longer than everything else together.
        if count > 100 && kind.rows > 10_000_000 {
            continue;
        }
        for _ in 0..if count > 100 || rule == "nearest-each" { 2 } else { 4 } {
            let clock = Instant::now();
            match select(&task(pool.embeddings()), &plan) {
                Ok(selection) => last = Some(selection),
                Err(error) => println!("{error}"),
            }
            seconds.push(clock.elapsed().as_secs_f64());
        }
        let warm_up = seconds.remove(0);
        seconds.sort_by(f64::total_cmp);
        let Some(last) = last else { continue };
        let timed = Timed::new(&pool);
        let clock = Instant::now();
        let again = select(&task(timed.embeddings(DIM)), &plan).map(|selection| selection.rows());
        let whole = clock.elapsed().as_secs_f64();
        assert_eq!(again, Ok(last.rows()));
        let (parts, sum) = timed.report();
        println!(
            "{} {rule} {count} ρ²={noise}{}: {:.4} s (first {warm_up:.4}), {} passes, {} probes | {:.1} ms: {parts}, coordinator {:.1} ms",
            kind.name,
            if is_prepared { ", prepared" } else { "" },
            seconds[seconds.len() / 2],
            last.passes,
            last.probes,
            1e3 * whole,
            1e3 * (whole - sum),
        );
    }
}

/// Measures the upload of a pool from memory.
pub fn upload(device: &Arc<Device>) {
    let values: Vec<f32> = (0..1_000_000 * DIM).map(|i| ((i as u32).wrapping_mul(2_654_435_761) >> 8) as f32).collect();
    let embeddings = Embeddings::new(&values, DIM).expect("the rows are whole");
    for _ in 0..2 {
        let clock = Instant::now();
        let made = DevicePool::upload(embeddings, std::slice::from_ref(device));
        let seconds = clock.elapsed().as_secs_f64();
        let gb = (values.len() * 4) as f64 / 1e9;
        println!("upload of {gb:.2} GB: {seconds:.3} s, {:.1} GB/s, {:?}", gb / seconds, made.err());
    }
    lent(device, embeddings);
}

/// Measures selections from rows that stay in the memory of the machine, beside the same rows on the device.
fn lent(device: &Arc<Device>, rows: Embeddings<'_>) {
    let devices = std::slice::from_ref(device);
    let clock = Instant::now();
    let made = DevicePool::upload(rows, devices).and_then(|held| Ok((held, DevicePool::lend(rows, devices, None)?)));
    let (held, lent) = match made {
        Ok(pools) => pools,
        Err(error) => return println!("lent rows: {error}"),
    };
    println!("uploaded and lent in {:.3} s", clock.elapsed().as_secs_f64());
    let targets: Vec<f32> = (0..TARGETS * DIM).map(|i| 1e7 * (1.0 + (i as f32 * 0.37).sin())).collect();
    let targets = Embeddings::new(&targets, DIM).expect("the rows are whole");
    let plan = Plan::default().count(100).noise(Noise::Relative(1.0));
    for (name, pool) in [("on the device", &held), ("lent", &lent), ("on the device", &held), ("lent", &lent)] {
        let clock = Instant::now();
        match select(&Task::new(pool.embeddings(), targets), &plan) {
            Ok(found) => {
                let seconds = clock.elapsed().as_secs_f64();
                println!(
                    "1m rows {name}, itl 100 ρ²=1: {seconds:.4} s, {} passes, {:?}",
                    found.passes,
                    &found.rows()[..3]
                );
            }
            Err(error) => println!("{name}: {error}"),
        }
    }
}
