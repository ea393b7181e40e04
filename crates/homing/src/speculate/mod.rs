//! Speculative greedy: many exact picks a pass, for the linear kernel.
//!
//! One pass a pick is bound by memory. So picks are *drafted* on the few rows with the best scores ([`hot`]), in f64; tried on
//! the rows next in line ([`warm`]), whose best join the draft; and then *verified* for all others ([`cold`]) in one blocked
//! pass: a matrix product in f32 with the drafted picks' functionals, with bounds on its rounding. A row whose score may reach
//! a drafted pick's is computed in f64; if it wins, the draft is cut there and the row is the pick. Every pass makes at least
//! one pick, and the picks are those of the plain engine. Where f32 calls too many rows to f64, the passes go on in f64.

mod cold;
mod hot;
mod real;
mod state;
mod walk;
mod warm;

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::ops::RangeInclusive;

use crate::algebra::norm_sq;
use crate::choose::TIE;
use crate::{Embeddings, Rule};
use cold::{Challenge, Cold};
use hot::Hot;
use real::Real;
pub(crate) use state::State;
use state::{Second, Step};
use walk::Root;
use warm::{Rivals, Warm};

/// Rows that picks are drafted on: a share of the pool, within limits.
const HOT_SHARE: usize = 256;
const HOT: RangeInclusive<usize> = 128..=3072;

/// Rows next in line for each one that is drafted on.
const WARM: usize = 16;

/// Shortest and longest draft, and the first.
const DRAFT: RangeInclusive<usize> = 6..=64;
const FIRST_DRAFT: usize = 8;

/// Drafted picks that are tried on the rows next in line at a time.
const TRIAL: usize = 10;

/// Passes that made hardly a pick, since too many rows came within rounding, after which the precision is too low.
const MOST_FLOODS: usize = 3;

/// A row with its key and score.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ranked {
    row: usize,
    key: f64,
    score: f64,
}

/// Copies of one row, whose numbers are f64 dot products summed in different ways, have keys that agree at least to this share.
const DOT_TWINS: f64 = 1e-6;

impl Ranked {
    fn of(step: &Step) -> Self {
        Self { row: step.row, key: step.key, score: step.score }
    }

    /// Larger key first; ties and copies of one row go by row number.
    fn beats(&self, other: &Self, pool: Embeddings<'_>) -> bool {
        let (apart, scale) = ((self.key - other.key).abs(), self.key.abs().max(other.key.abs()));
        let twins = || apart <= DOT_TWINS * scale && pool.row(self.row) == pool.row(other.row);
        if apart <= TIE * scale || twins() { self.row < other.row } else { self.key > other.key }
    }
}

/// The digits of a variance are gone, or the precision is too low; the next engine knows what to do.
pub(crate) struct Lost;

/// An engine that makes many picks a pass.
pub(crate) trait Ahead<'a> {
    /// The next pick: its row and score. `left` picks are asked for in all, this one included.
    fn next(&mut self, left: usize) -> Result<Option<(usize, f64)>, Lost>;

    /// Passes over the pool so far.
    fn passes(&self) -> usize;

    /// The engine that goes on after this one is lost; none where only the plain one can.
    fn climb(self: Box<Self>) -> Option<Box<dyn Ahead<'a> + 'a>>;
}

/// Picks that are yet to be verified.
struct Draft {
    steps: Vec<Step>,
    /// The hot rows' numbers before each step.
    values: Vec<hot::Values>,
    hot: Hot,
    /// Rivals that joined the hot rows, and the step before which they did.
    joined: HashMap<usize, usize>,
    /// After the steps.
    state: State,
}

/// The engine, with the cold rows' numbers in `T`.
pub(crate) struct Speculator<'a, T: Real> {
    pool: Embeddings<'a>,
    rule: &'a dyn Rule,
    state: State,
    hot: Hot,
    warm: Warm<T>,
    cold: Cold<'a, T>,
    /// Picks made but not yet applied to the cold rows.
    pending: Vec<Step>,
    /// Picks made but not yet asked for.
    ready: VecDeque<(usize, f64)>,
    open: Vec<bool>,
    /// Rows that are open and not hot.
    watched: Vec<bool>,
    draft: usize,
    /// The targets' variance when the cold rows' sums were last computed from nothing (VTL), and whether to do so again.
    fresh_var: f64,
    sum_anew: bool,
    floods: usize,
    /// Whether the precision was found too low, with nothing under way.
    weary: bool,
    passes: usize,
}

impl<'a> Speculator<'a, f32> {
    /// None where speculation has nothing to offer: norms beyond f32, or a rule that it does not know.
    pub fn new(
        pool: Embeddings<'a>,
        norms: &'a [f32],
        rule: &'a dyn Rule,
        mut state: State,
        open: Vec<bool>,
    ) -> Option<Self> {
        let wants = state.wants;
        let second = [wants.var_given_targets.is_some(), wants.sq_cov, wants.std_cov];
        let known = wants.var && !wants.nearest && !wants.cosine && !wants.probabilities;
        if !known || !rule.is_monotone() || second.iter().filter(|&&wanted| wanted).count() > 1 {
            return None;
        }
        // Beyond these sizes f32 overflows or underflows: VTL holds fourth powers.
        let in_range = |size: f64| size == 0.0 || (1e-14..1e14).contains(&size);
        let sizes = [state.noise_var, state.target_var()];
        if !norms.iter().all(|&norm| in_range(f64::from(norm))) || !sizes.into_iter().all(in_range) {
            return None;
        }
        // Under much noise the targets change a variance in its last digits only.
        let largest = norms.iter().copied().fold(0.0, f32::max);
        if state.noise_var > 1e6 * f64::from(largest) {
            return None;
        }
        state.fold();
        Self::start(pool, norms.into(), rule, state, open)
    }
}

impl<'a, T: Real> Speculator<'a, T> {
    /// `state` is folded.
    fn start(
        pool: Embeddings<'a>,
        norms: Cow<'a, [T]>,
        rule: &'a dyn Rule,
        state: State,
        open: Vec<bool>,
    ) -> Option<Self> {
        let mut engine = Self {
            pool,
            rule,
            hot: Hot::none(pool, &state),
            warm: Warm::default(),
            cold: Cold::new(pool, norms, &state),
            pending: Vec::new(),
            ready: VecDeque::new(),
            watched: Vec::new(),
            open,
            draft: FIRST_DRAFT,
            fresh_var: state.target_var(),
            sum_anew: false,
            floods: 0,
            weary: false,
            passes: 1,
            state,
        };
        engine.choose_hot().ok()?;
        Some(engine)
    }

    /// Drafts, verifies and accepts.
    fn round(&mut self, left: usize) -> Result<(), Lost> {
        let draft = self.draft(self.filled(self.draft).min(left))?;
        let Draft { steps, values, mut hot, joined, state: ahead } = draft;
        // Rows that picks are not drafted on at this step, but may be picked.
        let outside = |row: usize, step: usize| joined.get(&row).map_or(self.watched[row], |&from| step < from);
        let root = if std::mem::take(&mut self.sum_anew) { Root::of(&self.state) } else { None };
        let picks = (&self.pending[..], &steps[..]);
        let challenge = self.cold.verify(self.pool, self.rule, &ahead, picks, outside, root);
        self.passes += 1;
        let (agreed, winner) = self.settle(&challenge, &steps, outside)?;

        let fully = winner.is_none() && agreed == steps.len();
        if fully {
            self.state = ahead;
        } else {
            for step in &steps[agreed..] {
                self.open[step.row] = true;
            }
            self.state = self.replay(&self.state, &steps[..agreed])?;
            if let Some(values) = values.get(agreed) {
                hot.restore(values, self.pool.dim());
            }
        }
        self.hot = hot;
        let applied = self.cold.keep(agreed);
        self.pending = steps[applied..agreed].to_vec();
        self.ready.extend(steps[..agreed].iter().map(|step| (step.row, step.score)));
        if let Some(winner) = winner {
            let step = self.state.observe(self.pool, winner)?;
            self.take(step)?;
        }
        let made = agreed + usize::from(winner.is_some());
        self.floods += usize::from(challenge.sound < steps.len() && made < 3);
        if made == 0 {
            return self.pick_exactly();
        }
        if left <= made {
            return Ok(());
        }
        self.draft = if fully { self.draft * 2 } else { made + made / 2 + 1 }.clamp(*DRAFT.start(), *DRAFT.end());
        self.renew(&challenge);
        self.choose_hot()
    }

    /// A draft a little longer, where its probes then fill the registers that the product works in: 24, or 16, at a time.
    fn filled(&self, draft: usize) -> usize {
        let wants = self.state.wants;
        let wide = 1 + usize::from(wants.var_given_targets.is_some() || wants.sq_cov || wants.std_cov);
        let full = |steps: &usize| (wide * (self.pending.len() + steps)).next_multiple_of(8) % 24 != 8;
        (draft..draft + 24).find(full).unwrap_or(draft)
    }

    /// Up to `most` picks among the hot rows and their rivals. Drafted rows are no longer open.
    fn draft(&mut self, most: usize) -> Result<Draft, Lost> {
        let mut draft = Draft {
            steps: Vec::with_capacity(most),
            values: Vec::with_capacity(most),
            hot: std::mem::replace(&mut self.hot, Hot::none(self.pool, &self.state)),
            joined: HashMap::new(),
            state: self.state.clone(),
        };
        // The state before the steps that are yet to be tried on the rows next in line.
        let (mut tried, mut before) = (0, self.state.clone());
        while tried < most {
            while draft.steps.len() < most.min(tried + TRIAL) {
                draft.hot.standardise(draft.state.standardised().as_deref());
                let best = draft.hot.best(self.pool, self.rule, draft.state.noise_var, |row| self.open[row])?;
                let Some(best) = best else { break };
                let step = draft.state.observe(self.pool, best)?;
                self.open[step.row] = false;
                draft.values.push(draft.hot.values());
                draft.hot.apply(&step, |row| self.open[row])?;
                draft.steps.push(step);
            }
            let trial = &draft.steps[tried..];
            if trial.is_empty() {
                break;
            }
            let outside = |row: usize| self.watched[row] && !draft.joined.contains_key(&row);
            let rivals = self.warm.try_steps(self.pool, self.rule, trial, &draft.state, outside);
            if let Some(Rivals { at, rows }) = rivals {
                tried += at;
                draft.state = self.replay(&before, &draft.steps[tried - at..tried])?;
                for step in draft.steps.drain(tried..) {
                    self.open[step.row] = true;
                }
                draft.hot.restore(&draft.values[tried], self.pool.dim());
                draft.values.truncate(tried);
                draft.hot.append(Hot::build(self.pool, &rows, &draft.state)?);
                draft.joined.extend(rows.into_iter().map(|row| (row, tried)));
            } else {
                tried = draft.steps.len();
            }
            before = draft.state.clone();
        }
        Ok(draft)
    }

    /// The state after the first picks of a draft.
    fn replay(&self, before: &State, steps: &[Step]) -> Result<State, Lost> {
        let mut state = before.clone();
        for step in steps {
            state.observe(self.pool, Ranked::of(step))?;
        }
        Ok(state)
    }

    /// How many drafted picks stand, and the pick that replaces the next one if a challenger beats it.
    fn settle(
        &self,
        challenge: &Challenge,
        steps: &[Step],
        outside: impl Fn(usize, usize) -> bool,
    ) -> Result<(usize, Option<Ranked>), Lost> {
        let sound = challenge.sound.min(steps.len());
        if challenge.rows.is_empty() {
            return Ok((sound, None));
        }
        let mut challengers = Hot::build(self.pool, &challenge.rows, &self.state)?;
        for (t, step) in steps[..sound].iter().enumerate() {
            if let Second::Standardised { weights } = &step.second {
                challengers.standardise(Some(weights));
            }
            let best = challengers.best(self.pool, self.rule, self.state.noise_var, |row| outside(row, t))?;
            if let Some(best) = best.filter(|best| best.beats(&Ranked::of(step), self.pool)) {
                return Ok((t, Some(best)));
            }
            challengers.apply(step, |row| outside(row, t + 1))?;
        }
        Ok((sound, None))
    }

    /// Sees to the digits of the cold rows' sums where accumulated rounding calls many rows to f64.
    fn renew(&mut self, challenge: &Challenge) {
        let many = challenge.rows.len() > self.hot_rows() / 4;
        if self.state.wants.sq_cov && (many || self.state.target_var() < 1e-3 * self.fresh_var) {
            self.fresh_var = self.state.target_var();
            self.sum_anew = true;
        }
    }

    /// One pick in f64 over the whole pool, where the cold rows' numbers cannot tell the best apart.
    fn pick_exactly(&mut self) -> Result<(), Lost> {
        self.state.fold();
        let Some(best) = Hot::best_of_all(self.pool, self.rule, &self.state, &self.open)? else {
            return Ok(());
        };
        let step = self.state.observe(self.pool, best)?;
        self.passes += 1;
        self.take(step)?;
        self.choose_hot()
    }

    /// A pick that was not drafted.
    fn take(&mut self, step: Step) -> Result<(), Lost> {
        self.open[step.row] = false;
        self.hot.apply(&step, |row| self.open[row])?;
        self.ready.push_back((step.row, step.score));
        self.pending.push(step);
        Ok(())
    }

    fn hot_rows(&self) -> usize {
        (self.open.len() / HOT_SHARE).clamp(*HOT.start(), *HOT.end())
    }

    /// The rows with the best scores, as far as the cold rows know, and those next in line.
    fn choose_hot(&mut self) -> Result<(), Lost> {
        let count = self.hot_rows();
        let (rows, numbers) = self.cold.best(self.rule, &self.state, &self.open, WARM * count);
        self.warm = Warm::new(self.pool, &rows, &numbers, &self.pending, &self.state);
        let best = self.warm.best(self.rule, &self.state, count);
        let hot = std::mem::replace(&mut self.hot, Hot::none(self.pool, &self.state));
        self.hot = hot.turn_over(self.pool, &best, &self.state, &self.open)?;
        self.watched.clone_from(&self.open);
        self.hot.rows().iter().for_each(|&row| self.watched[row] = false);
        Ok(())
    }
}

impl<'a, T: Real> Ahead<'a> for Speculator<'a, T> {
    fn next(&mut self, left: usize) -> Result<Option<(usize, f64)>, Lost> {
        if self.ready.is_empty() {
            self.weary = self.floods > MOST_FLOODS;
            if self.weary {
                return Err(Lost);
            }
            self.round(left)?;
        }
        Ok(self.ready.pop_front())
    }

    fn passes(&self) -> usize {
        self.passes
    }

    fn climb(self: Box<Self>) -> Option<Box<dyn Ahead<'a> + 'a>> {
        if T::UNIT == f64::UNIT || !self.weary {
            return None;
        }
        let Self { pool, rule, mut state, open, .. } = *self;
        let norms = pool.map_blocks(|_, block| block.chunks_exact(pool.dim()).map(norm_sq).collect::<Vec<f64>>());
        state.fold();
        let mut engine = Speculator::<f64>::start(pool, norms.concat().into(), rule, state, open)?;
        // For the norms.
        engine.passes += 1;
        Some(Box::new(engine))
    }
}
