//! The next-best rows, on which a draft is tried before the pass over the whole pool.

use rayon::prelude::*;

use super::block_steps::{BlockSteps, ColdNumbers, RowMeaning};
use crate::Embeddings;
use crate::engine::real::Real;
use crate::shard::BLOCK;
use crate::shard::{PickStep, Ranked, Ranking, Rival, Trial};

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

impl<T: Real> WarmRows<T> {
    /// Replaces all rows, given their numbers before the pending picks. The copies take the room of the former ones, because
    /// fresh memory costs a page fault per 4 kB.
    pub fn replace(&mut self, pool: Embeddings<'_>, rows: &[usize], numbers: &ColdNumbers<T>, ranking: &Ranking<'_>) {
        let part = |list: &[T], at: usize| list.get(at..list.len().min(at + BLOCK)).unwrap_or_default().to_vec();
        let mut room: Vec<Vec<T>> = self.blocks.drain(..).map(|block| block.points).collect();
        room.resize_with(rows.len().div_ceil(BLOCK), Vec::new);
        let copies = |rows: &[usize], mut points: Vec<T>| {
            points.resize(rows.len() * pool.dim(), T::default());
            T::gather(pool, rows, &mut points);
            points
        };
        let block = |((b, rows), room): ((usize, &[usize]), Vec<T>)| WarmBlock {
            rows: rows.to_vec(),
            points: copies(rows, room),
            numbers: ColdNumbers {
                var: part(&numbers.var, b * BLOCK),
                second: part(&numbers.second, b * BLOCK),
                second_error: Vec::new(),
            },
            history: Vec::new(),
        };
        self.blocks = rows.par_chunks(BLOCK).enumerate().zip(room).map(block).collect();
        self.apply(pool, (ranking.pending, ranking.after), |_, _, _| {});
    }

    /// Applies steps, and calls `at` with a block's rows and numbers before each step and after the last.
    fn apply(
        &mut self,
        pool: Embeddings<'_>,
        (steps, after): (&[PickStep], Option<&[f64]>),
        at: impl Fn(usize, &[usize], &ColdNumbers<T>) + Sync,
    ) {
        let block_steps = BlockSteps::new(pool, steps.iter(), after, None);
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

    /// Applies the steps of a draft. Returns the rows that score more than the step's own row, at every step.
    pub fn try_steps(&mut self, pool: Embeddings<'_>, meaning: RowMeaning<'_>, trial: &Trial<'_>) -> Vec<Rival> {
        let found = std::sync::Mutex::new(Vec::new());
        self.apply(pool, (trial.steps, trial.after), |at, rows, numbers| {
            let Some(step) = trial.steps.get(at) else { return };
            let ranked = rows.iter().zip(keys(meaning, numbers));
            let better =
                ranked.filter(|&(row, key)| f64::from(key) > step.key && trial.excluded.binary_search(row).is_err());
            let better: Vec<Rival> = better.map(|(&row, key)| Rival { at, row, key }).collect();
            if !better.is_empty() {
                found.lock().expect("no thread panics while it holds the lock").extend(better);
            }
        });
        found.into_inner().expect("no thread panics while it holds the lock")
    }

    /// Returns to the numbers before a step of the last trial.
    pub fn rewind(&mut self, at: usize) {
        for block in &mut self.blocks {
            block.numbers = std::mem::take(&mut block.history[at]);
        }
    }

    /// Returns the `count` rows with the largest keys.
    pub fn best(&self, meaning: RowMeaning<'_>, count: usize) -> Vec<Ranked> {
        let ranked = |block: &WarmBlock<T>| {
            let ranked = block.rows.iter().zip(keys(meaning, &block.numbers));
            ranked.map(|(&row, key)| Ranked { row, key }).collect::<Vec<_>>()
        };
        let mut ranked: Vec<Ranked> = self.blocks.par_iter().flat_map_iter(ranked).collect();
        if count < ranked.len() {
            ranked.select_nth_unstable_by(count, Ranked::order);
            ranked.truncate(count);
        }
        ranked.sort_unstable_by(Ranked::order);
        ranked
    }
}

fn keys<T: Real>(meaning: RowMeaning<'_>, numbers: &ColdNumbers<T>) -> Vec<f32> {
    let mut keys = Vec::with_capacity(numbers.var.len());
    // Norms only scale errors, and no errors are bounded here.
    meaning.rule.keys(&meaning.bounded(numbers, &numbers.var), &mut keys);
    keys
}
