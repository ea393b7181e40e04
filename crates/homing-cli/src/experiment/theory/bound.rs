//! The variance theorem in practice: variance, floor and bound for a pool that is part of the targets, and Γ_n below γ_n/n.

use anyhow::Result;
use homing::theory::{Boundary, Constants, boundary, greedy_capacity, objective_bound, trajectory};
use homing::{Gaussian, Matern};
use homing_report::plots::{Page, Plot, Section, Size, key};

use super::world::{World, spaced};

const ROUNDS: usize = 60;
const NOISE: f64 = 0.25;
/// Targets that are shown; most lie outside the pool.
const SHOWN: [f64; 4] = [0.5, 0.66, 0.72, 0.85];

/// Returns pools on a line with targets beyond them; S ⊆ A, as the theorem requires.
fn worlds() -> Result<Vec<World>> {
    let pool = spaced(0.0, 0.6, 13);
    let targets = [SHOWN.to_vec(), pool.clone()].concat();
    let world = |name, kernel| World {
        name,
        note: "",
        kernel,
        dim: 1,
        pool: pool.clone(),
        targets: targets.clone(),
        noise_std: NOISE,
    };
    Ok(vec![
        world("Gaussian kernel, length 0.15", Box::new(Gaussian::new(0.15)?)),
        world("Matérn kernel, ν = 3/2, length 0.3", Box::new(Matern::new(1.5, 0.3)?)),
    ])
}

pub fn page() -> Result<Page> {
    let mut sections = Vec::new();
    let mut objectives = Vec::new();
    for world in worlds()? {
        let model = world.model()?;
        let picks = world.picks("itl-exact", ROUNDS, 0)?;
        let constants = Constants::of(&model);
        let floors = model.irreducible_vars()?;
        let boundaries: Vec<Boundary> = (0..SHOWN.len())
            .map(|target| boundary(&model, target, floors[target] + 0.02, world.pool.len()))
            .collect::<Result<_, homing::Error>>()?;
        let at: Vec<usize> = (0..=ROUNDS).collect();
        let rounds = trajectory(&model, &picks, &at, &constants, &boundaries)?;
        let along = |value: &dyn Fn(usize) -> f64| at.iter().map(|&n| (n as f64, value(n))).collect::<Vec<_>>();

        let mut plots = Vec::new();
        for (target, x) in SHOWN.into_iter().enumerate() {
            let size = Size { width: 500.0, height: 260.0, names: 70.0 };
            let title = format!("f at x = {x}");
            let where_ = if x <= 0.6 { "in the pool" } else { "outside the pool" };
            let mut plot = Plot::new(&title, where_, size, [0.0, ROUNDS as f64], [0.0, 1.05], "labels");
            plot.named_line("l floor", "floor η²", &along(&|_| floors[target]))
                .named_line("l bound", "bound", &along(&|n| rounds[n].bounds[target]))
                .named_line("l itl", "variance", &along(&|n| rounds[n].vars[target]));
            plots.push(plot.finished());
        }
        let factor = constants.theorem_factor().map_or_else(|| "unknown".into(), |c| format!("{c:.1e}"));
        let note = format!(
            "ITL on 13 points of [0, 0.6], all of which are targets as well. The bound is that of Theorem 3.1’s proof, \
             Var(f_x | y_B)·exp(2bΓ_n) for the best b rows of the target’s Markov boundary; the theorem’s own constant, \
             C = 2σ² + 2|S|²σ⁴σ̃²/λ²_min = {factor}, holds for every pool and is far larger than needed for this one."
        );
        sections.push(Section { title: world.name.into(), note, columns: 2, plots, ..Section::default() });

        let mut gammas = Vec::new();
        for n in 1..=ROUNDS {
            let capacity = greedy_capacity(&model, n, true)?;
            gammas.push((n as f64, objective_bound(capacity.lower, n), objective_bound(capacity.upper, n)));
        }
        let size = Size { width: 500.0, height: 280.0, names: 0.0 };
        let top = 1.05 * gammas[0].2;
        let mut plot = Plot::new(world.name, "", size, [1.0, ROUNDS as f64], [0.0, top], "n");
        let objective: Vec<(f64, f64)> = (1..=ROUNDS).map(|n| (n as f64, rounds[n - 1].objective)).collect();
        plot.band("wider", &gammas).line("l itl", &objective);
        objectives.push(plot.finished());
    }
    sections.push(Section {
        title: "Information of the next label".into(),
        note: "Γ_{n−1}, the value of the objective when row n is chosen, stays below γ_n/n (Theorem D.1). γ_n lies between the information \
               of the greedy set and its bound."
            .into(),
        columns: 2,
        plots: objectives,
        keys: vec![key("l itl", "Γ_{n−1}"), key("wider", "γ_n/n, between its bounds")],
        ..Section::default()
    });
    Ok(Page::new(
        "Convergence to the irreducible variance",
        "The variance of every target falls to its floor, and the theory gives a lower limit for the speed.",
        sections,
    ))
}
