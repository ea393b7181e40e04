//! Files that name rows of a pool: picks, indices, ids, or embeddings.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::mapped::map;
use crate::picks::names;
use crate::row_files;
use crate::store::Store;
use crate::{Error, Format, Pool, ReadOptions, Result};

/// Rows of a pool, as a file names them.
#[derive(Debug)]
pub enum RowList {
    /// By row number, counted from 0.
    Indices(Vec<usize>),
    /// By row number, with the id that stood beside it: where the two disagree, the pool was reordered, and the id is right.
    Named {
        /// Row numbers.
        indices: Vec<usize>,
        /// Their ids.
        ids: Vec<String>,
    },
    /// By id; [`Pool::index_of_ids`] finds them.
    Ids(Vec<String>),
    /// By numbers of which the file does not say what they are. They are ids where they are ids of the pool, and row numbers
    /// where none of them is; where they may be either, [`RowList::rows_of`] refuses them.
    Numbers {
        /// The file.
        path: PathBuf,
        /// What it lists.
        numbers: Vec<usize>,
    },
    /// By embeddings of their own, which need not be in the pool.
    Embeddings(Pool),
}

impl RowList {
    /// Reads the file at `path`: picks in any format that [`crate::write_picks`] writes, a table with a column
    /// `index` or `id`, one index or id a line (`.txt`, `.csv`, `.jsonl`), a `.npy` of integers, or whatever
    /// [`Pool::open`] reads. The line `index` or `id` before the others says which they are.
    pub fn open(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Pool::open(path, &ReadOptions::default()).map(RowList::Embeddings);
        }
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("txt")) {
            return row_files::lines(path, &map(path)?);
        }
        let format = match Format::of(path) {
            Err(_) if !path.exists() => return Err(Error::NotFound { path: path.to_owned() }),
            format => format?,
        };
        Self::parse(path, format, &map(path)?)
    }

    /// The same, where embeddings that are columns of numbers side by side are those of these names, in this order: the
    /// pool's ([`Pool::side_by_side`]).
    pub fn in_order_of(self, columns: &[String]) -> Result<Self> {
        match self {
            RowList::Embeddings(pool) if !columns.is_empty() && !pool.side_by_side().is_empty() => {
                let options = ReadOptions { side_by_side: columns.to_vec(), ..ReadOptions::default() };
                Pool::open(pool.path(), &options).map(RowList::Embeddings)
            }
            other => Ok(other),
        }
    }

    /// The rows of a pool that are named; none where embeddings are. A pool that is no file has row numbers alone.
    pub fn rows_of(self, pool: Option<&Pool>) -> Result<Option<Vec<usize>>> {
        match (self, pool) {
            (RowList::Indices(rows), _) => Ok(Some(rows)),
            // The pool may have been shuffled or filtered since; ids tell.
            (RowList::Named { indices, ids }, Some(pool)) => match pool.ids() {
                Some(known)
                    if !indices.iter().zip(&ids).all(|(&row, id)| known.get(row).is_some_and(|k| names(id, k))) =>
                {
                    pool.index_of_ids(&ids).map(Some)
                }
                _ => Ok(Some(indices)),
            },
            (RowList::Named { indices, .. }, None) => Ok(Some(indices)),
            (RowList::Ids(ids), Some(pool)) => pool.index_of_ids(&ids).map(Some),
            (RowList::Ids(_), None) => Err(Error::NoIds { path: "the pool".into() }),
            (RowList::Numbers { path, numbers }, Some(pool)) => rows_of_numbers(&path, numbers, pool).map(Some),
            (RowList::Numbers { numbers, .. }, None) => Ok(Some(numbers)),
            (RowList::Embeddings(_), _) => Ok(None),
        }
    }

    /// Reads `bytes` as if they were a file's.
    #[doc(hidden)]
    pub fn from_bytes(format: Format, bytes: Vec<u8>) -> Result<Self> {
        Self::parse(Path::new("bytes"), format, &Bytes::from(bytes))
    }

    /// Reads `bytes` as if they were those of a `.txt` file.
    #[doc(hidden)]
    pub fn from_text(bytes: &[u8]) -> Result<Self> {
        row_files::lines(Path::new("bytes"), bytes)
    }

    fn parse(path: &Path, format: Format, bytes: &Bytes) -> Result<Self> {
        format.check(path, bytes)?;
        let rows = match format {
            Format::Npy => row_files::array(path, bytes)?,
            Format::Parquet => row_files::parquet_table(path, bytes)?,
            Format::Arrow => row_files::arrow_table(path, bytes)?,
            Format::Csv | Format::Tsv => row_files::text_table(path, bytes, format)?,
            Format::Jsonl => row_files::json_lines(path, bytes)?,
            Format::Npz | Format::Safetensors => None,
        };
        let embeddings = || {
            Pool::parse(path, format, &Store::Memory(bytes.clone()), &ReadOptions::default()).map(RowList::Embeddings)
        };
        rows.map_or_else(embeddings, Ok)
    }
}

/// The rows of `pool` that `numbers` of the file at `path` mean.
fn rows_of_numbers(path: &Path, numbers: Vec<usize>, pool: &Pool) -> Result<Vec<usize>> {
    let Some(ids) = pool.ids() else { return Ok(numbers) };
    if numbers.iter().all(|&row| ids.get(row).is_some_and(|id| *id == row.to_string())) {
        return Ok(numbers);
    }
    let texts: HashSet<String> = numbers.iter().map(usize::to_string).collect();
    let known: HashSet<&str> = ids.iter().map(String::as_str).filter(|id| texts.contains(*id)).collect();
    // Where all ids are numbers, a list of other numbers may be of ids that have left the pool.
    let whole = ids.iter().all(|id| id.parse::<i128>().is_ok());
    if known.is_empty() && !whole {
        return Ok(numbers);
    }
    if !known.is_empty() && numbers.iter().any(|&number| number >= pool.rows()) {
        return pool.index_of_ids(&numbers.iter().map(usize::to_string).collect::<Vec<_>>());
    }
    // All are row numbers. Some or all are ids of other rows, or some are ids and the others may be ids that have left the pool.
    let other = ids.iter().enumerate().find(|(row, id)| known.contains(id.as_str()) && **id != row.to_string());
    let unknown = numbers.iter().find(|number| !known.contains(number.to_string().as_str()));
    let detail = match (other, unknown) {
        (Some((row, id)), _) => format!("{id} is the id of row {row}"),
        (None, Some(number)) if known.is_empty() => {
            format!("{number} is no id of it, though all its ids are whole numbers")
        }
        (None, number) => format!("{} is no id of it, but others are", number.map_or(0, |&number| number)),
    };
    Err(Error::UnclearRows { path: path.to_owned(), pool: pool.path().to_owned(), detail })
}
