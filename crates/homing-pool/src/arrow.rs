//! Batches of Arrow columns, as Parquet and Arrow files give them.

use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Schema};

use crate::error::{one_line, quoted};
use crate::layout::{Column, Embedding, Layout, Role, no_embedding};
use crate::pool::Contents;
use crate::room::Room;
use crate::table::{Gathered, Growing};
use crate::words::{Place, each_text, scalar_role};
use crate::{Error, ReadOptions, Result};

/// What `schema` offers, by position.
pub(crate) fn columns(schema: &Schema) -> Vec<Column> {
    schema
        .fields()
        .iter()
        .map(|field| {
            let (role, kind) = role(field.data_type());
            Column { name: field.name().clone(), role, kind }
        })
        .collect()
}

/// A type in words, for a message; the names of its parts come from the file.
pub(crate) fn kind(data_type: &DataType) -> String {
    one_line(&data_type.to_string())
}

fn role(data_type: &DataType) -> (Role, String) {
    let kind = kind(data_type);
    match data_type {
        DataType::FixedSizeList(item, _) | DataType::List(item) | DataType::LargeList(item) => {
            let inner = item.data_type();
            match inner {
                _ if inner.is_floating() => (Role::Floats, kind),
                _ if inner.is_integer() => (Role::Integers, inner.to_string().to_lowercase()),
                _ => (Role::Other, kind),
            }
        }
        _ => (scalar_role(data_type).unwrap_or(Role::Other), kind),
    }
}

/// The column of embeddings in an Arrow table: the one so named, or the one that is found by itself.
pub fn embedding_column(schema: &Schema, name: Option<&str>) -> Result<usize> {
    let (path, columns) = (Path::new("the table"), columns(schema));
    let options = ReadOptions { embedding: name.map(str::to_owned), ..ReadOptions::default() };
    match Layout::choose(path, &columns, &options)?.embedding {
        Embedding::Column(position) => Ok(position),
        Embedding::Wide(_) => Err(no_embedding(path, &columns)),
    }
}

/// The floats of an Arrow column of lists, row after row and not copied, and how many a row has.
///
/// Refuses nulls and rows of different lengths by their number, counted from `row`; `path` and `column` say where they are.
pub fn list_numbers(path: &Path, row: usize, column: &str, array: &ArrayRef) -> Result<(ArrayRef, usize)> {
    if role(array.data_type()).0 != Role::Floats {
        let (name, kind) = (quoted(column), kind(array.data_type()));
        return Err(Error::WrongColumn {
            path: path.to_owned(),
            name,
            kind,
            expected: "embeddings are a row of floats a row",
        });
    }
    Lists { path, row, column }.numbers(array)
}

/// One table, from one file or from several with the same columns.
pub(crate) struct Table {
    fields: Vec<Field>,
    layout: Layout,
    gathered: Gathered,
}

impl Table {
    /// A table without rows yet, and the positions of the columns in `schema` that its batches consist of.
    pub(crate) fn new(path: &Path, schema: &Schema, options: &ReadOptions) -> Result<(Self, Vec<usize>)> {
        let (layout, positions) = Layout::choose(path, &columns(schema), options)?.projected();
        let fields = positions.iter().map(|&i| schema.field(i).clone()).collect();
        Ok((Self { fields, layout, gathered: Gathered::new() }, positions))
    }

    /// As `new`, for the next file of the same table.
    pub(crate) fn next_file(&self, path: &Path, schema: &Schema, options: &ReadOptions) -> Result<Vec<usize>> {
        let (table, positions) = Self::new(path, schema, options)?;
        let differs =
            |(ours, theirs): &(&Field, &Field)| ours.name() != theirs.name() || ours.data_type() != theirs.data_type();
        let detail = match self.fields.iter().zip(&table.fields).find(differs) {
            Some((ours, theirs)) => format!(
                "it has column {} ({}) where they have {} ({})",
                quoted(theirs.name()),
                kind(theirs.data_type()),
                quoted(ours.name()),
                kind(ours.data_type())
            ),
            None if self.layout != table.layout => "its columns are in another order".to_owned(),
            None => return Ok(positions),
        };
        Err(Error::ShardMismatch { path: path.to_owned(), detail })
    }

    /// Makes room for about `rows` rows, but no more than `bytes` of it.
    pub(crate) fn reserve(&mut self, rows: usize, bytes: usize) {
        let Embedding::Column(position) = self.layout.embedding else { return };
        if let DataType::FixedSizeList(item, dim) = self.fields[position].data_type() {
            let size = item.data_type().primitive_width().unwrap_or(1).max(1);
            let values = rows.saturating_mul(usize::try_from(*dim).unwrap_or(0));
            self.gathered.embeddings.most_reserved = values.min(bytes / size);
        }
    }

    /// Adds a batch of the columns chosen; `row` is its first row's number in the file at `path`.
    pub(crate) fn push(&mut self, path: &Path, row: usize, batch: &RecordBatch) -> Result<()> {
        let source = Source { path, row, fields: &self.fields, batch };
        let Layout { embedding, probabilities, id, group, label, blank_labels, cost, side_by_side: _ } = &self.layout;
        let Gathered { embeddings, probabilities: classes, ids, groups, labels, costs, room } = &mut self.gathered;
        match embedding {
            Embedding::Column(position) => source.rows(*position, embeddings, room)?,
            Embedding::Wide(positions) => source.wide(positions, embeddings, room)?,
        }
        if let Some(position) = probabilities {
            source.rows(*position, classes, room)?;
        }
        source.texts(*id, false, ids, room)?;
        source.texts(*group, false, groups, room)?;
        source.texts(*label, *blank_labels, labels, room)?;
        if let Some(position) = cost {
            let numbers = source.numbers(*position)?;
            room.grow(path, costs, numbers.len(), 0)?;
            costs.extend_from_slice(numbers.as_primitive::<Float64Type>().values());
        }
        Ok(())
    }

    pub(crate) fn finish(self, path: &Path) -> Result<Contents> {
        self.gathered.finish(path, &self.layout)
    }
}

struct Source<'a> {
    path: &'a Path,
    row: usize,
    fields: &'a [Field],
    batch: &'a RecordBatch,
}

impl Source<'_> {
    fn cast(&self, array: &dyn Array, to: &DataType) -> Result<ArrayRef> {
        let unreadable = |error: ArrowError| Error::malformed(self.path, "Arrow", &error);
        cast(array, to).map_err(unreadable)
    }

    /// The column at `position`, which has no nulls.
    fn full(&self, position: usize) -> Result<&ArrayRef> {
        let array = self.batch.column(position);
        self.lists(position).full(array)?;
        Ok(array)
    }

    fn lists(&self, position: usize) -> Lists<'_> {
        Lists { path: self.path, row: self.row, column: self.fields[position].name() }
    }

    fn rows(&self, position: usize, growing: &mut Growing, room: &mut Room) -> Result<()> {
        let array = self.batch.column(position);
        let (values, width) = self.lists(position).numbers(array)?;
        if array.is_empty() {
            return Ok(());
        }
        let (path, row) = (self.path, self.row);
        match values.data_type() {
            DataType::Float16 => growing.extend(path, row, width, values.as_primitive::<Float16Type>().values(), room),
            DataType::Float32 => growing.extend(path, row, width, values.as_primitive::<Float32Type>().values(), room),
            _ => growing.extend(path, row, width, values.as_primitive::<Float64Type>().values(), room),
        }
    }

    fn numbers(&self, position: usize) -> Result<ArrayRef> {
        self.cast(self.full(position)?, &DataType::Float64)
    }

    fn wide(&self, positions: &[usize], growing: &mut Growing, room: &mut Room) -> Result<()> {
        let single = positions.iter().all(|&i| *self.batch.column(i).data_type() == DataType::Float32);
        let width = positions.len();
        if single {
            let arrays = positions.iter().map(|&i| self.full(i)).collect::<Result<Vec<_>>>()?;
            let columns: Vec<&[f32]> = arrays.iter().map(|a| &a.as_primitive::<Float32Type>().values()[..]).collect();
            growing.extend(self.path, self.row, width, &side_by_side(&columns), room)
        } else {
            let arrays = positions.iter().map(|&i| self.numbers(i)).collect::<Result<Vec<_>>>()?;
            let columns: Vec<&[f64]> = arrays.iter().map(|a| &a.as_primitive::<Float64Type>().values()[..]).collect();
            growing.extend(self.path, self.row, width, &side_by_side(&columns), room)
        }
    }

    /// Nulls are empty texts where `blank` allows them.
    fn texts(&self, position: Option<usize>, blank: bool, into: &mut Vec<String>, room: &mut Room) -> Result<()> {
        let Some(position) = position else { return Ok(()) };
        let array = if blank { self.batch.column(position) } else { self.full(position)? };
        let place = Place { path: self.path, row: self.row, field: &self.fields[position] };
        each_text(place, array, |text| room.keep(self.path, text, into))
    }
}

/// A column of lists, and where it is.
struct Lists<'a> {
    path: &'a Path,
    row: usize,
    column: &'a str,
}

impl Lists<'_> {
    fn path(&self) -> PathBuf {
        self.path.to_owned()
    }

    fn null(&self, row: usize) -> Error {
        Error::Null { path: self.path(), row: self.row + row, column: quoted(self.column) }
    }

    /// Refuses nulls.
    fn full(&self, array: &ArrayRef) -> Result<()> {
        match array.logical_nulls().and_then(|nulls| nulls.iter().position(|valid| !valid)) {
            Some(row) => Err(self.null(row)),
            None => Ok(()),
        }
    }

    /// The values of all rows, and the number of them a row.
    fn numbers(&self, array: &ArrayRef) -> Result<(ArrayRef, usize)> {
        self.full(array)?;
        let (values, width) = match array.data_type() {
            DataType::FixedSizeList(_, size) => {
                let list = array.as_fixed_size_list();
                (list.values().clone(), usize::try_from(*size).unwrap_or(0))
            }
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let (range, width) = self.uniform(list.value_offsets().iter().map(|&at| at as usize))?;
                (list.values().slice(range.start, range.len()), width)
            }
            _ => {
                let list = array.as_list::<i64>();
                let (range, width) = self.uniform(list.value_offsets().iter().map(|&at| at as usize))?;
                (list.values().slice(range.start, range.len()), width)
            }
        };
        match values.nulls().and_then(|nulls| nulls.iter().position(|valid| !valid)) {
            Some(at) => Err(self.null(at / width.max(1))),
            None => Ok((values, width)),
        }
    }

    /// The range of all values, and the number of them a row.
    fn uniform(&self, mut offsets: impl Iterator<Item = usize>) -> Result<(std::ops::Range<usize>, usize)> {
        let start = offsets.next().unwrap_or(0);
        let (mut end, mut width) = (start, None);
        for (row, next) in offsets.enumerate() {
            let found = next - end;
            let expected = *width.get_or_insert(found);
            if found != expected {
                return Err(Error::Ragged { path: self.path(), row: self.row + row, found, expected });
            }
            end = next;
        }
        Ok((start..end, width.unwrap_or(0)))
    }
}

fn side_by_side<T: Copy>(columns: &[&[T]]) -> Vec<T> {
    let rows = columns.first().map_or(0, |column| column.len());
    (0..rows).flat_map(|row| columns.iter().map(move |column| column[row])).collect()
}
