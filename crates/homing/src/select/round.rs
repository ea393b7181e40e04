//! One round of a selection: a batch chosen for one set of targets, by the engine that fits.

use std::vec::IntoIter;

use super::ledger::{Ledger, given_targets};
use crate::engine::dual::{DualSpeculator, Laws};
use crate::engine::order::{ScoredRow, is_copy, winner};
use crate::engine::plain::Tracker;
use crate::engine::scoring::{Scorer, best_first, score_all, take_best, take_top};
use crate::engine::setup::RoundSetup;
use crate::engine::speculative::{DraftingEngine, LinearSpeculator, RankedRows, SelectionState, cosine_state, is_near};
use crate::engine::stochastic::{sample, sample_size};
use crate::engine::turns::TurnEngine;
use crate::engine::work::Work;
use crate::law::Law;
use crate::law::targets::Targets;
use crate::rules::strategy::{BatchMethod, PickMethod, Space};
use crate::shard::{Carrier, KeyForm, Opening, Scored, Scoring};
use crate::task::limits::Limits;
use crate::{Embeddings, Engine, Greedy, Pick, Points, Result, TargetSampling};

/// Number of rows below which a pass costs less than drafting, for the linear kernel and for others, whose passes cost
/// more.
const FEW_ROWS: usize = 1024;
const FEW_ROWS_DUAL: usize = 512;

/// The source of a round's picks.
enum PickSource<'s, 'a> {
    /// An engine with one pass per pick.
    Plain(Box<Tracker<'a>>),
    /// An engine with many picks per pass.
    Speculative(Box<dyn DraftingEngine<'s> + 's>),
    /// The best of `size` random rows for each pick, and the number of rows read so far.
    Sample { size: usize, read: usize },
    /// Rows that the pool's carrier scores where they lie, with one pass per pick, and the number of passes so far.
    Carried { scoring: Box<dyn Scoring + 's>, passes: usize },
    /// Rows that the pool's carrier ranks, from which the best are taken.
    Ranked(Box<RankedRows<'s>>),
    /// Rows that were all scored once.
    Top(IntoIter<(usize, f64)>),
}

/// A round, with the source of its picks.
pub(crate) struct Round<'s, 'a> {
    setup: &'s RoundSetup<'s, 'a>,
    source: PickSource<'s, 'a>,
    left: usize,
    /// The targets of the round.
    drawn: Option<Vec<usize>>,
    work: Work,
}

impl<'s, 'a> Round<'s, 'a> {
    /// Starts a round of `size` picks about the targets `drawn`, conditioned on D and all picks so far.
    pub fn open<'l: 'a>(
        setup: &'s RoundSetup<'s, 'a>,
        ledger: &mut Ledger<'l>,
        picks: &[Pick],
        limits: &Limits<'_>,
        size: usize,
        drawn: Option<Vec<usize>>,
    ) -> Self {
        if let Greedy::Stochastic { epsilon } = setup.plan.greedy {
            let source =
                PickSource::Sample { size: sample_size(setup.pool.rows(), setup.plan.count, epsilon), read: 0 };
            return Self { setup, source, left: size, drawn, work: Work::default() };
        }
        let source = if let Some(engine) = turn_engine(setup, ledger, picks, limits, drawn.as_deref()) {
            PickSource::Speculative(engine)
        } else if let Some(engine) = linear_speculator(setup, ledger, limits, drawn.as_deref()) {
            PickSource::Speculative(engine)
        } else if let Some(rows) = ranked_rows(setup, ledger, limits, drawn.as_deref()) {
            PickSource::Ranked(Box::new(rows))
        } else if let Some(scoring) = carried(setup, picks, limits, drawn.as_deref()) {
            PickSource::Carried { scoring, passes: 1 }
        } else if let Some(engine) = dual_speculator(setup, ledger, limits, size, drawn.as_deref()) {
            PickSource::Speculative(engine)
        } else {
            PickSource::Plain(Box::new(tracker(setup, ledger, picks, drawn.as_deref())))
        };
        Self { setup, source, left: size, drawn, work: Work::default() }
    }

    /// Returns the next pick: its row and score. Returns `None` if the limits allow no row.
    pub fn next<'l: 'a>(
        &mut self,
        ledger: &mut Ledger<'l>,
        picks: &[Pick],
        limits: &mut Limits<'_>,
    ) -> Result<Option<(usize, f64)>> {
        let (setup, strategy) = (self.setup, &self.setup.plan.strategy);
        let left = self.left;
        self.left -= 1;
        loop {
            match &mut self.source {
                PickSource::Speculative(engine) => {
                    if let Ok(next) = engine.next(left) {
                        next.iter().for_each(|&(row, _)| limits.take(row));
                        return Ok(next);
                    }
                    self.work += engine.work();
                    let PickSource::Speculative(engine) =
                        std::mem::replace(&mut self.source, PickSource::Top(Vec::new().into_iter()))
                    else {
                        unreachable!("the source was matched above")
                    };
                    setup.task.check_read()?;
                    let drawn = self.drawn.as_deref();
                    self.source = if let Some(engine) = engine.into_finer() {
                        PickSource::Speculative(engine)
                    } else if let Some(scoring) = carried(setup, picks, limits, drawn) {
                        PickSource::Carried { scoring, passes: 1 }
                    } else {
                        PickSource::Plain(Box::new(tracker(setup, ledger, picks, drawn)))
                    };
                }
                PickSource::Plain(tracker) if strategy.batch == BatchMethod::Sequential => {
                    tracker.check_definite(setup.noise_var)?;
                    return Ok(take_best(&setup.scorer(tracker, picks.len()), limits));
                }
                PickSource::Plain(tracker) => {
                    tracker.check_definite(setup.noise_var)?;
                    let top = take_top(&setup.scorer(tracker, picks.len()), limits, left);
                    self.work += plain_work(setup, tracker);
                    self.source = PickSource::Top(top.into_iter());
                }
                PickSource::Carried { scoring, .. } => {
                    let turns = setup.plan.earlier_picks + picks.len();
                    if strategy.batch == BatchMethod::Sequential {
                        let found = scoring.best(turns as u64).into_iter().map(ScoredRow::from);
                        let best = winner(found.collect::<Vec<_>>().into_iter(), |a, b| is_same(setup, a, b));
                        best.iter().for_each(|best| limits.take(best.row));
                        return Ok(best.map(|best| (best.row, best.score)));
                    }
                    let found = scoring.top(left, turns as u64).into_iter().map(ScoredRow::from).collect();
                    let top = best_first(found, limits, left);
                    self.work.passes += 1;
                    self.source = PickSource::Top(top.into_iter());
                }
                PickSource::Ranked(rows) => {
                    let drawn = self.drawn.as_deref();
                    let found = rows.best(left, |rows| {
                        with_tracker(setup, ledger, picks, rows, drawn, |tracker| {
                            score_all(&Scorer { rows: Some(rows), ..setup.scorer(tracker, picks.len()) }, limits)
                        })
                    })?;
                    self.work += rows.work();
                    self.source = if let Some(found) = found {
                        PickSource::Top(best_first(found, limits, left).into_iter())
                    } else {
                        setup.task.check_read()?;
                        PickSource::Plain(Box::new(tracker(setup, ledger, picks, drawn)))
                    };
                }
                PickSource::Sample { size, read } => {
                    let rows = sample(limits, *size, setup.plan.seed, (setup.plan.earlier_picks + picks.len()) as u64);
                    *read += rows.len();
                    return best_of(setup, ledger, picks, limits, &rows, self.drawn.as_deref());
                }
                PickSource::Top(top) => return Ok(top.next()),
            }
        }
    }

    /// Conditions on the latest pick, if another follows in this round.
    pub fn observe(&mut self, row: usize) {
        match &mut self.source {
            PickSource::Plain(tracker) => tracker.observe(row, self.setup.noise_at(row)),
            PickSource::Carried { scoring, passes } => {
                scoring.observe(row, &self.setup.pool.row(row));
                *passes += 1;
            }
            _ => {}
        }
    }

    /// Returns the work so far.
    pub fn work(&self) -> Work {
        let (setup, mut work) = (self.setup, self.work);
        match &self.source {
            PickSource::Plain(tracker) => work += plain_work(setup, tracker),
            PickSource::Speculative(engine) => work += engine.work(),
            PickSource::Carried { passes, .. } => work.passes += passes,
            PickSource::Sample { read, .. } => work.passes += read.div_ceil(self.setup.pool.rows()),
            PickSource::Ranked(rows) => work += rows.work(),
            PickSource::Top(_) => {}
        }
        work
    }
}

impl From<Scored> for ScoredRow {
    fn from(Scored { row, score, key }: Scored) -> Self {
        Self { row, score, key }
    }
}

/// Returns the work of the engine with one pass per pick, which reads the pool here.
fn plain_work(setup: &RoundSetup<'_, '_>, tracker: &Tracker<'_>) -> Work {
    Work { passes: tracker.passes, left_carrier: is_near(setup.task.pool.embeddings()), ..Work::default() }
}

/// Returns whether the rule cannot distinguish two rows.
fn is_same(setup: &RoundSetup<'_, '_>, a: usize, b: usize) -> bool {
    let strategy = &setup.plan.strategy;
    let probabilities = setup.task.probabilities.filter(|_| strategy.wants().probabilities);
    strategy.pick_method == PickMethod::Largest
        && is_copy(setup.kernel, setup.pool, a, b)
        && probabilities.is_none_or(|p| p.row(a) == p.row(b))
}

/// Takes the best of some rows, which are scored from scratch.
fn best_of(
    setup: &RoundSetup<'_, '_>,
    ledger: &mut Ledger<'_>,
    picks: &[Pick],
    limits: &mut Limits<'_>,
    rows: &[usize],
    drawn: Option<&[usize]>,
) -> Result<Option<(usize, f64)>> {
    if rows.is_empty() {
        return Ok(None);
    }
    with_tracker(setup, ledger, picks, rows, drawn, |tracker| {
        take_best(&Scorer { rows: Some(rows), ..setup.scorer(tracker, picks.len()) }, limits)
    })
}

/// Calls `f` with the numbers of some rows, which are computed from scratch.
fn with_tracker<A>(
    setup: &RoundSetup<'_, '_>,
    ledger: &mut Ledger<'_>,
    picks: &[Pick],
    rows: &[usize],
    drawn: Option<&[usize]>,
    f: impl FnOnce(&Tracker<'_>) -> A,
) -> Result<A> {
    let points = setup.pool.gather(rows);
    let probabilities = setup.task.probabilities.map(|p| (Points::from(p).gather(rows), p.dim()));
    let probabilities = match &probabilities {
        Some((values, classes)) => Some(Embeddings::new(&values[..], *classes)?),
        None => None,
    };
    let pool = Embeddings::new(&points[..], setup.pool.dim())?.into();
    let tracker = tracker_of(setup, pool, probabilities, ledger, picks, drawn);
    tracker.check_definite(setup.noise_var).map_err(|error| error.in_pool(rows))?;
    Ok(f(&tracker))
}

/// Returns the targets of a round.
fn targets(setup: &RoundSetup<'_, '_>, ledger: &mut Ledger<'_>, drawn: Option<&[usize]>) -> Option<Targets> {
    let (all, rows) = (setup.task.targets?, drawn?);
    Some(Targets::new(all.gather(rows), all.dim(), &mut ledger.data))
}

/// Returns the targets of a round, of which some have had their turn.
fn targets_after(
    setup: &RoundSetup<'_, '_>,
    ledger: &mut Ledger<'_>,
    turns: usize,
    drawn: Option<&[usize]>,
) -> Option<Targets> {
    targets(setup, ledger, drawn).map(|targets| Targets { turns, ..targets })
}

/// Returns the law given the targets of a round, for a rule that reads it.
fn joint<'l>(setup: &RoundSetup<'_, '_>, ledger: &Ledger<'l>, targets: Option<&Targets>) -> Option<Law<'l>> {
    let (targets, noise) = (targets?, setup.plan.strategy.wants().var_given_targets?);
    if setup.plan.target_sampling == TargetSampling::All {
        return ledger.joint.clone();
    }
    Some(given_targets(&ledger.data, &targets.points, targets.dim, noise, setup.noise_var))
}

fn tracker<'a, 'l: 'a>(
    setup: &RoundSetup<'_, 'a>,
    ledger: &mut Ledger<'l>,
    picks: &[Pick],
    drawn: Option<&[usize]>,
) -> Tracker<'a> {
    tracker_of(setup, setup.pool, setup.task.probabilities, ledger, picks, drawn)
}

/// Creates a tracker of some points, which need not be the pool's.
fn tracker_of<'a, 'l: 'a>(
    setup: &RoundSetup<'_, 'a>,
    points: Points<'a>,
    probabilities: Option<Embeddings<'a>>,
    ledger: &mut Ledger<'l>,
    picks: &[Pick],
    drawn: Option<&[usize]>,
) -> Tracker<'a> {
    let turns = setup.plan.earlier_picks + picks.len();
    tracker_near(setup, points, probabilities, ledger, turns, drawn, &near(setup, picks))
}

/// Returns the points from which distances are measured, for a rule that reads them: those labelled, and the picks.
fn near(setup: &RoundSetup<'_, '_>, picks: &[Pick]) -> Vec<f64> {
    if !setup.plan.strategy.wants().nearest {
        return Vec::new();
    }
    let task = setup.task;
    let picked = picks.iter().map(|pick| pick.row);
    let mut near = setup.pool.gather(&task.observed_rows.iter().copied().chain(picked).collect::<Vec<_>>());
    near.extend(task.observed_points.map(|points| points.to_vec()).unwrap_or_default());
    near
}

/// Creates a tracker of some points, given the number of picks so far and the points from which distances are measured.
pub(crate) fn tracker_near<'a, 'l: 'a>(
    setup: &RoundSetup<'_, 'a>,
    points: Points<'a>,
    probabilities: Option<Embeddings<'a>>,
    ledger: &mut Ledger<'l>,
    turns: usize,
    drawn: Option<&[usize]>,
    near: &[f64],
) -> Tracker<'a> {
    let targets = targets_after(setup, ledger, turns, drawn);
    let joint = joint(setup, ledger, targets.as_ref());
    let given = (ledger.data.clone(), joint);
    Tracker::new(points, setup.kernel, setup.plan.strategy.wants(), probabilities, targets, given, near)
}

/// Lets the pool's carrier score rows where they lie, if it can.
fn carried<'s>(
    setup: &'s RoundSetup<'s, '_>,
    picks: &[Pick],
    limits: &Limits<'_>,
    drawn: Option<&[usize]>,
) -> Option<Box<dyn Scoring + 's>> {
    let (task, plan) = (setup.task, setup.plan);
    let pool = task.pool.embeddings();
    let carrier = pool.carrier()?;
    let strategy = &plan.strategy;
    // The carrier has the class probabilities of its own rows only.
    let has_probabilities = || task.probabilities.is_some_and(|given| given.carrier().is_some());
    let is_known = strategy.is_named && (!strategy.needs_probabilities() || has_probabilities());
    if !(is_known && limits.is_mask() && task.noise_vars.is_none() && task.kernel.is_linear()) {
        return None;
    }
    let mut observed = task.pool.gather(&task.labelled_rows());
    observed.extend(task.observed_points.map(|points| points.to_vec()).unwrap_or_default());
    let picked: Vec<usize> = picks.iter().map(|pick| pick.row).collect();
    let open = limits.open();
    carrier.scoring(&Opening {
        transform: pool.transform(),
        strategy: strategy.name,
        in_given_space: strategy.space == Space::Given,
        beta: strategy.beta,
        noise_var: setup.noise_var,
        seed: plan.seed,
        observed: &observed,
        targets: task.targets.map(|targets| targets.to_vec()).as_deref(),
        drawn,
        is_whole: plan.target_sampling == TargetSampling::All,
        turns: plan.earlier_picks + picks.len(),
        picks: &task.pool.gather(&picked),
        near: &near(setup, picks),
        closed: &(0..open.len()).filter(|&row| !open[row]).collect::<Vec<_>>(),
    })
}

/// Returns whether few passes are wanted, and the picks are the largest scores under one noise and a mask.
fn may_speculate(setup: &RoundSetup<'_, '_>, limits: &Limits<'_>, batch: BatchMethod, few_rows: usize) -> bool {
    let (plan, strategy) = (setup.plan, &setup.plan.strategy);
    let is_worthwhile = match plan.engine {
        Engine::Auto => setup.pool.rows() >= few_rows,
        Engine::Plain => false,
        Engine::Speculative => true,
    };
    let is_largest = strategy.batch == batch && strategy.pick_method == PickMethod::Largest;
    is_worthwhile && is_largest && setup.task.noise_vars.is_none() && limits.is_mask()
}

fn turn_engine<'s>(
    setup: &'s RoundSetup<'s, '_>,
    ledger: &mut Ledger<'_>,
    picks: &[Pick],
    limits: &Limits<'_>,
    drawn: Option<&[usize]>,
) -> Option<Box<dyn DraftingEngine<'s> + 's>> {
    // Rows elsewhere are scored there: a turn needs no pass over the network.
    let is_far = setup.pool.embeddings().carrier().is_some_and(Carrier::is_far);
    if is_far
        || !(setup.plan.strategy.wants().is_turn_only()
            && may_speculate(setup, limits, BatchMethod::Sequential, FEW_ROWS))
    {
        return None;
    }
    let targets = targets_after(setup, ledger, setup.plan.earlier_picks + picks.len(), drawn)?;
    Some(Box::new(TurnEngine::new(setup, &targets, limits.open().to_vec())))
}

fn linear_speculator<'s>(
    setup: &'s RoundSetup<'s, '_>,
    ledger: &mut Ledger<'_>,
    limits: &Limits<'_>,
    drawn: Option<&[usize]>,
) -> Option<Box<dyn DraftingEngine<'s> + 's>> {
    let strategy = &setup.plan.strategy;
    let (Points::Embeddings(pool), Some(norms)) = (setup.pool, setup.norms) else { return None };
    if !may_speculate(setup, limits, BatchMethod::Sequential, FEW_ROWS) {
        return None;
    }
    let targets = targets(setup, ledger, drawn);
    let joint = joint(setup, ledger, targets.as_ref());
    let state = SelectionState::new(ledger.data.clone(), joint, targets, strategy.wants(), setup.noise_var);
    let open = limits.open().to_vec();
    let engine = state.and_then(|state| LinearSpeculator::new(pool, norms, &*strategy.rule, state, open));
    engine.map(|engine| Box::new(engine) as Box<dyn DraftingEngine<'s> + 's>)
}

/// Lets the pool's carrier rank rows for a rule that scores every row once.
fn ranked_rows<'s>(
    setup: &'s RoundSetup<'s, '_>,
    ledger: &mut Ledger<'_>,
    limits: &Limits<'_>,
    drawn: Option<&[usize]>,
) -> Option<RankedRows<'s>> {
    let rule = &setup.plan.strategy.rule;
    let (Points::Embeddings(pool), Some(norms)) = (setup.pool, setup.norms) else { return None };
    if !(may_speculate(setup, limits, BatchMethod::TopB, FEW_ROWS) && is_near(pool)) {
        return None;
    }
    let targets = targets(setup, ledger, drawn);
    let (form, state) = if rule.is_cosine() {
        (KeyForm::Correlation, cosine_state(&targets?.points, pool.dim(), setup.mean_var))
    } else {
        let joint = joint(setup, ledger, targets.as_ref());
        let state = SelectionState::new(ledger.data.clone(), joint, targets, rule.wants(), setup.noise_var);
        (rule.form().filter(|_| rule.is_monotone())?, state)
    };
    RankedRows::new(pool, norms, form, state?, limits.open().to_vec())
}

fn dual_speculator<'s, 'a, 'l: 'a>(
    setup: &'s RoundSetup<'s, 'a>,
    ledger: &mut Ledger<'l>,
    limits: &Limits<'_>,
    size: usize,
    drawn: Option<&[usize]>,
) -> Option<Box<dyn DraftingEngine<'s> + 's>> {
    if !(may_speculate(setup, limits, BatchMethod::Sequential, FEW_ROWS_DUAL) && DualSpeculator::fits(setup)) {
        return None;
    }
    let targets = targets(setup, ledger, drawn);
    let joint = joint(setup, ledger, targets.as_ref());
    let wants = setup.plan.strategy.wants();
    let targets = targets.filter(|_| wants.sq_cov || wants.std_cov);
    let laws = Laws::new(ledger.data.clone(), joint);
    let engine = laws.map(|laws| DualSpeculator::new(setup, laws, targets, limits.open().to_vec(), size));
    engine.map(|engine| Box::new(engine) as Box<dyn DraftingEngine<'s> + 's>)
}
