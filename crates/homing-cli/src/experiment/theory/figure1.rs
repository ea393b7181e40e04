//! Kinds of transductive learning on a plane (the paper's Figure 1).

use anyhow::Result;
use homing::{Embeddings, Matern, Posterior};
use homing_report::plots::{Key, Page, Plot, Section, Size, key};

use super::world::{World, spaced};

const LENGTH: f64 = 0.25;
const NOISE: f64 = 0.1;
const PICKS: usize = 16;
const CELLS: usize = 56;
const DOMAIN: [f64; 2] = [0.0, 1.0];

/// Returns the points of a grid that a predicate keeps.
fn grid(step: usize, keep: impl Fn(f64, f64) -> bool) -> Vec<f64> {
    let at = spaced(0.0, 1.0, step);
    at.iter()
        .flat_map(|&y| at.iter().map(move |&x| (x, y)))
        .filter(|&(x, y)| keep(x, y))
        .flat_map(|(x, y)| [x, y])
        .collect()
}

fn within(x: f64, y: f64, centre: (f64, f64), radius: f64) -> bool {
    (x - centre.0).hypot(y - centre.1) <= radius
}

fn worlds() -> Result<Vec<World>> {
    let middle = |x: f64, y: f64| within(x, y, (0.5, 0.5), 0.34);
    let left = |x: f64, _: f64| (0.04..=0.6).contains(&x);
    let world = |name, note, pool: Vec<f64>, targets: Vec<f64>| -> Result<World> {
        let kernel = Box::new(Matern::new(2.5, LENGTH)?);
        Ok(World { name, note, kernel, dim: 2, pool, targets, noise_std: NOISE })
    };
    Ok(vec![
        world(
            "A · around",
            "the targets are the whole pool and points outside it",
            grid(17, middle),
            grid(17, |_, _| true),
        )?,
        world(
            "B · within",
            "the targets are a part of the pool",
            grid(33, left),
            grid(33, |x, y| within(x, y, (0.32, 0.62), 0.13)),
        )?,
        world(
            "C · overlapping",
            "some targets are in the pool",
            grid(33, left),
            grid(33, |x, y| within(x, y, (0.62, 0.42), 0.16)),
        )?,
        world(
            "D · outside",
            "no target is in the pool",
            grid(33, left),
            grid(33, |x, y| within(x, y, (0.76, 0.5), 0.11)),
        )?,
    ])
}

pub fn page() -> Result<Page> {
    let mut plots = Vec::new();
    let mut table = vec![vec![String::new(), "prior".into(), "floor η²_S".into(), format!("after {PICKS} picks")]];
    for world in worlds()? {
        let picks = world.picks("itl", PICKS, 0)?;
        let vars = world.mean_vars(&picks)?;
        plots.push(plot(&world, &picks)?);
        let row = [vars[0], world.floor()?, vars[PICKS]].map(|var| format!("{var:.3}"));
        table.push([vec![world.name.into()], row.to_vec()].concat());
    }
    let note = format!(
        "Grey discs are the pool S and blue dots are the targets A. Numbers show the rows that ITL picks, in order. The shade is the \
         posterior variance after {PICKS} picks, for a Matérn kernel with ν = 5/2 and length {LENGTH} and noise ρ = {NOISE}."
    );
    let keys = vec![
        key("pool-dots", "pool S"),
        key("target-dots", "targets A"),
        Key { shade: true, ..key("", "variance, from 0 to 1") },
    ];
    let section =
        Section { title: "Where ITL picks".into(), note, columns: 2, plots, keys, table, ..Section::default() };
    Ok(Page::new(
        "Kinds of transductive learning",
        "How can we learn f on the targets by observing it on the pool? The paper’s Figure 1, computed.",
        vec![section],
    ))
}

fn plot(world: &World, picks: &[usize]) -> Result<Plot> {
    let pairs = |points: &[f64]| points.chunks_exact(2).map(|p| (p[0], p[1])).collect::<Vec<_>>();
    let pool = pairs(&world.pool);
    let size = Size { width: 420.0, height: 412.0, names: 0.0 };
    let mut plot = Plot::new(world.name, world.note, size, DOMAIN, DOMAIN, "");
    let chosen: Vec<(f64, f64)> = picks.iter().map(|&row| pool[row]).collect();
    plot.heat(CELLS, &variances(world, picks)?);
    plot.dots("pool-dots", &pool).dots("target-dots", &pairs(&world.targets)).numbered(&chosen);
    Ok(plot.finished())
}

/// Returns the posterior variance over the plane.
fn variances(world: &World, picks: &[usize]) -> Result<Vec<f64>> {
    let half = 0.5 / CELLS as f64;
    let at = spaced(half, 1.0 - half, CELLS);
    let cells: Vec<f64> = at.iter().flat_map(|&y| at.iter().flat_map(move |&x| [x, y])).collect();
    let at: Vec<f64> = picks.iter().flat_map(|&row| world.pool[2 * row..2 * row + 2].to_vec()).collect();
    let observed = Embeddings::new(&at[..], 2)?.into();
    let noise = vec![world.noise_std * world.noise_std; picks.len()];
    let posterior = Posterior::new(&*world.kernel, observed, &vec![0.0; picks.len()], &noise)?;
    Ok(cells.chunks_exact(2).map(|cell| posterior.var(cell)).collect())
}
