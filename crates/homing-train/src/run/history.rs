//! Checks the files of an interrupted run against the problem and the settings before the run continues.

use std::collections::BTreeSet;
use std::result::Result;

use serde::{Deserialize, Serialize};

use crate::algorithm::{LabelledPick, Problem, RoundRecord, Settings};
use crate::learner::LessonCurve;

/// The batch that is being labelled.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub round: usize,
    pub picks: Vec<LabelledPick>,
    /// Number of picks that have an answer.
    pub answered: usize,
    /// Mean of k(x, x) over the candidates of the round.
    pub mean_var: Option<f64>,
}

/// The rounds that were checked so far.
pub(crate) struct History<'a> {
    problem: &'a Problem<'a>,
    settings: &'a Settings,
    /// Rows that have been picked.
    picked: BTreeSet<usize>,
    /// Number of examples that the network has learned from.
    learned: usize,
}

impl<'a> History<'a> {
    pub fn new(problem: &'a Problem<'a>, settings: &'a Settings) -> Self {
        Self { problem, settings, picked: BTreeSet::new(), learned: 0 }
    }

    /// Adds the record of round `number`, or returns why it is not valid.
    pub fn add(&mut self, round: &RoundRecord, number: usize) -> Result<(), String> {
        expect(round.round == number, || format!("it claims to be of round {}", round.round))?;
        expect(number <= self.settings.choosing.rounds, || {
            format!("the plan has {} rounds", self.settings.choosing.rounds)
        })?;
        self.check_picks(&round.picks, round.picks.len())?;
        self.picked.extend(round.picks.iter().map(|pick| pick.row));
        let in_task =
            |pick: &&LabelledPick| pick.label.is_some_and(|label| self.problem.classes[label as usize].is_some());
        let new = round.picks.iter().filter(in_task).count();
        self.learned += new;
        expect(round.learned == self.learned, || {
            format!(
                "it claims that the network learned from {} examples, but there are {}",
                round.learned, self.learned
            )
        })?;
        let lesson = if self.settings.learning.skip_idle_rounds { new > 0 } else { self.learned > 0 };
        expect(round.curve.is_some() == lesson, || {
            "the curve of its lesson does not match the number of examples".into()
        })?;
        expect(round.mean_var.is_none_or(|mean| mean.is_finite() && mean >= 0.0), || {
            "the mean variance of its candidates is negative".into()
        })?;
        round.curve.iter().try_for_each(check_curve)?;
        expect(round.accuracy.is_some() == self.problem.test.is_some() && round.accuracy.is_none_or(is_share), || {
            "its accuracy is not a share of the test examples".into()
        })
    }

    /// Checks the batch that is being labelled in round `number`, or returns why it is not valid.
    pub fn check_pending(&self, pending: &Pending, number: usize) -> Result<(), String> {
        let Pending { round, picks, answered, .. } = pending;
        expect(*round == number, || format!("it is of round {round}, but round {number} is the next"))?;
        expect(*answered <= picks.len(), || format!("it claims {answered} answers for {} picks", picks.len()))?;
        self.check_picks(picks, *answered)?;
        let open = picks[*answered..].iter().all(|pick| pick.label.is_none());
        expect(open, || "it has a label for a pick that has not been answered".into())
    }

    /// Checks picks of which the first `answered` have an answer. Others have taken the place of those that were skipped.
    fn check_picks(&self, picks: &[LabelledPick], answered: usize) -> Result<(), String> {
        let (most, classes) = (self.settings.choosing.picks_per_round, self.problem.classes.len());
        let labelled = picks[..answered].iter().filter(|pick| pick.label.is_some()).count();
        expect(!picks.is_empty(), || format!("it has 0 picks, but a round has 1 to {most}"))?;
        expect(labelled <= most, || format!("it has {labelled} labels, but a round has 1 to {most}"))?;
        let mut rows = BTreeSet::new();
        for &LabelledPick { row, label, .. } in picks {
            let open = self.problem.open.binary_search(&row).is_ok();
            expect(open, || format!("row {row} was picked, but it cannot be chosen"))?;
            let first = !self.picked.contains(&row) && rows.insert(row);
            expect(first || self.settings.choosing.repeat, || format!("row {row} was picked twice"))?;
            let known = label.is_none_or(|label| (label as usize) < classes);
            expect(known, || {
                format!(
                    "row {row} has the class {}, but there are {classes} classes, counted from 0",
                    label.unwrap_or(0)
                )
            })?;
        }
        Ok(())
    }
}

fn check_curve(curve: &LessonCurve) -> Result<(), String> {
    let (kept, epochs) = (curve.kept, curve.epochs.len());
    expect(kept <= epochs, || format!("the network of epoch {kept} was kept, but there are {epochs} epochs"))?;
    let shares = curve.epochs.iter().filter_map(|epoch| epoch.valid).all(is_share);
    expect(shares, || "an accuracy of its lesson is not between 0 and 1".into())
}

fn is_share(number: f64) -> bool {
    (0.0..=1.0).contains(&number)
}

fn expect(holds: bool, reason: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(reason()) }
}
