//! Chooses the examples to label next.
//!
//! A label tells Homing which row was observed, and the next choice does not depend on what the label says. So the picks after
//! the next ones are known before the answers come: they form a chain in which each pick is conditioned on those before it. A
//! label takes its row out of the chain. Anything else (a skip, a label of another row, an undo of an older label)
//! breaks the chain, and it is chosen anew.

use std::cell::OnceCell;
use std::collections::HashSet;

use homing::{EndReason, Plan, Strategy, select};
use serde::Serialize;

use crate::board::{Board, Decision};
use crate::data::LabelData;
use crate::law::{Removal, TargetLaw};
use crate::{Error, Result};

/// Least number of picks that are chosen at a time.
pub(crate) const CHAIN: usize = 32;

/// Largest number of targets that the reasons for a pick name.
const NAMED: usize = 3;

/// Rows that a choice is conditioned on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conditions {
    /// Rows whose answers are observations, in the order of the answers.
    pub observed: Vec<usize>,
    /// Skipped rows, in increasing order.
    pub aside: Vec<usize>,
}

/// A target whose variance a pick reduces, or that resembles the pick.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NamedTarget {
    /// Number of the target, counted from 0.
    pub target: usize,
    /// Share of the variance that the pick removes, or cosine similarity to the pick.
    pub share: f64,
}

/// A pick of the chain, with the reasons for it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedPick {
    /// Row of the pool.
    pub row: usize,
    /// Information about the targets that its label adds, in nats.
    pub gain: f64,
    /// Targets' variance that its label removes.
    pub removed: f64,
    /// Targets' variance before its label.
    pub before: f64,
    /// Targets whose variance the pick reduces most, with their shares of `removed`.
    pub serves: Vec<NamedTarget>,
    /// Targets that resemble the row most, with their cosines.
    pub nearest: Vec<NamedTarget>,
}

/// Picks, each conditioned on those before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    /// Rows that all picks are conditioned on.
    observed: HashSet<usize>,
    /// Rows that were put aside.
    aside: HashSet<usize>,
    pub picks: Vec<PlannedPick>,
    /// Rows of the picks.
    chosen: HashSet<usize>,
    /// Whether the pool has no further rows.
    pub is_complete: bool,
}

impl Chain {
    /// Whether what is decided about a row leaves the rest of the chain as it is: a row that tells something must be one of the
    /// chain, and a row may not have been put aside since.
    pub fn allows(&self, row: usize, decision: Option<&Decision>) -> bool {
        let is_observed = decision.is_some_and(|decision| decision.answer.is_observation());
        let is_aside = decision.is_some() && !is_observed;
        let was_observed = self.observed.contains(&row);
        let follows = if is_observed { was_observed || self.chosen.contains(&row) } else { !was_observed };
        follows && is_aside == self.aside.contains(&row)
    }

    /// Returns the rows about which the chain does not allow what is decided.
    pub fn misfits(&self, board: &Board) -> HashSet<usize> {
        let known = self.observed.iter().chain(&self.aside).chain(board.decisions().keys()).copied();
        known.filter(|row| !self.allows(*row, board.decisions().get(row))).collect()
    }
}

/// What is known about the targets after the answers so far.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Progress {
    /// Number of observed rows.
    pub observations: usize,
    /// Variance of each target before any answer, now, and in the limit of all labels of the pool.
    pub targets: Vec<TargetProgress>,
    /// Share of the targets' variance that is left.
    pub variance_left: Option<f64>,
    /// Share of the targets' variance that no label of this pool can remove, if it could be computed.
    pub irreducible: Option<f64>,
    /// Advice about stopping.
    pub stop: StopSignal,
}

/// The variance of a target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetProgress {
    /// Variance before any answer.
    pub start: f64,
    /// Variance now.
    pub now: f64,
    /// Variance that no label of this pool can remove, if it could be computed.
    pub irreducible: Option<f64>,
    /// Observed rows that removed most of it, largest share first.
    pub served_by: Vec<NamedRow>,
}

/// An observed row that served a target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NamedRow {
    /// Row of the pool.
    pub row: usize,
    /// Share of the target's variance before any answer that the observation removed.
    pub share: f64,
}

/// Advice about stopping, with the numbers behind it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StopSignal {
    /// `start`, `go-on`, `slowing` or `enough`.
    pub advice: &'static str,
    /// The advice as a sentence.
    pub sentence: String,
    /// Information that the next label adds, in nats.
    pub next_gain: Option<f64>,
    /// Share of what labels can remove (of what they have added, without targets) that the next ten labels would change.
    pub next_ten: Option<f64>,
    /// Share of the removable variance that is removed already.
    pub removed: Option<f64>,
}

/// If the next `NEXT` labels would remove less than these shares of the removable variance, the advice is `slowing` or `enough`.
const SLOWING: f64 = 0.05;
const ENOUGH: f64 = 0.01;
const NEXT: usize = 10;

/// Chooses rows and follows what is known about the targets.
pub(crate) struct Planner {
    strategy: Strategy,
    law: Option<TargetLaw>,
    irreducible: OnceCell<Option<Vec<f64>>>,
    /// Information so far in a run without targets.
    information: f64,
}

impl Planner {
    pub fn new(strategy: Strategy) -> Self {
        Self { strategy, law: None, irreducible: OnceCell::new(), information: 0.0 }
    }

    /// Chooses `count` picks that come after those in `earlier`, under the conditions.
    pub fn choose(
        &mut self,
        data: &LabelData,
        conditions: &Conditions,
        earlier: Vec<PlannedPick>,
        count: usize,
    ) -> Result<Chain> {
        let mut chosen: HashSet<usize> = earlier.iter().map(|pick| pick.row).collect();
        let base = || conditions.observed.iter().copied().filter(|row| !chosen.contains(row));
        let (observed, aside) = (base().collect(), conditions.aside.iter().copied().collect());
        let all: Vec<usize> = base().chain(earlier.iter().map(|pick| pick.row)).collect();
        let left = data.rows() - all.len() - conditions.aside.len();
        let mut picks = earlier;
        if left == 0 {
            return Ok(Chain { observed, aside, picks, chosen, is_complete: true });
        }
        let count = left.min(count);
        let task = data.task()?;
        let task = task.observed_rows(&all).forbidden(&conditions.aside);
        let plan = Plan::default().strategy(self.strategy.clone()).count(count).noise(data.noise);
        let selection = select(&task, &plan)?;
        if self.law.is_none() {
            let targets = task.targets.map(|targets| targets.to_vec()).unwrap_or_default();
            self.law = Some(TargetLaw::new(&*data.kernel, targets, task.pool.dim(), selection.noise_var));
        }
        let new = picks.len();
        let mut before = 0.0;
        for pick in &selection.picks {
            let gain = pick.information - before;
            before = pick.information;
            let (row, nothing) = (pick.row, Vec::new());
            picks.push(PlannedPick { row, gain, removed: 0.0, before: 0.0, serves: nothing.clone(), nearest: nothing });
        }
        if let Some(law) = &mut self.law {
            explain(law, data, &all, &mut picks[new..])?;
        }
        chosen.extend(picks[new..].iter().map(|pick| pick.row));
        let is_complete = count == left || selection.end_reason == EndReason::Limits;
        Ok(Chain { observed, aside, picks, chosen, is_complete })
    }

    /// Computes the numbers about the targets after `conditions`, with the picks that would come next.
    pub fn progress(&mut self, data: &LabelData, conditions: &Conditions, next: &[PlannedPick]) -> Result<Progress> {
        let Some(law) = &mut self.law else { return Ok(Progress::default()) };
        let task = data.task()?;
        law.observe_exactly(&*data.kernel, &conditions.observed, |rows| task.pool.gather(rows));
        let observations = law.len();
        let irreducible = self.irreducible.get_or_init(|| {
            let targets = task.targets?;
            // This is too expensive for a nonlinear kernel and a large pool, and the number is then left out.
            homing::irreducible_vars(task.pool, targets, &*data.kernel).ok()
        });
        let floor = |target: usize| irreducible.as_ref().map(|vars| vars[target]);
        let served_by = |target: usize, start: f64| {
            let named = |one: Removal| NamedRow { row: one.row, share: one.removed / start.max(f64::MIN_POSITIVE) };
            law.served_by(target).into_iter().map(named).collect()
        };
        let targets: Vec<TargetProgress> = law
            .priors()
            .iter()
            .zip(law.vars())
            .enumerate()
            .map(|(at, (&start, now))| TargetProgress {
                start,
                now,
                irreducible: floor(at),
                served_by: served_by(at, start),
            })
            .collect();
        let start: f64 = targets.iter().map(|target| target.start).sum();
        let now: f64 = targets.iter().map(|target| target.now).sum();
        let least: Option<f64> = targets.iter().map(|target| target.irreducible).sum();
        let removable = (start - least.unwrap_or(0.0)).max(f64::MIN_POSITIVE);
        let directed = !targets.is_empty();
        let next_gain = next.first().map(|pick| pick.gain);
        let next_ten = if directed {
            Some(next.iter().take(NEXT).map(|pick| pick.removed).sum::<f64>() / removable)
        } else {
            let gains: f64 = next.iter().take(NEXT).map(|pick| pick.gain).sum();
            (self.information > 0.0).then_some(gains / self.information)
        };
        let removed = directed.then(|| ((start - now) / removable).clamp(0.0, 1.0));
        let stop = advice(observations, next_gain, next_ten.filter(|_| !next.is_empty()), removed);
        Ok(Progress {
            observations,
            targets,
            variance_left: directed.then(|| now / start.max(f64::MIN_POSITIVE)),
            irreducible: least.filter(|_| directed).map(|least| least / start.max(f64::MIN_POSITIVE)),
            stop,
        })
    }

    /// Sets the information that the answers have given so far.
    pub fn set_information(&mut self, information: f64) {
        self.information = information;
    }
}

/// Adds the reasons to the picks after the observed rows.
fn explain(law: &mut TargetLaw, data: &LabelData, observed: &[usize], picks: &mut [PlannedPick]) -> Result<()> {
    let task = data.task()?;
    law.observe_exactly(&*data.kernel, observed, |rows| task.pool.gather(rows));
    let before = law.len();
    for pick in picks {
        let x = task.pool.row(pick.row);
        pick.nearest = largest(&law.cosines(&*data.kernel, &x));
        pick.before = law.vars().iter().sum();
        let removed = law.observe(&*data.kernel, pick.row, &x);
        pick.removed = removed.iter().sum();
        pick.serves = largest(&removed);
        let all = pick.removed.max(f64::MIN_POSITIVE);
        pick.serves.iter_mut().for_each(|served| served.share /= all);
        pick.serves.retain(|served| served.share > 0.0);
    }
    law.truncate(before);
    task.check_read().map_err(Error::from)
}

/// Returns the positions of the largest values.
fn largest(values: &[f64]) -> Vec<NamedTarget> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    order.into_iter().take(NAMED).map(|target| NamedTarget { target, share: values[target] }).collect()
}

fn advice(answers: usize, next_gain: Option<f64>, next_ten: Option<f64>, removed: Option<f64>) -> StopSignal {
    let percent = |share: f64| {
        let percent = 100.0 * share;
        if percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
    };
    let of_what = if removed.is_some() {
        "of the variance that labels of this pool can remove from your targets"
    } else {
        "of the information so far"
    };
    let (advice, sentence) = match next_ten {
        _ if next_gain.is_none() => ("enough", "Every example of the pool has been answered.".to_owned()),
        None => ("start", "Label a few examples to see how much they tell.".to_owned()),
        Some(share) if answers > 0 && share < ENOUGH => {
            ("enough", format!("The next ten labels together would change only {} {of_what}.", percent(share)))
        }
        Some(share) if answers > 0 && share < SLOWING => {
            ("slowing", format!("The next ten labels together would change {} {of_what}.", percent(share)))
        }
        Some(share) => ("go-on", format!("The next ten labels together would change {} {of_what}.", percent(share))),
    };
    StopSignal { advice, sentence, next_gain, next_ten, removed }
}
