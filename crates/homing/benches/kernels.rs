//! Kernels that are not linear: many picks a pass against one pass a pick, in time, passes and memory.
//!
//! `cargo bench -p homing --bench kernels [ROWS]`. Every case is a process of its own, the best of three; times are of all
//! threads together, so that other work on the machine counts less.

use std::ops::ControlFlow;
use std::process::Command;
use std::time::Instant;

use homing::{Embeddings, Engine, Gaussian, Kernel, Laplace, Matern, Plan, Points, Product, Task, select};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const DIM: usize = 256;
const CLASSES: usize = 20;
const TARGETS: usize = 30;
const PICKS: usize = 100;
const CASES: [(&str, &str); 8] = [
    ("gaussian", "itl"),
    ("loss-gradient", "itl"),
    ("gaussian", "vtl"),
    ("gaussian", "ctl"),
    ("gaussian", "undirected-itl"),
    ("laplace", "itl"),
    ("matern-1/2", "itl"),
    ("matern-5/2", "itl"),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match &arguments[..] {
        [rows, kernel, rule, engine] => case(rows.parse().expect("a number of rows"), kernel, rule, engine),
        [] => table(50_000),
        [rows, ..] => table(rows.parse().expect("a number of rows")),
    }
}

fn table(rows: usize) {
    println!("{rows} x {DIM} f32, {TARGETS} targets, {PICKS} picks; plain / drafts\n");
    println!("| kernel | rule | seconds | times faster | passes | memory beside the pool, bytes a row |");
    println!("|---|---|---|---|---|---|");
    for (kernel, rule) in CASES {
        let best =
            |engine: &str| (0..3).map(|_| child(rows, kernel, rule, engine)).min_by(|a, b| a[0].total_cmp(&b[0]));
        let (plain, drafts) = (best("plain").expect("three runs"), best("drafts").expect("three runs"));
        let both = |at: usize, digits: usize| format!("{:.digits$} / {:.digits$}", plain[at], drafts[at]);
        println!(
            "| {kernel} | {rule} | {} | {:.1} | {} | {} |",
            both(0, 2),
            plain[0] / drafts[0],
            both(1, 0),
            both(2, 0)
        );
    }
}

/// Seconds, passes, and bytes a row beside the pool.
fn child(rows: usize, kernel: &str, rule: &str, engine: &str) -> Vec<f64> {
    let this = std::env::current_exe().expect("a program has a path");
    let output = Command::new(this).args([&rows.to_string(), kernel, rule, engine]).output().expect("it ran before");
    let said = String::from_utf8(output.stdout).expect("numbers");
    said.split_whitespace().map(|number| number.parse().expect("numbers")).collect()
}

fn case(rows: usize, kernel: &str, rule: &str, engine: &str) {
    let data = Data::new(rows);
    let kernel: (&dyn Kernel, bool) = match kernel {
        "gaussian" => (&Gaussian::new(1.0).expect("positive"), false),
        "laplace" => (&Laplace::new(10.0).expect("positive"), false),
        "matern-1/2" => (&Matern::new(0.5, 1.0).expect("positive"), false),
        "matern-5/2" => (&Matern::new(2.5, 1.0).expect("positive"), false),
        _ => (&Product::new(CLASSES, true), true),
    };
    let (pool, targets) = (data.points(0..rows, kernel.1), data.points(rows..rows + TARGETS, kernel.1));
    let task = Task { kernel: kernel.0, ..Task::new(pool, Some(targets)) };
    let engine = if engine == "plain" { Engine::Plain } else { Engine::Speculative };
    let plan = Plan { strategy: rule.parse().expect("in the table"), count: PICKS, engine, ..Plan::default() };
    let (before, cpu, start) = (status("VmRSS:"), cpu_seconds(), Instant::now());
    let selection = select(&task, &plan, |_| ControlFlow::Continue(())).expect("a plan that can be");
    let seconds = cpu.zip(cpu_seconds()).map_or(start.elapsed().as_secs_f64(), |(before, after)| after - before);
    let memory = (status("VmHWM:") - before) * 1024.0 / rows as f64;
    println!("{seconds} {} {memory}", selection.passes);
}

/// A figure of this process in kB; zero where the system does not tell.
fn status(name: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
}

/// Processor time of all threads; none where the system does not tell.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let ticks: Vec<f64> = text.rsplit(')').next()?.split_whitespace().skip(11).take(2).flat_map(str::parse).collect();
    Some(ticks.iter().sum::<f64>() / 100.0)
}

/// Unit vectors in clusters with a decaying spectrum, as embeddings of real data have, and class probabilities.
struct Data {
    embeddings: Vec<f32>,
    probabilities: Vec<f32>,
}

impl Data {
    /// So many rows of a pool, and targets from three of its clusters.
    fn new(rows: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut normal = || (0..6).map(|_| rng.random_range(-1.0f32..1.0)).sum::<f32>() * 0.7;
        let scale: Vec<f32> = (1..=DIM).map(|i| (i as f32).powf(-0.7)).collect();
        let centres: Vec<f32> = (0..200 * DIM).map(|i| normal() * scale[i % DIM]).collect();
        let heads: Vec<f32> = (0..CLASSES * DIM).map(|_| 3.0 * normal()).collect();
        let mut embeddings = Vec::with_capacity((rows + TARGETS) * DIM);
        let mut probabilities = Vec::with_capacity((rows + TARGETS) * CLASSES);
        for row in 0..rows + TARGETS {
            let cluster = if row < rows { (row * 7919) % 200 } else { [3, 17, 42][row % 3] };
            let x: Vec<f32> = (0..DIM).map(|j| centres[cluster * DIM + j] + 0.7 * normal() * scale[j]).collect();
            let norm = x.iter().map(|x| x * x).sum::<f32>().sqrt();
            let logits = heads.chunks_exact(DIM).map(|w| w.iter().zip(&x).map(|(w, x)| w * x / norm).sum::<f32>());
            let weights: Vec<f32> = logits.map(f32::exp).collect();
            let sum: f32 = weights.iter().sum();
            probabilities.extend(weights.iter().map(|w| w / sum));
            embeddings.extend(x.iter().map(|x| x / norm));
        }
        Self { embeddings, probabilities }
    }

    fn points(&self, range: std::ops::Range<usize>, gradients: bool) -> Points<'_> {
        let part = |values, width| Embeddings::new(values, width).expect("whole rows");
        let embeddings = part(&self.embeddings[range.start * DIM..range.end * DIM], DIM);
        if !gradients {
            return embeddings.into();
        }
        let probabilities = part(&self.probabilities[range.start * CLASSES..range.end * CLASSES], CLASSES);
        Points::loss_gradient(embeddings, probabilities).expect("as many rows")
    }
}
