//! One column of a file, as texts.

use std::path::Path;

use bytes::Bytes;
use serde_json::Value;

use crate::guard::caught;
use crate::layout::{Column, LABEL_NAMES, label_column};
use crate::mapped::map;
use crate::records::{FirstLine, Records, filled, number};
use crate::room::Room;
use crate::store::Store;
use crate::tensor::{Archive, Tensor};
use crate::words::{Place, each_text};
use crate::{Error, Format, Result, arrow, csv, ipc, jsonl, npy, npz, parquet, safetensors};

/// The column `name` of the file at `path` as texts, empty where a row of a table has no value.
///
/// Without a name, the column called as labels usually are ([`LABEL_NAMES`]), or the only one of texts or numbers.
/// A `.npy` file is one column; so is a `.txt` file, a row a line.
pub fn read_column(path: &Path, name: Option<&str>) -> Result<Vec<String>> {
    let bytes = map(path)?;
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("txt")) {
        return lines(path, &bytes);
    }
    parse_column(path, Format::of(path)?, &bytes, name)
}

/// Reads `bytes` as if they were a file's; without a format, those of a `.txt` file.
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
    let store = || Store::Memory(bytes.clone());
    match format {
        Format::Npy => one_dimensional(path, &npy::tensor(path, &store())?),
        Format::Npz => array(path, &mut npz::Npz::open(path, bytes)?, name),
        Format::Safetensors => array(path, &mut safetensors::tensors(path, &store())?, name),
        Format::Parquet => parquet_column(path, bytes, name),
        Format::Arrow => arrow_column(path, bytes, name),
        Format::Csv | Format::Tsv => text_column(path, bytes, format, name),
        Format::Jsonl => json_column(path, bytes, name),
    }
}

fn lines(path: &Path, bytes: &[u8]) -> Result<Vec<String>> {
    let text = std::str::from_utf8(bytes).map_err(|_| Error::malformed(path, "text", "it is not UTF-8"))?;
    let (mut texts, mut room) = (Vec::new(), Room::now());
    text.trim_start_matches('\u{feff}')
        .lines()
        .try_for_each(|line| room.keep(path, filled(line).unwrap_or_default(), &mut texts))?;
    Ok(texts)
}

fn one_dimensional(path: &Path, tensor: &Tensor) -> Result<Vec<String>> {
    label_column(path, &[tensor.header.column("array")], Some("array"))?;
    tensor.texts(path)
}

fn array(path: &Path, archive: &mut dyn Archive, name: Option<&str>) -> Result<Vec<String>> {
    let columns: Vec<Column> = archive.headers().iter().map(|(name, header)| header.column(name)).collect();
    archive.tensor(label_column(path, &columns, name)?)?.texts(path)
}

fn parquet_column(path: &Path, bytes: &Bytes, name: Option<&str>) -> Result<Vec<String>> {
    let (mut texts, mut room) = (Vec::new(), Room::now());
    caught(path, parquet::FORMAT, || {
        let file = parquet::File::open(path, bytes)?;
        let schema = file.schema.clone();
        let position = label_column(path, &arrow::columns(&schema), name)?;
        file.batches(&[position], |row, batch| {
            let place = Place { path, row, field: schema.field(position) };
            each_text(place, batch.column(0), |text| room.keep(path, text, &mut texts))
        })
    })?;
    Ok(texts)
}

fn arrow_column(path: &Path, bytes: &Bytes, name: Option<&str>) -> Result<Vec<String>> {
    let (mut texts, mut room) = (Vec::new(), Room::now());
    let mut position = None;
    ipc::batches(path, bytes, |schema, row, batch| {
        let position = match position {
            Some(position) => position,
            None => *position.insert(label_column(path, &arrow::columns(schema), name)?),
        };
        let Some(batch) = batch else { return Ok(()) };
        let place = Place { path, row, field: schema.field(position) };
        each_text(place, batch.column(position), |text| room.keep(path, text, &mut texts))
    })?;
    Ok(texts)
}

fn text_column(path: &Path, bytes: &[u8], format: Format, name: Option<&str>) -> Result<Vec<String>> {
    let mut records = Records::new(path, bytes, format);
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
    // A line of one text may be a label as well: it is a header where the others are numbers.
    let label = first.len() == 1 && (sample.is_empty() || !numbers);
    let headed = named || (!label && FirstLine::of(&first).is_header(path, &first, &sample)?);
    let names = first.iter().enumerate().map(|(i, name)| if headed { name.trim().to_owned() } else { i.to_string() });
    let columns: Vec<Column> = names.enumerate().map(|(i, name)| csv::column(&name, i, &sample)).collect();
    let position = label_column(path, &columns, name)?;
    let (mut texts, mut room) = (Vec::new(), Room::now());
    let mut records = Records::new(path, bytes, format);
    if headed {
        records.next()?;
    }
    while let Some(record) = records.next()? {
        room.keep(path, filled(&record[position]).unwrap_or_default(), &mut texts)?;
    }
    Ok(texts)
}

fn json_column(path: &Path, bytes: &[u8], name: Option<&str>) -> Result<Vec<String>> {
    let (mut texts, mut room) = (Vec::new(), Room::now());
    let mut column = None;
    for (row, value) in jsonl::values(path, bytes).enumerate() {
        let value = value?;
        if let (0, Some(first)) = (row, value.as_object()) {
            let columns: Vec<Column> = first.iter().map(jsonl::column).collect();
            column = Some(columns[label_column(path, &columns, name)?].name.clone());
        }
        let value = match (&column, &value) {
            (Some(name), Value::Object(object)) => object.get(name).unwrap_or(&Value::Null),
            (Some(_), _) => return Err(jsonl::not_an_object(path, row)),
            (None, value) => value,
        };
        let bad = || jsonl::no_text(path, row, value);
        let text = if value.is_null() { String::new() } else { jsonl::text(value).ok_or_else(bad)? };
        room.keep(path, &text, &mut texts)?;
    }
    Ok(texts)
}
