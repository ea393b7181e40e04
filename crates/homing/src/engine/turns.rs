//! Targets in turn, many picks per pass: one pass keeps the most similar rows of every target, from which its turns take.

use rayon::prelude::*;

use super::order::{ScoredRow, is_copy, winner};
use super::plain::{cosine_with, divide_by_std};
use super::setup::RoundSetup;
use super::speculative::{DraftingEngine, PrecisionLoss};
use super::work::Work;
use crate::law::targets::Targets;
use crate::law::{Functional, Law, WhitenedColumns};
use crate::shard::BLOCK;
use crate::{Candidate, Kernel, Points, Rule};

/// Number of blocks that are read between two merges of their rows into the queues.
const GROUP: usize = 256;

/// Number of rows that a queue holds in addition to twice the turns of its target, because other targets take some of them.
const SPARE: usize = 16;

/// Difference of keys above which two rows are no copies of each other: copies differ by rounding.
const COPY: f64 = 1e-9;

/// The best rows of one target, best first.
#[derive(Default)]
struct Queue {
    rows: Vec<ScoredRow>,
    /// Key of the best row that was left out.
    left_out: Option<f64>,
}

/// The engine of a rule that reads only the cosine with the target whose turn it is.
pub(crate) struct TurnEngine<'s> {
    pool: Points<'s>,
    kernel: &'s dyn Kernel,
    rule: &'s dyn Rule,
    prior: Law<'s>,
    /// One functional per target, whose covariances with rows become cosines.
    targets: Vec<Functional>,
    queues: Vec<Queue>,
    open: Vec<bool>,
    turn: usize,
    depth: usize,
    passes: usize,
}

impl<'s> TurnEngine<'s> {
    pub fn new<'a: 's>(setup: &'s RoundSetup<'s, 'a>, targets: &Targets, open: Vec<bool>) -> Self {
        let prior = Law::prior(setup.kernel, setup.pool.dim());
        let functionals = targets.iter().map(|a| cosine_with(&prior, setup.kernel, a)).collect();
        Self {
            pool: setup.pool,
            kernel: setup.kernel,
            rule: &*setup.plan.strategy.rule,
            prior,
            targets: functionals,
            queues: Vec::new(),
            open,
            turn: targets.turns,
            depth: 0,
            passes: 0,
        }
    }

    /// Fills every queue with the best `depth` open rows.
    fn fill(&mut self) {
        self.passes += 1;
        let mut queues: Vec<Queue> = self.targets.iter().map(|_| Queue::default()).collect();
        let blocks: Vec<usize> = (0..self.pool.rows().div_ceil(BLOCK)).collect();
        for group in blocks.chunks(GROUP) {
            let bars: Vec<f64> = queues.iter().map(|queue| queue.left_out.unwrap_or(f64::NEG_INFINITY)).collect();
            let found: Vec<Vec<Vec<ScoredRow>>> = group.par_iter().map(|&block| self.score(block, &bars)).collect();
            for (a, queue) in queues.iter_mut().enumerate() {
                queue.rows.extend(found.iter().flat_map(|block| &block[a]));
                queue.keep(self.depth);
            }
        }
        self.queues = queues;
    }

    /// Returns the open rows of a block whose key exceeds each target's bar.
    fn score(&self, block: usize, bars: &[f64]) -> Vec<Vec<ScoredRow>> {
        let rows = block * BLOCK..self.pool.rows().min((block + 1) * BLOCK);
        let dim = self.pool.dim();
        let mut values = vec![0.0; rows.len() * dim];
        self.pool.read(rows.clone(), &mut values);
        let vars = self.kernel.vars(&values, dim);
        let mut cosines = vec![0.0; rows.len()];
        let mut columns = WhitenedColumns::default();
        let scored = |(functional, &bar): (&Functional, &f64)| {
            self.prior.scan(functional, &values, &mut columns, &mut cosines);
            divide_by_std(&mut cosines, &vars);
            let one = |(row, &turn_cosine): (usize, &f64)| {
                let candidate = Candidate { turn_cosine, ..Candidate::default() };
                ScoredRow { row, score: self.rule.score(&candidate), key: self.rule.key(&candidate) }
            };
            let all = rows.clone().zip(&cosines).filter(|(row, _)| self.open[*row]).map(one);
            all.filter(|scored| scored.key > bar).collect()
        };
        self.targets.iter().zip(bars).map(scored).collect()
    }

    /// Returns the best open row of a queue, unless a row that was left out may come before it.
    fn best(&self, queue: &Queue) -> Option<ScoredRow> {
        let open = queue.rows.iter().copied().filter(|scored| self.open[scored.row]);
        let first = open.clone().next()?;
        if queue.left_out.is_some_and(|key| key >= first.key - COPY) {
            return None;
        }
        winner(open, |a, b| is_copy(self.kernel, self.pool, a, b))
    }
}

impl Queue {
    /// Sorts the rows, and leaves out all but the best `depth`.
    fn keep(&mut self, depth: usize) {
        self.rows.sort_unstable_by(ScoredRow::order);
        if self.rows.len() > depth {
            self.left_out = self.left_out.into_iter().chain([self.rows[depth].key]).reduce(f64::max);
            self.rows.truncate(depth);
        }
    }
}

impl<'s> DraftingEngine<'s> for TurnEngine<'s> {
    fn next(&mut self, left: usize) -> Result<Option<(usize, f64)>, PrecisionLoss> {
        let target = self.turn % self.targets.len();
        loop {
            if let Some(queue) = self.queues.get(target) {
                let best = self.best(queue);
                if let Some(best) = best {
                    self.open[best.row] = false;
                    self.turn += 1;
                    return Ok(Some((best.row, best.score)));
                }
                if queue.left_out.is_none() {
                    return Ok(None);
                }
            }
            self.depth = (2 * self.depth).max(2 * left.div_ceil(self.targets.len()) + SPARE);
            self.fill();
        }
    }

    fn work(&self) -> Work {
        Work { passes: self.passes, probes: 0 }
    }

    fn into_finer(self: Box<Self>) -> Option<Box<dyn DraftingEngine<'s> + 's>> {
        None
    }
}
