//! The next-best rows, on which a draft is tried before the pass over the whole pool.

use rayon::prelude::*;

use super::block_steps::{BlockSteps, ColdNumbers};
use super::cold::bounded;
use super::{PickStep, SelectionState};
use crate::data::embeddings::BLOCK;
use crate::engine::real::Real;
use crate::{Embeddings, Rule};

/// Largest number of rivals that one decision adds to the draft.
const MOST_RIVALS: usize = 128;

/// Rows with nearly the best scores, in blocks.
#[derive(Default)]
pub(crate) struct WarmRows<T> {
    blocks: Vec<WarmBlock<T>>,
}

struct WarmBlock<T> {
    rows: Vec<usize>,
    /// Copies of the rows, row-major. Several trials read them.
    points: Vec<T>,
    numbers: ColdNumbers<T>,
    /// The numbers before each step of the last trial.
    history: Vec<ColdNumbers<T>>,
}

/// Rows that would have been picked before the draft's own picks.
pub(crate) struct Rivals {
    /// The first decision that one of them wins.
    pub at: usize,
    pub rows: Vec<usize>,
}

impl<T: Real> WarmRows<T> {
    /// Creates the rows from their numbers before the `pending` picks. `state` is the state after those.
    pub fn new(
        pool: Embeddings<'_>,
        rows: &[usize],
        numbers: &ColdNumbers<T>,
        pending: &[PickStep],
        state: &SelectionState,
    ) -> Self {
        let part = |list: &[T], at: usize| list.get(at..list.len().min(at + BLOCK)).unwrap_or_default().to_vec();
        let copies = |rows: &[usize]| {
            let mut points = vec![T::default(); rows.len() * pool.dim()];
            T::gather(pool, rows, &mut points);
            points
        };
        let block = |(b, rows): (usize, &[usize])| WarmBlock {
            rows: rows.to_vec(),
            points: copies(rows),
            numbers: ColdNumbers {
                var: part(&numbers.var, b * BLOCK),
                second: part(&numbers.second, b * BLOCK),
                second_error: Vec::new(),
            },
            history: Vec::new(),
        };
        let mut warm = Self { blocks: rows.par_chunks(BLOCK).enumerate().map(block).collect() };
        warm.apply(pool.dim(), pending, state, |_, _, _| {});
        warm
    }

    /// Applies steps, and calls `at` with a block's rows and numbers before each step and after the last.
    fn apply(
        &mut self,
        dim: usize,
        steps: &[PickStep],
        state: &SelectionState,
        at: impl Fn(usize, &[usize], &ColdNumbers<T>) + Sync,
    ) {
        let block_steps = BlockSteps::new(dim, steps.iter(), state, None);
        let room = || block_steps.room();
        self.blocks.par_iter_mut().for_each_init(room, |products, block| {
            let WarmBlock { rows, points, numbers, history } = block;
            history.clear();
            block_steps.apply(points, products, numbers, |t, numbers| {
                history.push(numbers.clone());
                at(t, rows, numbers);
            });
        });
    }

    /// Applies the steps of a draft, up to the first at which a row `outside` the draft scores more than the step's own
    /// row.
    pub fn try_steps(
        &mut self,
        dim: usize,
        rule: &dyn Rule,
        steps: &[PickStep],
        state: &SelectionState,
        outside: impl Fn(usize) -> bool + Sync,
    ) -> Option<Rivals> {
        let found = std::sync::Mutex::new(Vec::new());
        self.apply(dim, steps, state, |t, rows, numbers| {
            let Some(step) = steps.get(t) else { return };
            let keys = keys(rule, state, numbers);
            let better = rows.iter().zip(keys).filter(|&(&row, key)| f64::from(key) > step.key && outside(row));
            let better: Vec<(usize, f32, usize)> = better.map(|(&row, key)| (t, key, row)).collect();
            if !better.is_empty() {
                found.lock().expect("no thread panics while it holds the lock").extend(better);
            }
        });
        let mut found = found.into_inner().expect("no thread panics while it holds the lock");
        found.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
        let at = found.first()?.0;
        let best = found.chunk_by(|a, b| a.0 == b.0).flat_map(|decision| decision.iter().take(MOST_RIVALS));
        let mut rows: Vec<usize> = best.map(|&(_, _, row)| row).collect();
        rows.sort_unstable();
        rows.dedup();
        for block in &mut self.blocks {
            block.numbers = std::mem::take(&mut block.history[at]);
        }
        Some(Rivals { at, rows })
    }

    /// Returns the `count` rows with the largest keys.
    pub fn best(&self, rule: &dyn Rule, state: &SelectionState, count: usize) -> Vec<usize> {
        let ranked = |block: &WarmBlock<T>| {
            let keys = keys(rule, state, &block.numbers);
            keys.into_iter().zip(block.rows.iter().copied()).collect::<Vec<_>>()
        };
        let mut ranked: Vec<(f32, usize)> = self.blocks.iter().flat_map(ranked).collect();
        ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        ranked.into_iter().take(count).map(|(_, row)| row).collect()
    }
}

fn keys<T: Real>(rule: &dyn Rule, state: &SelectionState, numbers: &ColdNumbers<T>) -> Vec<f32> {
    let mut keys = Vec::with_capacity(numbers.var.len());
    // Norms only scale errors, and no errors are bounded here.
    rule.keys(&bounded(state, numbers, &numbers.var), &mut keys);
    keys
}
