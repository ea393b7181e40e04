//! Explanations: why each row was picked, which targets it serves, which rows it makes redundant, and a two-dimensional
//! map.

pub(crate) mod projection;

use rayon::prelude::*;

use crate::rules::TargetNoise;
use crate::select::ledger::open_ledger;
use crate::shard::BLOCK;
use crate::{Points, Result, Selection, SpanCoordinates, Task};

/// Similarity to a pick at which a row adds almost nothing after it.
const NEAR_DUPLICATE: f64 = 0.95;

/// Number of targets among which a pick's gain is divided, most served first. The other targets share the remainder.
const SPLIT: usize = 100;

/// Number of nearest targets listed per pick.
const NEAREST: usize = 3;

/// The reasons for one pick.
///
/// ```
/// use homing::{Embeddings, Plan, Task, explain, select};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let explanation = explain(&task, &select(&task, &Plan::default().count(2))?)?;
///
/// let reasons = &explanation.picks[0];
/// assert_eq!(reasons.nearest[0].0, 0); // the only target
/// assert_eq!(reasons.redundant_example.map(|(row, _)| row), Some(0)); // row 0 resembles the first pick, row 1
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PickReasons {
    /// Total variance that this pick removed from the targets.
    pub variance_removed: f64,
    /// Division of the gain among the targets: (target, share of `variance_removed`), most served first, at most a hundred.
    pub serves: Vec<(usize, f64)>,
    /// Targets most similar to this pick, before any conditioning: (target, cosine).
    pub nearest: Vec<(usize, f64)>,
    /// Number of pool rows that are near-duplicates of this pick and resemble no other pick more. They are no longer worth
    /// picking.
    pub redundant: usize,
    /// The most similar of those rows: (row, cosine).
    pub redundant_example: Option<(usize, f64)>,
}

/// How the picks changed the variance of one target.
///
/// ```
/// use homing::{Embeddings, Plan, Task, explain, select};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let explanation = explain(&task, &select(&task, &Plan::default().count(2))?)?;
///
/// let target = explanation.targets[0];
/// assert!(target.var < target.start_var && target.best_pick == 1);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TargetStory {
    /// Variance before the first pick.
    pub start_var: f64,
    /// Variance after the last pick.
    pub var: f64,
    /// Rank of the pick that removed most of the variance.
    pub best_pick: usize,
}

/// The reasons for all picks of a selection.
///
/// ```
/// use homing::{Embeddings, Plan, Task, explain, select};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let explanation = explain(&task, &select(&task, &Plan::default().count(2))?)?;
///
/// assert_eq!((explanation.picks.len(), explanation.targets.len()), (2, 1));
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// Reasons for each pick, in order.
    pub picks: Vec<PickReasons>,
    /// Changes of each target; empty without targets.
    pub targets: Vec<TargetStory>,
}

/// Replays a selection and explains it pick by pick.
///
/// ```
/// use homing::{Embeddings, Plan, Task, explain, select};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let explanation = explain(&task, &select(&task, &Plan::default().count(2))?)?;
///
/// let removed: Vec<f64> = explanation.picks.iter().map(|pick| pick.variance_removed).collect();
/// assert!(removed[0] > removed[1]);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn explain(task: &Task<'_>, selection: &Selection) -> Result<Explanation> {
    let span = SpanCoordinates::of(task)?;
    let task = &span.as_ref().map_or(*task, |span| span.task(task));
    let mut ledger = open_ledger(task, selection.noise_var, TargetNoise::Noisy)?;
    let start = ledger.target_vars();
    let targets = task.targets.map(|targets| targets.to_vec()).unwrap_or_default();
    let dim = task.pool.dim();
    let mut before = start.clone();
    let mut best = vec![(0.0, 0); start.len()];
    let mut picks = Vec::with_capacity(selection.picks.len());
    for pick in &selection.picks {
        let x = task.pool.row(pick.row);
        ledger.observe(&x, task.noise_vars.map_or(selection.noise_var, |vars| vars[pick.row]));
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
        picks.push(PickReasons { variance_removed, serves, nearest, redundant: 0, redundant_example: None });
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

/// Returns the `count` largest values with their positions.
fn largest(values: &[f64], count: usize) -> Vec<(usize, f64)> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    order.into_iter().take(count).map(|i| (i, values[i])).collect()
}

/// Assigns each near-duplicate in the pool to the pick that it resembles most.
fn mark_redundant(task: &Task<'_>, selection: &Selection, reasons: &mut [PickReasons]) {
    let (pool, dim) = (task.pool, task.pool.dim());
    let rows = selection.rows();
    let picked: std::collections::HashSet<usize> = rows.iter().copied().collect();
    let chosen = pool.gather(&rows);
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
        reasons[pick].redundant += 1;
        if reasons[pick].redundant_example.is_none_or(|(_, best)| similarity > best) {
            reasons[pick].redundant_example = Some((row, similarity));
        }
    }
}

/// Returns the pick that resembles a row most: (rank, cosine). This shows which pick made the row redundant.
///
/// ```
/// use homing::{Embeddings, Plan, Task, closest_pick, select};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let selection = select(&task, &Plan::default().count(2))?; // rows 1 and 2
/// let (rank, cosine) = closest_pick(&task, &selection, 0).expect("there are picks");
/// assert!(rank == 1 && cosine > 0.99);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn closest_pick(task: &Task<'_>, selection: &Selection, row: usize) -> Option<(usize, f64)> {
    let x = Points::row(&task.pool, row);
    let similar = selection.picks.iter().map(|pick| (pick.rank, cosine(task, &x, &task.pool.row(pick.row))));
    similar.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
}
