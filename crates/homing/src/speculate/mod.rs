//! Speculative greedy: many exact picks a pass, for the linear kernel.
//!
//! One pass a pick is bound by memory. So picks are *drafted* on the few rows with the best scores, in f64, and then
//! *verified* for all others in one blocked pass: a matrix product in f32 with the drafted picks' functionals, with bounds on
//! its rounding. A row whose score may reach a drafted pick's is computed in f64; if it wins, the draft is cut there and the
//! row is the pick. Every pass makes at least one pick, and the picks are those of the plain engine.

mod cold;
mod hot;

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use crate::choose::TIE;
use crate::law::{Law, LinearLaw};
use crate::tracker::Targets;
use crate::{Embeddings, Rule, Wants};
use cold::{Challenge, Cold};
use hot::Hot;

/// Rows that picks are drafted on: a share of the pool, within limits.
const HOT_SHARE: usize = 64;
const HOT: RangeInclusive<usize> = 128..=8192;

/// Rows looked at for each one that is drafted on.
const PROMISING: usize = 4;

/// Shortest and longest draft.
const DRAFT: RangeInclusive<usize> = 6..=48;

/// Picks by a pass in f64 after which speculation gives up.
const MOST_TIES: usize = 3;

/// One pick, drafted or made: the functionals that it changes the candidates' numbers by.
#[derive(Clone)]
pub(crate) struct Step {
    row: usize,
    key: f64,
    score: f64,
    /// Σφ under the law given D, and Var f + ρ²; Var f alone.
    data: Vec<f64>,
    total: f64,
    var: f64,
    /// Σ_a Var f_a before it.
    target_var: f64,
    second: Second,
}

/// A row with its key and score.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ranked {
    row: usize,
    key: f64,
    score: f64,
}

/// Copies of one row, computed in different ways, have keys that agree at least to this share.
const TWINS: f64 = 1e-6;

impl Ranked {
    fn of(step: &Step) -> Self {
        Self { row: step.row, key: step.key, score: step.score }
    }

    /// Larger key first; ties and copies of one row go by row number.
    fn beats(&self, other: &Self, pool: Embeddings<'_>) -> bool {
        let (apart, scale) = ((self.key - other.key).abs(), self.key.abs().max(other.key.abs()));
        let twins = || apart <= TWINS * scale && pool.row(self.row) == pool.row(other.row);
        if apart <= TIE * scale || twins() { self.row < other.row } else { self.key > other.key }
    }
}

/// What a step holds for the rule's second number.
#[derive(Clone)]
enum Second {
    None,
    /// Σ_A φ, its total and Var f, under the law given the targets too (ITL).
    Joint {
        weights: Vec<f64>,
        total: f64,
        var: f64,
    },
    /// Σ_a c_a f_a with c the pick's covariances with the targets, and ‖c‖² (VTL).
    Squares {
        weights: Vec<f64>,
        norm_sq: f64,
    },
    /// Σ_a f_a / σ_a before this pick: what it was chosen by (CTL).
    Standardised {
        weights: Vec<f64>,
    },
}

impl Second {
    fn weights(&self) -> Option<&[f64]> {
        match self {
            Second::None => None,
            Second::Joint { weights, .. } | Second::Squares { weights, .. } | Second::Standardised { weights } => {
                Some(weights)
            }
        }
    }
}

/// The laws and targets at some point of the selection; all in f64.
#[derive(Clone)]
pub(crate) struct State {
    data: LinearLaw,
    joint: Option<LinearLaw>,
    targets: Option<Targets>,
    wants: Wants,
    noise_var: f64,
}

/// The digits of a variance are gone; the plain engine knows what to do.
pub(crate) struct Lost;

impl State {
    /// None for laws that are not in weight space.
    pub fn new(
        data: Law<'_>,
        joint: Option<Law<'_>>,
        targets: Option<Targets>,
        wants: Wants,
        noise_var: f64,
    ) -> Option<Self> {
        let linear = |law: Law<'_>| match law {
            Law::Linear(law) => Some(law),
            Law::Dual(_) => None,
        };
        let joint = match joint {
            Some(joint) => Some(linear(joint)?),
            None => None,
        };
        Some(Self { data: linear(data)?, joint, targets, wants, noise_var })
    }

    /// What the next pick is chosen by beside the candidates' own numbers (CTL).
    fn standardised(&self) -> Option<Vec<f64>> {
        let targets = self.targets.as_ref().filter(|_| self.wants.std_cov)?;
        Some(self.data.functional(&targets.standardised().collect::<Vec<_>>()))
    }

    /// Observes a chosen row.
    fn observe(&mut self, pool: Embeddings<'_>, Ranked { row, key, score }: Ranked) -> Result<Step, Lost> {
        let x = &pool.row(row)[..];
        let (standardised, target_var) = (self.standardised(), self.target_var());
        let var = self.data.var(x);
        if var.is_lost() {
            return Err(Lost);
        }
        let total = var.value + self.noise_var;
        let weights = self.data.functional(&[(1.0, x)]);
        let mut second = standardised.map_or(Second::None, |weights| Second::Standardised { weights });
        if let Some(joint) = &mut self.joint {
            let var = joint.var(x);
            if var.is_lost() {
                return Err(Lost);
            }
            let (total, weights) = (var.value + self.noise_var, joint.functional(&[(1.0, x)]));
            joint.push(x, weights.clone(), self.noise_var, total);
            second = Second::Joint { weights, total, var: var.value };
        }
        if let Some(targets) = self.targets.as_mut().filter(|_| self.wants.sq_cov || self.wants.std_cov) {
            let covs: Vec<f64> = targets.iter().map(|a| crate::algebra::dot(a, &weights)).collect();
            if self.wants.sq_cov {
                let terms: Vec<(f64, &[f64])> = covs.iter().copied().zip(targets.iter()).collect();
                let norm_sq = crate::algebra::norm_sq(&covs);
                second = Second::Squares { weights: self.data.functional(&terms), norm_sq };
            }
            for (var, c) in targets.vars.iter_mut().zip(&covs) {
                var.value -= c * c / total;
                if var.is_lost() {
                    return Err(Lost);
                }
            }
        }
        self.data.push(x, weights.clone(), self.noise_var, total);
        Ok(Step { row, key, score, data: weights, total, var: var.value, target_var, second })
    }

    /// Brings the laws into their shortest form.
    fn fold(&mut self) {
        self.data.rebase();
        if let Some(joint) = &mut self.joint {
            joint.rebase();
        }
    }

    fn target_var(&self) -> f64 {
        self.targets.as_ref().map_or(0.0, Targets::total_var)
    }
}

/// The engine.
pub(crate) struct Speculator<'a> {
    pool: Embeddings<'a>,
    rule: &'a dyn Rule,
    state: State,
    hot: Hot,
    cold: Cold,
    /// Picks made but not yet applied to the cold rows.
    pending: Vec<Step>,
    /// Picks made but not yet asked for.
    ready: VecDeque<(usize, f64)>,
    open: Vec<bool>,
    draft: usize,
    /// The targets' variance when the cold rows were last computed from nothing.
    fresh_var: f64,
    /// Picks that f32 could not tell apart.
    ties: usize,
    pub passes: usize,
}

impl<'a> Speculator<'a> {
    /// None where speculation has nothing to offer: norms beyond f32, or a rule that it does not know.
    pub fn new(
        pool: Embeddings<'a>,
        norms: &[f32],
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
        // Beyond these norms f32 overflows or underflows: VTL holds fourth powers.
        let in_range = |&norm: &f32| norm == 0.0 || (1e-16..1e16).contains(&norm);
        if !norms.iter().all(in_range) {
            return None;
        }
        state.fold();
        let cold = Cold::new(pool, norms, &mut state);
        let hot = Hot::default();
        let fresh_var = state.target_var();
        let mut engine = Self {
            pool,
            rule,
            state,
            hot,
            cold,
            pending: Vec::new(),
            ready: VecDeque::new(),
            open,
            draft: 8,
            fresh_var,
            ties: 0,
            passes: 1,
        };
        engine.choose_hot().ok()?;
        Some(engine)
    }

    /// The next pick: its row and score. `left` picks are asked for in all, this one included.
    pub fn next(&mut self, left: usize) -> Result<Option<(usize, f64)>, Lost> {
        if self.ready.is_empty() {
            self.round(left)?;
        }
        Ok(self.ready.pop_front())
    }

    /// Drafts, verifies and accepts.
    fn round(&mut self, left: usize) -> Result<(), Lost> {
        // The loop of the caller stops at the last pick; a draft must not run dry of rows before it.
        let most = self.draft.min(left).min(self.hot.open_rows(&self.open));
        let mut ahead = self.state.clone();
        let mut hot = self.hot.clone();
        let mut steps: Vec<Step> = Vec::with_capacity(most);
        let mut states = Vec::with_capacity(most);
        for _ in 0..most {
            hot.standardise(self.pool, ahead.standardised().as_deref());
            let Some(best) = hot.best(self.pool, self.rule, ahead.noise_var, |row| self.open[row])? else { break };
            let step = ahead.observe(self.pool, best)?;
            self.open[step.row] = false;
            states.push(hot.numbers());
            hot.apply(self.pool, &step)?;
            steps.push(step);
        }
        let challenge = self.cold.verify(self.pool, self.rule, &ahead, &self.pending, &steps, &self.open, &self.hot);
        self.passes += 1;
        let (agreed, winner) = self.settle(&challenge, &steps)?;

        let fully = winner.is_none() && agreed == steps.len();
        if fully {
            self.state = ahead;
        } else {
            for step in &steps[agreed..] {
                self.open[step.row] = true;
            }
            self.state = self.replay(&steps[..agreed])?;
            if let Some(numbers) = states.get(agreed) {
                hot.restore(numbers);
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
        if made == 0 {
            return self.pick_exactly();
        }
        if left <= made {
            return Ok(());
        }
        self.draft = if fully { self.draft * 2 } else { made + made / 2 + 1 }.clamp(*DRAFT.start(), *DRAFT.end());
        if self.needs_refresh(&challenge) {
            self.refresh();
        }
        self.choose_hot()
    }

    /// The state after the first picks of a draft.
    fn replay(&self, steps: &[Step]) -> Result<State, Lost> {
        let mut state = self.state.clone();
        for step in steps {
            state.observe(self.pool, Ranked::of(step))?;
        }
        Ok(state)
    }

    /// How many drafted picks stand, and the pick that replaces the next one if a challenger beats it.
    fn settle(&self, challenge: &Challenge, steps: &[Step]) -> Result<(usize, Option<Ranked>), Lost> {
        let sound = challenge.sound.min(steps.len());
        if challenge.rows.is_empty() {
            return Ok((sound, None));
        }
        let mut challengers = Hot::build(self.pool, &challenge.rows, &self.state)?;
        for (t, step) in steps[..sound].iter().enumerate() {
            if let Second::Standardised { weights } = &step.second {
                challengers.standardise(self.pool, Some(weights));
            }
            let best = challengers.best(self.pool, self.rule, self.state.noise_var, |row| self.open[row])?;
            if let Some(best) = best.filter(|best| best.beats(&Ranked::of(step), self.pool)) {
                return Ok((t, Some(best)));
            }
            challengers.apply(self.pool, step)?;
        }
        Ok((sound, None))
    }

    /// Whether accumulated rounding calls more rows to f64 than a fresh start would.
    fn needs_refresh(&self, challenge: &Challenge) -> bool {
        let fallen = self.state.wants.sq_cov && self.state.target_var() < 1e-3 * self.fresh_var;
        fallen || (challenge.rows.len() > self.hot_rows() / 2 && self.cold.error_has_grown())
    }

    /// One pick in f64 over the whole pool, where f32 cannot tell the best rows apart.
    fn pick_exactly(&mut self) -> Result<(), Lost> {
        self.ties += 1;
        if self.ties > MOST_TIES {
            return Err(Lost);
        }
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
        self.hot.apply(self.pool, &step)?;
        self.open[step.row] = false;
        self.ready.push_back((step.row, step.score));
        self.pending.push(step);
        Ok(())
    }

    fn refresh(&mut self) {
        self.state.fold();
        self.fresh_var = self.state.target_var();
        self.cold.restart(self.pool, &mut self.state);
        self.pending.clear();
        self.hot = Hot::default();
        self.passes += 1;
    }

    fn hot_rows(&self) -> usize {
        (self.open.len() / HOT_SHARE).clamp(*HOT.start(), *HOT.end())
    }

    /// The rows with the best scores, as far as the cold rows know.
    fn choose_hot(&mut self) -> Result<(), Lost> {
        let rough = self.cold.best(self.rule, &self.state, &self.open, PROMISING * self.hot_rows());
        let best = Hot::promising(self.pool, self.rule, &self.state, &rough, &self.pending, self.hot_rows());
        self.hot = std::mem::take(&mut self.hot).turn_over(self.pool, &best, &self.state, &self.open)?;
        Ok(())
    }
}
