//! Parquet files.

use std::path::Path;

use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::metadata::RowGroupMetaData;

use crate::arrow::Table;
use crate::guard::caught;
use crate::pool::Contents;
use crate::{Error, ReadOptions, Result};

pub(crate) const FORMAT: &str = "Parquet";

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
        let reader = open(path, bytes)?;
        let schema = reader.schema().clone();
        let positions = if let Some(table) = table {
            table.next_file(path, &schema, options)?
        } else {
            let (new, positions) = Table::new(path, &schema, options)?;
            table.insert(new).reserve(reader.metadata().file_metadata().num_rows().max(0) as usize, room(bytes));
            positions
        };
        let mask = ProjectionMask::roots(reader.parquet_schema(), positions);
        let batches = reader.with_projection(mask).build().map_err(|error| Error::malformed(path, FORMAT, &error))?;
        let table = table.as_mut().expect("made above");
        let mut row = 0;
        for batch in batches {
            let batch = batch.map_err(|error| Error::malformed(path, FORMAT, &error))?;
            table.push(path, row, &batch)?;
            row += batch.num_rows();
        }
        Ok(())
    })
}

/// A reader of the table in `bytes`.
pub(crate) fn open(path: &Path, bytes: &Bytes) -> Result<ParquetRecordBatchReaderBuilder<Bytes>> {
    if !bytes.ends_with(b"PAR1") {
        return Err(Error::malformed(path, FORMAT, "it does not end as one, so it was cut short"));
    }
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes.clone())
        .map_err(|error| Error::malformed(path, FORMAT, &error))?;
    let mut columns = reader.metadata().row_groups().iter().flat_map(RowGroupMetaData::columns);
    match columns.find(|column| matches!(column.compression(), Compression::BROTLI(_) | Compression::LZO)) {
        Some(column) => {
            let codec = format!("{:?}", column.compression_codec());
            Err(Error::Compression { path: path.to_owned(), codec })
        }
        None => Ok(reader),
    }
}

/// Bytes that are worth reserving: embeddings hardly compress, so a file that claims more is wrong or unusual.
fn room(bytes: &Bytes) -> usize {
    bytes.len().saturating_mul(8)
}
