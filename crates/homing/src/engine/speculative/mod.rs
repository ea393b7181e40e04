//! Speculative greedy: many exact picks per pass, for the linear kernel.
//!
//! With one pass per pick, the speed is limited by memory bandwidth. Therefore picks are *drafted* in f64 among the few
//! rows with the best scores ([`hot`]). The draft is tried on the next-best rows ([`warm`]), and those that would win join
//! the draft. It is then *verified* for all other rows ([`cold`]) in one blocked pass: a matrix product in f32 with the
//! functionals of the drafted picks, with bounds on its rounding. A row whose score may reach that of a drafted pick is
//! recomputed in f64. If it wins, the draft is cut there and the row becomes the pick. Each pass makes at least one pick,
//! and the picks are those of the plain engine. If f32 requires too many rows to be recomputed, the passes continue in f64.
//!
//! Warm and cold rows belong to shards ([`crate::shard`]), which work on them where they lie: on threads ([`threads`]), or
//! on the pool's own carrier. Everything that decides a pick is computed here.

mod block_steps;
mod cold;
mod hot;
mod ranked;
mod state;
mod threads;
mod warm;

use std::collections::{HashMap, VecDeque};
use std::ops::RangeInclusive;

use crate::base::algebra::norm_sq;
use crate::engine::order::ScoredRow;
use crate::engine::real::Real;
use crate::engine::work::Work;
use crate::rules::rule_with;
use crate::shard::{CHALLENGERS, Challengers, KeyForm, PickStep, Precision, SecondNumber, Shard, ShardSetup};
use crate::task::survey::Norms;
use crate::{Embeddings, Rule};
use block_steps::{RowMeaning, gamma};
use cold::{ColdRows, Rivals};
use hot::HotRows;
pub(crate) use ranked::{RankedRows, cosine_state};
pub(crate) use state::SelectionState;
use threads::ThreadShard;

/// Share of the pool on which picks are drafted, and limits of that number of rows.
const HOT_SHARE: usize = 256;
const HOT: RangeInclusive<usize> = 128..=3072;

/// Largest number of hot rows of a pool with a carrier at hand, where it costs little to try a draft on the warm rows.
const MOST_HOT_CARRIED: usize = 512;

/// Number of warm rows per hot row, and largest count of their numbers, which are copied (128 MiB in f32).
const WARM: usize = 16;
const WARM_NUMBERS: usize = 1 << 25;

/// Shortest and longest draft, and length of the first.
const DRAFT: RangeInclusive<usize> = 6..=64;
const FIRST_DRAFT: usize = 8;

/// Number of drafted picks that are tried on the warm rows at a time.
const TRIAL: usize = 16;

/// The same for a pool with a carrier at hand: at first, and at most. A trial costs less there than a pick that is drafted in
/// vain, so the next trial is as long as the last was successful.
const TRIAL_CARRIED: usize = 4;
const MOST_TRIAL_CARRIED: usize = 16;

/// Number of probes that the matrix product computes at a time on processors with AVX-512; a multiple of that on others.
const REGISTER: usize = 16;

/// Share of the hot rows above which challengers are many: the sums of the cold rows have then lost digits, and the next
/// draft would be cut where there are too many of them.
const MANY: usize = 16;

/// Number of passes with hardly a pick, because too many rows are within rounding, after which the precision is too low.
const MOST_POOR_PASSES: usize = 3;

/// Returns whether two rows hold the same numbers.
fn is_copy(pool: Embeddings<'_>) -> impl Fn(usize, usize) -> bool {
    move |a: usize, b: usize| pool.row(a) == pool.row(b)
}

/// Returns the shards of the pool's carrier, if it has one that can compute the rule.
fn carried<'a>(pool: Embeddings<'a>, meaning: RowMeaning<'a>, is_double: bool) -> Vec<Box<dyn Shard + 'a>> {
    let (transform, form) = (pool.transform(), meaning.rule.form());
    let setup = ShardSetup { transform, form, noise_var: meaning.noise_var, is_double };
    pool.carrier().map_or_else(Vec::new, |carrier| carrier.shards(&setup))
}

/// Creates a shard on threads for a coordinator elsewhere. `norms` are ‖φ‖² of the rows, if they are known.
pub(crate) fn thread_shard<'a>(
    pool: Embeddings<'a>,
    form: KeyForm,
    noise_var: f64,
    is_double: bool,
    norms: Option<Vec<f32>>,
) -> Box<dyn Shard + 'a> {
    let meaning = RowMeaning { rule: rule_with(form), noise_var };
    if is_double {
        return Box::new(ThreadShard::<f64>::new(pool, double_norms(pool).into(), meaning));
    }
    let norms = norms.unwrap_or_else(|| Norms::Carried([0.0; 2]).of_rows(pool).into_owned());
    Box::new(ThreadShard::<f32>::new(pool, norms.into(), meaning))
}

/// Returns the errors of the arithmetic of such a shard.
pub(crate) fn thread_precision(dim: usize, setup: &ShardSetup<'_>) -> Precision {
    let transform = setup.transform;
    let (unit, product) = if setup.is_double {
        (f64::UNIT, gamma::<f64>(transform, dim))
    } else {
        (f32::UNIT, gamma::<f32>(transform, dim))
    };
    Precision { unit, product, challengers: CHALLENGERS }
}

fn double_norms(pool: Embeddings<'_>) -> Vec<f64> {
    pool.map_blocks(|_, block| block.chunks_exact(pool.dim()).map(norm_sq).collect::<Vec<f64>>()).concat()
}

/// Returns whether f32 neither overflows nor underflows: VTL needs fourth powers.
fn fits_single(norms: &Norms, state: &SelectionState) -> bool {
    let in_range = |size: f64| size == 0.0 || (1e-14..1e14).contains(&size);
    let sizes = [state.noise_var, state.target_var()];
    norms.extremes().into_iter().chain(sizes).all(in_range)
}

/// Returns whether the pool's rows are on a carrier that answers at once.
pub(crate) fn is_near(pool: Embeddings<'_>) -> bool {
    pool.carrier().is_some_and(|carrier| !carrier.is_far())
}

/// A variance has lost its digits, or the precision is too low. The next engine takes over.
pub(crate) struct PrecisionLoss;

/// An engine that makes many picks per pass.
pub(crate) trait DraftingEngine<'a> {
    /// Returns the next pick: its row and score. `left` is the number of picks still to make, including this one.
    fn next(&mut self, left: usize) -> Result<Option<(usize, f64)>, PrecisionLoss>;

    /// Returns how much of the pool was read and multiplied so far.
    fn work(&self) -> Work;

    /// Returns the engine of higher precision that continues after a loss; `None` if only the plain engine can.
    fn into_finer(self: Box<Self>) -> Option<Box<dyn DraftingEngine<'a> + 'a>>;
}

/// Picks that are not yet verified.
struct Draft {
    steps: Vec<PickStep>,
    /// The numbers of the hot rows before each step.
    values: Vec<hot::Snapshot>,
    hot: HotRows,
    /// Rivals that joined the hot rows, and the step before which they did.
    joined: HashMap<usize, usize>,
    /// The state after the steps.
    state: SelectionState,
}

/// The engine.
pub(crate) struct LinearSpeculator<'a> {
    pool: Embeddings<'a>,
    rule: &'a dyn Rule,
    state: SelectionState,
    hot: HotRows,
    cold: ColdRows<'a>,
    /// Picks that are made but not yet applied to the cold rows.
    pending: Vec<PickStep>,
    /// Rows that were picked since the shards were last told.
    taken: Vec<usize>,
    /// Picks that are made but not yet returned.
    ready: VecDeque<(usize, f64)>,
    open: Vec<bool>,
    draft: usize,
    /// Variance of the targets when VTL's sums of the cold rows were last computed from scratch, and whether to recompute
    /// them.
    fresh_var: f64,
    is_sum_stale: bool,
    poor_passes: usize,
    /// Whether the precision was found to be too low while no draft was in progress.
    is_too_coarse: bool,
    passes: usize,
}

impl<'a> LinearSpeculator<'a> {
    /// Starts with the cold rows in f32. Returns `None` if speculation does not apply: for norms beyond f32, or an
    /// unsupported rule.
    pub fn new(
        pool: Embeddings<'a>,
        norms: &'a Norms,
        rule: &'a dyn Rule,
        mut state: SelectionState,
        open: Vec<bool>,
    ) -> Option<Self> {
        let wants = state.wants;
        let second = [wants.var_given_targets.is_some(), wants.sq_cov, wants.std_cov];
        if !wants.is_conditional() || !rule.is_monotone() || second.iter().filter(|&&wanted| wanted).count() > 1 {
            return None;
        }
        if !fits_single(norms, &state) {
            return None;
        }
        // Under much noise, the targets change only the last digits of a variance.
        if state.noise_var > 1e6 * norms.extremes()[1] {
            return None;
        }
        state.fold();
        let meaning = RowMeaning { rule, noise_var: state.noise_var };
        let mut shards = carried(pool, meaning, false);
        if shards.is_empty() {
            let norms = norms.of_rows(pool);
            shards = vec![Box::new(ThreadShard::<f32>::new(pool, norms, meaning)) as Box<dyn Shard + 'a>];
        }
        Self::start(pool, shards, rule, state, open)
    }

    /// Starts from a folded `state`.
    fn start(
        pool: Embeddings<'a>,
        shards: Vec<Box<dyn Shard + 'a>>,
        rule: &'a dyn Rule,
        state: SelectionState,
        open: Vec<bool>,
    ) -> Option<Self> {
        let mut engine = Self {
            pool,
            rule,
            hot: HotRows::none(pool, &state),
            cold: ColdRows::new(shards, pool.dim(), &state, &open),
            pending: Vec::new(),
            taken: Vec::new(),
            ready: VecDeque::new(),
            open,
            draft: FIRST_DRAFT,
            fresh_var: state.target_var(),
            is_sum_stale: false,
            poor_passes: 0,
            is_too_coarse: false,
            passes: 1,
            state,
        };
        engine.choose_hot().ok()?;
        Some(engine)
    }

    /// Drafts, verifies and accepts picks.
    fn draft_and_verify(&mut self, left: usize) -> Result<(), PrecisionLoss> {
        let most = self.filled(self.draft).min(left);
        // Folding within a draft would have to be done again whenever the draft is cut.
        if self.state.folds_within(most) {
            self.state.fold();
        }
        let draft = self.draft(most)?;
        let Draft { steps, values, mut hot, joined, state: after_draft } = draft;
        // The rows of the draft, and the step from which on they belong to it.
        let drafted = hot.rows().iter().map(|row| (*row, joined.get(row).copied().unwrap_or(0)));
        let drafted: HashMap<usize, usize> = drafted.collect();
        let outside = |row: usize, step: usize| drafted.get(&row).is_none_or(|&from| step < from);
        let root = if std::mem::take(&mut self.is_sum_stale) { self.state.square_root() } else { None };
        let (picks, after) = ((&self.pending[..], &steps[..]), after_draft.standardised());
        let challengers = self.cold.verify(picks, after.as_deref(), root.as_ref(), &drafted);
        self.passes += 1;
        let (agreed, winner) = self.settle(&challengers, &steps, outside)?;

        let fully = winner.is_none() && agreed == steps.len();
        if fully {
            self.state = after_draft;
        } else {
            for step in &steps[agreed..] {
                self.open[step.row] = true;
            }
            self.state = self.replay((&self.state, &after_draft), &steps[..agreed])?;
            if let Some(values) = values.get(agreed) {
                hot.restore(values, self.pool.dim());
            }
        }
        self.hot = hot;
        let applied = self.cold.keep(agreed);
        self.pending = steps[applied..agreed].to_vec();
        self.ready.extend(steps[..agreed].iter().map(|step| (step.row, step.score)));
        self.taken.extend(steps[..agreed].iter().map(|step| step.row));
        if let Some(winner) = winner {
            let step = self.state.observe(&self.pool.row(winner.row), winner)?;
            self.take(step)?;
        }
        let made = agreed + usize::from(winner.is_some());
        self.poor_passes += usize::from(challengers.complete < steps.len() && made < 3);
        if made == 0 {
            // Where a pass in f64 is cheap, it replaces the search through all rows here.
            self.is_too_coarse = self.cold.precision().challengers < CHALLENGERS;
            return if self.is_too_coarse { Err(PrecisionLoss) } else { self.pick_exactly() };
        }
        if left <= made {
            return Ok(());
        }
        self.draft = if fully { self.draft * 2 } else { made + made / 2 + 1 }.clamp(*DRAFT.start(), *DRAFT.end());
        self.renew(&challengers);
        self.choose_hot()
    }

    /// Lengthens a draft slightly, so that its probes fill the registers of the matrix product.
    fn filled(&self, draft: usize) -> usize {
        let wants = self.state.wants;
        let wide = 1 + usize::from(wants.var_given_targets.is_some() || wants.sq_cov || wants.std_cov);
        let probes = (wide * (self.pending.len() + draft)).next_multiple_of(REGISTER);
        probes / wide - self.pending.len()
    }

    /// Drafts up to `most` picks among the hot rows and their rivals. Drafted rows are no longer open.
    fn draft(&mut self, most: usize) -> Result<Draft, PrecisionLoss> {
        let mut draft = Draft {
            steps: Vec::with_capacity(most),
            values: Vec::with_capacity(most),
            hot: std::mem::replace(&mut self.hot, HotRows::none(self.pool, &self.state)),
            joined: HashMap::new(),
            state: self.state.clone(),
        };
        // The state before the steps that are not yet tried on the warm rows.
        let (mut tried, mut before) = (0, self.state.clone());
        let is_near = is_near(self.pool);
        let mut trial_len = if is_near { TRIAL_CARRIED } else { TRIAL };
        while tried < most {
            while draft.steps.len() < most.min(tried + trial_len) {
                draft.hot.standardise(draft.state.standardised().as_deref());
                let best = draft.hot.best(self.pool.dim(), self.rule, draft.state.noise_var, |row| self.open[row])?;
                let Some(best) = best else { break };
                let step = draft.state.observe(&draft.hot.point(self.pool, best.row), best)?;
                self.open[step.row] = false;
                draft.values.push(draft.hot.values());
                draft.hot.apply(&step, |row| self.open[row])?;
                draft.steps.push(step);
            }
            let trial = &draft.steps[tried..];
            if trial.is_empty() {
                break;
            }
            let mut excluded = draft.hot.rows().to_vec();
            excluded.sort_unstable();
            let rivals = self.cold.try_steps(trial, draft.state.standardised().as_deref(), &excluded);
            if let Some(Rivals { at, rows }) = rivals {
                tried += at;
                trial_len = if is_near { at.max(1) } else { TRIAL };
                draft.state = self.replay((&before, &draft.state), &draft.steps[tried - at..tried])?;
                for step in draft.steps.drain(tried..) {
                    self.open[step.row] = true;
                }
                draft.hot.restore(&draft.values[tried], self.pool.dim());
                draft.values.truncate(tried);
                draft.hot.append(HotRows::build(self.pool, &rows, &draft.state)?);
                draft.joined.extend(rows.into_iter().map(|row| (row, tried)));
            } else {
                tried = draft.steps.len();
                trial_len = if is_near { (2 * trial_len).min(MOST_TRIAL_CARRIED) } else { TRIAL };
            }
            before = draft.state.clone();
        }
        Ok(draft)
    }

    /// Returns the state after the first picks of a draft, given the states before and after it.
    fn replay(
        &self,
        (before, after): (&SelectionState, &SelectionState),
        steps: &[PickStep],
    ) -> Result<SelectionState, PrecisionLoss> {
        if let Some(state) = after.cut(before, steps) {
            return Ok(state);
        }
        let mut state = before.clone();
        for step in steps {
            state.observe(&self.pool.row(step.row), step.scored())?;
        }
        Ok(state)
    }

    /// Returns how many drafted picks are confirmed, and the pick that replaces the next one if a challenger beats it.
    fn settle(
        &self,
        challengers: &Challengers,
        steps: &[PickStep],
        outside: impl Fn(usize, usize) -> bool,
    ) -> Result<(usize, Option<ScoredRow>), PrecisionLoss> {
        let complete = challengers.complete.min(steps.len());
        if challengers.rows.is_empty() {
            return Ok((complete, None));
        }
        let rows: Vec<usize> = challengers.rows.iter().map(|&(_, row)| row).collect();
        let mut rows = HotRows::build(self.pool, &rows, &self.state)?;
        for (t, step) in steps[..complete].iter().enumerate() {
            if let SecondNumber::Standardised { weights } = &step.second {
                rows.standardise(Some(weights));
            }
            let best = rows.best(self.pool.dim(), self.rule, self.state.noise_var, |row| outside(row, t))?;
            if let Some(best) = best.filter(|best| best.beats(&step.scored(), is_copy(self.pool))) {
                return Ok((t, Some(best)));
            }
            rows.apply(step, |row| outside(row, t + 1))?;
        }
        Ok((complete, None))
    }

    /// Schedules a recomputation of the cold rows' sums if accumulated rounding causes too many rows to be recomputed in
    /// f64.
    fn renew(&mut self, challengers: &Challengers) {
        let many = challengers.rows.len() > self.hot_rows() / MANY;
        if self.state.wants.sq_cov && (many || self.state.target_var() < 1e-3 * self.fresh_var) {
            self.fresh_var = self.state.target_var();
            self.is_sum_stale = true;
        }
    }

    /// Makes one pick in f64 over the whole pool, if the numbers of the cold rows cannot distinguish the best row.
    fn pick_exactly(&mut self) -> Result<(), PrecisionLoss> {
        self.state.fold();
        let Some(best) = HotRows::best_of_all(self.pool, self.rule, &self.state, &self.open)? else {
            return Ok(());
        };
        let step = self.state.observe(&self.pool.row(best.row), best)?;
        self.passes += 1;
        self.take(step)?;
        self.choose_hot()
    }

    /// Adds a pick that was not drafted.
    fn take(&mut self, step: PickStep) -> Result<(), PrecisionLoss> {
        self.open[step.row] = false;
        self.hot.apply(&step, |row| self.open[row])?;
        self.ready.push_back((step.row, step.score));
        self.taken.push(step.row);
        self.pending.push(step);
        Ok(())
    }

    fn hot_rows(&self) -> usize {
        let most = if is_near(self.pool) { MOST_HOT_CARRIED } else { *HOT.end() };
        (self.open.len() / HOT_SHARE).clamp(*HOT.start(), most)
    }

    /// Chooses the hot rows, which have the best scores according to the cold rows' numbers, and the warm rows after them.
    fn choose_hot(&mut self) -> Result<(), PrecisionLoss> {
        let count = self.hot_rows();
        let all = (self.open.len() / HOT_SHARE).clamp(*HOT.start(), *HOT.end());
        let warm = (WARM * all).min(WARM_NUMBERS / self.pool.dim()).max(count);
        let (after, taken) = (self.state.standardised(), std::mem::take(&mut self.taken));
        let best = self.cold.rank((warm, count), &self.pending, after.as_deref(), &taken);
        let hot = std::mem::replace(&mut self.hot, HotRows::none(self.pool, &self.state));
        self.hot = hot.replace_rows(self.pool, &best, &self.state, &self.open)?;
        Ok(())
    }
}

impl<'a> DraftingEngine<'a> for LinearSpeculator<'a> {
    fn next(&mut self, left: usize) -> Result<Option<(usize, f64)>, PrecisionLoss> {
        if self.ready.is_empty() {
            self.is_too_coarse = self.poor_passes > MOST_POOR_PASSES;
            if self.is_too_coarse {
                return Err(PrecisionLoss);
            }
            self.draft_and_verify(left)?;
        }
        Ok(self.ready.pop_front())
    }

    fn work(&self) -> Work {
        Work { passes: self.passes, probes: self.cold.probes(), left_carrier: false }
    }

    fn into_finer(self: Box<Self>) -> Option<Box<dyn DraftingEngine<'a> + 'a>> {
        if self.cold.precision().unit <= <f64 as Real>::UNIT || !self.is_too_coarse {
            return None;
        }
        let Self { pool, rule, mut state, open, .. } = *self;
        state.fold();
        let meaning = RowMeaning { rule, noise_var: state.noise_var };
        let mut shards = carried(pool, meaning, true);
        if shards.is_empty() {
            let norms = double_norms(pool).into();
            shards = vec![Box::new(ThreadShard::<f64>::new(pool, norms, meaning)) as Box<dyn Shard + 'a>];
        }
        let mut engine = LinearSpeculator::start(pool, shards, rule, state, open)?;
        // The norms took one pass.
        engine.passes += 1;
        Some(Box::new(engine))
    }
}
