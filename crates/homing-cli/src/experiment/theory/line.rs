//! Targets inside, overlapping and outside the pool on a line: what two rules learn from the same number of labels.

use anyhow::Result;
use homing::theory::RkhsFunction;
use homing::{Embeddings, Matern, Points, Posterior};
use homing_report::plots::{Page, Plot, Section, Size, key};

use super::world::{World, spaced};

const LENGTH: f64 = 0.14;
const NOISE: f64 = 0.12;
const PICKS: usize = 6;
const RULES: [(&str, &str); 2] = [("itl", "ITL"), ("uncertainty", "uncertainty sampling")];

/// The positions of S and A.
pub struct Situation {
    pub name: &'static str,
    pub pool: [f64; 2],
    pub targets: [f64; 2],
}

pub const SITUATIONS: [Situation; 3] = [
    Situation { name: "Targets inside the pool", pool: [0.05, 0.95], targets: [0.42, 0.6] },
    Situation { name: "Targets overlap with the pool", pool: [0.05, 0.62], targets: [0.5, 0.72] },
    Situation { name: "Targets outside the pool", pool: [0.05, 0.6], targets: [0.65, 0.78] },
];

pub fn world(situation: &Situation) -> Result<World> {
    Ok(World {
        name: situation.name,
        note: "",
        kernel: Box::new(Matern::new(2.5, LENGTH)?),
        dim: 1,
        pool: spaced(situation.pool[0], situation.pool[1], 121),
        targets: spaced(situation.targets[0], situation.targets[1], 25),
        noise_std: NOISE,
    })
}

pub fn page(seed: u64) -> Result<Page> {
    let mut sections = Vec::new();
    for situation in &SITUATIONS {
        let world = world(situation)?;
        let centres = spaced(0.0, 1.0, 24);
        let truth = RkhsFunction::random(&*world.kernel, points(&centres)?, 3.0, seed)?;
        let mut plots = Vec::new();
        let mut table =
            vec![vec![String::new(), "mean variance of the targets".into(), "floor".into(), "mean error".into()]];
        for (rule, name) in RULES {
            let picks = world.picks(rule, PICKS, seed)?;
            let at: Vec<f64> = picks.iter().map(|&row| world.pool[row]).collect();
            let labels: Vec<f64> = at.iter().map(|&x| truth.eval(&[x])).collect();
            let posterior = Posterior::new(&*world.kernel, points(&at)?, &labels, &[NOISE * NOISE; PICKS])?;
            plots.push(plot(situation, name, &truth, &posterior, &at));
            let error = world.targets.iter().map(|&x| (truth.eval(&[x]) - posterior.mean(&[x])).abs()).sum::<f64>();
            let left = world.mean_vars(&picks)?[PICKS];
            let figures = [left, world.floor()?, error / world.targets.len() as f64].map(|x| format!("{x:.3}"));
            table.push([vec![name.to_owned()], figures.to_vec()].concat());
        }
        let keys = vec![
            key("l truth", "f*"),
            key("l mean", "posterior mean"),
            key("between", "two standard deviations"),
            key("obs", "label"),
            key("pool-ruler", "pool S"),
            key("target-ruler", "targets A"),
        ];
        let note = format!(
            "Each rule chooses {PICKS} labels, with a Matérn kernel with ν = 5/2 and length {LENGTH} and noise ρ = {NOISE}. The labels are \
             shown without error, and labels at almost the same place overlap."
        );
        sections.push(Section {
            title: situation.name.into(),
            note,
            columns: 2,
            plots,
            keys,
            table,
            ..Section::default()
        });
    }
    Ok(Page::new(
        "What the same labels teach",
        "ITL spends its labels where they are informative about the targets; uncertainty sampling spreads them over the pool.",
        sections,
    ))
}

fn points(values: &[f64]) -> Result<Points<'_>> {
    Ok(Embeddings::new(values, 1)?.into())
}

fn plot(situation: &Situation, name: &str, truth: &RkhsFunction<'_>, posterior: &Posterior<'_>, at: &[f64]) -> Plot {
    let size = Size { width: 520.0, height: 300.0, names: 0.0 };
    let mut plot = Plot::new(name, "", size, [0.0, 1.0], [-3.2, 3.2], "x");
    let xs = spaced(0.0, 1.0, 241);
    let curve = |f: &dyn Fn(f64) -> f64| xs.iter().map(|&x| (x, f(x))).collect::<Vec<_>>();
    let band: Vec<(f64, f64, f64)> = xs
        .iter()
        .map(|&x| {
            let (mean, std) = (posterior.mean(&[x]), posterior.var(&[x]).sqrt());
            (x, mean - 2.0 * std, mean + 2.0 * std)
        })
        .collect();
    let labels: Vec<(f64, f64)> = at.iter().map(|&x| (x, truth.eval(&[x]))).collect();
    plot.strip("target-strip", situation.targets)
        .band("between", &band)
        .line("l mean", &curve(&|x| posterior.mean(&[x])))
        .line("l truth", &curve(&|x| truth.eval(&[x])))
        .ruler("pool-ruler", situation.pool, 0)
        .ruler("target-ruler", situation.targets, 1)
        .numbered(&labels);
    plot.finished()
}
