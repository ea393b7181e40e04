//! Values of some columns of a table, for some of its rows, as the file has them.

mod json;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field};
use arrow_select::concat::concat;
use arrow_select::take::take;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::chooser::positions;
use crate::memory_budget::MemoryBudget;
use crate::{Error, Result};

/// Values of one column, one per row.
#[derive(Debug)]
enum Values {
    /// Fields of a text table.
    Texts(Vec<String>),
    /// Fields of JSON objects, as they were written. Objects may lack a field.
    Json(Vec<Option<Box<RawValue>>>),
    /// A column of an Arrow table with its name, type and metadata.
    Arrow(Field, ArrayRef),
}

/// Values of some columns of a table, for some of its rows.
///
/// [`Pool::values`](crate::Pool::values) reads them, and [`write_picks`](crate::write_picks) writes them next to the picks.
/// Columns are counted in the order in which they were requested, and rows are rows of the pool.
#[derive(Debug, Default)]
pub struct RowValues {
    names: Vec<String>,
    /// Rows in ascending order, without repetition.
    rows: Vec<usize>,
    columns: Vec<Values>,
}

impl RowValues {
    /// Returns the names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns a value as text, or `None` if it is null, is lacking, or was not read.
    ///
    /// Lists and objects become JSON.
    pub fn text(&self, column: usize, row: usize) -> Option<String> {
        if let Values::Texts(texts) = self.columns.get(column)? {
            return Some(texts[self.place(row)?].clone());
        }
        match self.json(column, row)? {
            Value::Null => None,
            Value::String(text) => Some(text),
            value => Some(value.to_string()),
        }
    }

    /// Returns a value as JSON, or `None` if the row lacks the field or was not read.
    pub fn json(&self, column: usize, row: usize) -> Option<Value> {
        let place = self.place(row)?;
        match self.columns.get(column)? {
            Values::Texts(texts) => Some(Value::String(texts[place].clone())),
            Values::Json(fields) => serde_json::from_str(fields[place].as_ref()?.get()).ok(),
            Values::Arrow(_, array) => Some(json::value_at(array, place)),
        }
    }

    /// Returns a JSON object with a list per column, which holds the values of `rows`.
    pub fn to_json(&self, rows: &[usize]) -> String {
        let values = |column| rows.iter().map(|&row| self.json(column, row).unwrap_or(Value::Null)).collect();
        let columns = self.names.iter().enumerate().map(|(column, name)| (name.clone(), Value::Array(values(column))));
        Value::Object(columns.collect()).to_string()
    }

    /// Returns a value as JSON text, exactly as a JSON file has it.
    pub(crate) fn raw_json(&self, column: usize, row: usize) -> Option<Box<RawValue>> {
        if let Values::Json(fields) = self.columns.get(column)? {
            return fields[self.place(row)?].clone();
        }
        serde_json::value::to_raw_value(&self.json(column, row)?).ok()
    }

    /// Returns the type of a column in an Arrow table. Rows that were not read have no value.
    pub(crate) fn field(&self, column: usize, name: &str) -> Field {
        match &self.columns[column] {
            Values::Arrow(field, _) => field.clone().with_name(name).with_nullable(true),
            values => Field::new(name, array_of(values).data_type().clone(), true),
        }
    }

    /// Returns the values of a column for the rows in `range`, null for each row that was not read.
    pub(crate) fn array(&self, column: usize, range: Range<usize>) -> Result<ArrayRef, ArrowError> {
        let places: UInt64Array = range.map(|row| self.place(row).map(|place| place as u64)).collect();
        match &self.columns[column] {
            Values::Arrow(_, array) => take(array, &places, None),
            values => take(&array_of(values), &places, None),
        }
    }

    /// Returns the columns called `names`: those that are here, and those that `make` makes for sorted rows.
    pub(crate) fn with_columns(
        self,
        names: &[String],
        rows: &[usize],
        make: impl Fn(&str, &[usize]) -> (Field, ArrayRef),
    ) -> Self {
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        rows.dedup();
        let mut own: HashMap<String, Values> = self.names.into_iter().zip(self.columns).collect();
        let column = |name: &String| {
            own.remove(name).unwrap_or_else(|| {
                let (field, array) = make(name, &rows);
                Values::Arrow(field, array)
            })
        };
        Self { columns: names.iter().map(column).collect(), names: names.to_vec(), rows }
    }

    fn place(&self, row: usize) -> Option<usize> {
        self.rows.binary_search(&row).ok()
    }
}

/// Returns texts and JSON as an Arrow array: of truth values, of numbers or of texts, depending on what all values are.
fn array_of(values: &Values) -> ArrayRef {
    let fields = match values {
        Values::Arrow(_, array) => return array.clone(),
        Values::Texts(texts) => return Arc::new(StringArray::from_iter_values(texts)),
        Values::Json(fields) => fields,
    };
    let parsed = |field: &Option<Box<RawValue>>| serde_json::from_str(field.as_ref()?.get()).ok();
    let values: Vec<Value> = fields.iter().map(|field| parsed(field).unwrap_or(Value::Null)).collect();
    let all = |is: fn(&Value) -> bool| values.iter().all(|value| value.is_null() || is(value));
    match () {
        () if all(Value::is_null) => Arc::new(StringArray::new_null(values.len())),
        () if all(Value::is_boolean) => Arc::new(values.iter().map(Value::as_bool).collect::<BooleanArray>()),
        () if all(Value::is_i64) => Arc::new(values.iter().map(Value::as_i64).collect::<Int64Array>()),
        () if all(Value::is_number) => Arc::new(values.iter().map(Value::as_f64).collect::<Float64Array>()),
        () => {
            let text = |value: &Value| match value {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                value => Some(value.to_string()),
            };
            Arc::new(values.iter().map(text).collect::<StringArray>())
        }
    }
}

/// Reads the values of some columns and rows, in one pass over the files of a table.
pub(crate) struct ValueReader {
    pub(crate) names: Vec<String>,
    /// Wanted rows in ascending order, without repetition.
    rows: Vec<usize>,
    /// Number of wanted rows that have been read.
    read: usize,
    /// Rows of the pool that the current file holds.
    file: Range<usize>,
    columns: Vec<Vec<Values>>,
    budget: MemoryBudget,
}

impl ValueReader {
    pub(crate) fn new(names: &[String], rows: &[usize]) -> Self {
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        rows.dedup();
        let columns = names.iter().map(|_| Vec::new()).collect();
        Self { names: names.to_vec(), rows, read: 0, file: 0..usize::MAX, columns, budget: MemoryBudget::now() }
    }

    /// Returns the next wanted row of the current file, counted in that file.
    pub(crate) fn next_row(&self) -> Option<usize> {
        let next = self.rows.get(self.read).filter(|row| self.file.contains(row));
        next.map(|row| row - self.file.start)
    }

    /// Reads the wanted rows of one of several files, which holds the rows `file` of the pool, with `read`. If none of its rows
    /// is wanted, the file is not read.
    pub(crate) fn read_file(
        &mut self,
        path: &Path,
        file: Range<usize>,
        read: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.file = file;
        if self.next_row().is_none() {
            return Ok(());
        }
        read(self)?;
        if self.next_row().is_some() { Err(changed(path)) } else { Ok(()) }
    }

    /// Returns the positions of the wanted columns in a file with the columns `all`.
    pub(crate) fn positions<'a>(&self, path: &Path, all: impl Iterator<Item = &'a str>) -> Result<Vec<usize>> {
        let positions = positions(path, all)?;
        let position = |name: &String| positions.get(name.as_str()).copied().ok_or_else(|| changed(path));
        self.names.iter().map(position).collect()
    }

    /// Adds the fields of the next row of a text table.
    pub(crate) fn push_texts<'a>(&mut self, path: &Path, texts: impl Iterator<Item = &'a str>) -> Result<()> {
        for (column, text) in self.columns.iter_mut().zip(texts) {
            if column.is_empty() {
                column.push(Values::Texts(Vec::new()));
            }
            if let [Values::Texts(all)] = &mut column[..] {
                self.budget.keep(path, text, all)?;
            }
        }
        self.read += 1;
        Ok(())
    }

    /// Adds the fields of the next JSON object.
    pub(crate) fn push_json(
        &mut self,
        path: &Path,
        mut field: impl FnMut(&str) -> Option<Box<RawValue>>,
    ) -> Result<()> {
        for (column, name) in self.columns.iter_mut().zip(&self.names) {
            let value = field(name);
            self.budget.take(path, 64 + value.as_ref().map_or(0, |value| value.get().len() as u64))?;
            if column.is_empty() {
                column.push(Values::Json(Vec::new()));
            }
            if let [Values::Json(all)] = &mut column[..] {
                all.push(value);
            }
        }
        self.read += 1;
        Ok(())
    }

    /// Adds the wanted rows of a batch of the wanted columns, whose first row has the number `first` in the current file.
    ///
    /// Values are copied, because a part of a batch would keep the whole batch in memory.
    pub(crate) fn push_batch(
        &mut self,
        path: &Path,
        first: usize,
        batch: &RecordBatch,
        fields: &[&Field],
    ) -> Result<()> {
        let end = self.file.start.saturating_add(first + batch.num_rows()).min(self.file.end);
        let wanted = self.rows[self.read..].partition_point(|&row| row < end);
        if wanted == 0 {
            return Ok(());
        }
        let malformed = |error: ArrowError| Error::malformed(path, "Arrow", &error);
        let start = self.file.start + first;
        let places: UInt64Array =
            self.rows[self.read..self.read + wanted].iter().map(|row| (row - start) as u64).collect::<Vec<_>>().into();
        for ((column, array), field) in self.columns.iter_mut().zip(batch.columns()).zip(fields) {
            let taken = take(array, &places, None).map_err(malformed)?;
            let copied = cast(&taken, &copied_type(array.data_type())).map_err(malformed)?;
            self.budget.take(path, copied.get_array_memory_size() as u64)?;
            column.push(Values::Arrow((*field).clone(), copied));
        }
        self.read += wanted;
        Ok(())
    }

    pub(crate) fn finish(self, path: &Path) -> Result<RowValues> {
        if self.read < self.rows.len() {
            return Err(changed(path));
        }
        let malformed = |error: ArrowError| Error::malformed(path, "Arrow", &error);
        let join = |parts: Vec<Values>| -> Result<Values> {
            let mut arrays: Vec<ArrayRef> = Vec::new();
            let mut first = None;
            for part in parts {
                match part {
                    Values::Arrow(field, array) => {
                        first.get_or_insert(field);
                        arrays.push(array);
                    }
                    values => return Ok(values),
                }
            }
            let Some(field) = first else { return Ok(Values::Texts(Vec::new())) };
            let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
            let joined = concat(&arrays).map_err(malformed)?;
            let array = cast(&joined, field.data_type()).unwrap_or(joined);
            Ok(Values::Arrow(field.with_data_type(array.data_type().clone()), array))
        };
        let columns = self.columns.into_iter().map(join).collect::<Result<_>>()?;
        Ok(RowValues { names: self.names, rows: self.rows, columns })
    }
}

/// Returns a type that holds the same values without sharing memory with other rows.
fn copied_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::LargeUtf8,
        DataType::BinaryView => DataType::LargeBinary,
        DataType::Dictionary(_, values) => copied_type(values),
        other => other.clone(),
    }
}

/// Returns the error about a file that has fewer rows or other columns than when it was read first.
fn changed(path: &Path) -> Error {
    Error::Changed { path: path.to_owned() }
}
