//! Labels in a file of their own.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use homing_data::Dataset;
use homing_pool::read_file;
use homing_train::{Answer, Error, Oracle};

/// Labels in a file, which may lack some.
pub struct Filed<'a> {
    pub labels: &'a [Option<u32>],
    pub ids: &'a [String],
    pub file: &'a str,
}

impl Oracle for Filed<'_> {
    fn label(&mut self, row: usize) -> homing_train::Result<Answer> {
        let lacks = || {
            let id = &self.ids[row];
            Error::Setting(format!(
                "{} has no label for {id:?} (row {row}); add it, and go on with --resume",
                self.file
            ))
        };
        self.labels[row].map(Answer::Class).ok_or_else(lacks)
    }
}

/// The labels that a file names, one for each line that has one.
pub fn names(path: &Path) -> Result<Vec<String>> {
    Ok(Table::read(path)?.lines.into_iter().map(|line| line.label).collect())
}

/// Labels by id or row from a file with a header.
pub fn labels(path: &Path, data: &Dataset) -> Result<Vec<Option<u32>>> {
    let table = Table::read(path)?;
    let mut ids: HashMap<&str, Vec<usize>> = HashMap::new();
    data.ids.iter().enumerate().for_each(|(row, id)| ids.entry(id).or_default().push(row));
    let mut labels = vec![None; data.inputs.len()];
    for Line { number, key, label } in &table.lines {
        let place = format!("{}, line {number}", path.display());
        let rows = match key.parse::<usize>() {
            Ok(row) if table.by_row => vec![row],
            _ if table.by_row => Vec::new(),
            _ => ids.get(key.as_str()).cloned().unwrap_or_default(),
        };
        let row = match rows[..] {
            [row] if row < labels.len() => row,
            [first, second, ..] => bail!(
                "{place}: the rows {first} and {second} of the pool both have the id {key:?}; label by row, in a column row in \
                 place of id"
            ),
            _ => bail!("{place}: the pool has no {key:?}; correct the line, or remove it"),
        };
        let Some(class) = data.classes.iter().position(|known| known == label) else {
            bail!(
                "{place}: there is no class {label:?}; the data have {}, so correct the line",
                some_of(&data.classes)
            );
        };
        if let Some(before) = labels[row].replace(class as u32).filter(|&before| before as usize != class) {
            let before = &data.classes[before as usize];
            bail!("{place}: {key:?} is {label:?} here but {before:?} in a line before; keep one of the two");
        }
    }
    Ok(labels)
}

/// Most bytes of a file of labels.
const MOST_BYTES: u64 = 1 << 30;
/// What may stand between the columns.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// A file of labels.
struct Table {
    /// Whether its keys are rows of the pool, counted from 0, and not ids.
    by_row: bool,
    /// Those that have a label.
    lines: Vec<Line>,
}

struct Line {
    /// Counted from 1.
    number: u64,
    key: String,
    label: String,
}

impl Table {
    fn read(path: &Path) -> Result<Self> {
        let bytes = read_file(path, MOST_BYTES)?;
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        for separator in SEPARATORS {
            let mut reader = csv::ReaderBuilder::new().delimiter(separator).trim(csv::Trim::Headers).from_reader(bytes);
            let headers = reader.headers().map_err(|error| refused(path, &error))?;
            let place = |names: &[&str]| headers.iter().position(|header| names.contains(&header));
            if let (Some(key), Some(label)) = (place(&["id", "row"]), place(&["label"])) {
                let by_row = &headers[key] == "row";
                let roles = |header: &&str| ["id", "row", "label"].contains(header);
                if headers.iter().filter(roles).count() > 2 {
                    bail!(
                        "{} has more than one column that names the rows, or more than one of labels; leave one column id or \
                         row, and one column label",
                        path.display()
                    );
                }
                return Ok(Self { by_row, lines: lines(path, &mut reader, key, label)? });
            }
        }
        bail!("{} needs the columns id (or row) and label in its first line; add them", path.display())
    }
}

fn lines(path: &Path, reader: &mut csv::Reader<&[u8]>, key: usize, label: usize) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| refused(path, &error))?;
        if !record[label].trim().is_empty() {
            let number = record.position().map_or(0, csv::Position::line);
            lines.push(Line { number, key: record[key].to_owned(), label: record[label].to_owned() });
        }
    }
    Ok(lines)
}

/// What is wrong with a line.
fn refused(path: &Path, error: &csv::Error) -> anyhow::Error {
    let line = error.position().map_or(1, csv::Position::line);
    let what = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("has {len} fields where the first line has {expected_len}; correct it")
        }
        csv::ErrorKind::Utf8 { .. } => "is not UTF-8; save the file as UTF-8".into(),
        _ => format!("cannot be read ({error}); correct it"),
    };
    anyhow!("line {line} of {} {what}", path.display())
}

/// A list of names that may be long.
pub fn some_of(names: &[impl AsRef<str>]) -> String {
    const SHOWN: usize = 20;
    let list = names.iter().take(SHOWN).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{list}, … {} in all", names.len()) } else { list }
}
