//! One column of a file, as texts.

use std::path::Path;

use ::parquet::arrow::ProjectionMask;
use bytes::Bytes;
use serde_json::Value;

use crate::csv::{Records, is_header, number};
use crate::error::quoted;
use crate::guard::caught;
use crate::layout::{Column, LABEL_NAMES, label_column};
use crate::mapped::map;
use crate::store::Store;
use crate::tensor::{Archive, Tensor};
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
    let format = Format::of(path)?;
    format.check(path, &bytes)?;
    let store = || Store::Memory(bytes.clone());
    match format {
        Format::Npy => one_dimensional(path, &npy::tensor(path, &store())?),
        Format::Npz => array(path, &mut npz::Npz::open(path, &bytes)?, name),
        Format::Safetensors => array(path, &mut safetensors::tensors(path, &store())?, name),
        Format::Parquet => parquet_column(path, &bytes, name),
        Format::Arrow => arrow_column(path, &bytes, name),
        Format::Csv => text_column(path, &bytes, b',', name),
        Format::Tsv => text_column(path, &bytes, b'\t', name),
        Format::Jsonl => json_column(path, &bytes, name),
    }
}

fn lines(path: &Path, bytes: &[u8]) -> Result<Vec<String>> {
    let text = std::str::from_utf8(bytes).map_err(|_| Error::malformed(path, "text", "it is not UTF-8"))?;
    Ok(text.trim_start_matches('\u{feff}').lines().map(|line| line.trim().to_owned()).collect())
}

fn one_dimensional(path: &Path, tensor: &Tensor) -> Result<Vec<String>> {
    label_column(path, &[tensor.header.column("array")], Some("array"))?;
    tensor.texts()
}

fn array(path: &Path, archive: &mut dyn Archive, name: Option<&str>) -> Result<Vec<String>> {
    let columns: Vec<Column> = archive.headers().iter().map(|(name, header)| header.column(name)).collect();
    archive.tensor(label_column(path, &columns, name)?)?.texts()
}

fn parquet_column(path: &Path, bytes: &Bytes, name: Option<&str>) -> Result<Vec<String>> {
    caught(path, parquet::FORMAT, || {
        let reader = parquet::open(path, bytes)?;
        let position = label_column(path, &arrow::columns(reader.schema()), name)?;
        let mask = ProjectionMask::roots(reader.parquet_schema(), [position]);
        let mut texts = Vec::new();
        for batch in
            reader.with_projection(mask).build().map_err(|error| Error::malformed(path, parquet::FORMAT, &error))?
        {
            let batch = batch.map_err(|error| Error::malformed(path, parquet::FORMAT, &error))?;
            texts.extend(arrow::texts(path, batch.column(0))?);
        }
        Ok(texts)
    })
}

fn arrow_column(path: &Path, bytes: &Bytes, name: Option<&str>) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    ipc::batches(path, bytes, |schema, batch| {
        let position = label_column(path, &arrow::columns(schema), name)?;
        if let Some(batch) = batch {
            texts.extend(arrow::texts(path, batch.column(position))?);
        }
        Ok(())
    })?;
    Ok(texts)
}

fn text_column(path: &Path, bytes: &[u8], delimiter: u8, name: Option<&str>) -> Result<Vec<String>> {
    let mut records = Records::new(path, bytes, delimiter);
    let mut all = Vec::new();
    while let Some(record) = records.next()? {
        all.push(record);
    }
    let Some(first) = all.first() else { return Ok(Vec::new()) };
    let named = first.iter().any(|field| name.map_or(LABEL_NAMES.contains(&field), |name| name == field));
    // A line of one text may be a label as well: it is a header where the others are numbers.
    let numbers = all.len() > 1 && all[1..].iter().all(|record| number(&record[0]).is_some());
    let label = first.len() == 1 && !numbers;
    let headed = named || (is_header(first) && !label);
    let names: Vec<String> = if headed {
        first.iter().map(str::to_owned).collect()
    } else {
        (0..first.len()).map(|position| position.to_string()).collect()
    };
    let rows = &all[usize::from(headed)..];
    let columns: Vec<Column> = names.iter().enumerate().map(|(i, name)| csv::column(name, i, rows)).collect();
    let position = label_column(path, &columns, name)?;
    Ok(rows.iter().map(|record| record[position].to_owned()).collect())
}

fn json_column(path: &Path, bytes: &[u8], name: Option<&str>) -> Result<Vec<String>> {
    let values = jsonl::values(path, bytes).collect::<Result<Vec<Value>>>()?;
    let column = match values.first().and_then(Value::as_object) {
        Some(first) => {
            let columns: Vec<Column> = first.iter().map(jsonl::column).collect();
            Some(columns[label_column(path, &columns, name)?].name.clone())
        }
        None => None,
    };
    let text = |(row, value): (usize, &Value)| {
        let value = match &column {
            Some(name) => value.get(name).unwrap_or(&Value::Null),
            None => value,
        };
        let bad = || Error::BadRow {
            path: path.to_owned(),
            row,
            detail: format!("{} is not a text or a number", quoted(&value.to_string())),
        };
        if value.is_null() { Ok(String::new()) } else { jsonl::text(value).ok_or_else(bad) }
    };
    values.iter().enumerate().map(text).collect()
}
