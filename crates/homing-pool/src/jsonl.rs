//! One JSON value a line: an object with a list in it, or a bare list.

use std::path::Path;

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::error::{one_line, quoted};
use crate::layout::{Column, Embedding, Layout, Role, no_embedding};
use crate::pool::Contents;
use crate::table::Gathered;
use crate::{Error, ReadOptions, Result};

pub(crate) fn read(path: &Path, bytes: &Bytes, options: &ReadOptions) -> Result<Contents> {
    let mut lines = values(path, bytes).peekable();
    match lines.next_if(|line| line.as_ref().is_ok_and(Value::is_object)) {
        Some(first) => objects(path, first?, lines, options),
        None => lists(path, lines, options),
    }
}

/// The values in `bytes`; blank lines are no rows.
pub(crate) fn values(path: &Path, bytes: &[u8]) -> impl Iterator<Item = Result<Value>> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    lines.enumerate().map(move |(row, line)| {
        serde_json::from_slice(line).map_err(|error| Error::BadRow {
            path: path.to_owned(),
            row,
            detail: format!("it is not JSON ({})", one_line(&error.to_string())),
        })
    })
}

fn lists(path: &Path, lines: impl Iterator<Item = Result<Value>>, options: &ReadOptions) -> Result<Contents> {
    let mut gathered = Gathered::default();
    for (row, line) in lines.enumerate() {
        let line = line?;
        let values = numbers(&line).ok_or_else(|| Error::BadRow {
            path: path.to_owned(),
            row,
            detail: format!("{} is not a list of numbers", quoted(&line.to_string())),
        })?;
        gathered.embeddings.push(path, row, &values)?;
    }
    if let Some(name) = options.first_name() {
        return Err(Error::NoColumns { path: path.to_owned(), name: quoted(name) });
    }
    let bare = Layout {
        embedding: Embedding::Column(0),
        probabilities: None,
        id: None,
        group: None,
        label: None,
        blank_labels: false,
        cost: None,
        side_by_side: Vec::new(),
    };
    gathered.finish(path, &bare)
}

fn objects(
    path: &Path,
    first: Value,
    rest: impl Iterator<Item = Result<Value>>,
    options: &ReadOptions,
) -> Result<Contents> {
    let columns: Vec<Column> = first.as_object().into_iter().flatten().map(column).collect();
    let layout = Layout::choose(path, &columns, options)?;
    let Embedding::Column(embedding) = layout.embedding else { return Err(no_embedding(path, &columns)) };
    let mut gathered = Gathered::default();
    for (row, line) in std::iter::once(Ok(first)).chain(rest).enumerate() {
        let line = line?;
        let object = line.as_object().ok_or_else(|| Error::BadRow {
            path: path.to_owned(),
            row,
            detail: "it is not an object as the rows before it are".to_owned(),
        })?;
        let fields = Fields { path, columns: &columns, row, object };
        gathered.embeddings.push(path, row, &fields.list(embedding)?)?;
        if let Some(position) = layout.probabilities {
            gathered.probabilities.push(path, row, &fields.list(position)?)?;
        }
        gathered.ids.extend(layout.id.map(|i| fields.text(i)).transpose()?);
        gathered.groups.extend(layout.group.map(|i| fields.text(i)).transpose()?);
        gathered.labels.extend(layout.label.map(|i| fields.label(i, layout.blank_labels)).transpose()?);
        gathered.costs.extend(layout.cost.map(|i| fields.number(i)).transpose()?);
    }
    gathered.finish(path, &layout)
}

pub(crate) fn column((name, value): (&String, &Value)) -> Column {
    let (role, kind) = match value {
        Value::Array(_) if numbers(value).is_some() => (Role::Floats, "a list of numbers"),
        Value::Array(_) => (Role::Other, "a list"),
        Value::Number(_) => (Role::Number, "a number"),
        Value::String(_) => (Role::Text, "text"),
        Value::Bool(_) => (Role::Text, "true or false"),
        Value::Null => (Role::Other, "null"),
        Value::Object(_) => (Role::Other, "an object"),
    };
    Column { name: name.clone(), role, kind: kind.to_owned() }
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

/// A text for a value that is one, or a number.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

struct Fields<'a> {
    path: &'a Path,
    columns: &'a [Column],
    row: usize,
    object: &'a Map<String, Value>,
}

impl Fields<'_> {
    fn field<T>(&self, position: usize, read: impl Fn(&Value) -> Option<T>, expected: &str) -> Result<T> {
        let name = &self.columns[position].name;
        match self.object.get(name) {
            None | Some(Value::Null) => {
                Err(Error::Null { path: self.path.to_owned(), row: self.row, column: quoted(name) })
            }
            Some(value) => read(value).ok_or_else(|| Error::BadRow {
                path: self.path.to_owned(),
                row: self.row,
                detail: format!("{} in {} is not {expected}", quoted(&value.to_string()), quoted(name)),
            }),
        }
    }

    fn list(&self, position: usize) -> Result<Vec<f64>> {
        self.field(position, numbers, "a list of numbers")
    }

    fn text(&self, position: usize) -> Result<String> {
        self.field(position, text, "a text or a number")
    }

    fn label(&self, position: usize, blank: bool) -> Result<String> {
        match self.text(position) {
            Err(Error::Null { .. }) if blank => Ok(String::new()),
            text => text,
        }
    }

    fn number(&self, position: usize) -> Result<f64> {
        self.field(position, Value::as_f64, "a number")
    }
}
