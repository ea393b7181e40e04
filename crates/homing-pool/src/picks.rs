//! Picks, written in the format that their file's extension asks for.

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

/// How picks are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickFormat {
    /// `rank,index,id,score,information,variance_left`, a line a pick.
    Csv,
    /// The same, an object a line.
    Jsonl,
    /// A row for each row of the pool: `id`, `selected`, `step` and `gain`.
    Parquet,
    /// The picked rows' indices in the order of their ranks, as int64.
    Npy,
}

impl PickFormat {
    /// The format that the extension of `path` stands for.
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
pub struct Ids<'a> {
    /// The pool's ids; a row without one is called by its index.
    pub of_rows: Option<&'a [String]>,
    /// Whether CSV gets an apostrophe before an id that a spreadsheet would take for a formula.
    pub csv_safe: bool,
}

impl<'a> From<Option<&'a [String]>> for Ids<'a> {
    fn from(of_rows: Option<&'a [String]>) -> Self {
        Self { of_rows, csv_safe: false }
    }
}

impl Ids<'_> {
    fn id(self, index: usize) -> String {
        self.of_rows.and_then(|ids| ids.get(index)).cloned().unwrap_or_else(|| index.to_string())
    }

    fn csv(self, index: usize) -> String {
        let id = self.id(index);
        if self.csv_safe && is_formula(&id) { format!("'{id}") } else { id }
    }
}

/// Whether an id in a file is the id of a row, or that id as [`Ids::csv_safe`] writes it.
pub(crate) fn names(written: &str, id: &str) -> bool {
    written == id || unquoted(written) == Some(id)
}

/// An id without the apostrophe that [`Ids::csv_safe`] puts before it.
pub(crate) fn unquoted(written: &str) -> Option<&str> {
    written.strip_prefix('\'').filter(|id| is_formula(id))
}

/// Whether a spreadsheet that opens a CSV file would compute a cell with this text.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r'])
}

/// Makes sure, before the work, that picks can be written to `path` after it.
pub fn prepare(path: &Path) -> Result<PickFormat> {
    let format = PickFormat::of(path)?;
    check_writable(path)?;
    Ok(format)
}

/// Writes `picks` from a pool of `rows` rows to `path`.
pub fn write_picks<'a>(path: &Path, picks: &[Pick], rows: usize, ids: impl Into<Ids<'a>>) -> Result<()> {
    let (format, ids) = (PickFormat::of(path)?, ids.into());
    let rows = ids.of_rows.map_or(rows, |ids| rows.min(ids.len()));
    if let Some(pick) = picks.iter().find(|pick| pick.index >= rows) {
        return Err(Error::PickBeyondPool { path: path.to_owned(), row: pick.index, rows });
    }
    if format == PickFormat::Parquet {
        let mut picked = HashSet::new();
        if let Some(pick) = picks.iter().find(|pick| !picked.insert(pick.index)) {
            return Err(Error::PickedTwice { path: path.to_owned(), row: pick.index });
        }
    }
    write_beside(path, |file| match format {
        PickFormat::Csv => write_picks_csv(file, picks, ids),
        PickFormat::Jsonl => jsonl(file, picks, ids),
        PickFormat::Parquet => parquet(file, picks, rows, ids),
        PickFormat::Npy => npy(file, picks),
    })
}

/// Writes `picks` as CSV, for standard output or any other place.
pub fn write_picks_csv<'a>(out: impl Write, picks: &[Pick], ids: impl Into<Ids<'a>>) -> io::Result<()> {
    let ids = ids.into();
    let mut out = ::csv::Writer::from_writer(out);
    out.write_record(["rank", "index", "id", "score", "information", "variance_left"])?;
    for pick in picks {
        out.write_record([
            pick.rank.to_string(),
            pick.index.to_string(),
            ids.csv(pick.index),
            pick.score.to_string(),
            pick.information.to_string(),
            pick.variance_left.map(|share| share.to_string()).unwrap_or_default(),
        ])?;
    }
    out.flush()
}

#[derive(serde::Serialize)]
struct Line {
    rank: usize,
    index: usize,
    id: String,
    score: f64,
    information: f64,
    variance_left: Option<f64>,
}

fn jsonl(mut out: impl Write, picks: &[Pick], ids: Ids<'_>) -> io::Result<()> {
    for pick in picks {
        let &Pick { rank, index, score, information, variance_left } = pick;
        let line = Line { rank, index, id: ids.id(index), score, information, variance_left };
        serde_json::to_writer(&mut out, &line)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn npy(out: impl Write, picks: &[Pick]) -> io::Result<()> {
    let shape = [picks.len() as u64];
    let mut out = npyz::WriteOptions::<i64>::new().default_dtype().shape(&shape).writer(out).begin_nd()?;
    out.extend(picks.iter().map(|pick| pick.index as i64))?;
    out.finish()
}

fn parquet(out: impl Write + Send, picks: &[Pick], rows: usize, ids: Ids<'_>) -> io::Result<()> {
    /// Keeps the texts of a batch within the 2 GiB that their offsets reach.
    const BATCH: usize = 64 * 1024;
    let schema = Arc::new(Schema::new(vec![
        Field::new("id", DataType::Utf8, false),
        Field::new("selected", DataType::Boolean, false),
        Field::new("step", DataType::Int32, true),
        Field::new("gain", DataType::Float64, true),
    ]));
    let mut picked: Vec<Option<&Pick>> = vec![None; rows];
    for pick in picks {
        picked[pick.index] = Some(pick);
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
