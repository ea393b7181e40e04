//! Label files: tables that give labels by id or row number.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use homing_data::Dataset;
use homing_pool::{map, read_file, write_beside};

use crate::labels::{Answer, Oracle, Question};
use crate::remedy::Remedy;
use crate::text::some_of;
use crate::{Error, Result};

/// Name of the file in the folder of a run that lists the rows whose labels are missing.
pub(super) const TO_LABEL: &str = "to-label.csv";

/// Label that leaves a row out, unless it is the name of a class.
const SKIP: &str = "skip";

/// Labels from a file, and from the list of missing labels that people have filled in.
pub(super) struct LabelFile<'a> {
    data: &'a Dataset,
    labels: &'a [Option<Answer>],
    path: &'a Path,
    to_label: PathBuf,
    filled_in: Vec<Option<Answer>>,
}

impl<'a> LabelFile<'a> {
    /// Reads the list of missing labels in the folder of the run, if there is one.
    pub fn open(data: &'a Dataset, labels: &'a [Option<Answer>], path: &'a Path, folder: &Path) -> Result<Self> {
        let to_label = folder.join(TO_LABEL);
        let filled_in = self::labels(&to_label, data)?;
        Ok(Self { data, labels, path, to_label, filled_in })
    }

    fn known(&self, row: usize) -> Option<Answer> {
        self.labels[row].or(self.filled_in[row])
    }

    /// Writes the list of missing labels: those that were filled in, and these rows without one.
    fn write(&self, missing: &[usize]) -> Result<()> {
        let Dataset { ids, texts, classes, .. } = self.data;
        let unique = ids.iter().collect::<BTreeSet<_>>().len() == ids.len();
        let by_id = unique && ids.iter().enumerate().any(|(row, id)| *id != row.to_string());
        let mut table = csv::Writer::from_writer(Vec::new());
        let text = (!texts.is_empty()).then_some("text");
        let key = if by_id { "id" } else { "index" };
        let failed = |error: csv::Error| Error::io(&self.to_label)(error.into());
        table.write_record([Some(key), text, Some("label")].into_iter().flatten()).map_err(failed)?;
        let filled_in = self.filled_in.iter().enumerate().filter_map(|(row, answer)| Some((row, (*answer)?)));
        let filled_in = filled_in.map(|(row, answer)| (row, label_of(answer, classes)));
        for (row, label) in filled_in.chain(missing.iter().map(|&row| (row, String::new()))) {
            let key = if by_id { ids[row].clone() } else { row.to_string() };
            let record = [Some(key), texts.get(row).cloned(), Some(label)];
            table.write_record(record.into_iter().flatten()).map_err(failed)?;
        }
        let bytes = table.into_inner().expect("writing to memory does not fail");
        Ok(write_beside(&self.to_label, |file| std::io::Write::write_all(file, &bytes))?)
    }
}

impl Oracle for LabelFile<'_> {
    fn label(&mut self, question: &Question<'_>) -> Result<Answer> {
        if let Some(answer) = self.known(question.row) {
            return Ok(answer);
        }
        let rows = std::iter::once(&question.row).chain(question.next).copied();
        let missing: Vec<usize> = rows.filter(|&row| self.known(row).is_none()).collect();
        self.write(&missing)?;
        Err(Error::MissingLabels { file: self.path.into(), count: missing.len(), list: self.to_label.clone() })
    }
}

/// A fault of a label file, or of a line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of a variant explains its fields")]
pub enum LabelFault {
    SharedId { id: String, first: usize, second: usize },
    NoRow { key: String },
    NoClass { label: String, known: String },
    TwoLabels { key: String, label: String, before: String },
    TwoColumns,
    NoColumns,
    Fields { count: u64, expected: u64 },
    NotUtf8,
    Unreadable { reason: String },
}

impl LabelFault {
    pub(crate) fn remedy(&self) -> Remedy {
        match self {
            Self::SharedId { .. } => Remedy::LabelByRow,
            Self::NoRow { .. } | Self::NoClass { .. } | Self::Fields { .. } | Self::Unreadable { .. } => {
                Remedy::CorrectLine
            }
            Self::TwoLabels { .. } => Remedy::KeepOneLabel,
            Self::TwoColumns => Remedy::OneLabelColumn,
            Self::NoColumns => Remedy::LabelColumns,
            Self::NotUtf8 => Remedy::SaveAsUtf8,
        }
    }

    /// Returns one fault of each variant.
    pub(crate) fn examples() -> Vec<Self> {
        let text = || "a".to_owned();
        vec![
            Self::SharedId { id: text(), first: 1, second: 2 },
            Self::NoRow { key: text() },
            Self::NoClass { label: text(), known: text() },
            Self::TwoLabels { key: text(), label: text(), before: text() },
            Self::TwoColumns,
            Self::NoColumns,
            Self::Fields { count: 3, expected: 2 },
            Self::NotUtf8,
            Self::Unreadable { reason: text() },
        ]
    }
}

impl fmt::Display for LabelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SharedId { id, first, second } => {
                write!(f, "the rows {first} and {second} of the pool both have the id {id:?}")
            }
            Self::NoRow { key } => write!(f, "the pool has no {key:?}"),
            Self::NoClass { label, known } => write!(f, "there is no class {label:?}; the data have {known}"),
            Self::TwoLabels { key, label, before } => {
                write!(f, "{key:?} is {label:?} here, but {before:?} in an earlier line")
            }
            Self::TwoColumns => f.write_str("it has more than one column id or index, or more than one column label"),
            Self::NoColumns => f.write_str("it needs the columns id (or index) and label in its first line"),
            Self::Fields { count, expected } => {
                write!(f, "it has {count} fields, but the first line has {expected}")
            }
            Self::NotUtf8 => f.write_str("it is not UTF-8"),
            Self::Unreadable { reason } => write!(f, "it cannot be read ({reason})"),
        }
    }
}

/// Returns whether the file is a table with a column id or index, instead of a list with one label per row of the pool. Such a
/// table must have a column label, unless `label_column` names another column.
pub(super) fn is_table(path: &Path, label_column: Option<&str>) -> Result<bool> {
    if is_missing(path) {
        return Ok(true);
    }
    let bytes = map(path)?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    for separator in SEPARATORS {
        let mut reader = csv::ReaderBuilder::new().delimiter(separator).trim(csv::Trim::Headers).from_reader(first);
        let Ok(headers) = reader.headers() else { return Ok(false) };
        if headers.iter().any(|header| ["id", "index"].contains(&header)) {
            if headers.iter().any(|header| header == "label") {
                return Ok(true);
            }
            if label_column.is_none() && headers.len() > 1 {
                return Err(Error::LabelFile { place: path.display().to_string(), fault: LabelFault::NoColumns });
            }
        }
    }
    Ok(false)
}

/// Returns the labels in a file, one per line that names a class.
pub(super) fn names(path: &Path) -> Result<Vec<String>> {
    let labels = LabelTable::read(path)?.lines.into_iter().map(|line| line.label);
    Ok(labels.filter(|label| label != SKIP).collect())
}

/// Returns what a file says for an answer.
fn label_of(answer: Answer, classes: &[String]) -> String {
    match answer {
        Answer::Class(class) => classes[class as usize].clone(),
        Answer::Skip | Answer::Undo => SKIP.to_owned(),
    }
}

/// Whether a table of labels does not exist yet.
fn is_missing(path: &Path) -> bool {
    !path.as_os_str().is_empty() && std::fs::symlink_metadata(path).is_err()
}

/// Returns the labels of all rows of the pool from a file with the columns id or index, and label. A file that does not exist yet
/// has none.
pub(super) fn labels(path: &Path, data: &Dataset) -> Result<Vec<Option<Answer>>> {
    let table = LabelTable::read(path)?;
    let mut ids: HashMap<&str, Vec<usize>> = HashMap::new();
    data.ids.iter().enumerate().for_each(|(row, id)| ids.entry(id).or_default().push(row));
    let mut labels = vec![None; data.inputs.len()];
    for LabelLine { number, key, label } in &table.lines {
        let rows = match key.parse::<usize>() {
            Ok(row) if table.by_row => vec![row],
            _ if table.by_row => Vec::new(),
            _ => ids.get(key.as_str()).cloned().unwrap_or_default(),
        };
        let class = data.classes.iter().position(|known| known == label).map(|class| Answer::Class(class as u32));
        let answer = class.or((label == SKIP).then_some(Answer::Skip));
        let fault = match (&rows[..], answer) {
            (&[first, second, ..], _) => LabelFault::SharedId { id: key.clone(), first, second },
            (&[row], Some(answer)) if row < labels.len() => {
                match labels[row].replace(answer).filter(|&before| before != answer) {
                    None => continue,
                    Some(before) => LabelFault::TwoLabels {
                        key: key.clone(),
                        label: label.clone(),
                        before: label_of(before, &data.classes),
                    },
                }
            }
            (&[row], None) if row < labels.len() => {
                LabelFault::NoClass { label: label.clone(), known: some_of(&data.classes) }
            }
            _ => LabelFault::NoRow { key: key.clone() },
        };
        return Err(Error::LabelFile { place: line_of(path, *number), fault });
    }
    Ok(labels)
}

fn line_of(path: &Path, number: u64) -> String {
    format!("{}, line {number}", path.display())
}

/// Limit on the bytes of a label file.
const MOST_BYTES: u64 = 1 << 30;
/// Separators of the columns.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// Content of a label file.
struct LabelTable {
    /// Whether the keys are row numbers of the pool, counted from 0, instead of ids.
    by_row: bool,
    /// The lines that have a label.
    lines: Vec<LabelLine>,
}

struct LabelLine {
    /// Line number, counted from 1.
    number: u64,
    key: String,
    label: String,
}

impl LabelTable {
    fn read(path: &Path) -> Result<Self> {
        if is_missing(path) {
            return Ok(Self { by_row: false, lines: Vec::new() });
        }
        let of_file = |fault| Error::LabelFile { place: path.display().to_string(), fault };
        let bytes = read_file(path, MOST_BYTES)?;
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        for separator in SEPARATORS {
            let mut reader = csv::ReaderBuilder::new().delimiter(separator).trim(csv::Trim::Headers).from_reader(bytes);
            let headers = reader.headers().map_err(|error| refused(path, &error))?;
            let place = |names: &[&str]| headers.iter().position(|header| names.contains(&header));
            if let (Some(key), Some(label)) = (place(&["id", "index"]), place(&["label"])) {
                let by_row = &headers[key] == "index";
                let roles = |header: &&str| ["id", "index", "label"].contains(header);
                if headers.iter().filter(roles).count() > 2 {
                    return Err(of_file(LabelFault::TwoColumns));
                }
                return Ok(Self { by_row, lines: lines(path, &mut reader, key, label)? });
            }
        }
        Err(of_file(LabelFault::NoColumns))
    }
}

fn lines(path: &Path, reader: &mut csv::Reader<&[u8]>, key: usize, label: usize) -> Result<Vec<LabelLine>> {
    let mut lines = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| refused(path, &error))?;
        if !record[label].trim().is_empty() {
            let number = record.position().map_or(0, csv::Position::line);
            lines.push(LabelLine { number, key: record[key].to_owned(), label: record[label].to_owned() });
        }
    }
    Ok(lines)
}

/// Returns the error about a line that is not valid CSV.
fn refused(path: &Path, error: &csv::Error) -> Error {
    let line = error.position().map_or(1, csv::Position::line);
    let fault = match error.kind() {
        &csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            LabelFault::Fields { count: len, expected: expected_len }
        }
        csv::ErrorKind::Utf8 { .. } => LabelFault::NotUtf8,
        _ => LabelFault::Unreadable { reason: error.to_string() },
    };
    Error::LabelFile { place: line_of(path, line), fault }
}
