//! The rows next in line: a draft is tried on them before the whole pool is asked.

use rayon::prelude::*;

use super::cold::bounded;
use super::real::Real;
use super::walk::{Numbers, Walk};
use super::{State, Step};
use crate::embeddings::BLOCK;
use crate::{Embeddings, Rule};

/// Rivals that one decision adds to the draft.
const MOST_RIVALS: usize = 128;

/// Rows with about the best scores, in blocks.
#[derive(Default)]
pub(crate) struct Warm<T> {
    blocks: Vec<Block<T>>,
}

struct Block<T> {
    rows: Vec<usize>,
    numbers: Numbers<T>,
    /// The numbers before each step of the last trial.
    trail: Vec<Numbers<T>>,
}

/// Rows that would have been picked before the draft's own.
pub(crate) struct Rivals {
    /// The first decision that one of them wins.
    pub at: usize,
    pub rows: Vec<usize>,
}

impl<T: Real> Warm<T> {
    /// Rows with their numbers before `pending` picks; `state` is the one after those.
    pub fn new(pool: Embeddings<'_>, rows: &[usize], numbers: &Numbers<T>, pending: &[Step], state: &State) -> Self {
        let part = |list: &[T], at: usize| list.get(at..list.len().min(at + BLOCK)).unwrap_or_default().to_vec();
        let block = |(b, rows): (usize, &[usize])| Block {
            rows: rows.to_vec(),
            numbers: Numbers {
                var: part(&numbers.var, b * BLOCK),
                second: part(&numbers.second, b * BLOCK),
                second_error: Vec::new(),
            },
            trail: Vec::new(),
        };
        let mut warm = Self { blocks: rows.chunks(BLOCK).enumerate().map(block).collect() };
        warm.walk(pool, pending, state, |_, _, _| {});
        warm
    }

    /// Takes steps, calling `at` with a block's rows and numbers before each of them and after the last.
    fn walk(
        &mut self,
        pool: Embeddings<'_>,
        steps: &[Step],
        state: &State,
        at: impl Fn(usize, &[usize], &Numbers<T>) + Sync,
    ) {
        let walk = Walk::new(pool.dim(), steps.iter(), state, None);
        let room = || (vec![T::default(); BLOCK.min(pool.rows()) * pool.dim()], walk.room());
        self.blocks.par_iter_mut().for_each_init(room, |(buffer, products), block| {
            let Block { rows, numbers, trail } = block;
            let buffer = &mut buffer[..rows.len() * pool.dim()];
            T::gather(pool, rows, buffer);
            trail.clear();
            walk.take(buffer, products, numbers, |t, numbers| {
                trail.push(numbers.clone());
                at(t, rows, numbers);
            });
        });
    }

    /// Takes the steps of a draft, up to the first at which a row `outside` of it scores more than the step's own.
    pub fn try_steps(
        &mut self,
        pool: Embeddings<'_>,
        rule: &dyn Rule,
        steps: &[Step],
        state: &State,
        outside: impl Fn(usize) -> bool + Sync,
    ) -> Option<Rivals> {
        let found = std::sync::Mutex::new(Vec::new());
        self.walk(pool, steps, state, |t, rows, numbers| {
            let Some(step) = steps.get(t) else { return };
            let keys = keys(rule, state, numbers);
            let ahead = rows.iter().zip(keys).filter(|&(&row, key)| f64::from(key) > step.key && outside(row));
            let ahead: Vec<(usize, f32, usize)> = ahead.map(|(&row, key)| (t, key, row)).collect();
            if !ahead.is_empty() {
                found.lock().expect("no panic while it is held").extend(ahead);
            }
        });
        let mut found = found.into_inner().expect("no panic while it is held");
        found.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
        let at = found.first()?.0;
        let best = found.chunk_by(|a, b| a.0 == b.0).flat_map(|decision| decision.iter().take(MOST_RIVALS));
        let mut rows: Vec<usize> = best.map(|&(_, _, row)| row).collect();
        rows.sort_unstable();
        rows.dedup();
        for block in &mut self.blocks {
            block.numbers = std::mem::take(&mut block.trail[at]);
        }
        Some(Rivals { at, rows })
    }

    /// The `count` rows with the largest keys.
    pub fn best(&self, rule: &dyn Rule, state: &State, count: usize) -> Vec<usize> {
        let ranked = |block: &Block<T>| {
            let keys = keys(rule, state, &block.numbers);
            keys.into_iter().zip(block.rows.iter().copied()).collect::<Vec<_>>()
        };
        let mut ranked: Vec<(f32, usize)> = self.blocks.iter().flat_map(ranked).collect();
        ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        ranked.into_iter().take(count).map(|(_, row)| row).collect()
    }
}

fn keys<T: Real>(rule: &dyn Rule, state: &State, numbers: &Numbers<T>) -> Vec<f32> {
    let mut keys = Vec::with_capacity(numbers.var.len());
    // Norms scale errors, and none are bounded here.
    rule.keys(&bounded(state, numbers, &numbers.var), &mut keys);
    keys
}
