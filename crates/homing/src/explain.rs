//! Why each row was picked, which targets it serves, and what it makes redundant.

use rayon::prelude::*;

use crate::embeddings::BLOCK;
use crate::rules::TargetNoise;
use crate::select::open_ledger;
use crate::{Points, Result, Selection, Span, Task};

/// Rows at least this similar to a pick add next to nothing after it.
const NEAR_DUPLICATE: f64 = 0.95;

/// Targets that a pick's gain is split over, most served first; the rest share what is missing to one.
const SPLIT: usize = 100;

/// Nearest targets named a pick.
const NEAREST: usize = 3;

/// The reasons for one pick.
#[derive(Debug, Clone, PartialEq)]
pub struct Why {
    /// Variance that this pick took from the targets, in all.
    pub variance_removed: f64,
    /// The gain split over the targets: (target, share of `variance_removed`), most served first, a hundred at most.
    pub serves: Vec<(usize, f64)>,
    /// Targets most similar to it: (target, cosine), before any conditioning.
    pub nearest: Vec<(usize, f64)>,
    /// How many rows of the pool are near-duplicates of it, and of no other pick more so: not worth picking any more.
    pub redundant: usize,
    /// The most similar of those: (row, cosine).
    pub redundant_example: Option<(usize, f64)>,
}

/// What happened to one target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TargetStory {
    /// Variance before the first pick.
    pub start_var: f64,
    /// Variance after the last.
    pub var: f64,
    /// Rank of the pick that took most of it.
    pub best_pick: usize,
}

/// The reasons for a whole selection.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// One a pick, in order.
    pub picks: Vec<Why>,
    /// One a target; empty without targets.
    pub targets: Vec<TargetStory>,
}

/// Replays a selection and says why, pick by pick.
pub fn explain(task: &Task<'_>, selection: &Selection) -> Result<Explanation> {
    let span = Span::of(task)?;
    let task = &span.as_ref().map_or(*task, |span| span.task(task));
    let mut ledger = open_ledger(task, selection.noise_var, TargetNoise::Noisy)?;
    let start = ledger.target_vars();
    let targets = task.targets.map(|targets| targets.to_vec()).unwrap_or_default();
    let dim = task.pool.dim();
    let mut before = start.clone();
    let mut best = vec![(0.0, 0); start.len()];
    let mut picks = Vec::with_capacity(selection.picks.len());
    for pick in &selection.picks {
        let x = task.pool.row(pick.index);
        ledger.observe(&x, task.noise_vars.map_or(selection.noise_var, |vars| vars[pick.index]));
        let after = ledger.target_vars();
        let removed: Vec<f64> = before.iter().zip(&after).map(|(b, a)| (b - a).max(0.0)).collect();
        for (best, &removed) in best.iter_mut().zip(&removed) {
            if removed > best.0 {
                *best = (removed, pick.rank);
            }
        }
        let variance_removed: f64 = removed.iter().sum();
        let serves = largest(&removed, SPLIT)
            .into_iter()
            .filter(|&(_, removed)| removed > 0.0)
            .map(|(target, removed)| (target, removed / variance_removed))
            .collect();
        let cosines: Vec<f64> = targets.chunks_exact(dim).map(|a| cosine(task, &x, a)).collect();
        let nearest = largest(&cosines, NEAREST);
        picks.push(Why { variance_removed, serves, nearest, redundant: 0, redundant_example: None });
        before = after;
    }
    mark_redundant(task, selection, &mut picks);
    let story = |(i, &start_var): (usize, &f64)| TargetStory { start_var, var: before[i], best_pick: best[i].1 };
    task.check_read()?;
    Ok(Explanation { picks, targets: start.iter().enumerate().map(story).collect() })
}

fn cosine(task: &Task<'_>, x: &[f64], other: &[f64]) -> f64 {
    let scale = (task.kernel.var(x) * task.kernel.var(other)).sqrt();
    if scale > 0.0 { task.kernel.eval(x, other) / scale } else { 0.0 }
}

/// The few largest values with their positions.
fn largest(values: &[f64], count: usize) -> Vec<(usize, f64)> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    order.into_iter().take(count).map(|i| (i, values[i])).collect()
}

/// Credits every near-duplicate in the pool to the pick it resembles most.
fn mark_redundant(task: &Task<'_>, selection: &Selection, why: &mut [Why]) {
    let (pool, dim) = (task.pool, task.pool.dim());
    let indices = selection.indices();
    let picked: std::collections::HashSet<usize> = indices.iter().copied().collect();
    let chosen = pool.gather(&indices);
    let in_block = |b: usize| -> Vec<(usize, usize, f64)> {
        let range = b * BLOCK..pool.rows().min((b + 1) * BLOCK);
        let mut rows = vec![0.0; range.len() * dim];
        pool.read(range.clone(), &mut rows);
        let closest = |x: &[f64]| {
            let similar = chosen.chunks_exact(dim).map(|pick| cosine(task, x, pick));
            similar.enumerate().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
        };
        range
            .zip(rows.chunks_exact(dim))
            .filter(|(row, _)| !picked.contains(row))
            .filter_map(|(row, x)| closest(x).map(|(pick, similarity)| (row, pick, similarity)))
            .filter(|&(_, _, similarity)| similarity >= NEAR_DUPLICATE)
            .collect()
    };
    let found: Vec<Vec<_>> = (0..pool.rows().div_ceil(BLOCK)).into_par_iter().map(in_block).collect();
    for (row, pick, similarity) in found.into_iter().flatten() {
        why[pick].redundant += 1;
        if why[pick].redundant_example.is_none_or(|(_, best)| similarity > best) {
            why[pick].redundant_example = Some((row, similarity));
        }
    }
}

/// The pick that resembles a row most: (rank, cosine). Tells which pick made that row redundant.
pub fn closest_pick(task: &Task<'_>, selection: &Selection, row: usize) -> Option<(usize, f64)> {
    let x = Points::row(&task.pool, row);
    let similar = selection.picks.iter().map(|pick| (pick.rank, cosine(task, &x, &task.pool.row(pick.index))));
    similar.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
}
