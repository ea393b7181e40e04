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
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::beside::{check_writable, write_beside};
use crate::{Error, Result, RowValues};

/// File format of picks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickFormat {
    /// One line per pick: `rank,index,id,score,information,variance_left`, then copied columns.
    Csv,
    /// One object per line, with the same fields as the CSV.
    Jsonl,
    /// One row per row of the pool: `id`, `selected`, `step`, `gain`, and copied columns, which are null in rows that were not
    /// picked.
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

/// Columns of the picks beyond the numbers of the selection: the ids, and values that are copied from the pool.
#[derive(Debug, Clone, Copy, Default)]
pub struct PickColumns<'a> {
    /// Ids of the pool; without them, the id of a row is its index.
    pub ids: Option<&'a [String]>,
    /// Values of the picked rows, which follow the other columns. A name that the picks have already gets the suffix `_pool`.
    pub values: Option<&'a RowValues>,
    /// Whether CSV has an apostrophe before each id or text that a spreadsheet would interpret as a formula.
    pub csv_safe: bool,
}

impl<'a> From<Option<&'a [String]>> for PickColumns<'a> {
    fn from(ids: Option<&'a [String]>) -> Self {
        Self { ids, ..Self::default() }
    }
}

impl PickColumns<'_> {
    fn id(self, index: usize) -> String {
        self.ids.and_then(|ids| ids.get(index)).cloned().unwrap_or_else(|| index.to_string())
    }

    fn csv(self, text: String) -> String {
        if self.csv_safe && is_formula(&text) { format!("'{text}") } else { text }
    }

    /// Returns the names under which the copied columns are written next to the columns called `own`.
    fn names(self, own: &[&str]) -> Vec<String> {
        let copied = self.values.map_or(&[][..], RowValues::names);
        let mut names: Vec<String> = Vec::with_capacity(copied.len());
        for name in copied {
            let mut name = name.clone();
            while own.contains(&name.as_str()) || names.contains(&name) {
                name.push_str(SUFFIX);
            }
            names.push(name);
        }
        names
    }
}

/// Suffix of a copied column whose name the picks have already.
const SUFFIX: &str = "_pool";

/// Columns of picks in CSV and JSONL.
const OWN: [&str; 6] = ["rank", "index", "id", "score", "information", "variance_left"];

/// Columns of picks in Parquet.
const OWN_PARQUET: [&str; 4] = ["id", "selected", "step", "gain"];

/// Whether an id in a file equals the id of a row, possibly with the apostrophe that [`PickColumns::csv_safe`] adds.
pub(crate) fn names(written: &str, id: &str) -> bool {
    written == id || unquoted(written) == Some(id)
}

/// Removes the apostrophe that [`PickColumns::csv_safe`] puts before an id.
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
pub fn write_picks<'a>(path: &Path, picks: &[Pick], rows: usize, columns: impl Into<PickColumns<'a>>) -> Result<()> {
    let (format, columns) = (PickFormat::of(path)?, columns.into());
    let rows = columns.ids.map_or(rows, |ids| rows.min(ids.len()));
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
        PickFormat::Csv => write_picks_csv(file, picks, columns),
        PickFormat::Jsonl => jsonl(file, picks, columns),
        PickFormat::Parquet => parquet(file, picks, rows, columns),
        PickFormat::Npy => npy(file, picks),
    })
}

/// Writes `picks` as CSV to any writer, such as standard output.
pub fn write_picks_csv<'a>(out: impl Write, picks: &[Pick], columns: impl Into<PickColumns<'a>>) -> io::Result<()> {
    let columns = columns.into();
    let mut out = ::csv::Writer::from_writer(out);
    let copied = columns.names(&OWN);
    out.write_record(OWN.into_iter().chain(copied.iter().map(String::as_str)))?;
    for pick in picks {
        let own = [
            pick.rank.to_string(),
            pick.row.to_string(),
            columns.csv(columns.id(pick.row)),
            pick.score.to_string(),
            pick.information.to_string(),
            pick.variance_left.map(|share| share.to_string()).unwrap_or_default(),
        ];
        let text = |column| columns.values.and_then(|values| values.text(column, pick.row)).unwrap_or_default();
        out.write_record(own.into_iter().chain((0..copied.len()).map(|column| columns.csv(text(column)))))?;
    }
    out.flush()
}

/// One line of picks in JSONL.
struct PickRecord<'a> {
    pick: &'a Pick,
    columns: PickColumns<'a>,
    copied: &'a [String],
}

impl Serialize for PickRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let &Pick { rank, row, score, information, variance_left } = self.pick;
        let mut line = serializer.serialize_map(None)?;
        line.serialize_entry("rank", &rank)?;
        line.serialize_entry("index", &row)?;
        line.serialize_entry("id", &self.columns.id(row))?;
        line.serialize_entry("score", &score)?;
        line.serialize_entry("information", &information)?;
        line.serialize_entry("variance_left", &variance_left)?;
        for (column, name) in self.copied.iter().enumerate() {
            if let Some(value) = self.columns.values.and_then(|values| values.raw_json(column, row)) {
                line.serialize_entry(name, &value)?;
            }
        }
        line.end()
    }
}

fn jsonl(mut out: impl Write, picks: &[Pick], columns: PickColumns<'_>) -> io::Result<()> {
    let copied = columns.names(&OWN);
    for pick in picks {
        serde_json::to_writer(&mut out, &PickRecord { pick, columns, copied: &copied })?;
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

fn parquet(out: impl Write + Send, picks: &[Pick], rows: usize, columns: PickColumns<'_>) -> io::Result<()> {
    /// Rows per batch, to keep the texts of a batch within the 2 GiB that their offsets can address.
    const BATCH: usize = 64 * 1024;
    let types = [DataType::Utf8, DataType::Boolean, DataType::Int32, DataType::Float64];
    let own = OWN_PARQUET.into_iter().zip(types);
    let mut fields: Vec<Field> =
        own.map(|(name, kind)| Field::new(name, kind, matches!(name, "step" | "gain"))).collect();
    for (column, name) in columns.names(&OWN_PARQUET).iter().enumerate() {
        fields.extend(columns.values.map(|values| values.field(column, name)));
    }
    let schema = Arc::new(Schema::new(fields));
    let mut picked: Vec<Option<&Pick>> = vec![None; rows];
    for pick in picks {
        picked[pick.row] = Some(pick);
    }
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = ArrowWriter::try_new(out, schema.clone(), Some(properties))?;
    for (batch, picked) in picked.chunks(BATCH).enumerate() {
        let range = batch * BATCH..batch * BATCH + picked.len();
        let mut arrays: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(range.clone().map(|row| columns.id(row)))),
            Arc::new(picked.iter().map(|pick| Some(pick.is_some())).collect::<BooleanArray>()),
            Arc::new(picked.iter().map(|pick| pick.map(|pick| pick.rank as i32)).collect::<Int32Array>()),
            Arc::new(picked.iter().map(|pick| pick.map(|pick| pick.score)).collect::<Float64Array>()),
        ];
        if let Some(values) = columns.values {
            for column in 0..values.names().len() {
                arrays.push(values.array(column, range.clone()).map_err(io::Error::other)?);
            }
        }
        writer.write(&RecordBatch::try_new(schema.clone(), arrays).map_err(io::Error::other)?)?;
    }
    writer.close()?;
    Ok(())
}
