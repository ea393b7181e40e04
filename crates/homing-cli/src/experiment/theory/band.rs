//! The agnostic setting: a fixed function, the confidence band around the posterior mean, and how often the band holds.

use anyhow::Result;
use homing::theory::{
    RkhsFunction, Simulation, calibrated_width, confidence_interval, confidence_width, greedy_capacity,
};
use homing::{Embeddings, Gaussian, Points, Posterior};
use homing_report::plots::{Page, Plot, Section, Size, key};

use super::world::{World, spaced};

const LENGTH: f64 = 0.15;
const DELTA: f64 = 0.1;
const NORM: f64 = 2.0;
const PICKS: usize = 12;
const TRIALS: usize = 500;
/// Noise standard deviations for which coverage is simulated.
const NOISES: [f64; 7] = [0.02, 0.05, 0.1, 0.3, 1.0, 2.0, 5.0];

fn world(noise_std: f64) -> Result<World> {
    let line = spaced(0.0, 1.0, 60);
    let kernel = Box::new(Gaussian::new(LENGTH)?);
    Ok(World { name: "", note: "", kernel, dim: 1, pool: line.clone(), targets: line, noise_std })
}

fn points(values: &[f64]) -> Result<Points<'_>> {
    Ok(Embeddings::new(values, 1)?.into())
}

/// Returns β_n(δ) for n = 0, 1, …: as printed in the paper, and in a form that holds for every noise.
fn widths(world: &World, norm: f64) -> Result<[Vec<f64>; 2]> {
    let model = world.model()?;
    let mut widths = [Vec::new(), Vec::new()];
    for n in 0..=PICKS {
        let gamma = greedy_capacity(&model, n, true)?.upper;
        widths[0].push(confidence_width(norm, world.noise_std, gamma, DELTA)?);
        widths[1].push(calibrated_width(norm, gamma, DELTA)?);
    }
    Ok(widths)
}

pub fn page(seed: u64) -> Result<Page> {
    let plots = [(1.0, "noise ρ = 1"), (0.1, "noise ρ = 0.1")]
        .into_iter()
        .map(|(noise, title)| plot(&world(noise)?, title, seed))
        .collect::<Result<Vec<_>>>()?;
    let pictures = Section {
        title: "The band around one function".into(),
        note: format!(
            "{PICKS} labels chosen by ITL, f* with ‖f*‖ = {NORM}, δ = {DELTA}. Blue: ‖f*‖ + √(2(γ_n + ln 1/δ)) standard deviations. \
             Orange: the printed β_n(δ) = ‖f*‖ + ρ√(2(γ_n + 1 + ln 1/δ)) standard deviations."
        ),
        columns: 2,
        plots,
        keys: vec![
            key("l truth", "f*"),
            key("l mean", "posterior mean"),
            key("between", "printed β_n(δ)·σ_n"),
            key("wider", "width that holds for every ρ"),
            key("obs", "label"),
        ],
        ..Section::default()
    };
    Ok(Page::new(
        "Confidence without a prior",
        "With probability 1 − δ, a fixed function of the kernel’s Hilbert space lies in the band at all points and after every pick.",
        vec![pictures, coverage(seed)?],
    ))
}

fn plot(world: &World, title: &str, seed: u64) -> Result<Plot> {
    let truth = RkhsFunction::random(&*world.kernel, points(&world.pool)?, NORM, seed)?;
    let picks = world.picks("itl-exact", PICKS, seed)?;
    let at: Vec<f64> = picks.iter().map(|&row| world.pool[row]).collect();
    // Alternating errors of 0.7 ρ, as far from f* as a typical label.
    let error = |i: usize| world.noise_std * if i.is_multiple_of(2) { 0.7 } else { -0.7 };
    let labels: Vec<f64> = at.iter().enumerate().map(|(i, &x)| truth.eval(&[x]) + error(i)).collect();
    let noise = vec![world.noise_std * world.noise_std; PICKS];
    let posterior = Posterior::new(&*world.kernel, points(&at)?, &labels, &noise)?;
    let widths = widths(world, NORM)?.map(|widths| widths[PICKS]);
    let xs = spaced(0.0, 1.0, 181);
    let band = |width: f64| -> Vec<(f64, f64, f64)> {
        let one = |&x: &f64| {
            let [low, high] = confidence_interval(posterior.mean(&[x]), posterior.var(&[x]).sqrt(), width);
            (x, low, high)
        };
        xs.iter().map(one).collect()
    };
    let wide = band(widths[1].max(widths[0]));
    let reach = wide.iter().fold(1.0, |most: f64, &(_, low, high)| most.max(high).max(-low));
    let size = Size { width: 520.0, height: 300.0, names: 0.0 };
    let mut plot = Plot::new(title, "", size, [0.0, 1.0], [-reach, reach], "x");
    let curve = |f: &dyn Fn(f64) -> f64| xs.iter().map(|&x| (x, f(x))).collect::<Vec<_>>();
    let dots: Vec<(f64, f64)> = at.into_iter().zip(labels).collect();
    plot.band("wider", &band(widths[1]))
        .band("between", &band(widths[0]))
        .line("l mean", &curve(&|x| posterior.mean(&[x])))
        .line("l truth", &curve(&|x| truth.eval(&[x])))
        .dots("obs", &dots);
    Ok(plot.finished())
}

fn coverage(seed: u64) -> Result<Section> {
    // With a small norm, only the second part of the width has to account for the noise.
    let norms = [0.05, NORM];
    let mut plots = Vec::new();
    let mut table = vec![["noise ρ", "‖f*‖", "printed β_n(δ)", "width for every ρ"].map(str::to_owned).to_vec()];
    for norm in norms {
        let mut lines = [Vec::new(), Vec::new()];
        for noise_std in NOISES {
            let world = world(noise_std)?;
            let picks = world.picks("itl-exact", PICKS, seed)?;
            let simulation = Simulation {
                kernel: &*world.kernel,
                domain: points(&world.pool)?,
                picks: &picks,
                noise_std,
                norm,
                trials: TRIALS,
                seed,
            };
            let held = simulation.coverage(&widths(&world, norm)?)?;
            lines.iter_mut().zip(&held).for_each(|(line, &held)| line.push((noise_std.log10(), held)));
            table.push(
                [noise_std, norm]
                    .map(|x| x.to_string())
                    .into_iter()
                    .chain(held.iter().map(|h| format!("{:.1} %", 100.0 * h)))
                    .collect(),
            );
        }
        let size = Size { width: 500.0, height: 280.0, names: 66.0 };
        let ends = [NOISES[0].log10(), NOISES[NOISES.len() - 1].log10()];
        let mut plot = Plot::new(&format!("‖f*‖ = {norm}"), "", size, ends, [0.0, 1.04], "log₁₀ ρ");
        plot.line("l floor faint", &ends.map(|x| (x, 1.0 - DELTA)))
            .named_line("l bound", "every ρ", &lines[1])
            .named_line("l itl", "printed", &lines[0]);
        plots.push(plot.finished());
    }
    Ok(Section {
        title: "How often it holds".into(),
        note: format!(
            "Share of {TRIALS} random functions that lie in the band for all x and all n up to {PICKS} (the dotted line is 1 − δ). The printed \
             width multiplies its second part by ρ, although σ_n of the posterior with noise ρ² has that scale already, so it can be too narrow \
             below ρ = 1."
        ),
        columns: 2,
        plots,
        table,
        ..Section::default()
    })
}
