//! Nonlinear kernels: many picks per pass compared with one pass per pick, in time, passes and memory.
//!
//! Run with `cargo bench -p homing --bench kernels [ROWS]`. Each case runs in its own process, and the best of three runs
//! counts. Times are processor times of all threads, which other work on the machine affects less than elapsed time.

mod sample;

use std::time::Instant;

use homing::{Engine, Gaussian, Kernel, Laplace, Matern, Plan, Points, Product, Task, select};
use sample::{Data, child, cpu_seconds, status};

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
    println!("| kernel | rule | seconds | times faster | passes | memory in addition to the pool, bytes per row |");
    println!("|---|---|---|---|---|---|");
    for (kernel, rule) in CASES {
        let best = |engine: &str| {
            (0..3).map(|_| child(&[&rows.to_string(), kernel, rule, engine])).min_by(|a, b| a[0].total_cmp(&b[0]))
        };
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

fn case(rows: usize, kernel: &str, rule: &str, engine: &str) {
    let data = Data::new(rows, TARGETS, DIM, CLASSES);
    let kernel: (&dyn Kernel, bool) = match kernel {
        "gaussian" => (&Gaussian::new(1.0).expect("the length scale is positive"), false),
        "laplace" => (&Laplace::new(10.0).expect("the length scale is positive"), false),
        "matern-1/2" => (&Matern::new(0.5, 1.0).expect("the parameters are positive"), false),
        "matern-5/2" => (&Matern::new(2.5, 1.0).expect("the parameters are positive"), false),
        _ => (&Product::new(CLASSES, true), true),
    };
    let points = |range: std::ops::Range<usize>| -> Points<'_> {
        if kernel.1 { data.gradients(range) } else { data.embeddings(range).into() }
    };
    let (pool, targets) = (points(0..rows), points(rows..rows + TARGETS));
    let task = Task::new(pool, targets).kernel(kernel.0);
    let engine = if engine == "plain" { Engine::Plain } else { Engine::Speculative };
    let plan = Plan::default().strategy(rule.parse().expect("the rule has a name")).count(PICKS).engine(engine);
    let (before, cpu, start) = (status("VmRSS:"), cpu_seconds(), Instant::now());
    let selection = select(&task, &plan).expect("the plan is valid");
    let seconds = cpu.zip(cpu_seconds()).map_or(start.elapsed().as_secs_f64(), |(before, after)| after - before);
    let memory = (status("VmHWM:") - before) * 1024.0 / rows as f64;
    println!("{seconds} {} {memory}", selection.passes);
}
