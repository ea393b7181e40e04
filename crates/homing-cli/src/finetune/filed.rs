//! Labels in a file of their own.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use homing_data::Dataset;
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

/// The labels that a file names, one a record.
pub fn names(path: &Path) -> Result<Vec<String>> {
    let mut reader = reader(path)?;
    let column = reader.headers()?.iter().position(|header| header == "label");
    Ok(reader.records().filter_map(|record| Some(record.ok()?.get(column?)?.to_owned())).collect())
}

/// Labels by id or row from a CSV file with a header.
pub fn labels(path: &Path, data: &Dataset) -> Result<Vec<Option<u32>>> {
    let mut reader = reader(path)?;
    let headers = reader.headers()?.clone();
    let place = |names: &[&str]| headers.iter().position(|header| names.contains(&header));
    let (Some(key), Some(label)) = (place(&["id", "row"]), place(&["label"])) else {
        bail!("{} needs the columns id (or row) and label", path.display());
    };
    let by_row = &headers[key] == "row";
    let ids: HashMap<&str, usize> = data.ids.iter().enumerate().map(|(row, id)| (id.as_str(), row)).collect();
    let mut labels = vec![None; data.inputs.len()];
    for (line, record) in reader.records().enumerate() {
        let record = record?;
        let (name, class) = (&record[key], &record[label]);
        let row = if by_row { name.parse().ok().filter(|&row| row < labels.len()) } else { ids.get(name).copied() };
        let Some(row) = row else { bail!("{}, line {}: the pool has no {name:?}", path.display(), line + 2) };
        let Some(class) = data.classes.iter().position(|known| known == class) else {
            bail!(
                "{}, line {}: there is no class {class:?}; the data have {}",
                path.display(),
                line + 2,
                some_of(&data.classes)
            );
        };
        labels[row] = Some(class as u32);
    }
    Ok(labels)
}

fn reader(path: &Path) -> Result<csv::Reader<std::fs::File>> {
    csv::Reader::from_path(path).with_context(|| format!("{} cannot be read", path.display()))
}

/// A list of names that may be long.
pub fn some_of(names: &[impl AsRef<str>]) -> String {
    const SHOWN: usize = 20;
    let list = names.iter().take(SHOWN).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{list}, … {} in all", names.len()) } else { list }
}
