//! Labels and answers as tables, and labels from Label Studio.

use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};

use crate::board::{Answer, Board};
use crate::class_folders;
use crate::data::LabelData;

/// Format of exported labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// One line per answered example.
    Csv,
    /// One object per answered example.
    Jsonl,
    /// One row per answered example.
    Parquet,
    /// Tasks with annotations, as Label Studio imports them.
    LabelStudio,
    /// A ZIP archive of the labelled images or texts, with one folder per class.
    Folders,
}

impl ExportFormat {
    /// Returns the format of a name such as `csv`.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "csv" => Self::Csv,
            "jsonl" => Self::Jsonl,
            "parquet" => Self::Parquet,
            "label-studio" => Self::LabelStudio,
            "folders" => Self::Folders,
            _ => return None,
        })
    }

    /// Returns the media type and the name of the file.
    pub fn file(self) -> (&'static str, &'static str) {
        match self {
            Self::Csv => ("text/csv; charset=utf-8", "labels.csv"),
            Self::Jsonl => ("application/x-ndjson", "labels.jsonl"),
            Self::Parquet => ("application/vnd.apache.parquet", "labels.parquet"),
            Self::LabelStudio => ("application/json", "label-studio.json"),
            Self::Folders => ("application/zip", "labels.zip"),
        }
    }
}

/// One answered example.
struct Line {
    rank: u64,
    row: usize,
    id: String,
    answer: &'static str,
    label: Option<String>,
    annotators: String,
    agreement: f64,
    information: Option<f64>,
    answers: Vec<(String, Answer)>,
}

fn lines(board: &Board, data: &LabelData) -> Vec<Line> {
    let mut decided: Vec<_> = board.decisions().iter().collect();
    decided.sort_by_key(|(row, decision)| (decision.seq, **row));
    let line = |(place, (&row, decision)): (usize, (&usize, &crate::Decision))| {
        let (answer, label) = match decision.answer {
            Answer::Label(class) => ("label", Some(board.classes()[class as usize].clone())),
            Answer::Excluded => ("exclude", None),
            Answer::Unsure => ("unsure", None),
            Answer::Skipped => ("skip", None),
        };
        let agree = decision.answers.iter().filter(|(_, one)| *one == decision.answer).count();
        let names: Vec<&str> = decision.answers.iter().map(|(by, _)| by.as_str()).collect();
        Line {
            rank: place as u64 + 1,
            row,
            id: data.pool.ids[row].clone(),
            answer,
            label,
            annotators: names.join(";"),
            agreement: agree as f64 / decision.answers.len().max(1) as f64,
            information: board.records().get(decision.seq as usize - 1).and_then(|(record, _)| record.information),
            answers: decision.answers.clone(),
        }
    };
    decided.into_iter().enumerate().map(line).collect()
}

/// Returns the answers so far as the bytes of a file.
pub fn export(board: &Board, data: &LabelData, format: ExportFormat) -> io::Result<Vec<u8>> {
    let lines = lines(board, data);
    match format {
        ExportFormat::Csv => csv(&lines, data),
        ExportFormat::Jsonl => jsonl(&lines, data),
        ExportFormat::Parquet => parquet(&lines, data),
        ExportFormat::LabelStudio => label_studio(&lines, data, board.classes()),
        ExportFormat::Folders => class_folders::archive(board, data),
    }
}

fn content(data: &LabelData, row: usize) -> Option<&str> {
    data.pool.contents.text(row).or_else(|| data.pool.contents.path(row))
}

fn csv(lines: &[Line], data: &LabelData) -> io::Result<Vec<u8>> {
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(["rank", "row", "id", "label", "answer", "annotators", "agreement", "information", "content"])?;
    for line in lines {
        out.write_record([
            line.rank.to_string().as_str(),
            &line.row.to_string(),
            &line.id,
            line.label.as_deref().unwrap_or_default(),
            line.answer,
            &line.annotators,
            &line.agreement.to_string(),
            &line.information.map_or_else(String::new, |information| information.to_string()),
            content(data, line.row).unwrap_or_default(),
        ])?;
    }
    out.into_inner().map_err(|error| io::Error::other(error.to_string()))
}

fn jsonl(lines: &[Line], data: &LabelData) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    for line in lines {
        let object = json!({
            "rank": line.rank, "row": line.row, "id": line.id, "label": line.label, "answer": line.answer,
            "annotators": line.annotators.split(';').collect::<Vec<_>>(), "agreement": line.agreement,
            "information": line.information, "content": content(data, line.row),
        });
        serde_json::to_writer(&mut out, &object)?;
        out.push(b'\n');
    }
    Ok(out)
}

fn parquet(lines: &[Line], data: &LabelData) -> io::Result<Vec<u8>> {
    let texts =
        |of: &dyn Fn(&Line) -> Option<String>| -> ArrayRef { Arc::new(lines.iter().map(of).collect::<StringArray>()) };
    let numbers = |of: fn(&Line) -> u64| -> ArrayRef {
        Arc::new(lines.iter().map(|line| Some(of(line))).collect::<UInt64Array>())
    };
    let reals = |of: fn(&Line) -> Option<f64>| -> ArrayRef { Arc::new(lines.iter().map(of).collect::<Float64Array>()) };
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("rank", numbers(|line| line.rank), false),
        ("row", numbers(|line| line.row as u64), false),
        ("id", texts(&|line| Some(line.id.clone())), false),
        ("label", texts(&|line| line.label.clone()), true),
        ("answer", texts(&|line| Some(line.answer.to_owned())), false),
        ("annotators", texts(&|line| Some(line.annotators.clone())), false),
        ("agreement", reals(|line| Some(line.agreement)), false),
        ("information", reals(|line| line.information), true),
        ("content", texts(&|line| content(data, line.row).map(str::to_owned)), true),
    ])
    .map_err(io::Error::other)?;
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).map_err(io::Error::other)?;
    writer.write(&batch).map_err(io::Error::other)?;
    writer.into_inner().map_err(io::Error::other)
}

/// Returns tasks with one annotation per annotator, of a single choice named `label`.
fn label_studio(lines: &[Line], data: &LabelData, classes: &[String]) -> io::Result<Vec<u8>> {
    let kind = if data.pool.contents.kind() == "image" { "image" } else { "text" };
    let tasks: Vec<Value> = lines
        .iter()
        .map(|line| {
            let annotations: Vec<Value> = line
                .answers
                .iter()
                .map(|(by, answer)| {
                    let result = match answer {
                        Answer::Label(class) => json!([{
                            "from_name": "label", "to_name": kind, "type": "choices",
                            "value": {"choices": [classes[*class as usize]]},
                        }]),
                        _ => json!([]),
                    };
                    json!({"completed_by": {"email": by}, "was_cancelled": !answer.is_observation(), "result": result})
                })
                .collect();
            let shown = content(data, line.row).unwrap_or(&line.id);
            json!({
                "data": {kind: shown, "id": line.id},
                "meta": {"answer": line.answer, "information": line.information},
                "annotations": annotations,
            })
        })
        .collect();
    Ok(serde_json::to_vec_pretty(&tasks)?)
}

/// A label that was given elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedLabel {
    /// Id of the example.
    pub id: String,
    /// Its class.
    pub label: String,
    /// Name of the annotator who gave it, if the file says so.
    pub annotator: Option<String>,
}

/// Reads the labels in an export of Label Studio: tasks with a single choice per annotation, whose data have an `id`, or else a
/// text or a path that `find` recognises.
pub fn import_label_studio(bytes: &[u8], find: impl Fn(&str) -> Option<String>) -> Result<Vec<ImportedLabel>, String> {
    let tasks: Vec<Value> =
        serde_json::from_slice(bytes).map_err(|error| format!("it is not a list of tasks: {error}"))?;
    let mut found = Vec::new();
    for (number, task) in tasks.iter().enumerate() {
        let data = task.get("data").and_then(Value::as_object);
        let data = data.ok_or_else(|| format!("task {number} has no data"))?;
        let fields = ["id", "text", "image"].iter().filter_map(|name| data.get(*name)).filter_map(Value::as_str);
        let id =
            fields.clone().find_map(&find).ok_or_else(|| format!("task {number} is not an example of this run"))?;
        let annotations = task.get("annotations").and_then(Value::as_array).cloned().unwrap_or_default();
        for annotation in annotations {
            let choice = annotation.pointer("/result/0/value/choices/0").and_then(Value::as_str);
            let Some(label) = choice else { continue };
            let by = annotation.get("completed_by");
            let annotator = by.and_then(|by| {
                let named = by.get("email").and_then(Value::as_str).or(by.as_str()).map(str::to_owned);
                named.or_else(|| by.as_u64().map(|number| format!("user {number}")))
            });
            found.push(ImportedLabel { id: id.clone(), label: label.to_owned(), annotator });
        }
    }
    Ok(found)
}
