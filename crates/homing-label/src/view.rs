//! The state of a run as the HTTP interface sends it, in JSON.

use serde::Serialize;

use crate::board::{Answer, Counts};
use crate::data::{Contents, Examples};
use crate::log::Event;
use crate::planner::{PlannedPick, Progress};
use crate::session::{Shared, State};
use crate::trainer::CurvePoint;

/// Number of answers in the history of the state.
const HISTORY: usize = 100;

/// Longest text in a history or a list of targets, in characters.
const SHORT: usize = 200;

/// An example to label.
#[derive(Debug, Serialize)]
pub(crate) struct Item {
    pub id: String,
    pub row: usize,
    /// Position among all picks of the run, counted from 1.
    pub rank: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Information about the targets that its label adds, in nats.
    pub information: f64,
    pub why: Why,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<Suggestion>,
}

/// The reasons why an example was chosen.
#[derive(Debug, Serialize)]
pub(crate) struct Why {
    pub sentence: String,
    /// Share of the targets' remaining variance that its label removes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removes: Option<f64>,
    pub serves: Vec<TargetShare>,
    pub nearest: Vec<TargetShare>,
}

#[derive(Debug, Serialize)]
pub(crate) struct TargetShare {
    pub target: usize,
    pub id: String,
    pub share: f64,
}

/// A label that the classifier suggests.
#[derive(Debug, Serialize)]
pub(crate) struct Suggestion {
    pub label: String,
    pub share: f64,
}

#[derive(Debug, Serialize)]
pub(crate) struct ClassCount {
    pub name: String,
    pub count: usize,
}

#[derive(Debug, Serialize)]
pub(crate) struct TargetView {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct HistoryEntry {
    pub seq: u64,
    pub id: String,
    pub row: usize,
    pub count: usize,
    pub answer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub annotator: String,
    pub at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Dispute {
    pub id: String,
    pub row: usize,
    pub answers: Vec<(String, String)>,
}

/// The whole state of a run.
#[derive(Debug, Serialize)]
pub(crate) struct StateView {
    pub version: u64,
    pub run: String,
    pub pool: String,
    pub rows: usize,
    pub kind: &'static str,
    /// Columns by which the map can be coloured.
    pub columns: Vec<String>,
    pub classes: Vec<ClassCount>,
    pub counts: Counts,
    /// Information about the targets that the answers have given, in nats.
    pub information: f64,
    pub targets: Vec<TargetView>,
    pub progress: Progress,
    pub accuracy: Vec<CurvePoint>,
    pub history: Vec<HistoryEntry>,
    pub disputes: Vec<Dispute>,
    pub annotators: Vec<String>,
    pub can_undo: bool,
    pub can_redo: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

fn short(text: &str) -> String {
    let cut: String = text.chars().take(SHORT).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

fn has_images(examples: &Examples) -> bool {
    matches!(examples.contents, Contents::Images { .. } | Contents::Files { .. })
}

pub(crate) fn image_path(examples: &Examples, of: &str, row: usize) -> Option<String> {
    has_images(examples).then(|| format!("/api/{of}/{row}"))
}

impl Shared {
    pub(crate) fn item(&self, state: &State, pick: &PlannedPick, place: usize, is_provisional: bool) -> Item {
        let data = &self.data;
        let target_id = |target: usize| data.targets.as_ref().map_or_else(String::new, |all| all.ids[target].clone());
        let name = |target: usize| {
            let text = data.targets.as_ref().and_then(|all| all.contents.text(target));
            text.map_or_else(|| target_id(target), |text| format!("“{}”", short(text)))
        };
        let shares = |list: &[crate::NamedTarget]| {
            list.iter()
                .map(|named| TargetShare { target: named.target, id: target_id(named.target), share: named.share })
                .collect::<Vec<_>>()
        };
        let removes = (pick.before > 0.0).then(|| pick.removed / pick.before);
        let mut sentence = match (removes, pick.serves.first()) {
            (Some(share), Some(most)) => format!(
                "Its label removes {} of the variance that is left at your targets, most of it at {}.",
                percent(share),
                name(most.target)
            ),
            _ => format!("Its label adds {:.2} nats about the pool.", pick.gain),
        };
        if is_provisional {
            sentence.push_str(" It was chosen before your last answer.");
        }
        Item {
            id: data.pool.ids[pick.row].clone(),
            row: pick.row,
            rank: state.board.observations() + place + 1,
            text: data.pool.contents.text(pick.row).map(str::to_owned),
            image: image_path(&data.pool, "images", pick.row),
            information: pick.gain,
            why: Why { sentence, removes, serves: shares(&pick.serves), nearest: shares(&pick.nearest) },
            suggestion: self.suggestion(state, pick.row),
        }
    }

    pub(crate) fn suggestion(&self, state: &State, row: usize) -> Option<Suggestion> {
        let head = state.head.as_ref()?;
        let x = self.data.embeddings().ok()?.row(row);
        let prediction = head.predict(&*self.data.kernel, &x);
        let label = state.board.classes().get(prediction.class as usize)?.clone();
        Some(Suggestion { label, share: prediction.share })
    }

    pub(crate) fn view(&self, annotator: &str) -> StateView {
        let state = self.lock();
        let (data, board) = (&self.data, &state.board);
        let classes = board.classes().iter().zip(board.class_counts());
        let answers = board.records().iter().rev().filter(|(record, counts)| *counts && !record.event.ids().is_empty());
        let history = answers.take(HISTORY).filter_map(|(record, _)| {
            let id = record.event.ids().first()?;
            let row = data.row_of(id)?;
            let (answer, label) = match &record.event {
                Event::Label { label, .. } => ("label", Some(label.clone())),
                Event::Exclude { .. } => ("exclude", None),
                Event::Unsure { .. } => ("unsure", None),
                _ => ("skip", None),
            };
            Some(HistoryEntry {
                seq: record.seq,
                id: id.clone(),
                row,
                count: record.event.ids().len(),
                answer,
                label,
                annotator: record.annotator.clone(),
                at: record.at,
                text: data.pool.contents.text(row).map(short),
                image: image_path(&data.pool, "images", row),
            })
        });
        let disputed =
            board.decisions().iter().filter(|(_, decision)| decision.is_disputed()).map(|(&row, decision)| {
                let answer = |(by, answer): &(String, Answer)| (by.clone(), answer_name(board.classes(), *answer));
                Dispute { id: data.pool.ids[row].clone(), row, answers: decision.answers.iter().map(answer).collect() }
            });
        let targets = data.targets.iter().flat_map(|all| {
            (0..all.ids.len()).map(move |at| TargetView {
                id: all.ids[at].clone(),
                text: all.contents.text(at).map(short),
                image: image_path(all, "targets", at),
            })
        });
        StateView {
            version: state.version,
            run: self.run.display().to_string(),
            pool: data.name.clone(),
            rows: data.rows(),
            kind: data.pool.contents.kind(),
            columns: data.pool.columns(),
            classes: classes.map(|(name, count)| ClassCount { name: name.clone(), count }).collect(),
            counts: board.counts_of_answers(),
            information: board.information(),
            targets: targets.collect(),
            progress: state.progress.clone(),
            accuracy: state.curve.clone(),
            history: history.collect(),
            disputes: disputed.take(HISTORY).collect(),
            annotators: board.annotators().to_vec(),
            can_undo: board.undoable(annotator).is_ok(),
            can_redo: board.redoable(annotator).is_ok(),
            failure: state.failure.clone(),
        }
    }
}

/// Names an answer for people.
pub(crate) fn answer_name(classes: &[String], answer: Answer) -> String {
    match answer {
        Answer::Label(class) => classes[class as usize].clone(),
        Answer::Excluded => "not my task".into(),
        Answer::Unsure => "unsure".into(),
        Answer::Skipped => "skipped".into(),
    }
}

/// Returns a share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}
