//! Information capacity γ_n of four kernels, and the rates of the paper's Table 3.

use anyhow::Result;
use homing::theory::{Model, gaussian_growth, greedy_capacity, laplace_growth, linear_growth, matern_growth};
use homing::{Embeddings, Gaussian, Kernel, Laplace, Linear, Matern, Noise, Task};
use homing_report::plots::{Page, Plot, Section, Size, key};

use super::world::spaced;

const NOISE: f64 = 0.3;
const COUNTS: [usize; 12] = [1, 2, 4, 7, 11, 16, 24, 36, 54, 80, 110, 150];
const LENGTH: f64 = 0.2;

type Rate = fn(f64) -> f64;

/// Name, formula of the rate, kernel, rate.
type Row = (&'static str, &'static str, Box<dyn Kernel>, Rate);

fn kernels() -> Result<Vec<Row>> {
    Ok(vec![
        ("Linear", "d ln n", Box::new(Linear) as Box<dyn Kernel>, (|n| linear_growth(n, 1)) as Rate),
        ("Gaussian", "ln² n", Box::new(Gaussian::new(LENGTH)?), |n| gaussian_growth(n, 1)),
        ("Matérn, ν = 5/2", "n^(1/6) ln^(5/6) n", Box::new(Matern::new(2.5, LENGTH)?), |n| matern_growth(n, 1, 2.5)),
        ("Laplace", "√n √ln n", Box::new(Laplace::new(LENGTH)?), |n| laplace_growth(n, 1)),
    ])
}

pub fn page() -> Result<Page> {
    let line = spaced(0.0, 1.0, 400);
    let mut plots = Vec::new();
    let mut table =
        vec![["kernel", "rate", "γ_16", "γ_150", "γ_150/γ_16", "rate(150)/rate(16)"].map(str::to_owned).to_vec()];
    for (name, formula, kernel, rate) in kernels()? {
        let task = Task::undirected(Embeddings::new(&line[..], 1)?).kernel(&*kernel);
        let model = Model::new(task, Noise::Std(NOISE))?;
        let mut band = Vec::new();
        for n in COUNTS {
            let capacity = greedy_capacity(&model, n, true)?;
            band.push((n as f64, capacity.lower, capacity.upper));
        }
        let at = |n: usize| band.iter().find(|&&(x, ..)| x == n as f64).expect("counted").1;
        // The rate is scaled to meet the greedy information at the last n.
        let factor = at(150) / rate(150.0);
        let curve: Vec<(f64, f64)> = (2..=150).map(|n| (f64::from(n), factor * rate(f64::from(n)))).collect();
        let size = Size { width: 500.0, height: 280.0, names: 0.0 };
        let mut plot = Plot::new(name, formula, size, [0.0, 150.0], [0.0, 1.05 * band[COUNTS.len() - 1].2], "n");
        let lower: Vec<(f64, f64)> = band.iter().map(|&(n, lower, _)| (n, lower)).collect();
        plot.band("wider", &band).line("l floor", &curve).line("l itl", &lower);
        plots.push(plot.finished());
        let figures = [at(16), at(150), at(150) / at(16), rate(150.0) / rate(16.0)].map(|x| format!("{x:.2}"));
        table.push([vec![name.to_owned(), formula.to_owned()], figures.to_vec()].concat());
    }
    let section = Section {
        title: "γ_n on a line".into(),
        note: format!(
            "The most information about f that n labels can give, in nats, on 400 points of [0, 1] with noise ρ = {NOISE} and length \
             {LENGTH}; a row may be observed again. The plots show the information of the greedy set, the bound above it, and the rate of \
             Table 3, scaled to meet the information at the end."
        ),
        columns: 2,
        plots,
        keys: vec![
            key("l itl", "greedy set"),
            key("wider", "γ_n lies here"),
            key("l floor", "rate of Table 3, scaled"),
        ],
        table,
        ..Section::default()
    };
    Ok(Page::new("Information capacity", "How much n labels can teach, for each kernel.", vec![section]))
}
