//! Files that name rows of a pool: picks, indices, ids, or embeddings.

use std::path::Path;

use ::parquet::arrow::ProjectionMask;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Schema};
use bytes::Bytes;
use serde_json::Value;

use crate::csv::Records;
use crate::error::quoted;
use crate::guard::caught;
use crate::mapped::map;
use crate::store::Store;
use crate::tensor::Dtype;
use crate::{Error, Format, Pool, ReadOptions, Result, ipc, jsonl, npy, parquet};

/// Rows of a pool, as a file names them.
#[derive(Debug)]
pub enum RowList {
    /// By row number, counted from 0.
    Indices(Vec<usize>),
    /// By row number, with the id that stood beside it: where the two disagree, the pool was reordered, and the id is right.
    Named {
        /// Row numbers.
        indices: Vec<usize>,
        /// Their ids.
        ids: Vec<String>,
    },
    /// By id; [`Pool::index_of_ids`] finds them.
    Ids(Vec<String>),
    /// By embeddings of their own, which need not be in the pool.
    Embeddings(Pool),
}

impl RowList {
    /// Reads the file at `path`: picks in any format that [`crate::write_picks`] writes, a table with a column
    /// `index` or `id`, one index or id a line (`.txt`, `.csv`, `.jsonl`), a `.npy` of integers, or whatever
    /// [`Pool::open`] reads.
    pub fn open(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Pool::open(path, &ReadOptions::default()).map(RowList::Embeddings);
        }
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("txt")) {
            return lines(path, &map(path)?);
        }
        let format = match Format::of(path) {
            Err(_) if !path.exists() => return Err(Error::NotFound { path: path.to_owned() }),
            format => format?,
        };
        Self::parse(path, format, &map(path)?)
    }

    /// The rows of a pool that are named; none where embeddings are. A pool that is no file has row numbers alone.
    pub fn rows_of(self, pool: Option<&Pool>) -> Result<Option<Vec<usize>>> {
        match (self, pool) {
            (RowList::Indices(rows), _) => Ok(Some(rows)),
            // The pool may have been shuffled or filtered since; ids tell.
            (RowList::Named { indices, ids }, Some(pool)) => match pool.ids() {
                Some(known) if !indices.iter().zip(&ids).all(|(&row, id)| known.get(row) == Some(id)) => {
                    pool.index_of_ids(&ids).map(Some)
                }
                _ => Ok(Some(indices)),
            },
            (RowList::Named { indices, .. }, None) => Ok(Some(indices)),
            (RowList::Ids(ids), Some(pool)) => pool.index_of_ids(&ids).map(Some),
            (RowList::Ids(_), None) => Err(Error::NoIds { path: "the pool".into() }),
            (RowList::Embeddings(_), _) => Ok(None),
        }
    }

    /// Reads `bytes` as if they were a file's.
    #[doc(hidden)]
    pub fn from_bytes(format: Format, bytes: Vec<u8>) -> Result<Self> {
        Self::parse(Path::new("bytes"), format, &Bytes::from(bytes))
    }

    fn parse(path: &Path, format: Format, bytes: &Bytes) -> Result<Self> {
        format.check(path, bytes)?;
        let rows = match format {
            Format::Npy => array(path, bytes)?,
            Format::Parquet => parquet_table(path, bytes)?,
            Format::Arrow => arrow_table(path, bytes)?,
            Format::Csv => text_table(path, bytes, b',')?,
            Format::Tsv => text_table(path, bytes, b'\t')?,
            Format::Jsonl => json_lines(path, bytes)?,
            Format::Npz | Format::Safetensors => None,
        };
        let embeddings = || {
            Pool::parse(path, format, &Store::Memory(bytes.clone()), &ReadOptions::default()).map(RowList::Embeddings)
        };
        rows.map_or_else(embeddings, Ok)
    }
}

fn array(path: &Path, bytes: &Bytes) -> Result<Option<RowList>> {
    let tensor = npy::tensor(path, &Store::Memory(bytes.clone()))?;
    match (&tensor.header.dtype, tensor.header.shape.len()) {
        (Dtype::Integer { .. }, 1) => {
            let indices = tensor.integers()?.into_iter().enumerate();
            let indices = indices
                .map(|(row, value)| usize::try_from(value).map_err(|_| not_an_index(path, row, &value.to_string())));
            Ok(Some(RowList::Indices(indices.collect::<Result<_>>()?)))
        }
        (Dtype::Unicode(_) | Dtype::Ascii(_), 1) => Ok(Some(RowList::Ids(tensor.texts()?))),
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

/// One index or id a line.
fn lines(path: &Path, bytes: &[u8]) -> Result<RowList> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Error::NotRows { path: path.to_owned(), found: "it is not UTF-8 text".to_owned() })?;
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(indices_or_ids(lines.map(str::to_owned).collect()))
}

fn indices_or_ids(texts: Vec<String>) -> RowList {
    match texts.iter().map(|text| text.parse()).collect() {
        Ok(indices) => RowList::Indices(indices),
        Err(_) => RowList::Ids(texts),
    }
}

fn indices(path: &Path, texts: &[String]) -> Result<RowList> {
    let index = |(row, text): (usize, &String)| text.parse().map_err(|_| not_an_index(path, row, text));
    texts.iter().enumerate().map(index).collect::<Result<_>>().map(RowList::Indices)
}

fn text_table(path: &Path, bytes: &[u8], delimiter: u8) -> Result<Option<RowList>> {
    let mut records = Records::new(path, bytes, delimiter);
    let Some(first) = records.next()? else { return Ok(Some(RowList::Indices(Vec::new()))) };
    let position = |name: &str| first.iter().position(|field| field == name);
    let (index, id) = (position("index"), position("id"));
    let Some(column) = index.or(id).or((first.len() == 1).then_some(0)) else { return Ok(None) };
    let headed = index.or(id).is_some();
    let mut texts = if headed { Vec::new() } else { vec![first[0].to_owned()] };
    let mut ids = Vec::new();
    records.row = texts.len();
    while let Some(record) = records.next()? {
        texts.push(record[column].to_owned());
        ids.extend(id.map(|id| record[id].to_owned()));
    }
    if !headed {
        return Ok(Some(indices_or_ids(texts)));
    }
    if index.is_none() {
        return Ok(Some(RowList::Ids(texts)));
    }
    indices(path, &texts).map(|rows| Some(with_ids(rows, ids)))
}

/// Row numbers together with the ids beside them, if every row has one.
fn with_ids(rows: RowList, ids: Vec<String>) -> RowList {
    match rows {
        RowList::Indices(indices) if !ids.is_empty() && indices.len() == ids.len() => RowList::Named { indices, ids },
        rows => rows,
    }
}

fn json_lines(path: &Path, bytes: &[u8]) -> Result<Option<RowList>> {
    let mut values = jsonl::values(path, bytes).peekable();
    let name = match values.peek() {
        Some(Ok(Value::Object(first))) => match ["index", "id"].into_iter().find(|name| first.contains_key(*name)) {
            Some(name) => Some(name),
            None => return Ok(None),
        },
        Some(Ok(Value::Number(_) | Value::String(_))) => None,
        None => return Ok(Some(RowList::Indices(Vec::new()))),
        Some(_) => return Ok(None),
    };
    let (mut texts, mut ids) = (Vec::new(), Vec::new());
    for (row, value) in values.enumerate() {
        let value = value?;
        ids.extend(value.get("id").and_then(jsonl::text));
        let found = name.map_or(Some(&value), |name| value.get(name)).and_then(jsonl::text);
        let column = || quoted(name.unwrap_or("a number or text"));
        texts.push(found.ok_or_else(|| Error::Null { path: path.to_owned(), row, column: column() })?);
    }
    match name {
        None => Ok(Some(indices_or_ids(texts))),
        Some("id") => Ok(Some(RowList::Ids(texts))),
        Some(_) => indices(path, &texts).map(|rows| Some(with_ids(rows, ids))),
    }
}

/// A column that names rows, and the rows that it has named so far.
struct NamingColumn {
    position: usize,
    rows: RowList,
    read: usize,
}

impl NamingColumn {
    fn find(schema: &Schema) -> Option<Self> {
        let column = |name: &str| schema.fields().iter().position(|field| field.name() == name);
        let selected = column("selected").filter(|&i| *schema.field(i).data_type() == DataType::Boolean);
        let index = column("index").filter(|&i| schema.field(i).data_type().is_integer());
        let (position, rows) = match (selected.or(index), column("id")) {
            (Some(position), _) => (position, RowList::Indices(Vec::new())),
            (None, Some(position)) => (position, RowList::Ids(Vec::new())),
            (None, None) => return None,
        };
        Some(Self { position, rows, read: 0 })
    }

    /// Adds the rows that column `position` of `batch` names.
    fn push(&mut self, path: &Path, position: usize, batch: &RecordBatch) -> Result<()> {
        let array = batch.column(position);
        let null = |row: usize| Error::Null {
            path: path.to_owned(),
            row: self.read + row,
            column: quoted(batch.schema_ref().field(position).name()),
        };
        if let Some(row) = array.logical_nulls().and_then(|nulls| nulls.iter().position(|valid| !valid)) {
            return Err(null(row));
        }
        let cast = |to: &DataType| cast(array, to).map_err(|error| Error::malformed(path, "Arrow", &error));
        match &mut self.rows {
            RowList::Indices(indices) if *array.data_type() == DataType::Boolean => {
                let selected = array.as_boolean().values().set_indices();
                indices.extend(selected.map(|row| self.read + row));
            }
            RowList::Indices(indices) => {
                for (row, &value) in cast(&DataType::Int64)?.as_primitive::<Int64Type>().values().iter().enumerate() {
                    let index = usize::try_from(value);
                    indices.push(index.map_err(|_| not_an_index(path, self.read + row, &value.to_string()))?);
                }
            }
            RowList::Ids(ids) => {
                ids.extend(cast(&DataType::LargeUtf8)?.as_string::<i64>().iter().flatten().map(str::to_owned));
            }
            RowList::Named { .. } | RowList::Embeddings(_) => {}
        }
        self.read += batch.num_rows();
        Ok(())
    }
}

fn parquet_table(path: &Path, bytes: &Bytes) -> Result<Option<RowList>> {
    caught(path, parquet::FORMAT, || {
        let malformed = |error| Error::malformed(path, parquet::FORMAT, &error);
        let reader = parquet::open(path, bytes)?;
        let Some(mut column) = NamingColumn::find(reader.schema()) else { return Ok(None) };
        let mask = ProjectionMask::roots(reader.parquet_schema(), [column.position]);
        for batch in reader.with_projection(mask).build().map_err(malformed)? {
            let batch = batch.map_err(|error| Error::malformed(path, parquet::FORMAT, &error))?;
            column.push(path, 0, &batch)?;
        }
        Ok(Some(column.rows))
    })
}

fn arrow_table(path: &Path, bytes: &Bytes) -> Result<Option<RowList>> {
    let mut found = None;
    ipc::batches(path, bytes, |schema, batch| {
        let column = found.get_or_insert_with(|| NamingColumn::find(schema));
        match (column, batch) {
            (Some(column), Some(batch)) => column.push(path, column.position, batch),
            _ => Ok(()),
        }
    })?;
    Ok(found.flatten().map(|column| column.rows))
}
