//! Takes the answers from a file instead of a person, for measurements.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use homing_pool::read_column;

use crate::head::{self, Head};
use crate::log::Event;
use crate::{Error, Result, Session};

/// Name of the annotator whose answers come from a file.
const ANNOTATOR: &str = "file";

/// Longest time to wait for the next pick.
const PATIENCE: Duration = Duration::from_mins(10);

/// Labels by id.
#[derive(Debug)]
pub struct KnownLabels(HashMap<String, String>);

impl KnownLabels {
    /// Reads a table with the columns `id` and `label`.
    pub fn read(path: &Path) -> Result<Self> {
        let ids = read_column(path, Some("id"))?;
        let labels = read_column(path, Some("label"))?;
        Ok(Self(ids.into_iter().zip(labels).filter(|(_, label)| !label.trim().is_empty()).collect()))
    }

    /// Returns the labels of these ids.
    pub fn of(ids: &[String], labels: &[Option<String>]) -> Self {
        let known = |(id, label): (&String, &Option<String>)| Some((id.clone(), label.clone()?));
        Self(ids.iter().zip(labels).filter_map(known).collect())
    }

    /// Returns the distinct labels, in alphabetical order.
    pub fn classes(&self) -> Vec<String> {
        let mut classes: Vec<String> = self.0.values().cloned().collect();
        classes.sort();
        classes.dedup();
        classes
    }

    /// Whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A simulated run after some answers.
#[derive(Clone, Debug)]
pub struct Step {
    /// Number of answers in the run that are observations.
    pub answers: usize,
    /// Number of labels among them.
    pub labels: usize,
    /// Cross-validated accuracy: each labelled row is predicted without its own label.
    pub cross_validated: Option<f64>,
    /// Accuracy on all other rows whose known label is a class of the run.
    pub accuracy: Option<f64>,
    /// Share of the targets' variance that is left.
    pub variance_left: Option<f64>,
    /// Time from the latest answer to the next pick.
    pub wait: Duration,
    /// Advice about stopping.
    pub advice: &'static str,
}

/// Answers up to `count` questions. The answer is the known label, or "not my task" if the known label is not a class of the run.
/// Rows without a known label are skipped and do not count. Calls `step` after each answer; `measure` says after which numbers of
/// answers the accuracy on the other rows is measured.
pub fn simulate(
    session: &Session,
    known: &KnownLabels,
    count: usize,
    measure: impl Fn(usize) -> bool,
    mut step: impl FnMut(&Step),
) -> Result<()> {
    let data = session.data();
    let failed = |reason: String| Error::Simulation { reason };
    let mut answered = 0;
    let mut wait = Duration::ZERO;
    while answered < count {
        let started = Instant::now();
        let next = session.next(ANNOTATOR, 1, PATIENCE);
        wait += started.elapsed();
        let Some(pick) = next.picks.first() else {
            return match session.shared().lock().failure.clone() {
                Some(reason) => Err(failed(reason)),
                None => Ok(()),
            };
        };
        let id = data.pool.ids[pick.row].clone();
        let is_class = |label: &String| session.shared().lock().board.classes().contains(label);
        let event = match known.0.get(&id) {
            Some(label) if is_class(label) => Event::Label { ids: vec![id], label: label.clone() },
            Some(_) => Event::Exclude { ids: vec![id] },
            None => Event::Skip { ids: vec![id] },
        };
        let is_skip = matches!(event, Event::Skip { .. });
        let started = Instant::now();
        session.submit(ANNOTATOR, event).map_err(|refusal| failed(refusal.to_string()))?;
        if is_skip {
            continue;
        }
        answered += 1;
        wait = started.elapsed() + wait;
        let (answers, labels) = {
            let state = session.shared().lock();
            (state.board.observations(), state.board.labels())
        };
        let (mut cross_validated, mut accuracy) = (None, None);
        if measure(answers) {
            session.settle(PATIENCE);
            if let Some(head) = train(session, &labels)? {
                cross_validated = Some(head.accuracy);
                accuracy = measured(session, &head, known, &labels)?;
            }
        }
        let progress = session.shared().lock().progress.clone();
        step(&Step {
            answers,
            labels: labels.len(),
            cross_validated,
            accuracy,
            variance_left: progress.variance_left,
            wait,
            advice: progress.stop.advice,
        });
        wait = Duration::ZERO;
    }
    Ok(())
}

fn train(session: &Session, labels: &[(usize, u32)]) -> Result<Option<Head>> {
    let data = session.data();
    let latest = &labels[labels.len().saturating_sub(head::MOST)..];
    let (rows, classes): (Vec<usize>, Vec<u32>) = latest.iter().copied().unzip();
    let embeddings = data.embeddings()?;
    let points = homing::Points::from(embeddings).gather(&rows);
    let count = session.shared().lock().board.classes().len();
    Ok(Head::train(&*data.kernel, points, embeddings.dim(), &classes, count))
}

/// Returns the share of the other rows with known labels that the classifier predicts.
fn measured(session: &Session, head: &Head, known: &KnownLabels, labels: &[(usize, u32)]) -> Result<Option<f64>> {
    use rayon::prelude::*;
    let data = session.data();
    let embeddings = data.embeddings()?;
    let classes = session.shared().lock().board.classes().to_vec();
    let used: std::collections::HashSet<usize> = labels.iter().map(|&(row, _)| row).collect();
    let right: Vec<bool> = (0..data.rows())
        .into_par_iter()
        .filter(|row| !used.contains(row))
        .filter_map(|row| {
            let label = known.0.get(&data.pool.ids[row]).filter(|label| classes.contains(label))?;
            let class = head.predict(&*data.kernel, &embeddings.row(row)).class;
            Some(classes[class as usize] == *label)
        })
        .collect();
    Ok((!right.is_empty()).then(|| right.iter().filter(|&&right| right).count() as f64 / right.len() as f64))
}
