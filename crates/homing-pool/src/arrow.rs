//! Reads batches of Arrow columns, which Parquet and Arrow files yield.

use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use bytes::Bytes;

use crate::arrow_text::{ColumnPlace, each_text, scalar_role};
use crate::chooser::no_embedding;
use crate::format::ShardReader;
use crate::layout::{Column, Embedding, Layout, Role};
use crate::memory_budget::MemoryBudget;
use crate::message::{one_line, quoted};
use crate::pool::Contents;
use crate::table::{MatrixBuilder, TableBuilder};
use crate::table_columns::TableColumns;
use crate::{Error, ReadOptions, Result};

/// Returns the columns of `schema` in order.
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

/// Describes a type in words for a message. The names in it come from the file.
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

/// Returns the column of embeddings in an Arrow table: the column called `name`, or the one that is found by convention.
pub fn embedding_column(schema: &Schema, name: Option<&str>) -> Result<usize> {
    let (path, columns) = (Path::new("the table"), columns(schema));
    let options = ReadOptions::default().embedding(name.map(str::to_owned));
    match Layout::choose(path, &columns, &options)?.embedding {
        Embedding::Column(position) => Ok(position),
        Embedding::Wide(_) | Embedding::Computed => Err(no_embedding(path, &columns)),
    }
}

/// Returns the floats of an Arrow column of lists, row by row and without a copy, and the number of floats per row.
///
/// Nulls and rows of different lengths are refused. The messages count rows from `row` and name `path` and `column`.
pub fn list_numbers(path: &Path, row: usize, column: &str, array: &ArrayRef) -> Result<(ArrayRef, usize)> {
    if role(array.data_type()).0 != Role::Floats {
        let (name, kind) = (quoted(column), kind(array.data_type()));
        return Err(Error::WrongColumn {
            path: path.to_owned(),
            name,
            kind,
            expected: "embeddings are lists of floats, one per row",
        });
    }
    ListColumn { path, row, column }.numbers(array)
}

/// Reads one file with `append`, the function that adds its rows to a table.
pub(crate) fn read(path: &Path, bytes: &Bytes, options: &ReadOptions, append: ShardReader) -> Result<Contents> {
    let mut table = None;
    append(path, bytes, options, &mut table)?;
    finish(path, table)
}

/// Returns the contents of a table after all of its files were read.
pub(crate) fn finish(path: &Path, table: Option<ArrowTable>) -> Result<Contents> {
    let table = table.ok_or_else(|| Error::NoRows { path: path.to_owned() })?;
    table.builder.finish(path, &table.layout, table.columns)
}

/// A table from one file, or from several files with the same columns.
pub(crate) struct ArrowTable {
    fields: Vec<Field>,
    layout: Layout,
    builder: TableBuilder,
    /// All columns of the first file.
    columns: TableColumns,
}

impl ArrowTable {
    /// Creates an empty table, and returns the positions in `schema` of the columns that its batches need.
    pub(crate) fn new(path: &Path, schema: &Schema, options: &ReadOptions) -> Result<(Self, Vec<usize>)> {
        let all = columns(schema);
        let layout = Layout::choose(path, &all, options)?;
        let columns = TableColumns::new(all, &layout);
        let (layout, positions) = layout.projected();
        let fields = positions.iter().map(|&i| schema.field(i).clone()).collect();
        let builder = TableBuilder::new(&layout);
        Ok((Self { fields, layout, builder, columns }, positions))
    }

    /// Checks the schema of the next file of the same table, and returns the same positions as `new`.
    pub(crate) fn next_file(&self, path: &Path, schema: &Schema, options: &ReadOptions) -> Result<Vec<usize>> {
        let (table, positions) = Self::new(path, schema, options)?;
        let differs =
            |(ours, theirs): &(&Field, &Field)| ours.name() != theirs.name() || ours.data_type() != theirs.data_type();
        let detail = match self.fields.iter().zip(&table.fields).find(differs) {
            Some((ours, theirs)) => format!(
                "it has column {} ({}) but they have {} ({})",
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

    /// Reserves memory for about `rows` rows, but at most `bytes` bytes.
    pub(crate) fn reserve(&mut self, rows: usize, bytes: usize) {
        let Embedding::Column(position) = self.layout.embedding else { return };
        if let DataType::FixedSizeList(item, dim) = self.fields[position].data_type() {
            let size = item.data_type().primitive_width().unwrap_or(1).max(1);
            let values = rows.saturating_mul(usize::try_from(*dim).unwrap_or(0));
            self.builder.embeddings.most_reserved = values.min(bytes / size);
        }
    }

    /// Adds a batch of the chosen columns; `row` is the number of its first row in the file at `path`.
    pub(crate) fn push(&mut self, path: &Path, row: usize, batch: &RecordBatch) -> Result<()> {
        let columns = BatchColumns { path, row, fields: &self.fields, batch };
        let Layout { embedding, probabilities, id, group, label, blank_labels, numbers, .. } = &self.layout;
        let TableBuilder { embeddings, probabilities: classes, ids, groups, labels, numbers: number_columns, budget } =
            &mut self.builder;
        match embedding {
            Embedding::Column(position) => columns.rows(*position, embeddings, budget)?,
            Embedding::Wide(positions) => columns.wide(positions, embeddings, budget)?,
            Embedding::Computed => embeddings.extend(path, row, 1, &vec![0.0_f32; batch.num_rows()], budget)?,
        }
        if let Some(position) = probabilities {
            columns.rows(*position, classes, budget)?;
        }
        columns.texts(*id, false, ids, budget)?;
        columns.texts(*group, false, groups, budget)?;
        columns.texts(*label, *blank_labels, labels, budget)?;
        for ((_, position), column) in numbers.iter().zip(number_columns) {
            let numbers = columns.numbers(*position)?;
            budget.grow(path, column, numbers.len(), 0)?;
            column.extend_from_slice(numbers.as_primitive::<Float64Type>().values());
        }
        Ok(())
    }
}

struct BatchColumns<'a> {
    path: &'a Path,
    row: usize,
    fields: &'a [Field],
    batch: &'a RecordBatch,
}

impl BatchColumns<'_> {
    fn cast(&self, array: &dyn Array, to: &DataType) -> Result<ArrayRef> {
        let unreadable = |error: ArrowError| Error::malformed(self.path, "Arrow", &error);
        cast(array, to).map_err(unreadable)
    }

    /// Returns the column at `position`, which must have no nulls.
    fn full(&self, position: usize) -> Result<&ArrayRef> {
        let array = self.batch.column(position);
        self.lists(position).full(array)?;
        Ok(array)
    }

    fn lists(&self, position: usize) -> ListColumn<'_> {
        ListColumn { path: self.path, row: self.row, column: self.fields[position].name() }
    }

    fn rows(&self, position: usize, matrix: &mut MatrixBuilder, budget: &mut MemoryBudget) -> Result<()> {
        let array = self.batch.column(position);
        let (values, width) = self.lists(position).numbers(array)?;
        if array.is_empty() {
            return Ok(());
        }
        let (path, row) = (self.path, self.row);
        match values.data_type() {
            DataType::Float16 => matrix.extend(path, row, width, values.as_primitive::<Float16Type>().values(), budget),
            DataType::Float32 => matrix.extend(path, row, width, values.as_primitive::<Float32Type>().values(), budget),
            _ => matrix.extend(path, row, width, values.as_primitive::<Float64Type>().values(), budget),
        }
    }

    fn numbers(&self, position: usize) -> Result<ArrayRef> {
        self.cast(self.full(position)?, &DataType::Float64)
    }

    fn wide(&self, positions: &[usize], matrix: &mut MatrixBuilder, budget: &mut MemoryBudget) -> Result<()> {
        let single = positions.iter().all(|&i| *self.batch.column(i).data_type() == DataType::Float32);
        let width = positions.len();
        if single {
            let arrays = positions.iter().map(|&i| self.full(i)).collect::<Result<Vec<_>>>()?;
            let columns: Vec<&[f32]> = arrays.iter().map(|a| &a.as_primitive::<Float32Type>().values()[..]).collect();
            matrix.extend(self.path, self.row, width, &side_by_side(&columns), budget)
        } else {
            let arrays = positions.iter().map(|&i| self.numbers(i)).collect::<Result<Vec<_>>>()?;
            let columns: Vec<&[f64]> = arrays.iter().map(|a| &a.as_primitive::<Float64Type>().values()[..]).collect();
            matrix.extend(self.path, self.row, width, &side_by_side(&columns), budget)
        }
    }

    /// Appends the texts of a column. Nulls become empty texts if `blank` is set.
    fn texts(
        &self,
        position: Option<usize>,
        blank: bool,
        into: &mut Vec<String>,
        budget: &mut MemoryBudget,
    ) -> Result<()> {
        let Some(position) = position else { return Ok(()) };
        let array = if blank { self.batch.column(position) } else { self.full(position)? };
        let place = ColumnPlace { path: self.path, row: self.row, field: &self.fields[position] };
        each_text(place, array, |text| budget.keep(self.path, text, into))
    }
}

/// Location of a column of lists.
struct ListColumn<'a> {
    path: &'a Path,
    row: usize,
    column: &'a str,
}

impl ListColumn<'_> {
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

    /// Returns the values of all rows, and the number of values per row.
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

    /// Returns the range of all values, and the number of values per row.
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
