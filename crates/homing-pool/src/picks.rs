//! Picks, written in the format that their file's extension asks for.

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

/// Makes sure, before the work, that picks can be written to `path` after it.
pub fn prepare(path: &Path) -> Result<PickFormat> {
    let format = PickFormat::of(path)?;
    check_writable(path)?;
    Ok(format)
}

/// Writes `picks` from a pool of `rows` rows to `path`. Without `ids`, a row's index is its id.
pub fn write_picks(path: &Path, picks: &[Pick], rows: usize, ids: Option<&[String]>) -> Result<()> {
    let format = PickFormat::of(path)?;
    let rows = ids.map_or(rows, |ids| rows.min(ids.len()));
    if let Some(pick) = picks.iter().find(|pick| pick.index >= rows) {
        return Err(Error::PickBeyondPool { path: path.to_owned(), row: pick.index, rows });
    }
    write_beside(path, |file| match format {
        PickFormat::Csv => write_picks_csv(file, picks, ids),
        PickFormat::Jsonl => jsonl(file, picks, ids),
        PickFormat::Parquet => parquet(file, picks, rows, ids),
        PickFormat::Npy => npy(file, picks),
    })
}

/// Writes `picks` as CSV, for standard output or any other place. Without `ids`, a row's index is its id.
pub fn write_picks_csv(out: impl Write, picks: &[Pick], ids: Option<&[String]>) -> io::Result<()> {
    let mut out = ::csv::Writer::from_writer(out);
    out.write_record(["rank", "index", "id", "score", "information", "variance_left"])?;
    for pick in picks {
        out.write_record([
            pick.rank.to_string(),
            pick.index.to_string(),
            id(pick.index, ids),
            pick.score.to_string(),
            pick.information.to_string(),
            pick.variance_left.map(|share| share.to_string()).unwrap_or_default(),
        ])?;
    }
    out.flush()
}

fn id(index: usize, ids: Option<&[String]>) -> String {
    ids.and_then(|ids| ids.get(index)).cloned().unwrap_or_else(|| index.to_string())
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

fn jsonl(mut out: impl Write, picks: &[Pick], ids: Option<&[String]>) -> io::Result<()> {
    for pick in picks {
        let &Pick { rank, index, score, information, variance_left } = pick;
        let line = Line { rank, index, id: id(index, ids), score, information, variance_left };
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

fn parquet(out: impl Write + Send, picks: &[Pick], rows: usize, ids: Option<&[String]>) -> io::Result<()> {
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
            Arc::new(StringArray::from_iter_values((first..first + picked.len()).map(|row| id(row, ids)))),
            Arc::new(picked.iter().map(|pick| Some(pick.is_some())).collect::<BooleanArray>()),
            Arc::new(picked.iter().map(|pick| pick.map(|pick| pick.rank as i32)).collect::<Int32Array>()),
            Arc::new(picked.iter().map(|pick| pick.map(|pick| pick.score)).collect::<Float64Array>()),
        ];
        writer.write(&RecordBatch::try_new(schema.clone(), columns).map_err(io::Error::other)?)?;
    }
    writer.close()?;
    Ok(())
}
