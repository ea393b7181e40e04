//! One round of a selection: a batch chosen for one set of targets, by the engine that fits.

use std::vec::IntoIter;

use crate::choose::{Limits, Scorer, take_best, take_top};
use crate::greedy::{sample, sample_size};
use crate::ledger::{Ledger, given_targets};
use crate::speculate::{Ahead, Speculator, State};
use crate::speculate_dual::{Drafts, Laws};
use crate::strategy::{Batch, Choice};
use crate::task::Engine;
use crate::tracker::{Targets, Tracker};
use crate::{Embeddings, Greedy, Kernel, Noise, Pick, Plan, Points, Result, TargetSampling, Task};

/// Below this many rows a pass costs less than drafting does; with other kernels than the linear a pass costs more.
const FEW_ROWS: usize = 1024;
const FEW_ROWS_DUAL: usize = 512;

/// What every round starts from.
pub(crate) struct Setup<'s, 'a> {
    pub task: &'s Task<'a>,
    pub plan: &'s Plan,
    /// The points in which the rule measures, and their kernel.
    pub pool: Points<'a>,
    pub kernel: &'a dyn Kernel,
    pub noise_var: f64,
    /// Mean prior variance of the pool.
    pub mean_var: f64,
    /// ‖φ‖² of every row, for the linear kernel.
    pub norms: Option<&'s [f32]>,
}

impl Setup<'_, '_> {
    /// ρ² of a row.
    pub fn noise_at(&self, row: usize) -> f64 {
        self.task.noise_vars.map_or(self.noise_var, |vars| vars[row])
    }

    /// Scores rows for the pick after `picks` others.
    fn scorer<'t, 'b>(
        &'t self,
        tracker: &'t Tracker<'b>,
        picks: usize,
    ) -> Scorer<'t, 'b, impl Fn(usize) -> f64 + Sync> {
        let noise_at = |row: usize| self.noise_at(row);
        let strategy = &self.plan.strategy;
        Scorer { strategy, tracker, rows: None, noise_at, seed: self.plan.seed, pick: (self.plan.made + picks) as u64 }
    }
}

/// Where the picks of a round come from.
enum Source<'s, 'a> {
    /// One pass a pick.
    Step(Box<Tracker<'a>>),
    /// Many picks a pass.
    Ahead(Box<dyn Ahead<'s> + 's>),
    /// Each the best of so many random rows; how many were read for that so far.
    Sample { size: usize, read: usize },
    /// Scored once.
    Top(IntoIter<(usize, f64)>),
}

/// A round under way.
pub(crate) struct Round<'s, 'a> {
    setup: &'s Setup<'s, 'a>,
    source: Source<'s, 'a>,
    left: usize,
    number: u64,
    passes: usize,
}

impl<'s, 'a> Round<'s, 'a> {
    /// Starts round `number` of `size` picks, with D and all picks so far conditioned on.
    pub fn open<'l: 'a>(
        setup: &'s Setup<'s, 'a>,
        ledger: &mut Ledger<'l>,
        picks: &[Pick],
        limits: &Limits<'_>,
        size: usize,
        number: u64,
    ) -> Result<Self> {
        if let Greedy::Stochastic { epsilon } = setup.plan.greedy {
            let source = Source::Sample { size: sample_size(setup.pool.rows(), setup.plan.count, epsilon), read: 0 };
            return Ok(Self { setup, source, left: size, number, passes: 0 });
        }
        let source = if let Some(engine) = speculator(setup, ledger, limits, number)? {
            Source::Ahead(engine)
        } else if let Some(engine) = drafts(setup, ledger, limits, size, number)? {
            Source::Ahead(engine)
        } else {
            Source::Step(Box::new(tracker(setup, ledger, picks, number)?))
        };
        Ok(Self { setup, source, left: size, number, passes: 0 })
    }

    /// The next pick: its row and score; none when the limits allow no row.
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
                Source::Ahead(engine) => {
                    if let Ok(next) = engine.next(left) {
                        next.iter().for_each(|&(row, _)| limits.take(row));
                        return Ok(next);
                    }
                    self.passes += engine.passes();
                    let Source::Ahead(engine) =
                        std::mem::replace(&mut self.source, Source::Top(Vec::new().into_iter()))
                    else {
                        unreachable!("matched above")
                    };
                    self.source = match engine.climb() {
                        Some(engine) => Source::Ahead(engine),
                        None => Source::Step(Box::new(tracker(self.setup, ledger, picks, self.number)?)),
                    };
                }
                Source::Step(tracker) if strategy.batch == Batch::Sequential => {
                    tracker.check_definite(setup.noise_var)?;
                    return Ok(take_best(&setup.scorer(tracker, picks.len()), limits));
                }
                Source::Step(tracker) => {
                    tracker.check_definite(setup.noise_var)?;
                    let top = take_top(&setup.scorer(tracker, picks.len()), limits, left);
                    self.passes += tracker.passes;
                    self.source = Source::Top(top.into_iter());
                }
                Source::Sample { size, read } => {
                    let rows = sample(limits, *size, setup.plan.seed, (setup.plan.made + picks.len()) as u64);
                    *read += rows.len();
                    return best_of(setup, ledger, picks, limits, &rows, self.number);
                }
                Source::Top(top) => return Ok(top.next()),
            }
        }
    }

    /// Conditions on the pick just made, when another is to follow in this round.
    pub fn observe(&mut self, row: usize) {
        if let Source::Step(tracker) = &mut self.source {
            tracker.observe(row, self.setup.noise_at(row));
        }
    }

    /// Passes over the pool so far.
    pub fn passes(&self) -> usize {
        self.passes
            + match &self.source {
                Source::Step(tracker) => tracker.passes,
                Source::Ahead(engine) => engine.passes(),
                Source::Sample { read, .. } => read.div_ceil(self.setup.pool.rows()),
                Source::Top(_) => 0,
            }
    }
}

/// Takes the best of some rows, scored from nothing.
fn best_of(
    setup: &Setup<'_, '_>,
    ledger: &mut Ledger<'_>,
    picks: &[Pick],
    limits: &mut Limits<'_>,
    rows: &[usize],
    number: u64,
) -> Result<Option<(usize, f64)>> {
    if rows.is_empty() {
        return Ok(None);
    }
    let points = setup.pool.gather(rows);
    let probabilities = setup.task.probabilities.map(|p| (Points::from(p).gather(rows), p.dim()));
    let probabilities = match &probabilities {
        Some((values, classes)) => Some(Embeddings::new(&values[..], *classes)?),
        None => None,
    };
    let pool = Embeddings::new(&points[..], setup.pool.dim())?.into();
    let tracker = tracker_of(setup, pool, probabilities, ledger, picks, number)?;
    tracker.check_definite(setup.noise_var).map_err(|error| error.in_pool(rows))?;
    Ok(take_best(&Scorer { rows: Some(rows), ..setup.scorer(&tracker, picks.len()) }, limits))
}

/// The targets of a round.
fn targets(setup: &Setup<'_, '_>, ledger: &mut Ledger<'_>, number: u64) -> Result<Option<Targets>> {
    let Some(all) = setup.task.targets.filter(|_| setup.plan.strategy.needs_targets()) else { return Ok(None) };
    let plan = setup.plan;
    let noise = Noise::Std(setup.noise_var.sqrt());
    let rows = plan.target_sampling.draw(all, setup.task.kernel, noise, plan.seed, number)?;
    Ok(Some(Targets::new(all.gather(&rows), all.dim(), &mut ledger.data)))
}

/// The law given the targets of a round, for a rule that reads it.
fn joint<'l>(setup: &Setup<'_, '_>, ledger: &Ledger<'l>, targets: Option<&Targets>) -> Option<crate::law::Law<'l>> {
    let (targets, noise) = (targets?, setup.plan.strategy.wants().var_given_targets?);
    if setup.plan.target_sampling == TargetSampling::All {
        return ledger.joint.clone();
    }
    Some(given_targets(&ledger.data, &targets.points, targets.dim, noise, setup.noise_var))
}

fn tracker<'a, 'l: 'a>(
    setup: &Setup<'_, 'a>,
    ledger: &mut Ledger<'l>,
    picks: &[Pick],
    number: u64,
) -> Result<Tracker<'a>> {
    tracker_of(setup, setup.pool, setup.task.probabilities, ledger, picks, number)
}

/// A tracker of some points, which need not be those of the pool.
fn tracker_of<'a, 'l: 'a>(
    setup: &Setup<'_, 'a>,
    points: Points<'a>,
    probabilities: Option<Embeddings<'a>>,
    ledger: &mut Ledger<'l>,
    picks: &[Pick],
    number: u64,
) -> Result<Tracker<'a>> {
    let (task, wants) = (setup.task, setup.plan.strategy.wants());
    let targets = targets(setup, ledger, number)?;
    let joint = joint(setup, ledger, targets.as_ref());
    let mut near = Vec::new();
    if wants.nearest {
        let picked = picks.iter().map(|pick| pick.index);
        near = setup.pool.gather(&task.observed_rows.iter().copied().chain(picked).collect::<Vec<_>>());
        near.extend(task.observed_points.map(|points| points.to_vec()).unwrap_or_default());
    }
    let given = (ledger.data.clone(), joint);
    Ok(Tracker::new(points, setup.kernel, wants, probabilities, targets, given, &near))
}

/// Whether many picks a pass are wanted, and the picks are largest scores under one noise and a mask.
fn may_speculate(setup: &Setup<'_, '_>, limits: &Limits<'_>, few_rows: usize) -> bool {
    let (plan, strategy) = (setup.plan, &setup.plan.strategy);
    let wanted = match plan.engine {
        Engine::Auto => setup.pool.rows() >= few_rows,
        Engine::Plain => false,
        Engine::Speculative => true,
    };
    let sequential = strategy.batch == Batch::Sequential && strategy.choice == Choice::Largest;
    wanted && sequential && setup.task.noise_vars.is_none() && limits.is_mask()
}

fn speculator<'s>(
    setup: &'s Setup<'s, '_>,
    ledger: &mut Ledger<'_>,
    limits: &Limits<'_>,
    number: u64,
) -> Result<Option<Box<dyn Ahead<'s> + 's>>> {
    let strategy = &setup.plan.strategy;
    let (Points::Embeddings(pool), Some(norms)) = (setup.pool, setup.norms) else { return Ok(None) };
    if !may_speculate(setup, limits, FEW_ROWS) {
        return Ok(None);
    }
    let targets = targets(setup, ledger, number)?;
    let joint = joint(setup, ledger, targets.as_ref());
    let state = State::new(ledger.data.clone(), joint, targets, strategy.wants(), setup.noise_var);
    let open = limits.open().to_vec();
    let engine = state.and_then(|state| Speculator::new(pool, norms, &*strategy.rule, state, open));
    Ok(engine.map(|engine| Box::new(engine) as Box<dyn Ahead<'s> + 's>))
}

fn drafts<'s, 'a, 'l: 'a>(
    setup: &'s Setup<'s, 'a>,
    ledger: &mut Ledger<'l>,
    limits: &Limits<'_>,
    size: usize,
    number: u64,
) -> Result<Option<Box<dyn Ahead<'s> + 's>>> {
    if !(may_speculate(setup, limits, FEW_ROWS_DUAL) && Drafts::fits(setup)) {
        return Ok(None);
    }
    let targets = targets(setup, ledger, number)?;
    let joint = joint(setup, ledger, targets.as_ref());
    let wants = setup.plan.strategy.wants();
    let targets = targets.filter(|_| wants.sq_cov || wants.std_cov);
    let laws = Laws::new(ledger.data.clone(), joint);
    let engine = laws.map(|laws| Drafts::new(setup, laws, targets, limits.open().to_vec(), size));
    Ok(engine.map(|engine| Box::new(engine) as Box<dyn Ahead<'s> + 's>))
}
