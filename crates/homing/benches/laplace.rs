//! Loss-gradient ITL under each Σ against last-layer ITL: time and peak memory; and what Σ costs each round.
//!
//! `cargo bench -p homing --bench laplace [ROWS [LABELLED]]`. Every case is a process of its own, the best of five; times are of all threads
//! together, so that other work on the machine counts less.

mod sample;

use std::ops::ControlFlow;

use homing::laplace::{Approximation, Covariance, Curvature, LastLayer, Mode};
use homing::{Embeddings, Kernel, Linear, Plan, Points, Product, Task, select};
use sample::{Data, child, cpu_seconds, status};

const DIM: usize = 1280;
const TARGETS: usize = 30;
const PICKS: usize = 100;
const CASES: [&str; 5] = ["last-layer", "loss-gradient", "damped", "kronecker", "diagonal"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match &arguments[..] {
        [rows, labelled, classes, case] => {
            let number = |text: &String| text.parse().expect("a number");
            run(number(rows), number(labelled), number(classes), case);
        }
        [] => table("1000", "300"),
        [rows] => table(rows, "300"),
        [rows, labelled, ..] => table(rows, labelled),
    }
}

fn table(rows: &str, labelled: &str) {
    println!("{rows} x {DIM} f32, {TARGETS} targets, {PICKS} picks, {labelled} labelled\n");
    println!(
        "| classes | points | making Σ | making the points | choosing | ratio to last-layer | passes | peak memory, MB |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for classes in ["10", "100"] {
        let mut base = None;
        for case in CASES {
            let runs = (0..5).map(|_| child(&[rows, labelled, classes, case]));
            let best = runs.min_by(|a, b| a[2].total_cmp(&b[2])).expect("five runs");
            let [fit, place, choose, passes, memory] = best[..] else { panic!("five numbers") };
            let ratio = choose / *base.get_or_insert(choose);
            println!(
                "| {classes} | {case} | {fit:.2} | {place:.2} | {choose:.2} | {ratio:.1} | {passes} | {memory:.0} |"
            );
        }
    }
}

/// Prints the seconds for Σ, for the points and for the picks, the passes, and the peak memory of all.
fn run(rows: usize, labelled: usize, classes: usize, case: &str) {
    let known = rows..rows + labelled;
    let data = Data::new(known.end, TARGETS, DIM, classes);
    let ranges = [0..rows, known.end..known.end + TARGETS];
    let (start, mut placed) = (seconds(), None);
    let approximation = match case {
        "damped" => Some(Approximation::Damped),
        "kronecker" => Some(Approximation::Kronecker),
        "diagonal" => Some(Approximation::Diagonal),
        _ => None,
    };
    let sigma = approximation.map(|approximation| fit(&data, known.clone(), approximation));
    let fitted = seconds();
    if let Some(sigma) = &sigma {
        let place = |range: &std::ops::Range<usize>| {
            sigma.loss_gradients(data.embeddings(range.clone()), data.probabilities(range.clone())).expect("one layer")
        };
        placed = Some(ranges.each_ref().map(place));
    }
    let (kernel, product) = (sigma.as_ref().map(Covariance::kernel), Product::new(classes, true));
    let points = |at: usize| -> Points<'_> {
        match (&placed, &sigma, case) {
            (Some(placed), Some(sigma), _) => {
                Embeddings::new(&placed[at][..], sigma.width()).expect("whole rows").into()
            }
            (.., "last-layer") => data.embeddings(ranges[at].clone()).into(),
            _ => data.gradients(ranges[at].clone()),
        }
    };
    let kernel: &dyn Kernel = match kernel {
        Some(kernel) => kernel,
        None if case == "last-layer" => &Linear,
        None => &product,
    };
    let task = Task { kernel, ..Task::new(points(0), Some(points(1))) };
    let before = seconds();
    let plan = Plan { count: PICKS, ..Plan::default() };
    let selection = select(&task, &plan, |_| ControlFlow::Continue(())).expect("a plan that can be");
    let after = seconds();
    let memory = status("VmHWM:") / 1024.0;
    println!("{} {} {} {} {memory}", fitted - start, before - fitted, after - before, selection.passes);
}

/// Σ with the best prior precision.
fn fit(data: &Data, labelled: std::ops::Range<usize>, approximation: Approximation) -> Covariance {
    let (hidden, probabilities) = (data.embeddings(labelled.clone()), data.probabilities(labelled.clone()));
    let layer = LastLayer::new(hidden, probabilities, false).expect("as many rows");
    let labels: Vec<usize> = (0..labelled.len())
        .map(|i| {
            let p = probabilities.row(i);
            (0..p.len()).fold(0, |best, c| if p[c] > p[best] { c } else { best })
        })
        .collect();
    let weights = data.weights();
    let weights = Embeddings::new(&weights[..], probabilities.dim()).expect("whole rows");
    let curvature = Curvature::new(&layer, approximation).expect("not full");
    let prior =
        curvature.fit_prior(&Mode::new(&layer, weights, &labels).expect("one layer")).expect("an uncertain network");
    curvature.covariance(prior.precision).expect("a positive precision")
}

/// Processor time of all threads so far.
fn seconds() -> f64 {
    cpu_seconds().unwrap_or_else(|| panic!("a system that tells processor time"))
}
