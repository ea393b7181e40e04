//! Growth of a selection's time with rows and picks: linear in both.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use homing::{Embeddings, Plan, Task, select};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const DIM: usize = 128;

fn rows(count: usize, seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..count * DIM).map(|_| rng.random_range(-1.0..1.0)).collect()
}

fn growth(c: &mut Criterion) {
    let (pool, targets) = (rows(64_000, 0), rows(30, 1));
    let targets = Embeddings::new(&targets[..], DIM).unwrap();
    for rule in ["itl", "vtl", "ctl", "k-means++"] {
        let mut group = c.benchmark_group(rule);
        group.sample_size(10);
        for (rows, count) in [(16_000, 20), (32_000, 20), (64_000, 20), (16_000, 40), (16_000, 80)] {
            let task = Task::new(Embeddings::new(&pool[..rows * DIM], DIM).unwrap(), targets);
            let plan = Plan::default().strategy(rule.parse().unwrap()).count(count);
            group.throughput(Throughput::Elements((rows * count) as u64));
            group.bench_function(BenchmarkId::from_parameter(format!("{rows} rows, {count} picks")), |b| {
                b.iter(|| black_box(select(&task, &plan).unwrap()));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, growth);
criterion_main!(benches);
