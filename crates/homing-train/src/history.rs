//! What a run's files say of its past, checked against the problem and the settings before anything is built on it.

use std::collections::BTreeSet;
use std::result::Result;

use crate::algorithm::{Pick, Problem, Round, Settings};
use crate::learner::Curve;
use crate::run::Pending;

/// The rounds so far.
pub(crate) struct History<'a> {
    problem: &'a Problem<'a>,
    settings: &'a Settings,
    /// Rows that were picked.
    picked: BTreeSet<usize>,
    /// Examples that the network has learned from.
    learned: usize,
}

impl<'a> History<'a> {
    pub fn new(problem: &'a Problem<'a>, settings: &'a Settings) -> Self {
        Self { problem, settings, picked: BTreeSet::new(), learned: 0 }
    }

    /// Takes in the record of round `number`; why it cannot be one, where it cannot.
    pub fn add(&mut self, round: &Round, number: usize) -> Result<(), String> {
        expect(round.round == number, || format!("it says that it is of round {}", round.round))?;
        expect(number <= self.settings.rounds, || format!("the plan has {} rounds", self.settings.rounds))?;
        self.check_picks(&round.picks)?;
        self.picked.extend(round.picks.iter().map(|pick| pick.row));
        let in_task = |pick: &&Pick| pick.label.is_some_and(|label| self.problem.classes[label as usize].is_some());
        self.learned += round.picks.iter().filter(in_task).count();
        expect(round.learned == self.learned, || {
            format!("it says that the network learned from {} examples, but they are {}", round.learned, self.learned)
        })?;
        expect(round.curve.is_some() == (self.learned > 0), || {
            "the course of its lesson does not go with the number of examples".into()
        })?;
        round.curve.iter().try_for_each(check_curve)?;
        expect(round.accuracy.is_some() == self.problem.test.is_some() && round.accuracy.is_none_or(is_share), || {
            "its accuracy is no share of the test examples".into()
        })
    }

    /// Why a batch cannot be the one that is being labelled in round `number`, where it cannot.
    pub fn check_pending(&self, pending: &Pending, number: usize) -> Result<(), String> {
        let Pending { round, picks, answered } = pending;
        expect(*round == number, || format!("it is of round {round}, but round {number} is the next"))?;
        self.check_picks(picks)?;
        expect(*answered <= picks.len(), || format!("it says {answered} answers for {} picks", picks.len()))?;
        let open = picks[*answered..].iter().all(|pick| pick.label.is_none());
        expect(open, || "it has a label for a pick that was not asked about".into())
    }

    fn check_picks(&self, picks: &[Pick]) -> Result<(), String> {
        let (most, classes) = (self.settings.batch_size, self.problem.classes.len());
        expect((1..=most).contains(&picks.len()), || format!("it has {} picks for a batch of {most}", picks.len()))?;
        let mut rows = BTreeSet::new();
        for &Pick { row, label, .. } in picks {
            let open = self.problem.open.binary_search(&row).is_ok();
            expect(open, || format!("row {row} was picked, which is not among those that may be"))?;
            let first = !self.picked.contains(&row) && rows.insert(row);
            expect(first, || format!("row {row} was picked twice"))?;
            let known = label.is_none_or(|label| (label as usize) < classes);
            expect(known, || format!("row {row} has the class {}, counted from 0, of {classes}", label.unwrap_or(0)))?;
        }
        Ok(())
    }
}

fn check_curve(curve: &Curve) -> Result<(), String> {
    let (kept, epochs) = (curve.kept, curve.epochs.len());
    expect(kept <= epochs, || format!("the network of epoch {kept} was kept, of {epochs}"))?;
    let shares = curve.epochs.iter().filter_map(|epoch| epoch.valid).all(is_share);
    expect(shares, || "an accuracy of its lesson is no share".into())
}

fn is_share(number: f64) -> bool {
    (0.0..=1.0).contains(&number)
}

fn expect(holds: bool, reason: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(reason()) }
}
