//! One JSON value a line: an object with a list in it, or a bare list.

use std::fmt;
use std::path::Path;

use bytes::Bytes;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::error::{one_line, quoted};
use crate::layout::{Column, Embedding, Layout, Role, no_embedding};
use crate::pool::Contents;
use crate::room::Room;
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
    let room = Room::now();
    lines.enumerate().map(move |(row, line)| {
        room.check(path, (line.len() as u64).saturating_mul(LARGEST_RATIO))?;
        // Only names of columns must be unique, and those stand outermost.
        let value = match line.first() {
            Some(b'{') => serde_json::from_slice(line).map(|Unique(object)| Value::Object(object)),
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

/// No byte of JSON takes more bytes of memory as a value: objects of one field are the largest.
const LARGEST_RATIO: u64 = 128;

/// An object in which no name stands twice.
struct Unique(Map<String, Value>);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Unique;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Unique, A::Error> {
                let mut object = Map::new();
                while let Some((name, value)) = access.next_entry::<String, Value>()? {
                    let refusal = format!("{} stands twice in it", quoted(&name));
                    if object.insert(name, value).is_some() {
                        return Err(A::Error::custom(refusal));
                    }
                }
                Ok(Unique(object))
            }
        }
        deserializer.deserialize_map(Names)
    }
}

fn lists(path: &Path, lines: impl Iterator<Item = Result<Value>>, options: &ReadOptions) -> Result<Contents> {
    let mut gathered = Gathered::new();
    for (row, line) in lines.enumerate() {
        let line = line?;
        let values = numbers(&line).ok_or_else(|| Error::BadRow {
            path: path.to_owned(),
            row,
            detail: format!("{} is not a list of numbers", quoted(&line.to_string())),
        })?;
        gathered.embeddings.push(path, row, &values, &mut gathered.room)?;
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
    let mut gathered = Gathered::new();
    for (row, line) in std::iter::once(Ok(first)).chain(rest).enumerate() {
        let line = line?;
        let object = line.as_object().ok_or_else(|| not_an_object(path, row))?;
        let fields = Fields { path, columns: &columns, row, object };
        let Gathered { embeddings, probabilities, ids, groups, labels, costs, room } = &mut gathered;
        embeddings.push(path, row, &fields.list(embedding)?, room)?;
        if let Some(position) = layout.probabilities {
            probabilities.push(path, row, &fields.list(position)?, room)?;
        }
        for (position, blank, texts) in
            [(layout.id, false, ids), (layout.group, false, groups), (layout.label, layout.blank_labels, labels)]
        {
            if let Some(position) = position {
                room.keep(path, &fields.text(position, blank)?, texts)?;
            }
        }
        costs.extend(layout.cost.map(|i| fields.number(i)).transpose()?);
    }
    gathered.finish(path, &layout)
}

pub(crate) fn not_an_object(path: &Path, row: usize) -> Error {
    Error::BadRow { path: path.to_owned(), row, detail: "it is not an object as the rows before it are".to_owned() }
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

/// A text for a value that is one, or a number that has kept all its digits.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) if is_rounded(value) => None,
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Whether a number may stand for several that were written with more digits than a float has, as long ids are.
fn is_rounded(value: &Value) -> bool {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.is_f64() && value.as_f64().is_some_and(|number| number.abs() >= EXACT)
}

/// Why `value` has no text.
pub(crate) fn no_text(path: &Path, row: usize, value: &Value) -> Error {
    let detail = if is_rounded(value) {
        format!("{value} is a number whose digits are not all kept, so it must be written as a text, in quotes")
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

    /// An empty one only where `blank` allows it.
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
