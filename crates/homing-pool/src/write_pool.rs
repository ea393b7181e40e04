//! Writes pools whose embeddings were computed.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::file::properties::WriterProperties;
use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use npyz::WriterBuilder;

use crate::beside::{check_writable, write_beside};
use crate::{ColumnChoice, Error, Pool, Result};

/// File format of a pool that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolFormat {
    /// All columns, with the ids in the column `id` and the embeddings in the column `embedding`.
    Parquet,
    /// The embeddings only.
    Npy,
}

impl PoolFormat {
    /// Returns the format for the extension of `path`.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("parquet") => Ok(PoolFormat::Parquet),
            Some("npy") => Ok(PoolFormat::Npy),
            _ => Err(Error::UnknownPoolOutput { path: path.to_owned() }),
        }
    }
}

/// Names of the columns that every pool gets.
const OWN: [&str; 2] = ["id", "embedding"];

/// Rows per batch.
const BATCH: usize = 4096;

/// Writes a pool to `path`, so that [`Pool::open`] reads it again.
///
/// ```
/// use homing_pool::{Pool, RawTable, ReadOptions, write_pool};
///
/// let directory = tempfile::tempdir()?;
/// let (from, to) = (directory.path().join("a.csv"), directory.path().join("a.parquet"));
/// std::fs::write(&from, "id,text\nx,one\ny,two\n")?;
/// let pool = RawTable::open(&from, &ReadOptions::default())?.with_embeddings(vec![0.5, 1.0, 1.5, 2.0], 2)?;
/// write_pool(&to, &pool)?;
/// let pool = Pool::open(&to, &ReadOptions::default())?;
/// assert_eq!(pool.embeddings().row(1), [1.5, 2.0]);
/// assert_eq!((pool.ids().unwrap()[1].as_str(), pool.text_column()), ("y", Some("text")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_pool(path: &Path, pool: &Pool) -> Result<()> {
    let format = PoolFormat::of(path)?;
    check_writable(path)?;
    match format {
        PoolFormat::Parquet => {
            let columns = pool.choose_columns(&ColumnChoice::All).unwrap_or_default();
            let columns: Vec<String> = columns.into_iter().filter(|name| !OWN.contains(&name.as_str())).collect();
            let rows: Vec<usize> = (0..pool.rows()).collect();
            let values = pool.values(&columns, &rows)?;
            write_beside(path, |file| parquet(file, pool, &values))
        }
        PoolFormat::Npy => write_beside(path, |file| npy(file, pool)),
    }
}

fn parquet(out: impl Write + Send, pool: &Pool, values: &crate::RowValues) -> io::Result<()> {
    let item = Arc::new(Field::new("item", DataType::Float32, false));
    let width = i32::try_from(pool.dim()).map_err(io::Error::other)?;
    let mut fields: Vec<Field> = pool.ids().map(|_| Field::new(OWN[0], DataType::Utf8, false)).into_iter().collect();
    fields.extend(values.names().iter().enumerate().map(|(column, name)| values.field(column, name)));
    fields.push(Field::new(OWN[1], DataType::FixedSizeList(item.clone(), width), false));
    let schema = Arc::new(Schema::new(fields));
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = ArrowWriter::try_new(out, schema.clone(), Some(properties))?;
    for start in (0..pool.rows()).step_by(BATCH) {
        let range = start..(start + BATCH).min(pool.rows());
        let mut arrays: Vec<ArrayRef> = Vec::new();
        if let Some(ids) = pool.ids() {
            arrays.push(Arc::new(StringArray::from_iter_values(&ids[range.clone()])));
        }
        for column in 0..values.names().len() {
            arrays.push(values.array(column, range.clone()).map_err(io::Error::other)?);
        }
        let numbers = Arc::new(Float32Array::from(numbers(pool, range)));
        arrays
            .push(Arc::new(FixedSizeListArray::try_new(item.clone(), width, numbers, None).map_err(io::Error::other)?));
        writer.write(&RecordBatch::try_new(schema.clone(), arrays).map_err(io::Error::other)?)?;
    }
    writer.close()?;
    Ok(())
}

fn npy(out: impl Write, pool: &Pool) -> io::Result<()> {
    let shape = [pool.rows() as u64, pool.dim() as u64];
    let mut out = npyz::WriteOptions::<f32>::new().default_dtype().shape(&shape).writer(out).begin_nd()?;
    for start in (0..pool.rows()).step_by(BATCH) {
        out.extend(numbers(pool, start..(start + BATCH).min(pool.rows())))?;
    }
    out.finish()
}

fn numbers(pool: &Pool, rows: std::ops::Range<usize>) -> Vec<f32> {
    let dim = pool.dim();
    let mut numbers = vec![0.0; rows.len() * dim];
    pool.embeddings().values().write_f32(rows.start * dim..rows.end * dim, &mut numbers);
    numbers
}
