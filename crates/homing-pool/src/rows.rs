//! Reads files that name rows of a pool by picks, indices, ids or embeddings.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::expand::expand;
use crate::mapped::map;
use crate::picks::names;
use crate::row_files;
use crate::store::Store;
use crate::{Error, Format, Pool, ReadOptions, Result};

/// Rows of a pool, named in one of several ways.
///
/// ```
/// use homing_pool::{Pool, ReadOptions, RowList};
///
/// let directory = tempfile::tempdir()?;
/// let (pool, list) = (directory.path().join("pool.csv"), directory.path().join("labelled.txt"));
/// std::fs::write(&pool, "id,x,y\nfirst,0.5,1\nsecond,2,3\nthird,4,5\n")?;
/// std::fs::write(&list, "id\nthird\nfirst\n")?;
///
/// let pool = Pool::open(&pool, &ReadOptions::default())?;
/// assert_eq!(RowList::open(&list)?.rows_of(Some(&pool))?, Some(vec![2, 0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum RowList {
    /// Rows, counted from 0. Files and Python call such a number an index.
    Rows(Vec<usize>),
    /// Rows with their ids. If the two disagree, the pool has been reordered, and the id counts.
    RowsAndIds {
        /// Rows, counted from 0.
        rows: Vec<usize>,
        /// Ids of the same rows.
        ids: Vec<String>,
    },
    /// Ids, which [`Pool::rows_of_ids`] looks up.
    Ids(Vec<String>),
    /// Numbers that may be row indices or ids, because the file does not say which.
    ///
    /// They are ids if all of them are ids of the pool, and row indices if none of them is. If they may be either,
    /// [`RowList::rows_of`] refuses them.
    Numbers {
        /// Path of the file, for messages.
        path: PathBuf,
        /// Numbers in the file.
        numbers: Vec<usize>,
    },
    /// Embeddings, which need not be rows of the pool.
    Embeddings(Pool),
}

impl RowList {
    /// Reads the file at `path`.
    ///
    /// It may hold picks in any format that [`crate::write_picks`] writes, a table with a column `index` or `id`, one index or id
    /// per line (`.txt`, `.csv`, `.jsonl`), an integer array (`.npy`), or anything that [`Pool::open`] reads. A first line `index`
    /// or `id` says what the lines below it are. Several files ([`expand`](crate::expand())) name the rows of all.
    pub fn open(path: &Path) -> Result<Self> {
        let files = expand(path)?;
        // A dataset may have ids, but it holds examples.
        if path.is_dir() && files.iter().all(|file| Format::of(file).is_ok_and(Format::is_for_shards)) {
            return Pool::open(path, &ReadOptions::default()).map(RowList::Embeddings);
        }
        if let [only] = &files[..] {
            return Self::open_file(only);
        }
        let mut all = RowList::Rows(Vec::new());
        for file in &files {
            all = match Self::open_file(file) {
                Err(Error::NoRows { .. }) => all,
                next => all.followed_by(path, file, next?)?,
            };
        }
        match all {
            RowList::Embeddings(_) => Pool::open(path, &ReadOptions::default()).map(RowList::Embeddings),
            all => Ok(all),
        }
    }

    /// Adds the rows that the next of the files at `path` names. Of files with embeddings, only one is kept.
    fn followed_by(self, path: &Path, file: &Path, next: Self) -> Result<Self> {
        Ok(match (self, next) {
            (RowList::Rows(rows), next) if rows.is_empty() => match next {
                RowList::Numbers { numbers, .. } => RowList::Numbers { path: path.to_owned(), numbers },
                next => next,
            },
            (all, RowList::Rows(rows)) if rows.is_empty() => all,
            (RowList::Rows(rows), RowList::Rows(next)) => RowList::Rows([rows, next].concat()),
            (RowList::Ids(ids), RowList::Ids(next)) => RowList::Ids([ids, next].concat()),
            (RowList::Numbers { path, numbers }, RowList::Numbers { numbers: next, .. }) => {
                RowList::Numbers { path, numbers: [numbers, next].concat() }
            }
            (RowList::RowsAndIds { rows, ids }, RowList::RowsAndIds { rows: next_rows, ids: next_ids }) => {
                RowList::RowsAndIds { rows: [rows, next_rows].concat(), ids: [ids, next_ids].concat() }
            }
            (RowList::Embeddings(pool), RowList::Embeddings(_)) => RowList::Embeddings(pool),
            _ => {
                let found = "the files before it do so in another way, and all must be alike".to_owned();
                return Err(Error::NotRows { path: file.to_owned(), found });
            }
        })
    }

    fn open_file(path: &Path) -> Result<Self> {
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("txt")) {
            return row_files::lines(path, &map(path)?);
        }
        Self::parse(path, Format::of_file(path)?, &map(path)?)
    }

    /// Reads embeddings that are columns of numbers again from the columns with these names, in this order.
    ///
    /// Pass the columns of the pool ([`Pool::side_by_side`]). Other lists stay as they are.
    pub fn in_order_of(self, columns: &[String]) -> Result<Self> {
        match self {
            RowList::Embeddings(pool) if !columns.is_empty() && !pool.side_by_side().is_empty() => {
                let options = ReadOptions::default().side_by_side(columns);
                Pool::open(pool.path(), &options).map(RowList::Embeddings)
            }
            other => Ok(other),
        }
    }

    /// Returns the rows of the pool that are named, or `None` if the list holds embeddings.
    ///
    /// Without a pool file, only row indices can be resolved.
    pub fn rows_of(self, pool: Option<&Pool>) -> Result<Option<Vec<usize>>> {
        match (self, pool) {
            (RowList::Rows(rows), _) | (RowList::RowsAndIds { rows, .. }, None) => Ok(Some(rows)),
            // The pool may have been shuffled or filtered since the indices were written; the ids reveal that.
            (RowList::RowsAndIds { rows, ids }, Some(pool)) => match pool.ids() {
                Some(known)
                    if !rows.iter().zip(&ids).all(|(&row, id)| known.get(row).is_some_and(|k| names(id, k))) =>
                {
                    pool.rows_of_ids(&ids).map(Some)
                }
                // Picks from a pool without ids have the row numbers as ids.
                None if !rows.iter().zip(&ids).all(|(row, id)| names(id, &row.to_string())) => {
                    Err(Error::NoIds { path: pool.path().to_owned() })
                }
                _ => Ok(Some(rows)),
            },
            (RowList::Ids(ids), Some(pool)) => pool.rows_of_ids(&ids).map(Some),
            (RowList::Ids(_), None) => Err(Error::NoIds { path: "the pool".into() }),
            (RowList::Numbers { path, numbers }, Some(pool)) => rows_of_numbers(&path, numbers, pool).map(Some),
            (RowList::Numbers { numbers, .. }, None) => Ok(Some(numbers)),
            (RowList::Embeddings(_), _) => Ok(None),
        }
    }

    /// Reads `bytes` as the contents of a file.
    #[doc(hidden)]
    pub fn from_bytes(format: Format, bytes: Vec<u8>) -> Result<Self> {
        Self::parse(Path::new("bytes"), format, &Bytes::from(bytes))
    }

    /// Reads `bytes` as the contents of a `.txt` file.
    #[doc(hidden)]
    pub fn from_text(bytes: &[u8]) -> Result<Self> {
        row_files::lines(Path::new("bytes"), bytes)
    }

    fn parse(path: &Path, format: Format, bytes: &Bytes) -> Result<Self> {
        format.check(path, bytes)?;
        let rows = (format.reader().rows)(path, bytes)?;
        let embeddings = || match Pool::parse(path, format, &Store::Memory(bytes.clone()), &ReadOptions::default()) {
            Ok(pool) => Ok(RowList::Embeddings(pool)),
            Err(Error::NoEmbedding { path, .. }) => {
                let found = "it has neither a column index or id, nor embeddings".to_owned();
                Err(Error::NotRows { path, found })
            }
            Err(error) => Err(error),
        };
        rows.map_or_else(embeddings, Ok)
    }
}

/// Returns the rows of `pool` that the numbers in the file at `path` refer to.
fn rows_of_numbers(path: &Path, numbers: Vec<usize>, pool: &Pool) -> Result<Vec<usize>> {
    let Some(ids) = pool.ids() else { return Ok(numbers) };
    if numbers.iter().all(|&row| ids.get(row).is_some_and(|id| *id == row.to_string())) {
        return Ok(numbers);
    }
    let texts: HashSet<String> = numbers.iter().map(usize::to_string).collect();
    let known: HashSet<&str> = ids.iter().map(String::as_str).filter(|id| texts.contains(*id)).collect();
    // If all ids are numbers, a list of other numbers may consist of ids that have left the pool.
    let whole = ids.iter().all(|id| id.parse::<i128>().is_ok());
    if known.is_empty() && !whole {
        return Ok(numbers);
    }
    if !known.is_empty() && numbers.iter().any(|&number| number >= pool.rows()) {
        return pool.rows_of_ids(&numbers.iter().map(usize::to_string).collect::<Vec<_>>());
    }
    // All are possible row indices. But some or all are ids of other rows, or some are ids and the others may be ids that have
    // left the pool.
    let other = ids.iter().enumerate().find(|(row, id)| known.contains(id.as_str()) && **id != row.to_string());
    let unknown = numbers.iter().find(|number| !known.contains(number.to_string().as_str()));
    let detail = match (other, unknown) {
        (Some((row, id)), _) => format!("{id} is the id of row {row}"),
        (None, Some(number)) if known.is_empty() => {
            format!("{number} is not an id of it, although all its ids are whole numbers")
        }
        (None, number) => format!("{} is not an id of it, but others are", number.map_or(0, |&number| number)),
    };
    Err(Error::UnclearRows { path: path.to_owned(), pool: pool.path().to_owned(), detail })
}
