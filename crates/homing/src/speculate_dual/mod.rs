//! Speculative greedy for kernels that are not linear: many exact picks a pass, all in f64.
//!
//! Picks are *drafted* on the few rows with the best scores, by the plain engine, and then *verified* for all rows in one
//! blocked pass: the drafted picks' columns are matrix products, and the best row is noted at every step. The draft holds up
//! to the first step at which another row is best; that row is the pick then, and the columns behind it are cut off. Since the
//! best row after the last drafted pick is known too, a pass makes at least one pick, and one more than it was drafted.

mod sheet;

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use crate::choose::{Limits, Scorer, take_best, winner};
use crate::embeddings::BLOCK;
use crate::law::{DualLaw, Law};
use crate::strategy::Strategy;
use crate::tracker::{Targets, Tracker, is_copy};
use crate::{Embeddings, Kernel, Points};
use sheet::Sheet;

/// Rows that picks are drafted on: a share of the pool, within limits.
const HOT_SHARE: usize = 64;
const HOT: RangeInclusive<usize> = 128..=8192;

/// Shortest and longest draft.
const DRAFT: RangeInclusive<usize> = 6..=48;

/// ρ² below this share of the mean prior variance leaves variances whose digits are lost; those are the plain engine's.
pub(crate) const LEAST_NOISE: f64 = 1e-5;

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

    fn observe(&mut self, x: &[f64], noise_var: f64) {
        for law in [Some(&mut self.data), self.joint.as_mut()].into_iter().flatten() {
            law.observe(x, noise_var);
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
    kernel: &'a dyn Kernel,
    strategy: &'s Strategy,
    noise_var: f64,
    targets: Option<Targets>,
    laws: Laws<'a>,
    sheet: Sheet<'a>,
    /// Rows that may be picked.
    open: Vec<bool>,
    /// Rows to draft on, in rising order.
    hot: Vec<usize>,
    /// The last pick, if it has no columns.
    pending: Option<usize>,
    /// Picks made but not yet asked for.
    ready: VecDeque<(usize, f64)>,
    draft: usize,
    pub passes: usize,
}

impl<'s, 'a> Drafts<'s, 'a> {
    /// An engine for so many picks; none for a rule that reads other numbers than variances and covariances.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        pool: Points<'a>,
        kernel: &'a dyn Kernel,
        strategy: &'s Strategy,
        noise_var: f64,
        targets: Option<Targets>,
        laws: Laws<'a>,
        open: Vec<bool>,
        picks: usize,
    ) -> Option<Self> {
        let wants = strategy.wants();
        if !wants.var || wants.nearest || wants.cosine || wants.probabilities {
            return None;
        }
        let (hot, ready, sheet) = (Vec::new(), VecDeque::new(), Sheet::new(pool, &laws, picks));
        let draft = *DRAFT.start();
        Some(Self {
            kernel,
            strategy,
            noise_var,
            targets,
            laws,
            sheet,
            open,
            hot,
            pending: None,
            ready,
            draft,
            passes: 0,
        })
    }

    /// The next pick: its row and score. `left` picks are asked for in all, this one included.
    pub fn next(&mut self, left: usize) -> Option<(usize, f64)> {
        if self.ready.is_empty() {
            self.round(left);
        }
        self.ready.pop_front()
    }

    /// Drafts, verifies and accepts.
    fn round(&mut self, left: usize) {
        let decided = usize::from(self.pending.is_some());
        let draft = self.draft(self.draft.min(left - 1));
        for &row in &draft {
            self.laws.observe(&self.sheet.pool.row(row), self.noise_var);
        }
        let rule = &*self.strategy.rule;
        let verdict =
            self.sheet.verify(rule, &self.laws, self.targets.as_ref(), self.noise_var, &draft, decided, &self.open);
        self.passes += 1;
        let (pool, mut kept) = (self.sheet.pool, decided);
        self.pending = None;
        for t in decided..=draft.len() {
            let Some(best) = winner(&verdict.contenders(t), |a, b| is_copy(self.kernel, pool, a, b)) else { break };
            self.open[best.row] = false;
            self.ready.push_back((best.row, best.score));
            if draft.get(t) != Some(&best.row) {
                self.pending = Some(best.row);
                break;
            }
            kept = t + 1;
        }
        let cut = draft.len() - kept;
        self.laws.forget(cut);
        self.sheet.forget(cut);
        let made = self.ready.len();

        self.draft = if cut == 0 { 2 * self.draft } else { made + made / 2 + 1 }.clamp(*DRAFT.start(), *DRAFT.end());
        if made < left {
            let count = (self.open.len() / HOT_SHARE).clamp(*HOT.start(), *HOT.end());
            self.hot = verdict.best(kept, &self.open, count);
        }
    }

    /// The pending pick, and up to `most` picks after it, as the plain engine makes them among the hot rows.
    fn draft(&self, most: usize) -> Vec<usize> {
        let (pool, wants) = (self.sheet.pool, self.strategy.wants());
        let mut draft: Vec<usize> = self.pending.into_iter().collect();
        if most == 0 || self.hot.is_empty() {
            return draft;
        }
        let mut rows = self.hot.clone();
        rows.extend(&draft);
        rows.sort_unstable();
        let points = pool.gather(&rows);
        let view = Embeddings::new(&points[..], pool.dim()).expect("whole rows").into();
        let columns = rows.chunks(BLOCK).map(|rows| self.sheet.gather(rows)).collect();
        let given = (Law::Dual(self.laws.data.clone()), self.laws.joint.clone().map(Law::Dual));
        let targets = self.targets.as_ref().filter(|_| wants.sq_cov || wants.std_cov);
        let targets = targets.map(|t| Targets::new(t.points.clone(), t.dim, &mut Law::Dual(self.laws.data.clone())));
        let mut hot = Tracker::resume(view, self.kernel, wants, targets, given, columns);
        let mut limits = Limits::mask(rows.iter().map(|&row| self.open[row]).collect());
        if let Some(pending) = self.pending {
            hot.observe(rows.binary_search(&pending).expect("added above"), self.noise_var);
        }
        for _ in 0..most {
            let noise_at = |_: usize| self.noise_var;
            let scorer = Scorer { strategy: self.strategy, tracker: &hot, noise_at, seed: 0, pick: 0 };
            let Some((at, _)) = take_best(&scorer, &mut limits) else { break };
            draft.push(rows[at]);
            hot.observe(at, self.noise_var);
        }
        draft
    }
}
