//! Reads tables and embeddings, with labels in a column or in a separate file.

use std::path::Path;

use homing_pool::{Error as PoolError, Format, LABEL_NAMES, Pool, ReadOptions, map, read_column};

use crate::dataset::{Data, NamedExamples};
use crate::files::{Listing, unpacked};
use crate::{Error, Inputs, OpenOptions, Result, idx};

/// Opens the data set in the file at `path`, or in a folder of shards.
pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Data> {
    Data::with_named_classes(path, read(path, options)?, None)
}

/// Opens the tables `train.csv` and `test.csv` (in any format) of a folder, if they exist.
pub(crate) fn open_pair(listing: &Listing, options: &OpenOptions) -> Result<Option<Data>> {
    let find = |stem: &str| {
        let is = |name: &str| name.strip_prefix(stem).is_some_and(|rest| rest.starts_with('.'));
        listing.entries.iter().filter(|entry| is(&entry.name)).find(|entry| Format::of(&entry.path).is_ok())
    };
    let Some(train) = find("train") else { return Ok(None) };
    let test = find("test");
    if options.labels.is_some() && test.is_some() {
        return Err(Error::SharedLabels { path: listing.root.clone() });
    }
    let path = test.map_or(&train.path, |test| &test.path);
    let test = test.map(|test| read(&test.path, options)).transpose()?;
    Data::with_named_classes(path, read(&train.path, options)?, test).map(Some)
}

fn read(path: &Path, options: &OpenOptions) -> Result<NamedExamples> {
    if options.size.is_some() {
        return Err(Error::NoSize { path: path.to_owned() });
    }
    let pool = pool(path, options)?;
    pool.embeddings().check_finite("data set").map_err(|source| Error::NotFinite { path: path.to_owned(), source })?;
    let rows = pool.rows();
    let labels = match (&options.labels, pool.labels()) {
        (Some(file), _) => labels(file, options.label_column.as_deref(), rows)?,
        (None, Some(labels)) => labels.to_vec(),
        (None, None) => vec![String::new(); rows],
    };
    let ids = pool.ids().map_or_else(|| (0..rows).map(|row| row.to_string()).collect(), <[String]>::to_vec);
    let texts = texts(&pool)?;
    Ok(NamedExamples { inputs: Inputs::pool(pool), labels, ids, texts })
}

/// Largest number of columns that are shown to people.
const SHOWN: usize = 40;

/// Returns the texts of a pool: its column of texts, or the names and values of its columns of numbers if there are few.
fn texts(pool: &Pool) -> Result<Vec<String>> {
    let rows: Vec<usize> = (0..pool.rows()).collect();
    let names = pool.side_by_side();
    let Some(column) = pool.text_column() else {
        if !(1..=SHOWN).contains(&names.len()) {
            return Ok(Vec::new());
        }
        let shown = |row: usize| {
            let values = pool.embeddings().row(row);
            let each = names.iter().zip(values).map(|(name, value)| format!("{name} {value}"));
            each.collect::<Vec<_>>().join(", ")
        };
        return Ok(rows.into_iter().map(shown).collect());
    };
    let values = pool.values(&[column.to_owned()], &rows)?;
    Ok(rows.into_iter().map(|row| values.text(0, row).unwrap_or_default()).collect())
}

/// Opens the pool at `path` with its labels, which are in the requested column or in one with a usual name.
fn pool(path: &Path, options: &OpenOptions) -> Result<Pool> {
    let bare = ReadOptions::default().embedding(options.embedding.clone()).blank_labels(true);
    let open = |label: Option<&str>| Pool::open(path, &bare.clone().label(label.map(str::to_owned)));
    if options.labels.is_some() {
        return Ok(open(None)?);
    }
    if let Some(name) = &options.label_column {
        return Ok(open(Some(name))?);
    }
    for name in LABEL_NAMES {
        match open(Some(name)) {
            Err(PoolError::NoColumn { .. } | PoolError::NoColumns { .. } | PoolError::WrongColumn { .. }) => {}
            opened => return Ok(opened?),
        }
    }
    Ok(open(None)?)
}

/// Reads the labels in the file at `path`, which is an idx file or has a column of labels in any other format.
pub(crate) fn labels(path: &Path, column: Option<&str>, examples: usize) -> Result<Vec<String>> {
    let bytes = unpacked(path, map(path)?)?;
    let labels = if idx::is_idx(&bytes) {
        idx::labels(path, &bytes)?.iter().map(u8::to_string).collect()
    } else {
        read_column(path, column)?
    };
    if labels.len() == examples {
        Ok(labels)
    } else {
        Err(Error::LabelCount { path: path.to_owned(), labels: labels.len(), examples })
    }
}
