//! Loss-gradient ITL under each Σ compared with last-layer ITL, in time and peak memory, and the cost of Σ per round.
//!
//! Run with `cargo bench -p homing --bench last_layer [ROWS [LABELLED]]`. Each case runs in its own process, and the best
//! of five runs counts. Times are processor times of all threads, which other work on the machine affects less than elapsed
//! time.

mod sample;

use homing::last_layer::{Approximation, Covariance, Curvature, LastLayer, Mode};
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
        "| classes | points | computing Σ | computing the points | choosing | ratio to last-layer | passes | peak memory, MiB |"
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

/// Prints the seconds for Σ, for the points and for the picks, the passes, and the peak memory.
fn run(rows: usize, labelled: usize, classes: usize, case: &str) {
    let labelled_rows = rows..rows + labelled;
    let data = Data::new(labelled_rows.end, TARGETS, DIM, classes);
    let ranges = [0..rows, labelled_rows.end..labelled_rows.end + TARGETS];
    let (start, mut placed) = (seconds(), None);
    let approximation = match case {
        "damped" => Some(Approximation::Damped),
        "kronecker" => Some(Approximation::Kronecker),
        "diagonal" => Some(Approximation::Diagonal),
        _ => None,
    };
    let sigma = approximation.map(|approximation| fit(&data, labelled_rows.clone(), approximation));
    let fitted = seconds();
    if let Some(sigma) = &sigma {
        let place = |range: &std::ops::Range<usize>| {
            sigma
                .loss_gradients(data.embeddings(range.clone()), data.probabilities(range.clone()))
                .expect("they match the layer")
        };
        placed = Some(ranges.each_ref().map(place));
    }
    let (kernel, product) = (sigma.as_ref().map(Covariance::kernel), Product::new(classes, true));
    let points = |at: usize| -> Points<'_> {
        match (&placed, &sigma, case) {
            (Some(placed), Some(sigma), _) => {
                Embeddings::new(&placed[at][..], sigma.width()).expect("rows are whole").into()
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
    let task = Task::new(points(0), points(1)).kernel(kernel);
    let before = seconds();
    let plan = Plan::default().count(PICKS);
    let selection = select(&task, &plan).expect("the plan is valid");
    let after = seconds();
    let memory = status("VmHWM:") / 1024.0;
    println!("{} {} {} {} {memory}", fitted - start, before - fitted, after - before, selection.passes);
}

/// Computes Σ with the best prior precision.
fn fit(data: &Data, labelled: std::ops::Range<usize>, approximation: Approximation) -> Covariance {
    let (hidden, probabilities) = (data.embeddings(labelled.clone()), data.probabilities(labelled.clone()));
    let layer = LastLayer::new(hidden, probabilities, false).expect("both have as many rows");
    let labels: Vec<usize> = (0..labelled.len())
        .map(|i| {
            let p = probabilities.row(i);
            (0..p.len()).fold(0, |best, c| if p[c] > p[best] { c } else { best })
        })
        .collect();
    let weights = data.weights();
    let weights = Embeddings::new(&weights[..], probabilities.dim()).expect("rows are whole");
    let curvature = Curvature::new(&layer, approximation).expect("the covariance is not full");
    let mode = Mode::new(&layer, weights, &labels).expect("the weights match the layer");
    let prior = curvature.fit_prior(&mode).expect("the network is uncertain");
    curvature.covariance(prior.precision).expect("the precision is positive")
}

/// Returns the processor time of all threads so far.
fn seconds() -> f64 {
    cpu_seconds().unwrap_or_else(|| panic!("this system does not report processor time"))
}
