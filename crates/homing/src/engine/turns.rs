//! Targets in turn, many picks per pass: one pass keeps the most similar rows of every target, from which its turns take.

use rayon::prelude::*;

use super::order::{ScoredRow, is_copy, winner};
use super::plain::{cosine_with, divide_by_std};
use super::setup::RoundSetup;
use super::speculative::{DraftingEngine, PrecisionLoss, RankedRows, cosine_state, is_near};
use super::work::Work;
use crate::law::targets::Targets;
use crate::law::{Functional, Law, WhitenedColumns};
use crate::shard::{BLOCK, KeyForm};
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

/// What rows are scored with.
struct Cosines<'s> {
    pool: Points<'s>,
    kernel: &'s dyn Kernel,
    rule: &'s dyn Rule,
    prior: Law<'s>,
    /// One functional per target, whose covariances with rows become cosines.
    targets: Vec<Functional>,
}

/// The engine of a rule that reads only the cosine with the target whose turn it is.
pub(crate) struct TurnEngine<'s> {
    cosines: Cosines<'s>,
    queues: Vec<Queue>,
    open: Vec<bool>,
    turn: usize,
    depth: usize,
    /// The work so far, without that of the ranking.
    work: Work,
    /// Ranks the rows where they lie, if the pool has a carrier at hand.
    ranking: Option<Ranking<'s>>,
}

/// Rows that a carrier ranks by one target after the other.
struct Ranking<'s> {
    rows: RankedRows<'s>,
    targets: Targets,
    /// The size of the rows.
    scale: f64,
}

impl<'s> TurnEngine<'s> {
    pub fn new<'a: 's>(setup: &'s RoundSetup<'s, 'a>, targets: &Targets, open: Vec<bool>) -> Self {
        let prior = Law::prior(setup.kernel, setup.pool.dim());
        let functionals = targets.iter().map(|a| cosine_with(&prior, setup.kernel, a)).collect();
        let ranking = setup.plan.strategy.rule.is_cosine().then(|| Ranking::new(setup, targets, &open)).flatten();
        let rule = &*setup.plan.strategy.rule;
        Self {
            cosines: Cosines { pool: setup.pool, kernel: setup.kernel, rule, prior, targets: functionals },
            queues: Vec::new(),
            open,
            turn: targets.turns,
            depth: 0,
            work: Work::default(),
            ranking,
        }
    }

    /// Fills every queue with the best `depth` open rows.
    fn fill(&mut self) {
        let Self { cosines, open, depth, .. } = self;
        let targets = cosines.targets.len();
        if let Some(mut ranking) = self.ranking.take() {
            if let Some(queues) = (0..targets).map(|a| ranking.queue(cosines, a, open, *depth)).collect() {
                (self.queues, self.ranking) = (queues, Some(ranking));
                return;
            }
            self.work += ranking.rows.work();
        }
        self.work.passes += 1;
        self.work.left_carrier = is_near(cosines.pool.embeddings());
        let mut queues: Vec<Queue> = (0..targets).map(|_| Queue::default()).collect();
        let blocks: Vec<usize> = (0..cosines.pool.rows().div_ceil(BLOCK)).collect();
        for group in blocks.chunks(GROUP) {
            let bars: Vec<f64> = queues.iter().map(|queue| queue.left_out.unwrap_or(f64::NEG_INFINITY)).collect();
            let found: Vec<Vec<Vec<ScoredRow>>> =
                group.par_iter().map(|&block| cosines.of_block(block, open, &bars)).collect();
            for (a, queue) in queues.iter_mut().enumerate() {
                queue.rows.extend(found.iter().flat_map(|block| &block[a]));
                queue.keep(*depth);
            }
        }
        self.queues = queues;
    }

    /// Returns the best open row of a queue, unless a row that was left out may come before it.
    fn best(&self, queue: &Queue) -> Option<ScoredRow> {
        let open = queue.rows.iter().copied().filter(|scored| self.open[scored.row]);
        let first = open.clone().next()?;
        if queue.left_out.is_some_and(|key| key >= first.key - COPY) {
            return None;
        }
        winner(open, |a, b| is_copy(self.cosines.kernel, self.cosines.pool, a, b))
    }
}

impl Cosines<'_> {
    /// Returns the open rows of a block whose key exceeds each target's bar.
    fn of_block(&self, block: usize, open: &[bool], bars: &[f64]) -> Vec<Vec<ScoredRow>> {
        let rows = block * BLOCK..self.pool.rows().min((block + 1) * BLOCK);
        let mut values = vec![0.0; rows.len() * self.pool.dim()];
        self.pool.read(rows.clone(), &mut values);
        let vars = self.kernel.vars(&values, self.pool.dim());
        let mut columns = WhitenedColumns::default();
        let scored = |(a, &bar): (usize, &f64)| {
            let all = self.of_rows(a, rows.clone(), (&values, &vars), &mut columns);
            all.filter(|scored| open[scored.row] && scored.key > bar).collect()
        };
        bars.iter().enumerate().map(scored).collect()
    }

    /// Scores rows, given their values and prior variances, for the target `a`.
    fn of_rows(
        &self,
        a: usize,
        rows: impl Iterator<Item = usize>,
        (values, vars): (&[f64], &[f64]),
        columns: &mut WhitenedColumns,
    ) -> impl Iterator<Item = ScoredRow> {
        let mut cosines = vec![0.0; vars.len()];
        self.prior.scan(&self.targets[a], values, columns, &mut cosines);
        divide_by_std(&mut cosines, vars);
        rows.zip(cosines).map(|(row, turn_cosine)| {
            let candidate = Candidate { turn_cosine, ..Candidate::default() };
            ScoredRow { row, score: self.rule.score(&candidate), key: self.rule.key(&candidate) }
        })
    }
}

impl<'s> Ranking<'s> {
    fn new(setup: &'s RoundSetup<'s, '_>, targets: &Targets, open: &[bool]) -> Option<Self> {
        let (Points::Embeddings(pool), Some(norms)) = (setup.pool, setup.norms) else { return None };
        let state = cosine_state(targets.whose_turn(), targets.dim, setup.mean_var)?;
        let may_rank = setup.kernel.is_linear() && is_near(pool);
        let rows =
            may_rank.then(|| RankedRows::new(pool, norms, KeyForm::Correlation, state, open.to_vec())).flatten()?;
        Some(Self { rows, targets: targets.clone(), scale: setup.mean_var })
    }

    /// Returns the best `depth` open rows of the target `a`, if the carrier can name them.
    fn queue(&mut self, cosines: &Cosines<'_>, a: usize, open: &[bool], depth: usize) -> Option<Queue> {
        let state = cosine_state(self.targets.iter().nth(a)?, self.targets.dim, self.scale)?;
        self.rows.turn_to(state, open);
        let score = |rows: &[usize]| {
            let values = cosines.pool.gather(rows);
            let vars = cosines.kernel.vars(&values, cosines.pool.dim());
            Ok(cosines.of_rows(a, rows.iter().copied(), (&values, &vars), &mut WhitenedColumns::default()).collect())
        };
        let mut queue = Queue { rows: self.rows.best(depth, score).ok()??, left_out: None };
        queue.keep(depth);
        // Rows that the carrier did not name come after all that are here.
        let is_whole = open.iter().filter(|&&open| open).count() == queue.rows.len();
        queue.left_out = queue.rows.last().filter(|_| !is_whole).map(|last| last.key);
        Some(queue)
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
        let target = self.turn % self.cosines.targets.len();
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
            self.depth = (2 * self.depth).max(2 * left.div_ceil(self.cosines.targets.len()) + SPARE);
            self.fill();
        }
    }

    fn work(&self) -> Work {
        let mut work = self.work;
        self.ranking.iter().for_each(|ranking| work += ranking.rows.work());
        work
    }

    fn into_finer(self: Box<Self>) -> Option<Box<dyn DraftingEngine<'s> + 's>> {
        None
    }
}
