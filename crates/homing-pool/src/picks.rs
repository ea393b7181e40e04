//! Writes picks in the format that the file extension determines.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::file::properties::WriterProperties;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use homing::Pick;
use npyz::WriterBuilder;

use crate::beside::{check_writable, write_beside};
use crate::{Error, Result};

/// File format of picks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickFormat {
    /// One line per pick: `rank,index,id,score,information,variance_left`.
    Csv,
    /// One object per line, with the same fields as the CSV.
    Jsonl,
    /// One row per row of the pool: `id`, `selected`, `step` and `gain`.
    Parquet,
    /// Indices of the picked rows in the order of their ranks, as int64.
    Npy,
}

impl PickFormat {
    /// Returns the format for the extension of `path`.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("csv") => Ok(PickFormat::Csv),
            Some("jsonl" | "ndjson") => Ok(PickFormat::Jsonl),
            Some("parquet") => Ok(PickFormat::Parquet),
            Some("npy") => Ok(PickFormat::Npy),
            _ => Err(Error::UnknownOutput { path: path.to_owned() }),
        }
    }
}

/// How the ids of picks are written.
#[derive(Debug, Clone, Copy, Default)]
pub struct PickIds<'a> {
    /// Ids of the pool; without them, the id of a row is its index.
    pub of_rows: Option<&'a [String]>,
    /// Whether CSV has an apostrophe before each id that a spreadsheet would interpret as a formula.
    pub csv_safe: bool,
}

impl<'a> From<Option<&'a [String]>> for PickIds<'a> {
    fn from(of_rows: Option<&'a [String]>) -> Self {
        Self { of_rows, csv_safe: false }
    }
}

impl PickIds<'_> {
    fn id(self, index: usize) -> String {
        self.of_rows.and_then(|ids| ids.get(index)).cloned().unwrap_or_else(|| index.to_string())
    }

    fn csv(self, index: usize) -> String {
        let id = self.id(index);
        if self.csv_safe && is_formula(&id) { format!("'{id}") } else { id }
    }
}

/// Whether an id in a file equals the id of a row, possibly with the apostrophe that [`PickIds::csv_safe`] adds.
pub(crate) fn names(written: &str, id: &str) -> bool {
    written == id || unquoted(written) == Some(id)
}

/// Removes the apostrophe that [`PickIds::csv_safe`] puts before an id.
pub(crate) fn unquoted(written: &str) -> Option<&str> {
    written.strip_prefix('\'').filter(|id| is_formula(id))
}

/// Whether a spreadsheet that opens a CSV file would evaluate a cell with this text.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r'])
}

/// Checks before a selection that its picks can be written to `path`.
pub fn check_picks_writable(path: &Path) -> Result<PickFormat> {
    let format = PickFormat::of(path)?;
    check_writable(path)?;
    Ok(format)
}

/// Writes `picks` from a pool of `rows` rows to `path`.
///
/// ```
/// use homing::Pick;
/// use homing_pool::{RowList, write_picks};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("picks.csv");
/// let picks = [Pick { rank: 1, row: 7, score: 0.5, information: 0.5, variance_left: None }];
/// write_picks(&path, &picks, 10, None)?;
/// assert_eq!(RowList::open(&path)?.rows_of(None)?, Some(vec![7]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_picks<'a>(path: &Path, picks: &[Pick], rows: usize, ids: impl Into<PickIds<'a>>) -> Result<()> {
    let (format, ids) = (PickFormat::of(path)?, ids.into());
    let rows = ids.of_rows.map_or(rows, |ids| rows.min(ids.len()));
    if let Some(pick) = picks.iter().find(|pick| pick.row >= rows) {
        return Err(Error::PickBeyondPool { path: path.to_owned(), row: pick.row, rows });
    }
    if format == PickFormat::Parquet {
        let mut picked = HashSet::new();
        if let Some(pick) = picks.iter().find(|pick| !picked.insert(pick.row)) {
            return Err(Error::PickedTwice { path: path.to_owned(), row: pick.row });
        }
    }
    write_beside(path, |file| match format {
        PickFormat::Csv => write_picks_csv(file, picks, ids),
        PickFormat::Jsonl => jsonl(file, picks, ids),
        PickFormat::Parquet => parquet(file, picks, rows, ids),
        PickFormat::Npy => npy(file, picks),
    })
}

/// Writes `picks` as CSV to any writer, such as standard output.
pub fn write_picks_csv<'a>(out: impl Write, picks: &[Pick], ids: impl Into<PickIds<'a>>) -> io::Result<()> {
    let ids = ids.into();
    let mut out = ::csv::Writer::from_writer(out);
    out.write_record(["rank", "index", "id", "score", "information", "variance_left"])?;
    for pick in picks {
        out.write_record([
            pick.rank.to_string(),
            pick.row.to_string(),
            ids.csv(pick.row),
            pick.score.to_string(),
            pick.information.to_string(),
            pick.variance_left.map(|share| share.to_string()).unwrap_or_default(),
        ])?;
    }
    out.flush()
}

#[derive(serde::Serialize)]
struct PickRecord {
    rank: usize,
    index: usize,
    id: String,
    score: f64,
    information: f64,
    variance_left: Option<f64>,
}

fn jsonl(mut out: impl Write, picks: &[Pick], ids: PickIds<'_>) -> io::Result<()> {
    for pick in picks {
        let &Pick { rank, row: index, score, information, variance_left } = pick;
        let line = PickRecord { rank, index, id: ids.id(index), score, information, variance_left };
        serde_json::to_writer(&mut out, &line)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn npy(out: impl Write, picks: &[Pick]) -> io::Result<()> {
    let shape = [picks.len() as u64];
    let mut out = npyz::WriteOptions::<i64>::new().default_dtype().shape(&shape).writer(out).begin_nd()?;
    out.extend(picks.iter().map(|pick| pick.row as i64))?;
    out.finish()
}

fn parquet(out: impl Write + Send, picks: &[Pick], rows: usize, ids: PickIds<'_>) -> io::Result<()> {
    /// Rows per batch, to keep the texts of a batch within the 2 GiB that their offsets can address.
    const BATCH: usize = 64 * 1024;
    let schema = Arc::new(Schema::new(vec![
        Field::new("id", DataType::Utf8, false),
        Field::new("selected", DataType::Boolean, false),
        Field::new("step", DataType::Int32, true),
        Field::new("gain", DataType::Float64, true),
    ]));
    let mut picked: Vec<Option<&Pick>> = vec![None; rows];
    for pick in picks {
        picked[pick.row] = Some(pick);
    }
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = ArrowWriter::try_new(out, schema.clone(), Some(properties))?;
    for (batch, picked) in picked.chunks(BATCH).enumerate() {
        let first = batch * BATCH;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values((first..first + picked.len()).map(|row| ids.id(row)))),
            Arc::new(picked.iter().map(|pick| Some(pick.is_some())).collect::<BooleanArray>()),
            Arc::new(picked.iter().map(|pick| pick.map(|pick| pick.rank as i32)).collect::<Int32Array>()),
            Arc::new(picked.iter().map(|pick| pick.map(|pick| pick.score)).collect::<Float64Array>()),
        ];
        writer.write(&RecordBatch::try_new(schema.clone(), columns).map_err(io::Error::other)?)?;
    }
    writer.close()?;
    Ok(())
}
