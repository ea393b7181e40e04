//! A shard in memory, or in a file: all of its rows are worked on by threads.

use std::borrow::Cow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::block_steps::{BlockSteps, ColdNumbers, Probes, Products, RowMeaning, gamma};
use super::warm::WarmRows;
use crate::Embeddings;
use crate::engine::real::Real;
use crate::rules::BlockBounds;
use crate::shard::BLOCK;
use crate::shard::{
    CHALLENGERS, CHECKPOINTS, Challengers, Pass, Precision, Projection, Ranked, Ranking, Rival, SecondStart, Shard,
    Start, Trial,
};

/// One block of rows.
struct ColdBlock<'a, T: Real> {
    norm_sq: Cow<'a, [T]>,
    /// The numbers of the rows at the start of the draft, then at the checkpoints.
    numbers: [ColdNumbers<T>; CHECKPOINTS + 1],
}

/// All rows of a pool, with their numbers in `T`.
pub(super) struct ThreadShard<'a, T: Real> {
    pool: Embeddings<'a>,
    meaning: RowMeaning<'a>,
    blocks: Vec<ColdBlock<'a, T>>,
    /// The decision from which on each row is not to be named: 0 if it may not be picked, [`NEVER`] by default.
    named_until: Vec<u8>,
    warm: WarmRows<T>,
}

/// Of so many keys, one is in the sample that tells how large the best ones are.
const ONE_OF: usize = 16;

/// Later than every decision of a draft.
const NEVER: u8 = u8::MAX;

impl<'a, T: Real> ThreadShard<'a, T> {
    pub fn new(pool: Embeddings<'a>, norms: Cow<'a, [T]>, meaning: RowMeaning<'a>) -> Self {
        let block = |norm_sq: Cow<'a, [T]>| ColdBlock { norm_sq, numbers: Default::default() };
        let blocks = match norms {
            Cow::Borrowed(norms) => norms.chunks(BLOCK).map(|norms| block(Cow::Borrowed(norms))).collect(),
            Cow::Owned(norms) => norms.chunks(BLOCK).map(|norms| block(Cow::Owned(norms.to_vec()))).collect(),
        };
        Self { pool, meaning, blocks, named_until: Vec::new(), warm: WarmRows::default() }
    }

    /// Calls `f` for each block with its rows, in parallel.
    fn each(
        &mut self,
        room: impl Fn() -> Products<T> + Sync,
        f: impl Fn(usize, &[T], &mut Products<T>, &mut ColdBlock<'a, T>) + Sync,
    ) {
        let pool = self.pool;
        self.blocks.par_iter_mut().enumerate().for_each_init(
            || (vec![T::default(); BLOCK.min(pool.rows()) * pool.dim()], room()),
            |(buffer, products), (b, block)| {
                let rows = T::block(pool, b * BLOCK..b * BLOCK + block.norm_sq.len(), buffer);
                f(b, rows, products, block);
            },
        );
    }

    fn is_open(&self, row: usize) -> bool {
        self.named_until[row] != 0
    }

    /// Returns the `count` open rows with the largest keys at a checkpoint, and some that tie with the last of them.
    fn largest(&self, (checkpoint, count): (usize, usize)) -> Vec<usize> {
        let mut keys = vec![f32::NEG_INFINITY; self.named_until.len()];
        let blocks = keys.par_chunks_mut(BLOCK).zip(&self.blocks).zip(self.named_until.par_chunks(BLOCK));
        blocks.for_each_init(Vec::new, |found, ((keys, block), named_until)| {
            found.clear();
            let bounded = self.meaning.bounded(&block.numbers[checkpoint], &block.norm_sq);
            self.meaning.rule.keys(&bounded, found);
            let all = keys.iter_mut().zip(found).zip(named_until);
            all.filter(|(_, until)| **until != 0).for_each(|((key, found), _)| *key = *found);
        });
        let bar = (0 < count && count < keys.len()).then(|| nth_largest(&keys, count));
        let reach = |row: &usize| self.is_open(*row) && bar.is_none_or(|bar| keys[*row].total_cmp(&bar).is_ge());
        let blocks = (0..keys.len()).into_par_iter().step_by(BLOCK);
        let found = blocks.flat_map_iter(|start| (start..keys.len().min(start + BLOCK)).filter(reach));
        let mut rows: Vec<usize> = found.collect();
        // Many rows may have the same key as the bar.
        rows.truncate(2 * count);
        rows
    }
}

/// Returns the `count`th largest of more keys than that.
fn nth_largest(keys: &[f32], count: usize) -> f32 {
    let nth = |keys: &mut [f32], n: usize| *keys.select_nth_unstable_by(n - 1, |a, b| b.total_cmp(a)).1;
    // A sample tells roughly where it lies, so that few keys have to be compared with each other.
    let mut sample: Vec<f32> = keys.iter().step_by(ONE_OF).copied().collect();
    let within = (count + count / 4).div_ceil(ONE_OF) + ONE_OF;
    let guess = if within < sample.len() { nth(&mut sample, within) } else { f32::NEG_INFINITY };
    let above = |keys: &[f32]| keys.iter().copied().filter(|key| key.total_cmp(&guess).is_ge()).collect::<Vec<f32>>();
    let mut few: Vec<f32> = keys.par_chunks(BLOCK).flat_map_iter(above).collect();
    if count <= few.len() { nth(&mut few, count) } else { nth(&mut keys.to_vec(), count) }
}

impl<T: Real> Shard for ThreadShard<'_, T> {
    fn rows(&self) -> usize {
        self.pool.rows()
    }

    fn precision(&self) -> Precision {
        Precision {
            unit: T::UNIT,
            product: gamma::<T>(self.pool.transform(), self.pool.dim()),
            challengers: CHALLENGERS,
        }
    }

    fn start(&mut self, &Start { data, second, open }: &Start<'_>) {
        let (dim, gamma) = (self.pool.dim(), gamma::<T>(self.pool.transform(), self.pool.dim()));
        self.named_until = open.iter().map(|&open| if open { NEVER } else { 0 }).collect();
        let columns = match second {
            SecondStart::None => &[][..],
            SecondStart::Joint(joint) => &joint.columns,
            SecondStart::Squares(root) => &root.columns,
            SecondStart::Standardised(weights) => std::slice::from_ref(weights),
        };
        let probes = Probes::new(dim, data.columns.iter().chain(columns).map(Vec::as_slice));
        self.each(
            || probes.room(),
            |_, rows, products, block| {
                probes.multiply(rows, products);
                let remaining = |from: usize, Projection { shrink, .. }: &Projection| -> Vec<T> {
                    let len = block.norm_sq.len();
                    if shrink.len() == dim {
                        let along = products.squares(from, shrink.iter().copied(), len);
                        return along.iter().map(|&var| T::of(var)).collect();
                    }
                    let explained = products.squares(from, shrink.iter().map(|s| 1.0 - s), len);
                    block.norm_sq.iter().zip(explained).map(|(&whole, part)| T::of(whole.get() - part)).collect()
                };
                let mut numbers = ColdNumbers { var: remaining(0, data), ..ColdNumbers::default() };
                let from = data.columns.len();
                match second {
                    SecondStart::None => {}
                    SecondStart::Joint(joint) => numbers.second = remaining(from, joint),
                    SecondStart::Squares(root) => products.sum_squares(root, from, gamma, &mut numbers),
                    SecondStart::Standardised(_) => {
                        numbers.second = products.of(from, block.norm_sq.len()).to_vec();
                    }
                }
                block.numbers[0] = numbers;
            },
        );
    }

    fn verify(&mut self, pass: &Pass<'_>) -> Challengers {
        let excluded = pass.excluded.iter().map(|&(row, until)| {
            let until = self.named_until[row].min(u8::try_from(until).unwrap_or(NEVER));
            (row, std::mem::replace(&mut self.named_until[row], until))
        });
        let excluded: Vec<(usize, u8)> = excluded.collect();
        let named_until = std::mem::take(&mut self.named_until);
        let (made, meaning, form) = (pass.made, self.meaning, self.meaning.rule.form());
        let root = pass.root.map(|root| (made, root));
        let block_steps = BlockSteps::new(self.pool, pass.steps.iter().copied(), pass.after, root);
        let found = Mutex::new(Vec::new());
        let counts: Vec<AtomicUsize> = pass.decisions.iter().map(|_| AtomicUsize::new(0)).collect();
        self.each(
            || block_steps.room(),
            |b, rows, products, block| {
                let mut numbers = std::mem::take(&mut block.numbers[0]);
                let mut hits: Vec<usize> = Vec::new();
                let mut checkpoint = 0;
                block_steps.apply(rows, products, &mut numbers, |j, numbers| {
                    let Some(t) = j.checked_sub(made) else { return };
                    if checkpoint <= CHECKPOINTS && t == pass.checkpoints[checkpoint] {
                        block.numbers[checkpoint].copy(numbers);
                        checkpoint += 1;
                    }
                    let Some(decision) = pass.decisions.get(t).filter(|_| t < complete_decisions(&counts)) else {
                        return;
                    };
                    let bounded = BlockBounds {
                        var_error: decision.errors.var,
                        second_error: decision.errors.second,
                        std_cov_error: decision.errors.std_cov,
                        second_errors: &numbers.second_error,
                        ..meaning.bounded(numbers, &block.norm_sq)
                    };
                    if !bounded.may_reach(form, decision.lowered_bar()) {
                        return;
                    }
                    hits.clear();
                    meaning.rule.reach(decision.bar, &bounded, &mut hits);
                    hits.retain(|&i| t < usize::from(named_until[b * BLOCK + i]));
                    if !hits.is_empty() {
                        counts[t].fetch_add(hits.len(), Ordering::Relaxed);
                        let mut found = found.lock().expect("no thread panics while it holds the lock");
                        found.extend(hits.iter().map(|&i| (t, b * BLOCK + i)));
                    }
                });
                block.numbers[0].second_error = numbers.second_error;
            },
        );
        self.named_until = named_until;
        excluded.into_iter().for_each(|(row, until)| self.named_until[row] = until);
        let rows = found.into_inner().expect("no thread panics while it holds the lock");
        Challengers { rows, complete: complete_decisions(&counts) }
    }

    fn keep(&mut self, checkpoint: usize) {
        for block in &mut self.blocks {
            block.numbers.swap(0, checkpoint);
            block.numbers[0].second_error = std::mem::take(&mut block.numbers[checkpoint].second_error);
        }
    }

    fn rank(&mut self, ranking: &Ranking<'_>) -> Vec<Ranked> {
        ranking.taken.iter().for_each(|&row| self.named_until[row] = 0);
        let mut rows: Vec<usize> = ranking.lists.iter().flat_map(|&list| self.largest(list)).collect();
        rows.sort_unstable();
        rows.dedup();
        let mut numbers = ColdNumbers::default();
        for &row in &rows {
            let (from, i) = (&self.blocks[row / BLOCK].numbers[0], row % BLOCK);
            numbers.var.push(from.var[i]);
            numbers.second.extend(from.second.get(i));
        }
        self.warm.replace(self.pool, &rows, &numbers, ranking);
        self.warm.best(self.meaning, ranking.count)
    }

    fn try_steps(&mut self, trial: &Trial<'_>) -> Vec<Rival> {
        self.warm.try_steps(self.pool, self.meaning, trial)
    }

    fn rewind(&mut self, at: usize) {
        self.warm.rewind(at);
    }
}

/// Returns the number of decisions that can be settled within the limit on challengers. Counts only grow, so a decision
/// that exceeds the limit once also exceeds it at the end. The result therefore does not depend on threads.
fn complete_decisions(counts: &[AtomicUsize]) -> usize {
    let mut total = 0;
    let within = |count: &AtomicUsize| {
        total += count.load(Ordering::Relaxed);
        total <= CHALLENGERS
    };
    counts.iter().map(within).take_while(|&within| within).count()
}
