//! Parquet files.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, LogicalType, Type};
use parquet::column::page::PageReader;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use crate::arrow::Table;
use crate::guard::caught;
use crate::layout::Role;
use crate::pool::Contents;
use crate::room::Room;
use crate::words::{scalar_role, text_bytes, uuid_field};
use crate::{Error, ReadOptions, Result};

pub(crate) const FORMAT: &str = "Parquet";

/// Rows that are decoded at a time, fewer where so many take more than the bytes.
const BATCH_ROWS: u64 = 1024;
const BATCH_BYTES: u64 = 64 << 20;

pub(crate) fn read(path: &Path, bytes: &Bytes, options: &ReadOptions) -> Result<Contents> {
    let mut table = None;
    append(path, bytes, options, &mut table)?;
    finish(path, table)
}

pub(crate) fn finish(path: &Path, table: Option<Table>) -> Result<Contents> {
    table.ok_or_else(|| Error::NoRows { path: path.to_owned() })?.finish(path)
}

/// Adds the rows of a file to `table`, which its first file makes.
pub(crate) fn append(path: &Path, bytes: &Bytes, options: &ReadOptions, table: &mut Option<Table>) -> Result<()> {
    caught(path, FORMAT, || {
        let file = File::open(path, bytes)?;
        let positions = if let Some(table) = table {
            table.next_file(path, &file.schema, options)?
        } else {
            let (new, positions) = Table::new(path, &file.schema, options)?;
            table.insert(new).reserve(file.rows(), room(bytes));
            positions
        };
        let table = table.as_mut().expect("made above");
        file.batches(&positions, |row, batch| table.push(path, row, batch))
    })
}

/// A Parquet file whose batches can be had.
pub(crate) struct File<'a> {
    path: &'a Path,
    bytes: &'a Bytes,
    reader: ArrowReaderMetadata,
    /// Its columns, as its writer meant them.
    pub(crate) schema: SchemaRef,
}

impl<'a> File<'a> {
    pub(crate) fn open(path: &'a Path, bytes: &'a Bytes) -> Result<Self> {
        if !bytes.ends_with(b"PAR1") {
            return Err(Error::malformed(path, FORMAT, "it does not end as one, so it was cut short"));
        }
        let reader = ArrowReaderMetadata::load(bytes, ArrowReaderOptions::new())
            .map_err(|error| Error::malformed(path, FORMAT, &error))?;
        let mut columns = reader.metadata().row_groups().iter().flat_map(RowGroupMetaData::columns);
        if let Some(column) =
            columns.find(|column| matches!(column.compression(), Compression::BROTLI(_) | Compression::LZO))
        {
            let codec = format!("{:?}", column.compression_codec());
            return Err(Error::Compression { path: path.to_owned(), codec });
        }
        let schema = with_uuids(&reader);
        Ok(Self { path, bytes, reader: with_views(reader), schema })
    }

    fn rows(&self) -> usize {
        self.reader.metadata().file_metadata().num_rows().max(0) as usize
    }

    /// Hands batches of the columns at `positions` to `take`, each with the number of its first row.
    pub(crate) fn batches(
        self,
        positions: &[usize],
        mut take: impl FnMut(usize, &RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let path = self.path;
        let malformed = |error: &dyn std::error::Error| Error::malformed(path, FORMAT, &error.to_string());
        let metadata = self.reader.metadata().clone();
        let mask = ProjectionMask::roots(self.reader.parquet_schema(), positions.iter().copied());
        let needed = decoded(self.bytes, &metadata, &mask).map_err(|error| malformed(&error))?;
        Room::now().check(path, needed)?;
        self.check_texts(positions)?;
        let batch = BATCH_BYTES.saturating_mul(self.rows().max(1) as u64) / needed.max(1);
        let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), self.reader)
            .with_projection(mask)
            .with_batch_size(batch.clamp(1, BATCH_ROWS) as usize)
            .build()
            .map_err(|error| malformed(&error))?;
        let mut row = 0;
        for batch in batches {
            let batch = batch.map_err(|error| malformed(&error))?;
            take(row, &batch)?;
            row += batch.num_rows();
        }
        Ok(())
    }
}

impl File<'_> {
    /// Refuses texts that take more memory than there is, before the first is copied: a dictionary of one long text can
    /// stand for any number of rows.
    fn check_texts(&self, positions: &[usize]) -> Result<()> {
        let malformed = |error: &dyn std::error::Error| Error::malformed(self.path, FORMAT, &error.to_string());
        let is_text = |&position: &usize| {
            matches!(scalar_role(self.schema.field(position).data_type()), Some(Role::Text | Role::Readable))
        };
        let texts: Vec<usize> = positions.iter().copied().filter(is_text).collect();
        if texts.is_empty() {
            return Ok(());
        }
        let mask = ProjectionMask::roots(self.reader.parquet_schema(), texts);
        let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), self.reader.clone())
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS as usize)
            .build()
            .map_err(|error| malformed(&error))?;
        let (room, mut total) = (Room::now(), 0u64);
        for batch in batches {
            let batch = batch.map_err(|error| malformed(&error))?;
            total = batch.columns().iter().map(text_bytes).fold(total, u64::saturating_add);
            room.check(self.path, total)?;
        }
        Ok(())
    }
}

/// The schema, in which columns that Parquet knows as UUIDs are known as such.
fn with_uuids(reader: &ArrowReaderMetadata) -> SchemaRef {
    let stored = reader.parquet_schema().root_schema().get_fields();
    let field = |(field, stored): (&Arc<Field>, &Arc<parquet::schema::types::Type>)| {
        let uuid = matches!(stored.get_basic_info().logical_type_ref(), Some(LogicalType::Uuid));
        if uuid { Arc::new(uuid_field(field)) } else { field.clone() }
    };
    let fields: Vec<Arc<Field>> = reader.schema().fields().iter().zip(stored).map(field).collect();
    Arc::new(Schema::new(fields))
}

/// The same reader, but texts come as views of their pages: one that stands there once for many rows is not copied for each.
fn with_views(reader: ArrowReaderMetadata) -> ArrowReaderMetadata {
    let field = |field: &Arc<Field>| match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => Arc::new((**field).clone().with_data_type(DataType::Utf8View)),
        DataType::Binary | DataType::LargeBinary => Arc::new((**field).clone().with_data_type(DataType::BinaryView)),
        _ => field.clone(),
    };
    let fields: Vec<Arc<Field>> = reader.schema().fields().iter().map(field).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, reader.schema().metadata().clone()));
    let options = ArrowReaderOptions::new().with_schema(schema);
    ArrowReaderMetadata::try_new(reader.metadata().clone(), options).unwrap_or(reader)
}

/// Bytes that the chosen columns decode to, by the headers of their pages: the file's own count may be anything.
/// A page of a few bytes can stand for millions of equal values.
fn decoded(bytes: &Bytes, metadata: &ParquetMetaData, mask: &ProjectionMask) -> ParquetResult<u64> {
    let file = Arc::new(bytes.clone());
    let mut total = 0u64;
    for group in metadata.row_groups() {
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        for (_, column) in group.columns().iter().enumerate().filter(|&(leaf, _)| mask.leaf_included(leaf)) {
            let width = match column.column_type() {
                Type::BOOLEAN => 1,
                Type::INT32 | Type::FLOAT => 4,
                Type::INT64 | Type::DOUBLE => 8,
                Type::INT96 | Type::BYTE_ARRAY => 16,
                Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(column.column_descr().type_length()).unwrap_or(0),
            };
            let mut pages = SerializedPageReader::new(file.clone(), column, rows, None)?;
            while let Some(page) = pages.peek_next_page()? {
                let values = page.num_levels.unwrap_or(0) as u64;
                total = total.saturating_add(values.saturating_mul(width));
                pages.skip_next_page()?;
            }
        }
    }
    Ok(total)
}

/// Bytes that are worth reserving: embeddings hardly compress, so a file that claims more is wrong or unusual.
fn room(bytes: &Bytes) -> usize {
    bytes.len().saturating_mul(8)
}
