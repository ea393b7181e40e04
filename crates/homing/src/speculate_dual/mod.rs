//! Speculative greedy for kernels that are not linear: many exact picks a pass, all in f64.
//!
//! Picks are *drafted* on the few rows with the best scores, by the plain engine, and then *verified* for all rows in one
//! blocked pass: the drafted picks' columns are matrix products, and the best row is noted at every step. The draft holds up
//! to the first step at which another row is best; that row is the pick then, and the columns behind it are cut off. Since the
//! best row after the last drafted pick is known too, a pass makes at least one pick, and one more than it was drafted.

mod sheet;

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use crate::Embeddings;
use crate::choose::{Limits, Scorer, take_best, winner};
use crate::embeddings::BLOCK;
use crate::law::{DualLaw, Law};
use crate::round::Setup;
use crate::speculate::{Ahead, Lost};
use crate::tracker::{Targets, Tracker, is_copy};
use sheet::Sheet;

/// Rows that picks are drafted on: a share of the pool, within limits.
const HOT_SHARE: usize = 64;
const HOT: RangeInclusive<usize> = 128..=8192;

/// Shortest and longest draft.
const DRAFT: RangeInclusive<usize> = 6..=48;

/// ρ² below this share of the mean prior variance leaves variances whose digits are lost; those are the plain engine's.
const LEAST_NOISE: f64 = 1e-5;

/// The laws given D and the picks, and given the targets too.
#[derive(Clone)]
pub(crate) struct Laws<'a> {
    data: DualLaw<'a>,
    joint: Option<DualLaw<'a>>,
}

impl<'a> Laws<'a> {
    /// None for laws in weight space.
    pub fn new(data: Law<'a>, joint: Option<Law<'a>>) -> Option<Self> {
        let dual = |law: Law<'a>| match law {
            Law::Dual(law) => Some(law),
            Law::Linear(_) => None,
        };
        Some(Self { data: dual(data)?, joint: joint.and_then(dual) })
    }

    /// Takes over what others of the same kernel have observed.
    fn learn(&mut self, others: Laws<'_>) {
        self.data.learn(others.data);
        if let (Some(joint), Some(other)) = (&mut self.joint, others.joint) {
            joint.learn(other);
        }
    }

    /// Takes back the last observations.
    fn forget(&mut self, count: usize) {
        for law in [Some(&mut self.data), self.joint.as_mut()].into_iter().flatten() {
            law.truncate(law.len() - count);
        }
    }
}

/// The engine.
pub(crate) struct Drafts<'s, 'a> {
    setup: &'s Setup<'s, 'a>,
    laws: Laws<'a>,
    targets: Option<Targets>,
    sheet: Sheet<'a>,
    /// Rows that may be picked.
    open: Vec<bool>,
    /// Rows to draft on, in rising order.
    hot: Vec<usize>,
    /// The last pick, while it has no column.
    pending: Option<usize>,
    /// Picks made but not yet asked for.
    ready: VecDeque<(usize, f64)>,
    /// Picks to draft.
    length: usize,
    passes: usize,
}

impl<'s, 'a> Drafts<'s, 'a> {
    /// Whether the kernel, the rule and the noise are of its kind.
    pub fn fits(setup: &Setup<'_, '_>) -> bool {
        let wants = setup.plan.strategy.wants();
        let known = wants.var && !wants.nearest && !wants.cosine && !wants.probabilities;
        known && !setup.kernel.is_linear() && setup.noise_var >= LEAST_NOISE * setup.mean_var
    }

    /// For so many picks of open rows.
    pub fn new(
        setup: &'s Setup<'s, 'a>,
        laws: Laws<'a>,
        targets: Option<Targets>,
        open: Vec<bool>,
        picks: usize,
    ) -> Self {
        let sheet = Sheet::new(setup.pool, &laws, picks);
        let (hot, ready, length) = (Vec::new(), VecDeque::new(), *DRAFT.start());
        Self { setup, laws, targets, sheet, open, hot, pending: None, ready, length, passes: 0 }
    }

    /// Drafts, verifies and accepts; lost where a kernel that is none makes variances negative, of which the plain engine
    /// names the row.
    fn round(&mut self, left: usize) -> Result<(), Lost> {
        let Setup { pool, kernel, noise_var, .. } = *self.setup;
        let decided = usize::from(self.pending.is_some());
        let draft = self.draft(self.length.min(left - 1));
        let (rule, targets) = (&*self.setup.plan.strategy.rule, self.targets.as_ref());
        let verdict = self.sheet.verify(&self.laws, targets, &draft, decided, &self.open, (rule, noise_var));
        self.passes += 1;
        if kernel.may_be_indefinite() && verdict.is_negative() {
            return Err(Lost);
        }

        let mut kept = decided;
        self.pending = None;
        for t in decided..=draft.len() {
            let Some(best) = winner(&verdict.contenders(t), |a, b| is_copy(kernel, pool, a, b)) else { break };
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
        self.sheet.forget(cut);
        self.length = if cut == 0 { 2 * self.length } else { made + made / 2 + 1 }.clamp(*DRAFT.start(), *DRAFT.end());
        if made < left {
            let count = (self.open.len() / HOT_SHARE).clamp(*HOT.start(), *HOT.end());
            self.hot = verdict.best(kept, &self.open, count);
        }
        Ok(())
    }

    /// The pending pick, and up to `most` picks after it, as the plain engine makes them among the hot rows. The laws
    /// have observed them then.
    fn draft(&mut self, most: usize) -> Vec<usize> {
        let Setup { pool, kernel, noise_var, plan, .. } = *self.setup;
        let mut draft: Vec<usize> = self.pending.into_iter().collect();
        let mut rows = if most == 0 { Vec::new() } else { self.hot.clone() };
        rows.extend(self.pending);
        if rows.is_empty() {
            return draft;
        }
        rows.sort_unstable();
        let points = pool.gather(&rows);
        let view = Embeddings::new(&points[..], pool.dim()).expect("whole rows").into();
        let columns = rows.chunks(BLOCK).map(|rows| self.sheet.gather(rows)).collect();
        let (mut data, joint) = (Law::Dual(self.laws.data.clone()), self.laws.joint.clone().map(Law::Dual));
        let targets = self.targets.as_ref().map(|targets| targets.given(&mut data));
        let mut hot = Tracker::resume(view, kernel, plan.strategy.wants(), targets, (data, joint), columns);
        let mut limits = Limits::mask(rows.iter().map(|&row| self.open[row]).collect());
        if let Some(pending) = self.pending {
            hot.observe(rows.binary_search(&pending).expect("added above"), noise_var);
        }
        for _ in 0..most {
            let noise_at = |_: usize| noise_var;
            let scorer =
                Scorer { strategy: &plan.strategy, tracker: &hot, rows: None, noise_at, seed: plan.seed, pick: 0 };
            let Some((at, _)) = take_best(&scorer, &mut limits) else { break };
            draft.push(rows[at]);
            hot.observe(at, noise_var);
        }
        let (data, joint) = hot.into_laws();
        self.laws.learn(Laws::new(data, joint).expect("laws of one kernel are of one kind"));
        draft
    }
}

impl<'s> Ahead<'s> for Drafts<'s, '_> {
    fn next(&mut self, left: usize) -> Result<Option<(usize, f64)>, Lost> {
        if self.ready.is_empty() {
            self.round(left)?;
        }
        Ok(self.ready.pop_front())
    }

    fn passes(&self) -> usize {
        self.passes
    }

    fn climb(self: Box<Self>) -> Option<Box<dyn Ahead<'s> + 's>> {
        None
    }
}
