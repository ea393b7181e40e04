//! Readers of row lists, one function per format. They return `None` if a file names no rows but may hold embeddings.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::{DataType, SchemaRef};
use bytes::Bytes;
use serde_json::Value;

use crate::arrow::kind;
use crate::arrow_text::{ColumnPlace, each_text, scalar_role};
use crate::chooser::positions;
use crate::guard::caught;
use crate::memory_budget::MemoryBudget;
use crate::message::quoted;
use crate::records::{Records, filled};
use crate::store::Store;
use crate::tensor::Dtype;
use crate::{Error, Result, RowList, ipc, jsonl, npy, parquet};

/// Names of the columns of row indices and of ids.
const NAMES: [&str; 2] = ["index", "id"];

pub(crate) fn array(path: &Path, bytes: &Bytes) -> Result<Option<RowList>> {
    let tensor = npy::tensor(path, &Store::Memory(bytes.clone()))?;
    match (&tensor.header.dtype, tensor.header.shape.len()) {
        (Dtype::Integer { .. }, 1) => {
            let indices = tensor.integers(path)?.into_iter().enumerate();
            // An array always holds indices, as picks are written, and never ids.
            let indices = indices
                .map(|(row, value)| usize::try_from(value).map_err(|_| not_an_index(path, row, &value.to_string())));
            Ok(Some(RowList::Rows(indices.collect::<Result<_>>()?)))
        }
        (Dtype::Unicode(_) | Dtype::Ascii(_), 1) => Ok(Some(RowList::Ids(tensor.texts(path)?))),
        (_, 2) => Ok(None),
        _ => {
            let found = format!("it holds {}", tensor.header.column("").kind);
            Err(Error::NotRows { path: path.to_owned(), found })
        }
    }
}

fn not_an_index(path: &Path, row: usize, value: &str) -> Error {
    Error::NotAnIndex { path: path.to_owned(), row, value: quoted(value) }
}

/// Reads one index or id per line; a first line may say which of the two they are.
pub(crate) fn lines(path: &Path, bytes: &[u8]) -> Result<RowList> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Error::NotRows { path: path.to_owned(), found: "it is not UTF-8 text".to_owned() })?;
    let (mut texts, mut budget) = (Vec::new(), MemoryBudget::now());
    let mut lines = text.trim_start_matches('\u{feff}').lines().filter_map(filled).peekable();
    let header = lines.next_if(|line| NAMES.contains(&line.trim())).map(str::trim);
    lines.try_for_each(|line| budget.keep(path, line, &mut texts))?;
    match header {
        None => Ok(unheaded(path, texts)),
        Some("id") => Ok(RowList::Ids(texts)),
        Some(_) => indices(path, &texts).map(RowList::Rows),
    }
}

/// Returns numbers if all texts are whole numbers, and otherwise ids. Spaces around an id belong to it.
fn unheaded(path: &Path, texts: Vec<String>) -> RowList {
    let number = |text: &String| text.trim().parse().ok().filter(|number: &usize| number.to_string() == text.trim());
    match texts.iter().map(number).collect() {
        Some(numbers) => RowList::Numbers { path: path.to_owned(), numbers },
        None => RowList::Ids(texts),
    }
}

fn indices(path: &Path, texts: &[String]) -> Result<Vec<usize>> {
    let index = |(row, text): (usize, &String)| text.trim().parse().map_err(|_| not_an_index(path, row, text));
    texts.iter().enumerate().map(index).collect()
}

pub(crate) fn text_table(path: &Path, bytes: &[u8], separator: Option<u8>) -> Result<Option<RowList>> {
    let mut records = Records::new(path, bytes, separator);
    let Some(first) = records.next()? else { return Ok(Some(RowList::Rows(Vec::new()))) };
    let (mut texts, mut ids, mut budget) = (Vec::new(), Vec::new(), MemoryBudget::now());
    if !first.iter().any(|field| NAMES.contains(&field.trim())) {
        if first.len() > 1 {
            return Ok(None);
        }
        budget.keep(path, &first[0], &mut texts)?;
        while let Some(record) = records.next()? {
            budget.keep(path, &record[0], &mut texts)?;
        }
        return Ok(Some(unheaded(path, texts)));
    }
    let columns = positions(path, first.iter().map(str::trim))?;
    let [index, id] = NAMES.map(|name| columns.get(name).copied());
    records.row = 0;
    while let Some(record) = records.next()? {
        for (position, texts) in [(index, &mut texts), (id, &mut ids)] {
            if let Some(position) = position {
                budget.keep(path, &record[position], texts)?;
            }
        }
    }
    let indices = index.map(|_| indices(path, &texts)).transpose()?;
    Ok(Some(headed(indices, id.map(|_| ids))))
}

/// Combines the columns of row indices and ids, of which one may be missing.
fn headed(rows: Option<Vec<usize>>, ids: Option<Vec<String>>) -> RowList {
    match (rows, ids) {
        (Some(rows), Some(ids)) => RowList::RowsAndIds { rows, ids },
        (Some(rows), None) => RowList::Rows(rows),
        (None, ids) => RowList::Ids(ids.unwrap_or_default()),
    }
}

pub(crate) fn json_lines(path: &Path, bytes: &[u8]) -> Result<Option<RowList>> {
    let mut values = jsonl::values(path, bytes).peekable();
    let columns = match values.peek() {
        Some(Ok(Value::Object(first))) => NAMES.map(|name| first.contains_key(name)),
        Some(Ok(Value::Number(_) | Value::String(_))) => [false; 2],
        None => return Ok(Some(RowList::Rows(Vec::new()))),
        Some(_) => return Ok(None),
    };
    let bare = !values.peek().is_some_and(|first| first.as_ref().is_ok_and(Value::is_object));
    if !bare && columns == [false; 2] {
        return Ok(None);
    }
    let (mut texts, mut ids, mut budget) = (Vec::new(), Vec::new(), MemoryBudget::now());
    for (row, value) in values.enumerate() {
        let value = value?;
        let text = |found: Option<&Value>, column: &str| {
            let null = || Error::Null { path: path.to_owned(), row, column: quoted(column) };
            let value = found.filter(|value| !value.is_null()).ok_or_else(null)?;
            jsonl::text(value).ok_or_else(|| jsonl::no_text(path, row, value))
        };
        if bare {
            budget.keep(path, &text(Some(&value), "a number or text")?, &mut texts)?;
        }
        for (exists, name, texts) in [(columns[0], NAMES[0], &mut texts), (columns[1], NAMES[1], &mut ids)] {
            if exists {
                budget.keep(path, &text(value.get(name), name)?, texts)?;
            }
        }
    }
    if bare {
        return Ok(Some(unheaded(path, texts)));
    }
    let indices = columns[0].then(|| indices(path, &texts)).transpose()?;
    Ok(Some(headed(indices, columns[1].then_some(ids))))
}

/// Columns of an Arrow table that name rows, and the rows that were read from them so far.
struct RowNames<'a> {
    path: &'a Path,
    schema: SchemaRef,
    /// Column of row indices, or of one truth value per row of the pool.
    index: Option<usize>,
    id: Option<usize>,
    indices: Vec<usize>,
    ids: Vec<String>,
    budget: MemoryBudget,
}

impl<'a> RowNames<'a> {
    /// Finds the columns; returns `None` if no column names rows.
    fn find(path: &'a Path, schema: &SchemaRef) -> Result<Option<Self>> {
        let columns = positions(path, schema.fields().iter().map(|field| field.name().as_str()))?;
        let column = |name: &str, is: fn(&DataType) -> bool| {
            columns.get(name).copied().filter(|&position| is(schema.field(position).data_type()))
        };
        let selected = column("selected", |kind| *kind == DataType::Boolean);
        let index = selected.or(column(NAMES[0], DataType::is_integer));
        let id = columns.get(NAMES[1]).copied();
        if let Some(field) = id.map(|position| schema.field(position))
            && scalar_role(field.data_type()).is_none()
        {
            return Err(Error::WrongColumn {
                path: path.to_owned(),
                name: quoted(field.name()),
                kind: kind(field.data_type()),
                expected: "ids are texts or numbers",
            });
        }
        if index.or(id).is_none() {
            return Ok(None);
        }
        let schema = schema.clone();
        Ok(Some(Self { path, schema, index, id, indices: Vec::new(), ids: Vec::new(), budget: MemoryBudget::now() }))
    }

    /// Returns the columns to read, in the order of the table.
    fn positions(&self) -> Vec<usize> {
        let mut positions: Vec<usize> = self.index.into_iter().chain(self.id).collect();
        positions.sort_unstable();
        positions
    }

    /// Adds the rows that a batch names. `row` is the first row of the batch, and `column` returns a column by its position in the
    /// whole table.
    fn push<'b>(&mut self, row: usize, column: impl Fn(usize) -> &'b ArrayRef) -> Result<()> {
        let (path, schema) = (self.path, self.schema.clone());
        let null = |position: usize, at: usize| Error::Null {
            path: path.to_owned(),
            row: row + at,
            column: quoted(schema.field(position).name()),
        };
        let mut chosen = None;
        if let Some(position) = self.index {
            let array = column(position);
            if let Some(at) = array.logical_nulls().and_then(|nulls| nulls.iter().position(|valid| !valid)) {
                return Err(null(position, at));
            }
            if *array.data_type() == DataType::Boolean {
                let selected = array.as_boolean().values();
                self.budget.grow(path, &mut self.indices, selected.count_set_bits(), 0)?;
                self.indices.extend(selected.set_indices().map(|at| row + at));
                chosen = Some(selected);
            } else {
                self.push_indices(row, array)?;
            }
        }
        let Some(position) = self.id else { return Ok(()) };
        let array = column(position);
        let nulls = array.logical_nulls();
        let place = ColumnPlace { path, row, field: schema.field(position) };
        let mut at = 0;
        each_text(place, array, |text| {
            let (is_chosen, is_null) =
                (chosen.is_none_or(|chosen| chosen.value(at)), nulls.as_ref().is_some_and(|nulls| nulls.is_null(at)));
            at += 1;
            match (is_chosen, is_null) {
                (false, _) => Ok(()),
                (true, true) => Err(null(position, at - 1)),
                (true, false) => self.budget.keep(path, text, &mut self.ids),
            }
        })
    }

    fn push_indices(&mut self, row: usize, array: &ArrayRef) -> Result<()> {
        let numbers = cast(array, &DataType::Int64).map_err(|error| Error::malformed(self.path, "Arrow", &error))?;
        self.budget.grow(self.path, &mut self.indices, numbers.len(), 0)?;
        for (at, value) in numbers.as_primitive::<Int64Type>().iter().enumerate() {
            let index = value.and_then(|value| usize::try_from(value).ok());
            let found = || value.map_or_else(|| "too large".to_owned(), |value| value.to_string());
            self.indices.push(index.ok_or_else(|| not_an_index(self.path, row + at, &found()))?);
        }
        Ok(())
    }

    fn finish(self) -> RowList {
        headed(self.index.map(|_| self.indices), self.id.map(|_| self.ids))
    }
}

pub(crate) fn parquet_table(path: &Path, bytes: &Bytes) -> Result<Option<RowList>> {
    caught(path, parquet::FORMAT, || {
        let file = parquet::File::open(path, bytes)?;
        let schema = file.schema.clone();
        let Some(mut row_names) = RowNames::find(path, &schema)? else { return Ok(None) };
        let positions = row_names.positions();
        file.batches(&positions, |row, batch| {
            row_names.push(row, |position| batch.column(positions.partition_point(|&other| other < position)))
        })?;
        Ok(Some(row_names.finish()))
    })
}

pub(crate) fn arrow_table(path: &Path, bytes: &Bytes) -> Result<Option<RowList>> {
    let mut found = None;
    ipc::batches(path, bytes, |schema, row, batch| {
        if found.is_none() {
            found = Some(RowNames::find(path, schema)?);
        }
        match (&mut found, batch) {
            (Some(Some(row_names)), Some(batch)) => row_names.push(row, |position| batch.column(position)),
            _ => Ok(()),
        }
    })?;
    Ok(found.flatten().map(RowNames::finish))
}
