//! Reads Parquet files.

mod headers;

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, LogicalType, Type};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use crate::arrow::ArrowTable;
use crate::arrow_text::{scalar_role, text_bytes, uuid_field};
use crate::format::{Beginning, FormatReader};
use crate::guard::caught;
use crate::layout::Role;
use crate::memory_budget::MemoryBudget;
use crate::row_values::ValueReader;
use crate::{Error, ReadOptions, Result, arrow, column, row_files};

pub(crate) const FORMAT: &str = "Parquet";

/// Maximum number of rows that are decoded at a time.
const BATCH_ROWS: u64 = 1024;
/// Approximate limit on the bytes of a batch.
const BATCH_BYTES: u64 = 64 << 20;

pub(crate) const READER: FormatReader = FormatReader {
    extensions: &["parquet"],
    description: "a Parquet file",
    beginning: Beginning::Magic(&[(b"PAR1", "a Parquet file")]),
    in_place: false,
    pool: |path, store, options| arrow::read(path, &store.bytes()?, options, append),
    column: column::parquet_column,
    rows: row_files::parquet_table,
    values,
    count: |path, store, _| caught(path, FORMAT, || Ok(File::open(path, &store.bytes()?)?.rows())),
    shard: Some(append),
};

/// Adds the rows of a file to `table`, which the first file creates.
fn append(path: &Path, bytes: &Bytes, options: &ReadOptions, table: &mut Option<ArrowTable>) -> Result<()> {
    caught(path, FORMAT, || {
        let file = File::open(path, bytes)?;
        let positions = if let Some(table) = table {
            table.next_file(path, &file.schema, options)?
        } else {
            let (new, positions) = ArrowTable::new(path, &file.schema, options)?;
            table.insert(new).reserve(file.rows(), max_reserved(bytes));
            positions
        };
        let table = table.as_mut().expect("the table was created above");
        file.batches(&positions, |row, batch| table.push(path, row, batch))
    })
}

/// Reads values of some columns and rows.
fn values(path: &Path, bytes: &Bytes, reader: &mut ValueReader) -> Result<()> {
    caught(path, FORMAT, || {
        let file = File::open(path, bytes)?;
        let schema = file.schema.clone();
        let wanted = reader.positions(path, schema.fields().iter().map(|field| field.name().as_str()))?;
        // A batch has its columns in the order of the file.
        let mut positions = wanted.clone();
        positions.sort_unstable();
        let order: Vec<usize> =
            wanted.iter().map(|&position| positions.partition_point(|&other| other < position)).collect();
        let fields: Vec<&Field> = wanted.iter().map(|&position| schema.field(position)).collect();
        file.each_batch(&positions, |row, batch| {
            let batch = batch.project(&order).map_err(|error| Error::malformed(path, FORMAT, &error))?;
            reader.push_batch(path, row, &batch, &fields)
        })
    })
}

/// A Parquet file whose footer has been read.
pub(crate) struct File<'a> {
    path: &'a Path,
    bytes: &'a Bytes,
    reader: ArrowReaderMetadata,
    /// Columns of the file, with the types that its writer recorded.
    pub(crate) schema: SchemaRef,
}

impl<'a> File<'a> {
    pub(crate) fn open(path: &'a Path, bytes: &'a Bytes) -> Result<Self> {
        if !bytes.ends_with(b"PAR1") {
            return Err(Error::malformed(path, FORMAT, "it does not end as one, so it was cut short"));
        }
        headers::check_footer(bytes).map_err(|reason| Error::malformed(path, FORMAT, &reason))?;
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

    /// Calls `take` with each batch of the columns at `positions` and the number of its first row. All texts together must fit
    /// into memory.
    pub(crate) fn batches(
        self,
        positions: &[usize],
        take: impl FnMut(usize, &RecordBatch) -> Result<()>,
    ) -> Result<()> {
        self.check_texts(positions)?;
        self.each_batch(positions, take)
    }

    /// Like `batches`, for a function that does not keep the texts.
    fn each_batch(self, positions: &[usize], mut take: impl FnMut(usize, &RecordBatch) -> Result<()>) -> Result<()> {
        let path = self.path;
        let malformed = |error: &dyn std::error::Error| Error::malformed(path, FORMAT, &error.to_string());
        let mask = ProjectionMask::roots(self.reader.parquet_schema(), positions.iter().copied());
        let needed = decoded(self.bytes, self.reader.metadata(), &mask)
            .map_err(|reason| Error::malformed(path, FORMAT, &reason))?;
        MemoryBudget::now().check(path, needed)?;
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
    /// Refuses texts that would take more memory than there is, before the first is copied: a dictionary of one long text can
    /// serve any number of rows.
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
        let (budget, mut total) = (MemoryBudget::now(), 0u64);
        for batch in batches {
            let batch = batch.map_err(|error| malformed(&error))?;
            total = batch.columns().iter().map(text_bytes).fold(total, u64::saturating_add);
            budget.check(self.path, total)?;
        }
        Ok(())
    }
}

/// Returns the schema with the columns marked that Parquet declares as UUIDs.
fn with_uuids(reader: &ArrowReaderMetadata) -> SchemaRef {
    let stored = reader.parquet_schema().root_schema().get_fields();
    let field = |(field, stored): (&Arc<Field>, &Arc<parquet::schema::types::Type>)| {
        let uuid = matches!(stored.get_basic_info().logical_type_ref(), Some(LogicalType::Uuid));
        if uuid { Arc::new(uuid_field(field)) } else { field.clone() }
    };
    let fields: Vec<Arc<Field>> = reader.schema().fields().iter().zip(stored).map(field).collect();
    Arc::new(Schema::new(fields))
}

/// Makes the reader return texts as views of their pages, to avoid copying a text for each of the rows that share it.
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

/// Returns the number of bytes that the chosen columns decode to, according to the headers of their pages.
///
/// The headers are checked here, because the totals that the file states cannot be trusted: a page of a few bytes can represent
/// millions of equal values.
fn decoded(bytes: &Bytes, metadata: &ParquetMetaData, mask: &ProjectionMask) -> std::result::Result<u64, String> {
    let mut total = 0u64;
    for group in metadata.row_groups() {
        for (_, column) in group.columns().iter().enumerate().filter(|&(leaf, _)| mask.leaf_included(leaf)) {
            let width = match column.column_type() {
                Type::BOOLEAN => 1,
                Type::INT32 | Type::FLOAT => 4,
                Type::INT64 | Type::DOUBLE => 8,
                Type::INT96 | Type::BYTE_ARRAY => 16,
                Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(column.column_descr().type_length()).unwrap_or(0),
            };
            let (start, length) = column.byte_range();
            let chunk = start as usize..start.saturating_add(length) as usize;
            let mut pages = bytes.get(chunk).ok_or("a column lies beyond the end of the file")?;
            while !pages.is_empty() {
                let page = headers::page(pages)?;
                let next = page.compressed.saturating_add(page.header as u64) as usize;
                pages = pages.get(next..).ok_or("a page is longer than its column")?;
                total = total.saturating_add(page.values.saturating_mul(width));
            }
        }
    }
    Ok(total)
}

/// Returns how many bytes to reserve at most. Embeddings hardly compress, so a file that claims more is wrong or unusual.
fn max_reserved(bytes: &Bytes) -> usize {
    bytes.len().saturating_mul(8)
}
