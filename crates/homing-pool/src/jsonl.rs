//! Reads JSON lines: each line is an object that holds a list, or a bare list.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use bytes::Bytes;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::chooser::no_embedding;
use crate::format::{Beginning, FormatReader};
use crate::layout::{Column, Embedding, Layout, Role};
use crate::memory_budget::MemoryBudget;
use crate::message::{one_line, quoted};
use crate::pool::Contents;
use crate::row_values::ValueReader;
use crate::table::TableBuilder;
use crate::table_columns::TableColumns;
use crate::{Error, ReadOptions, Result, column, many, row_files};

pub(crate) const READER: FormatReader = FormatReader {
    extensions: &["jsonl", "ndjson"],
    description: "a file of JSON lines",
    beginning: Beginning::Text,
    in_place: false,
    pool: |path, store, options| read(path, &store.bytes()?, options),
    column: |path, bytes, name| column::json_column(path, bytes, name),
    rows: |path, bytes| row_files::json_lines(path, bytes),
    values: field_values,
    count: many::count_by_reading,
    shard: None,
};

fn read(path: &Path, bytes: &Bytes, options: &ReadOptions) -> Result<Contents> {
    let mut lines = values(path, bytes).peekable();
    match lines.next_if(|line| line.as_ref().is_ok_and(Value::is_object)) {
        Some(first) => objects(path, first?, lines, options),
        None => lists(path, lines, options),
    }
}

/// Iterates over the lines in `bytes` and skips blank lines.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty())
}

/// Reads fields of objects as they are written. Lines of other rows are not parsed.
fn field_values(path: &Path, bytes: &Bytes, reader: &mut ValueReader) -> Result<()> {
    let budget = MemoryBudget::now();
    for (row, line) in lines(bytes).enumerate() {
        match reader.next_row() {
            None => break,
            Some(wanted) if wanted > row => continue,
            Some(_) => {}
        }
        budget.check(path, (line.len() as u64).saturating_mul(LARGEST_RATIO))?;
        let mut object: HashMap<String, Box<RawValue>> =
            serde_json::from_slice(line).map_err(|_| Error::Changed { path: path.to_owned() })?;
        reader.push_json(path, |name| object.remove(name))?;
    }
    Ok(())
}

/// Iterates over the values in `bytes` and skips blank lines.
pub(crate) fn values(path: &Path, bytes: &[u8]) -> impl Iterator<Item = Result<Value>> {
    let budget = MemoryBudget::now();
    lines(bytes).enumerate().map(move |(row, line)| {
        budget.check(path, (line.len() as u64).saturating_mul(LARGEST_RATIO))?;
        // Only the names of columns must be unique, and those are the fields of the outermost object.
        let value = match line.first() {
            Some(b'{') => serde_json::from_slice(line).map(|UniqueFields(object)| Value::Object(object)),
            _ => serde_json::from_slice(line),
        };
        value.map_err(|error| Error::BadRow {
            path: path.to_owned(),
            row,
            detail: match one_line(&error.to_string()) {
                detail if error.is_data() => detail,
                detail => format!("it is not JSON ({detail})"),
            },
        })
    })
}

/// Maximum number of bytes of memory per byte of JSON; objects with one field need the most.
const LARGEST_RATIO: u64 = 128;

/// An object in which no name occurs twice.
struct UniqueFields(Map<String, Value>);

impl<'de> Deserialize<'de> for UniqueFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = UniqueFields;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<UniqueFields, A::Error> {
                let mut object = Map::new();
                while let Some((name, value)) = access.next_entry::<String, Value>()? {
                    let refusal = format!("{} occurs twice in it", quoted(&name));
                    if object.insert(name, value).is_some() {
                        return Err(A::Error::custom(refusal));
                    }
                }
                Ok(UniqueFields(object))
            }
        }
        deserializer.deserialize_map(ObjectVisitor)
    }
}

fn lists(path: &Path, lines: impl Iterator<Item = Result<Value>>, options: &ReadOptions) -> Result<Contents> {
    let bare = Layout {
        embedding: Embedding::Column(0),
        probabilities: None,
        id: None,
        group: None,
        label: None,
        blank_labels: false,
        text: None,
        numbers: Vec::new(),
        side_by_side: Vec::new(),
        ignored_numbers: Vec::new(),
    };
    let mut builder = TableBuilder::new(&bare);
    for (row, line) in lines.enumerate() {
        let line = line?;
        let values = numbers(&line).ok_or_else(|| Error::BadRow {
            path: path.to_owned(),
            row,
            detail: format!("{} is not a list of numbers", quoted(&line.to_string())),
        })?;
        builder.embeddings.push(path, row, &values, &mut builder.budget)?;
    }
    let contents = builder.finish(path, &bare, TableColumns::default())?;
    match options.first_name() {
        Some(name) => Err(Error::NoColumns { path: path.to_owned(), name: quoted(name) }),
        None => Ok(contents),
    }
}

fn objects(
    path: &Path,
    first: Value,
    rest: impl Iterator<Item = Result<Value>>,
    options: &ReadOptions,
) -> Result<Contents> {
    let columns: Vec<Column> = first.as_object().into_iter().flatten().map(field_column).collect();
    let layout = Layout::choose(path, &columns, options)?;
    let embedding = match layout.embedding {
        Embedding::Column(position) => Some(position),
        Embedding::Computed => None,
        Embedding::Wide(_) => return Err(no_embedding(path, &columns)),
    };
    let mut builder = TableBuilder::new(&layout);
    let mut table = TableColumns::new(columns.clone(), &layout);
    for (row, line) in std::iter::once(Ok(first)).chain(rest).enumerate() {
        let line = line?;
        let object = line.as_object().ok_or_else(|| not_an_object(path, row))?;
        for (name, value) in object.iter().filter(|(_, value)| !value.is_null()) {
            table.learn(name, || field_column((name, value)));
        }
        let fields = Fields { path, columns: &columns, row, object };
        let TableBuilder { embeddings, probabilities, ids, groups, labels, numbers, budget } = &mut builder;
        let values = embedding.map_or_else(|| Ok(vec![0.0]), |position| fields.list(position))?;
        embeddings.push(path, row, &values, budget)?;
        if let Some(position) = layout.probabilities {
            probabilities.push(path, row, &fields.list(position)?, budget)?;
        }
        for (position, blank, texts) in
            [(layout.id, false, ids), (layout.group, false, groups), (layout.label, layout.blank_labels, labels)]
        {
            if let Some(position) = position {
                budget.keep(path, &fields.text(position, blank)?, texts)?;
            }
        }
        for ((_, position), column) in layout.numbers.iter().zip(numbers) {
            column.push(fields.number(*position)?);
        }
    }
    builder.finish(path, &layout, table)
}

pub(crate) fn not_an_object(path: &Path, row: usize) -> Error {
    Error::BadRow { path: path.to_owned(), row, detail: "it is not an object, unlike the rows before it".to_owned() }
}

pub(crate) fn field_column((name, value): (&String, &Value)) -> Column {
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

/// Returns the text of a value that is a text, or a number whose digits are all preserved.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) if is_rounded(value) => None,
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Whether a number may have been written with more digits than a float holds, as long ids are.
fn is_rounded(value: &Value) -> bool {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.is_f64() && value.as_f64().is_some_and(|number| number.abs() >= EXACT)
}

/// Returns the error about a value without a text.
pub(crate) fn no_text(path: &Path, row: usize, value: &Value) -> Error {
    let detail = if is_rounded(value) {
        format!("{value} is a number with more digits than can be preserved; write it as a text, in quotes")
    } else {
        format!("{} is not a text or a number", quoted(&value.to_string()))
    };
    Error::BadRow { path: path.to_owned(), row, detail }
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

    /// Returns the text of a field, which may be empty only if `blank` is set.
    fn text(&self, position: usize, blank: bool) -> Result<String> {
        if let Some(value) = self.object.get(&self.columns[position].name).filter(|value| is_rounded(value)) {
            return Err(no_text(self.path, self.row, value));
        }
        match self.field(position, text, "a text or a number") {
            Err(Error::Null { .. }) if blank => Ok(String::new()),
            text => text,
        }
    }

    fn number(&self, position: usize) -> Result<f64> {
        self.field(position, Value::as_f64, "a number")
    }
}
