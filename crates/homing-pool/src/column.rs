//! Reads one column of a file as texts.

use std::path::Path;

use bytes::Bytes;
use serde_json::Value;

use crate::arrow_text::{ColumnPlace, each_text};
use crate::chooser::{LABEL_NAMES, label_column};
use crate::expand::{expand, is_list, is_pattern};
use crate::guard::caught;
use crate::layout::Column;
use crate::mapped::map;
use crate::memory_budget::MemoryBudget;
use crate::records::{FirstLine, Records, filled, number};
use crate::tensor::{Archive, Tensor};
use crate::{Error, Format, Result, arrow, csv, ipc, jsonl, parquet};

/// Reads the column `name` of the file at `path` as texts. The text is empty if a row of a table has no value.
///
/// If no name is given, this reads the column with a usual name of labels ([`LABEL_NAMES`]), or the only column of texts or
/// numbers. A `.npy` file is one column. A `.txt` file is one column with one row per line. The rows of the files that a pattern or
/// a list stands for follow each other.
pub fn read_column(path: &Path, name: Option<&str>) -> Result<Vec<String>> {
    if !is_pattern(path) && !is_list(path) {
        return read_file_column(path, name);
    }
    let columns = expand(path)?.iter().map(|file| read_file_column(file, name)).collect::<Result<Vec<_>>>()?;
    Ok(columns.concat())
}

fn read_file_column(path: &Path, name: Option<&str>) -> Result<Vec<String>> {
    let bytes = map(path)?;
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("txt")) {
        return lines(path, &bytes);
    }
    parse_column(path, Format::of(path)?, &bytes, name)
}

/// Reads `bytes` as the contents of a file, which is a `.txt` file if no format is given.
#[doc(hidden)]
pub fn column_from_bytes(format: Option<Format>, bytes: Vec<u8>, name: Option<&str>) -> Result<Vec<String>> {
    let path = Path::new("bytes");
    match format {
        Some(format) => parse_column(path, format, &Bytes::from(bytes), name),
        None => lines(path, &bytes),
    }
}

fn parse_column(path: &Path, format: Format, bytes: &Bytes, name: Option<&str>) -> Result<Vec<String>> {
    format.check(path, bytes)?;
    (format.reader().column)(path, bytes, name)
}

fn lines(path: &Path, bytes: &[u8]) -> Result<Vec<String>> {
    let text = std::str::from_utf8(bytes).map_err(|_| Error::malformed(path, "text", "it is not UTF-8"))?;
    let (mut texts, mut budget) = (Vec::new(), MemoryBudget::now());
    text.trim_start_matches('\u{feff}')
        .lines()
        .try_for_each(|line| budget.keep(path, filled(line).unwrap_or_default(), &mut texts))?;
    Ok(texts)
}

pub(crate) fn one_dimensional(path: &Path, tensor: &Tensor) -> Result<Vec<String>> {
    label_column(path, &[tensor.header.column("array")], Some("array"))?;
    tensor.texts(path)
}

pub(crate) fn array(path: &Path, archive: &mut dyn Archive, name: Option<&str>) -> Result<Vec<String>> {
    let columns: Vec<Column> = archive.headers().iter().map(|(name, header)| header.column(name)).collect();
    archive.tensor(label_column(path, &columns, name)?)?.texts(path)
}

pub(crate) fn parquet_column(path: &Path, bytes: &Bytes, name: Option<&str>) -> Result<Vec<String>> {
    let (mut texts, mut budget) = (Vec::new(), MemoryBudget::now());
    caught(path, parquet::FORMAT, || {
        let file = parquet::File::open(path, bytes)?;
        let schema = file.schema.clone();
        let position = label_column(path, &arrow::columns(&schema), name)?;
        file.batches(&[position], |row, batch| {
            let place = ColumnPlace { path, row, field: schema.field(position) };
            each_text(place, batch.column(0), |text| budget.keep(path, text, &mut texts))
        })
    })?;
    Ok(texts)
}

pub(crate) fn arrow_column(path: &Path, bytes: &Bytes, name: Option<&str>) -> Result<Vec<String>> {
    let (mut texts, mut budget) = (Vec::new(), MemoryBudget::now());
    let mut position = None;
    ipc::batches(path, bytes, |schema, row, batch| {
        let position = match position {
            Some(position) => position,
            None => *position.insert(label_column(path, &arrow::columns(schema), name)?),
        };
        let Some(batch) = batch else { return Ok(()) };
        let place = ColumnPlace { path, row, field: schema.field(position) };
        each_text(place, batch.column(position), |text| budget.keep(path, text, &mut texts))
    })?;
    Ok(texts)
}

pub(crate) fn text_column(path: &Path, bytes: &[u8], separator: Option<u8>, name: Option<&str>) -> Result<Vec<String>> {
    let mut records = Records::new(path, bytes, separator);
    let Some(first) = records.next()? else { return Ok(Vec::new()) };
    records.row = 0;
    let (mut sample, mut numbers) = (Vec::new(), true);
    while let Some(record) = records.next()? {
        numbers &= number(&record[0]).is_some();
        if sample.len() < csv::SAMPLE {
            sample.push(record);
        }
    }
    let named =
        first.iter().map(str::trim).any(|field| name.map_or(LABEL_NAMES.contains(&field), |name| name == field));
    // A line of one text may also be a label; it is a header if the other lines are numbers.
    let label = first.len() == 1 && (sample.is_empty() || !numbers);
    let headed = named || (!label && FirstLine::of(&first).is_header(path, &first, &sample)?);
    let names = first.iter().enumerate().map(|(i, name)| if headed { name.trim().to_owned() } else { i.to_string() });
    let columns: Vec<Column> = names.enumerate().map(|(i, name)| csv::sampled_column(&name, i, &sample)).collect();
    let position = label_column(path, &columns, name)?;
    let (mut texts, mut budget) = (Vec::new(), MemoryBudget::now());
    let mut records = Records::new(path, bytes, separator);
    if headed {
        records.next()?;
    }
    while let Some(record) = records.next()? {
        budget.keep(path, filled(&record[position]).unwrap_or_default(), &mut texts)?;
    }
    Ok(texts)
}

pub(crate) fn json_column(path: &Path, bytes: &[u8], name: Option<&str>) -> Result<Vec<String>> {
    let (mut texts, mut budget) = (Vec::new(), MemoryBudget::now());
    let mut column = None;
    for (row, value) in jsonl::values(path, bytes).enumerate() {
        let value = value?;
        if let (0, Some(first)) = (row, value.as_object()) {
            let columns: Vec<Column> = first.iter().map(jsonl::field_column).collect();
            column = Some(columns[label_column(path, &columns, name)?].name.clone());
        }
        let value = match (&column, &value) {
            (Some(name), Value::Object(object)) => object.get(name).unwrap_or(&Value::Null),
            (Some(_), _) => return Err(jsonl::not_an_object(path, row)),
            (None, value) => value,
        };
        let bad = || jsonl::no_text(path, row, value);
        let text = if value.is_null() { String::new() } else { jsonl::text(value).ok_or_else(bad)? };
        budget.keep(path, &text, &mut texts)?;
    }
    Ok(texts)
}
