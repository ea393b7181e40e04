//! Speculative greedy for nonlinear kernels: many exact picks per pass, all in f64.
//!
//! The plain engine *drafts* picks among the few rows with the best scores. One blocked pass then *verifies* the draft for
//! all rows: the columns of the drafted picks are matrix products, and the best row is recorded at each step. The draft is
//! valid up to the first step at which another row is best. That row becomes the pick, and the columns after it are
//! dropped. The best row after the last drafted pick is also known, so a pass makes at least one pick, and one more than
//! drafted if the whole draft is valid.

mod column_table;

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use crate::Embeddings;
use crate::engine::order::{is_copy, winner};
use crate::engine::plain::Tracker;
use crate::engine::scoring::{Scorer, take_best};
use crate::engine::setup::RoundSetup;
use crate::engine::speculative::{DraftingEngine, PrecisionLoss};
use crate::engine::work::Work;
use crate::law::targets::Targets;
use crate::law::{DualLaw, Law};
use crate::shard::BLOCK;
use crate::task::limits::Limits;
use column_table::ColumnTable;

/// Share of the pool on which picks are drafted, and limits of that number of rows.
const HOT_SHARE: usize = 64;
const HOT: RangeInclusive<usize> = 128..=8192;

/// Shortest and longest draft.
const DRAFT: RangeInclusive<usize> = 6..=48;

/// Smallest ρ², as a share of the mean prior variance. Less noise leaves variances without accurate digits, which only the
/// plain engine handles.
const LEAST_NOISE: f64 = 1e-5;

/// The laws given D and the picks, and given the targets as well.
#[derive(Clone)]
pub(crate) struct Laws<'a> {
    data: DualLaw<'a>,
    joint: Option<DualLaw<'a>>,
}

impl<'a> Laws<'a> {
    /// Wraps both laws. Returns `None` for laws in weight space.
    pub fn new(data: Law<'a>, joint: Option<Law<'a>>) -> Option<Self> {
        let dual = |law: Law<'a>| match law {
            Law::Dual(law) => Some(law),
            Law::Linear(_) => None,
        };
        Some(Self { data: dual(data)?, joint: joint.and_then(dual) })
    }

    /// Replaces the observations by those of other laws with the same kernel.
    fn learn(&mut self, others: Laws<'_>) {
        self.data.learn(others.data);
        if let (Some(joint), Some(other)) = (&mut self.joint, others.joint) {
            joint.learn(other);
        }
    }

    /// Drops the last observations.
    fn forget(&mut self, count: usize) {
        for law in [Some(&mut self.data), self.joint.as_mut()].into_iter().flatten() {
            law.truncate(law.len() - count);
        }
    }
}

/// The engine, with the columns of all rows.
pub(crate) struct DualSpeculator<'s, 'a> {
    setup: &'s RoundSetup<'s, 'a>,
    laws: Laws<'a>,
    targets: Option<Targets>,
    table: ColumnTable<'a>,
    /// Rows that may be picked.
    open: Vec<bool>,
    /// Rows to draft on, in increasing order.
    hot: Vec<usize>,
    /// The last pick, as long as it has no column.
    pending: Option<usize>,
    /// Picks that are made but not yet returned.
    ready: VecDeque<(usize, f64)>,
    /// Number of picks to draft.
    length: usize,
    passes: usize,
}

impl<'s, 'a> DualSpeculator<'s, 'a> {
    /// Returns whether this engine supports the kernel, the rule and the noise.
    pub fn fits(setup: &RoundSetup<'_, '_>) -> bool {
        setup.plan.strategy.wants().is_conditional()
            && !setup.kernel.is_linear()
            && setup.noise_var >= LEAST_NOISE * setup.mean_var
    }

    /// Starts the engine for the given number of picks among open rows.
    pub fn new(
        setup: &'s RoundSetup<'s, 'a>,
        laws: Laws<'a>,
        targets: Option<Targets>,
        open: Vec<bool>,
        picks: usize,
    ) -> Self {
        let table = ColumnTable::new(setup.pool, &laws, picks);
        let (hot, ready, length) = (Vec::new(), VecDeque::new(), *DRAFT.start());
        Self { setup, laws, targets, table, open, hot, pending: None, ready, length, passes: 0 }
    }

    /// Drafts, verifies and accepts picks. Fails if the kernel is not positive semi-definite and makes variances negative;
    /// the plain engine then reports the row.
    fn draft_and_verify(&mut self, left: usize) -> Result<(), PrecisionLoss> {
        let RoundSetup { pool, kernel, noise_var, .. } = *self.setup;
        let decided = usize::from(self.pending.is_some());
        let draft = self.draft(self.length.min(left - 1));
        let (rule, targets) = (&*self.setup.plan.strategy.rule, self.targets.as_ref());
        let verification = self.table.verify(&self.laws, targets, &draft, decided, &self.open, (rule, noise_var));
        self.passes += 1;
        if kernel.may_be_indefinite() && verification.is_negative() {
            return Err(PrecisionLoss);
        }

        let mut kept = decided;
        self.pending = None;
        for t in decided..=draft.len() {
            let Some(best) = winner(verification.contenders(t), |a, b| is_copy(kernel, pool, a, b)) else { break };
            self.open[best.row] = false;
            self.ready.push_back((best.row, best.score));
            if draft.get(t) != Some(&best.row) {
                self.pending = Some(best.row);
                break;
            }
            kept = t + 1;
        }
        let (made, cut) = (self.ready.len(), draft.len() - kept);
        self.laws.forget(cut);
        self.table.forget(cut);
        self.length = if cut == 0 { 2 * self.length } else { made + made / 2 + 1 }.clamp(*DRAFT.start(), *DRAFT.end());
        if made < left {
            let count = (self.open.len() / HOT_SHARE).clamp(*HOT.start(), *HOT.end());
            self.hot = verification.best(kept, &self.open, count);
        }
        Ok(())
    }

    /// Returns the pending pick, and up to `most` further picks that the plain engine makes among the hot rows. The laws
    /// are conditioned on them.
    fn draft(&mut self, most: usize) -> Vec<usize> {
        let RoundSetup { pool, kernel, noise_var, plan, .. } = *self.setup;
        let mut draft: Vec<usize> = self.pending.into_iter().collect();
        let mut rows = if most == 0 { Vec::new() } else { self.hot.clone() };
        rows.extend(self.pending);
        if rows.is_empty() {
            return draft;
        }
        rows.sort_unstable();
        let points = pool.gather(&rows);
        let view = Embeddings::new(&points[..], pool.dim()).expect("gathered rows are whole").into();
        let columns = rows.chunks(BLOCK).map(|rows| self.table.gather(rows)).collect();
        let (mut data, joint) = (Law::Dual(self.laws.data.clone()), self.laws.joint.clone().map(Law::Dual));
        let targets = self.targets.as_ref().map(|targets| targets.given(&mut data));
        let mut hot = Tracker::resume(view, kernel, plan.strategy.wants(), targets, (data, joint), columns);
        let mut limits = Limits::mask(rows.iter().map(|&row| self.open[row]).collect());
        if let Some(pending) = self.pending {
            hot.observe(rows.binary_search(&pending).expect("the pending pick was added above"), noise_var);
        }
        for _ in 0..most {
            let noise_at = |_: usize| noise_var;
            let scorer = Scorer {
                strategy: &plan.strategy,
                tracker: &hot,
                rows: None,
                first: 0,
                noise_at,
                seed: plan.seed,
                pick: 0,
            };
            let Some((at, _)) = take_best(&scorer, &mut limits) else { break };
            draft.push(rows[at]);
            hot.observe(at, noise_var);
        }
        let (data, joint) = hot.into_laws();
        self.laws.learn(Laws::new(data, joint).expect("the hot rows have dual laws, like the pool"));
        draft
    }
}

impl<'s> DraftingEngine<'s> for DualSpeculator<'s, '_> {
    fn next(&mut self, left: usize) -> Result<Option<(usize, f64)>, PrecisionLoss> {
        if self.ready.is_empty() {
            self.draft_and_verify(left)?;
        }
        Ok(self.ready.pop_front())
    }

    fn work(&self) -> Work {
        Work { passes: self.passes, ..Work::default() }
    }

    fn into_finer(self: Box<Self>) -> Option<Box<dyn DraftingEngine<'s> + 's>> {
        None
    }
}
