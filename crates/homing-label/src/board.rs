//! Derives the state of each row from the events: its label, who gave it, and whether annotators disagree.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use crate::log::{Event, Record};
use crate::{Error, Refusal};

/// One annotator's answer about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Answer {
    /// The row has this class.
    Label(u32),
    /// The row does not belong to the task.
    Excluded,
    /// The annotator could not tell.
    Unsure,
    /// The annotator skipped the row.
    Skipped,
}

/// The result of all annotators' answers about a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The answer of most annotators. If two answers are equally frequent, the one that was given first.
    pub answer: Answer,
    /// Number of the event that decided.
    pub seq: u64,
    /// Every annotator's answer.
    pub answers: Vec<(String, Answer)>,
}

impl Decision {
    /// Whether two annotators gave different labels, or one a label and another said that the row is not part of the task.
    pub fn is_disputed(&self) -> bool {
        let mut given = self.answers.iter().map(|(_, answer)| answer).filter(|answer| answer.is_observation());
        given.next().is_some_and(|first| given.any(|answer| answer != first))
    }
}

impl Answer {
    /// Whether the answer tells something about the task.
    pub fn is_observation(self) -> bool {
        matches!(self, Self::Label(_) | Self::Excluded)
    }
}

/// Number of rows with each kind of answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Rows with a label.
    pub labelled: usize,
    /// Rows that do not belong to the task.
    pub excluded: usize,
    /// Rows that nobody could label.
    pub unsure: usize,
    /// Rows that were skipped.
    pub skipped: usize,
    /// Rows about which annotators disagree.
    pub disputed: usize,
}

/// The state of a run after some events.
#[derive(Clone, Debug)]
pub struct Board {
    classes: Vec<String>,
    /// All events, and whether each still counts.
    records: Vec<(Record, bool)>,
    /// The rows that each event concerns.
    rows: Vec<Vec<usize>>,
    /// The events that concern each row, in order.
    about: HashMap<usize, Vec<usize>>,
    /// Stacks of the events that each annotator can undo and redo.
    done: HashMap<String, Vec<usize>>,
    undone: HashMap<String, Vec<usize>>,
    /// Names of everybody who answered, in the order of their first answers.
    annotators: Vec<String>,
    /// What is decided about each row.
    decisions: BTreeMap<usize, Decision>,
    /// Rows whose answers tell something, with the number of the first such event.
    observed: BTreeSet<(u64, usize)>,
    /// Rows that were put aside.
    aside: BTreeSet<usize>,
    counts: Counts,
}

impl Board {
    /// Creates the board of a run without events.
    pub fn new(classes: Vec<String>) -> Self {
        Self {
            classes,
            records: Vec::new(),
            rows: Vec::new(),
            about: HashMap::new(),
            done: HashMap::new(),
            undone: HashMap::new(),
            annotators: Vec::new(),
            decisions: BTreeMap::new(),
            observed: BTreeSet::new(),
            aside: BTreeSet::new(),
            counts: Counts::default(),
        }
    }

    /// Returns the names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Returns the number of the next event.
    pub fn next_seq(&self) -> u64 {
        self.records.len() as u64 + 1
    }

    /// Returns all events, and whether each still counts.
    pub fn records(&self) -> &[(Record, bool)] {
        &self.records
    }

    /// Returns the information about the targets that the answers were expected to give, in nats.
    pub fn information(&self) -> f64 {
        self.records.iter().filter(|(_, counts)| *counts).filter_map(|(record, _)| record.information).sum()
    }

    /// Returns what is decided about each row that somebody answered, in order of the rows.
    pub fn decisions(&self) -> &BTreeMap<usize, Decision> {
        &self.decisions
    }

    /// Returns the answer of an annotator about a row.
    pub fn answer_of(&self, row: usize, annotator: &str) -> Option<(u64, Answer)> {
        let events = self.about.get(&row)?;
        let last = events.iter().rev().find(|&&event| self.counts(event) && self.by(event) == annotator)?;
        Some((self.records[*last].0.seq, self.answer_in(*last)?))
    }

    /// Returns the rows whose answers tell something about the task, in the order in which they were first answered.
    pub fn observed(&self) -> Vec<usize> {
        self.observed.iter().map(|&(_, row)| row).collect()
    }

    /// Returns the number of rows whose answers tell something about the task.
    pub fn observations(&self) -> usize {
        self.observed.len()
    }

    /// Returns the skipped rows, in increasing order.
    pub fn set_aside(&self) -> Vec<usize> {
        self.aside.iter().copied().collect()
    }

    /// Returns the names of everybody who answered, in the order of their first answers.
    pub fn annotators(&self) -> &[String] {
        &self.annotators
    }

    /// Returns the labelled rows and their classes, in the order in which they were labelled.
    pub fn labels(&self) -> Vec<(usize, u32)> {
        let label = |row: usize| match self.decisions[&row].answer {
            Answer::Label(class) => Some((row, class)),
            _ => None,
        };
        self.observed().into_iter().filter_map(label).collect()
    }

    /// Returns how many rows have each kind of answer.
    pub fn counts_of_answers(&self) -> Counts {
        self.counts
    }

    /// Returns how many rows have each class.
    pub fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes.len()];
        for decision in self.decisions.values() {
            if let Answer::Label(class) = decision.answer {
                counts[class as usize] += 1;
            }
        }
        counts
    }

    /// Returns the event that an annotator would undo.
    pub fn undoable(&self, annotator: &str) -> Result<u64, Refusal> {
        let last = self.done.get(annotator).and_then(|done| done.last());
        last.map(|&event| event as u64 + 1).ok_or(Refusal::Nothing { what: "undo" })
    }

    /// Returns the event that an annotator would redo.
    pub fn redoable(&self, annotator: &str) -> Result<u64, Refusal> {
        let last = self.undone.get(annotator).and_then(|undone| undone.last());
        last.map(|&event| event as u64 + 1).ok_or(Refusal::Nothing { what: "redo" })
    }

    /// Applies the events of a file; `row` finds the row of an id. Returns the line and the problem of an event that does not
    /// fit.
    pub fn replay(
        &mut self,
        records: Vec<Record>,
        row: impl Fn(&str) -> Option<usize>,
        path: &std::path::Path,
    ) -> Result<(), Error> {
        for record in records {
            let line = record.seq;
            let broken = |reason: String| Error::BrokenLog { path: path.to_owned(), line, reason };
            let found: Option<Vec<usize>> = record.event.ids().iter().map(|id| row(id)).collect();
            let rows = found.ok_or_else(|| broken("it names an id that the data do not have".into()))?;
            self.apply(record, rows).map_err(broken)?;
        }
        Ok(())
    }

    /// Applies the next event, whose rows are given. Returns the rows about which it may change the decision, or what is wrong with
    /// an event that does not fit.
    pub fn apply(&mut self, record: Record, rows: Vec<usize>) -> Result<Vec<usize>, String> {
        let event = self.records.len();
        match &record.event {
            Event::Label { label, .. } if !self.classes.contains(label) => {
                return Err(format!("there is no class {label:?}"));
            }
            Event::Class { name } if self.classes.contains(name) => {
                return Err(format!("the class {name:?} exists already"));
            }
            Event::Undo { of } | Event::Redo { of } => {
                let is_undo = matches!(record.event, Event::Undo { .. });
                let (from, to) =
                    if is_undo { (&mut self.done, &mut self.undone) } else { (&mut self.undone, &mut self.done) };
                let stack = from.entry(record.annotator.clone()).or_default();
                let target = (*of as usize).wrapping_sub(1);
                if stack.last() != Some(&target) {
                    return Err(format!("event {of} is not the last one of {:?}", record.annotator));
                }
                stack.pop();
                to.entry(record.annotator.clone()).or_default().push(target);
                self.records[target].1 = !is_undo;
                let affected = self.rows[target].clone();
                self.records.push((record, true));
                self.rows.push(Vec::new());
                affected.iter().for_each(|&row| self.decide(row));
                return Ok(affected);
            }
            Event::Class { name } => self.classes.push(name.clone()),
            _ => {
                if !self.done.contains_key(&record.annotator) {
                    self.annotators.push(record.annotator.clone());
                }
                self.done.entry(record.annotator.clone()).or_default().push(event);
                self.undone.remove(&record.annotator);
            }
        }
        for &row in &rows {
            self.about.entry(row).or_default().push(event);
        }
        self.records.push((record, true));
        rows.iter().for_each(|&row| self.decide(row));
        self.rows.push(rows.clone());
        Ok(rows)
    }

    fn counts(&self, event: usize) -> bool {
        self.records[event].1
    }

    fn by(&self, event: usize) -> &str {
        &self.records[event].0.annotator
    }

    fn answer_in(&self, event: usize) -> Option<Answer> {
        match &self.records[event].0.event {
            Event::Label { label, .. } => {
                self.classes.iter().position(|class| class == label).map(|class| Answer::Label(class as u32))
            }
            Event::Skip { .. } => Some(Answer::Skipped),
            Event::Exclude { .. } => Some(Answer::Excluded),
            Event::Unsure { .. } => Some(Answer::Unsure),
            Event::Undo { .. } | Event::Redo { .. } | Event::Class { .. } => None,
        }
    }

    /// Decides about a row anew.
    fn decide(&mut self, row: usize) {
        if let Some(before) = self.decisions.remove(&row) {
            self.count(row, &before, false);
        }
        if let Some(now) = self.decision(row) {
            self.count(row, &now, true);
            self.decisions.insert(row, now);
        }
    }

    /// Counts a decision, or takes it out of the counts.
    fn count(&mut self, row: usize, decision: &Decision, is_in: bool) {
        let change = |number: &mut usize| if is_in { *number += 1 } else { *number -= 1 };
        change(match decision.answer {
            Answer::Label(_) => &mut self.counts.labelled,
            Answer::Excluded => &mut self.counts.excluded,
            Answer::Unsure => &mut self.counts.unsure,
            Answer::Skipped => &mut self.counts.skipped,
        });
        if decision.is_disputed() {
            change(&mut self.counts.disputed);
        }
        match (decision.answer.is_observation(), is_in) {
            (true, true) => _ = self.observed.insert((decision.seq, row)),
            (true, false) => _ = self.observed.remove(&(decision.seq, row)),
            (false, true) => _ = self.aside.insert(row),
            (false, false) => _ = self.aside.remove(&row),
        }
    }

    /// Returns what the answers about a row decide.
    fn decision(&self, row: usize) -> Option<Decision> {
        let events = self.about.get(&row).map_or(&[][..], Vec::as_slice);
        // The last answer of each annotator, in the order of the annotators' first answers.
        let mut last: Vec<(&str, usize)> = Vec::new();
        for &event in events.iter().filter(|&&event| self.counts(event)) {
            match last.iter_mut().find(|(by, _)| *by == self.by(event)) {
                Some((_, at)) => *at = event,
                None => last.push((self.by(event), event)),
            }
        }
        let answers: Vec<(String, Answer, usize)> =
            last.into_iter().filter_map(|(by, event)| Some((by.to_owned(), self.answer_in(event)?, event))).collect();
        let votes = |answer: Answer| answers.iter().filter(|(_, other, _)| *other == answer).count();
        // An observation counts more than a skip. `min_by_key` keeps the first of equals.
        let best = answers.iter().min_by_key(|(_, answer, event)| {
            let weight = match answer {
                Answer::Label(_) | Answer::Excluded => 0,
                Answer::Unsure => 1,
                Answer::Skipped => 2,
            };
            (weight, usize::MAX - votes(*answer), *event)
        });
        let &(_, answer, _) = best?;
        // A row that is labelled again keeps its position among the labels.
        let first = events.iter().find(|&&event| {
            self.counts(event)
                && self.answer_in(event).is_some_and(|one| one.is_observation() == answer.is_observation())
        });
        let seq = first.map_or(0, |&event| event as u64 + 1);
        let answers = answers.into_iter().map(|(by, answer, _)| (by, answer)).collect();
        Some(Decision { answer, seq, answers })
    }
}

impl Event {
    /// Returns the ids of the examples that the event concerns.
    pub fn ids(&self) -> &[String] {
        match self {
            Self::Label { ids, .. } | Self::Skip { ids } | Self::Exclude { ids } | Self::Unsure { ids } => ids,
            Self::Undo { .. } | Self::Redo { .. } | Self::Class { .. } => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Game(Board);

    impl Game {
        fn new() -> Self {
            Self(Board::new(vec!["cat".into(), "dog".into()]))
        }

        fn play(&mut self, annotator: &str, event: Event) -> Result<(), String> {
            let rows = event.ids().iter().map(|id| id.parse().unwrap()).collect();
            let record =
                Record { seq: self.0.next_seq(), at: 0, annotator: annotator.into(), information: None, event };
            self.0.apply(record, rows).map(drop)
        }

        fn label(&mut self, annotator: &str, row: usize, label: &str) {
            self.play(annotator, Event::Label { ids: vec![row.to_string()], label: label.into() }).unwrap();
        }

        fn undo(&mut self, annotator: &str) {
            let of = self.0.undoable(annotator).unwrap();
            self.play(annotator, Event::Undo { of }).unwrap();
        }
    }

    #[test]
    fn undo_brings_the_earlier_label_back_and_redo_the_later_one() {
        let mut game = Game::new();
        game.label("ada", 5, "cat");
        game.label("ada", 5, "dog");
        assert_eq!(game.0.labels(), [(5, 1)]);
        game.undo("ada");
        assert_eq!(game.0.labels(), [(5, 0)]);
        let of = game.0.redoable("ada").unwrap();
        game.play("ada", Event::Redo { of }).unwrap();
        assert_eq!(game.0.labels(), [(5, 1)]);
        game.undo("ada");
        game.undo("ada");
        assert_eq!(game.0.labels(), []);
        assert!(game.0.undoable("ada").is_err() && game.0.redoable("bob").is_err());
        game.label("ada", 6, "cat");
        assert!(game.0.redoable("ada").is_err(), "a new answer ends redoing");
    }

    #[test]
    fn annotators_undo_only_their_own_answers_and_disagree_visibly() {
        let mut game = Game::new();
        game.label("ada", 1, "cat");
        game.label("bob", 1, "dog");
        let decision = &game.0.decisions()[&1];
        assert!(decision.is_disputed() && decision.answer == Answer::Label(0));
        game.label("eve", 1, "dog");
        assert_eq!(game.0.labels(), [(1, 1)]);
        game.undo("ada");
        assert!(!game.0.decisions()[&1].is_disputed());
        assert_eq!(game.0.counts_of_answers(), Counts { labelled: 1, ..Counts::default() });
        assert!(game.play("ada", Event::Undo { of: 2 }).is_err(), "that is an event of bob");
    }

    #[test]
    fn excluded_rows_are_observed_and_skipped_rows_are_not() {
        let mut game = Game::new();
        game.play("ada", Event::Skip { ids: vec!["3".into()] }).unwrap();
        game.play("ada", Event::Exclude { ids: vec!["2".into(), "9".into()] }).unwrap();
        game.play("ada", Event::Unsure { ids: vec!["4".into()] }).unwrap();
        game.label("ada", 1, "dog");
        assert_eq!(game.0.observed(), [2, 9, 1]);
        assert_eq!(game.0.set_aside(), [3, 4]);
        assert_eq!(game.0.labels(), [(1, 1)]);
        assert_eq!(game.0.class_counts(), [0, 1]);
        game.label("bob", 3, "cat");
        assert_eq!(game.0.set_aside(), [4]);
    }

    #[test]
    fn classes_are_added_once_and_unknown_ones_are_refused() {
        let mut game = Game::new();
        let label = Event::Label { ids: vec!["1".into()], label: "cow".into() };
        assert!(game.play("ada", label.clone()).is_err());
        game.play("ada", Event::Class { name: "cow".into() }).unwrap();
        game.play("ada", label).unwrap();
        assert_eq!(game.0.labels(), [(1, 2)]);
        assert!(game.play("ada", Event::Class { name: "cow".into() }).is_err());
    }
}
