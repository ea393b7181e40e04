//! Pools: embeddings and the columns that belong to them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use homing::Embeddings;

use crate::expand::listing;
use crate::many::PLACE_COLUMNS;
use crate::mapped::map;
use crate::matrix::Matrix;
use crate::message::quoted;
use crate::picks::unquoted;
use crate::row_values::{RowValues, ValueReader};
use crate::store::{Access, Store};
use crate::table_columns::{ColumnChoice, TableColumns};
use crate::{Error, Format, PoolFiles, ReadOptions, Result, many};

/// Refuses to read the file at `path` by position, which is possible only for files that are used in place.
fn refuse_reading(path: &Path, access: Access) -> Result<()> {
    match access {
        Access::Read => Err(Error::NotByPosition { path: path.to_owned() }),
        Access::Auto | Access::Map => Ok(()),
    }
}

/// Quotes an id and mentions spaces around it, which the quoted line does not show.
fn quoted_id(id: &str) -> String {
    let blanks = if id == id.trim() { "" } else { ", with spaces around it," };
    format!("{}{blanks}", quoted(id))
}

/// Columns of a pool in addition to the embeddings, each with one value per row.
#[derive(Debug, Default)]
pub(crate) struct RowColumns {
    pub(crate) ids: Option<Vec<String>>,
    pub(crate) groups: Option<Vec<String>>,
    pub(crate) labels: Option<Vec<String>>,
    /// Columns of numbers, with their names.
    pub(crate) numbers: Vec<(String, Vec<f64>)>,
    pub(crate) probabilities: Option<Matrix>,
}

/// Contents of a file.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) embeddings: Matrix,
    pub(crate) columns: RowColumns,
    /// Columns that the embeddings were made of, if they are several columns of a table with a header.
    pub(crate) side_by_side: Vec<String>,
    /// Columns of numbers that do not belong to the requested embedding and have no other use.
    pub(crate) ignored_numbers: Vec<String>,
    /// All columns of the file, if they have names.
    pub(crate) table: TableColumns,
    /// Values of the columns of a table that is no file, in the order of the columns.
    pub(crate) in_memory: Option<Vec<Vec<String>>>,
}

/// Number of bytes at the start of a file that identify its format.
pub(crate) const FORMAT_BYTES: u64 = 4096;

/// Matrix of embeddings from a file, with the columns that were read along with it.
#[derive(Debug)]
pub struct Pool {
    pub(crate) path: PathBuf,
    /// Files that were read, if `path` stands for several.
    pub(crate) files: Option<PoolFiles>,
    pub(crate) format: Format,
    /// Name of the column of costs.
    pub(crate) cost: Option<String>,
    pub(crate) contents: Box<Contents>,
}

impl Pool {
    /// Reads the file at `path`, or all files that a folder, a pattern or a list stands for ([`expand`](crate::expand())).
    ///
    /// ```
    /// use homing_pool::{Pool, ReadOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("pool.jsonl");
    /// std::fs::write(&path, "{\"id\": \"first\", \"vector\": [1, 2]}\n{\"id\": \"second\", \"vector\": [3, 4]}\n")?;
    ///
    /// let pool = Pool::open(&path, &ReadOptions::default())?;
    /// assert_eq!(pool.embeddings().row(0), [1.0, 2.0]);
    /// assert_eq!(pool.rows_of_ids(&["second".to_owned()])?, [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        if let Some(listing) = listing(path)? {
            return Self::open_listing(path, listing, options);
        }
        let format = Format::of_file(path)?;
        let store = if format.is_used_in_place() {
            Store::open(path, options.access)?
        } else {
            refuse_reading(path, options.access)?;
            Store::Memory(map(path)?)
        };
        Self::parse(path, format, &store, options)
    }

    /// Reads `bytes` as the contents of a file.
    #[doc(hidden)]
    pub fn from_bytes(format: Format, bytes: Vec<u8>, options: &ReadOptions) -> Result<Self> {
        Self::parse(Path::new("bytes"), format, &Store::Memory(Bytes::from(bytes)), options)
    }

    pub(crate) fn parse(path: &Path, format: Format, store: &Store, options: &ReadOptions) -> Result<Self> {
        format.check(path, &store.first_bytes(FORMAT_BYTES)?)?;
        let contents = (format.reader().pool)(path, store, options)?;
        let cost = options.cost.clone();
        Ok(Self { path: path.to_owned(), files: None, format, cost, contents: Box::new(contents) })
    }

    /// Returns the embeddings, one row per example.
    ///
    /// They may hold values that are not finite; [`Embeddings::check_finite`] checks that.
    pub fn embeddings(&self) -> Embeddings<'_> {
        self.contents.embeddings.view()
    }

    /// Returns the columns of numbers that the embeddings are made of; empty if they are one column or array.
    pub fn side_by_side(&self) -> &[String] {
        &self.contents.side_by_side
    }

    /// Returns the columns of numbers that [`ReadOptions::side_by_side`] leaves out and that have no other use.
    pub fn ignored_numbers(&self) -> &[String] {
        &self.contents.ignored_numbers
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.contents.embeddings.rows()
    }

    /// Returns the number of values per row.
    pub fn dim(&self) -> usize {
        self.contents.embeddings.dim()
    }

    /// Returns the id of each row.
    pub fn ids(&self) -> Option<&[String]> {
        self.contents.columns.ids.as_deref()
    }

    /// Returns the group of each row.
    pub fn groups(&self) -> Option<&[String]> {
        self.contents.columns.groups.as_deref()
    }

    /// Returns the label of each row.
    pub fn labels(&self) -> Option<&[String]> {
        self.contents.columns.labels.as_deref()
    }

    /// Returns the cost of each row.
    pub fn costs(&self) -> Option<&[f64]> {
        self.numbers(self.cost.as_deref()?)
    }

    /// Returns the column of this name if it is one of the [`ReadOptions::numbers`].
    ///
    /// ```
    /// use homing_pool::{Pool, ReadOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("targets.csv");
    /// std::fs::write(&path, "x,y,weight\n0.5,1,0.25\n2,3,0.75\n")?;
    ///
    /// let pool = Pool::open(&path, &ReadOptions::default().numbers(["weight".to_owned()]))?;
    /// assert_eq!(pool.numbers("weight").unwrap(), [0.25, 0.75]);
    /// assert_eq!(pool.dim(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn numbers(&self, name: &str) -> Option<&[f64]> {
        let columns = &self.contents.columns.numbers;
        columns.iter().find(|(column, _)| column == name).map(|(_, numbers)| &numbers[..])
    }

    /// Returns the class probabilities, rows × classes.
    pub fn probabilities(&self) -> Option<Embeddings<'_>> {
        self.contents.columns.probabilities.as_ref().map(Matrix::view)
    }

    /// Returns the name of the column of texts that show people what a row is, if there is one.
    pub fn text_column(&self) -> Option<&str> {
        self.contents.table.text()
    }

    /// Returns the names of the columns that `choice` selects, which [`Pool::values`] reads.
    ///
    /// A pool in several files also has the columns `file` and `row`, which say where a row is, if they are named and if its tables
    /// have no columns of these names.
    pub fn choose_columns(&self, choice: &ColumnChoice) -> Result<Vec<String>> {
        let ColumnChoice::Named(names) = choice else { return self.contents.table.choose(&self.path, choice) };
        let (places, own): (Vec<String>, Vec<String>) = names.iter().cloned().partition(|name| self.is_place(name));
        let own = self.contents.table.choose(&self.path, &ColumnChoice::Named(own))?;
        let mut chosen = Vec::new();
        for name in names.iter().filter(|name| places.contains(name) || own.contains(name)) {
            if !chosen.contains(name) {
                chosen.push(name.clone());
            }
        }
        Ok(chosen)
    }

    /// Whether a column says where rows are, in a pool of several files.
    fn is_place(&self, name: &str) -> bool {
        let is_own = || self.contents.table.position(&self.path, name).is_ok();
        self.files.is_some() && PLACE_COLUMNS.contains(&name) && !is_own()
    }

    /// Reads columns for some rows in another pass over the file, which must not have changed. Only the values of these rows
    /// are kept in memory.
    pub fn values(&self, columns: &[String], rows: &[usize]) -> Result<RowValues> {
        if columns.is_empty() || rows.is_empty() {
            return ValueReader::new(&[], &[]).finish(&self.path);
        }
        let (places, own): (Vec<String>, Vec<String>) = columns.iter().cloned().partition(|name| self.is_place(name));
        if let (Some(files), false) = (&self.files, places.is_empty()) {
            let own = self.values(&own, rows)?;
            return Ok(own.with_columns(columns, rows, |name, rows| files.column(name, rows)));
        }
        let mut reader = ValueReader::new(columns, rows);
        if let Some(values) = &self.contents.in_memory {
            let position = |name: &String| self.contents.table.position(&self.path, name);
            let positions = reader.names.iter().map(position).collect::<Result<Vec<usize>>>()?;
            while let Some(row) = reader.next_row() {
                reader.push_texts(&self.path, positions.iter().map(|&position| &*values[position][row]))?;
            }
        } else if let Some(files) = &self.files {
            many::read_values(files, &mut reader)?;
        } else {
            (self.format.reader().values)(&self.path, &map(&self.path)?, &mut reader)?;
        }
        reader.finish(&self.path)
    }

    /// Returns the path from which the pool was read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the format of the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the number type of the embeddings, such as `float32`.
    pub fn dtype(&self) -> &'static str {
        self.contents.embeddings.float().name()
    }

    /// Whether the embeddings are used in place in the mapped file instead of being copied to memory.
    pub fn is_mapped(&self) -> bool {
        self.format.is_used_in_place() && self.contents.embeddings.is_in_place()
    }

    /// Whether the embeddings stay in their file and are read by position.
    pub fn is_read(&self) -> bool {
        self.contents.embeddings.is_read()
    }

    /// Returns the rows with these ids, in the order of `ids`.
    pub fn rows_of_ids(&self, ids: &[String]) -> Result<Vec<usize>> {
        let path = || self.path.clone();
        let known = self.ids().ok_or_else(|| Error::NoIds { path: path() })?;
        let mut rows: HashMap<&str, usize> = HashMap::with_capacity(known.len());
        for (second, id) in known.iter().enumerate() {
            if let Some(first) = rows.insert(id, second) {
                let id = quoted(id);
                return Err(match (self.place(first), self.place(second)) {
                    (Some(first), Some(second)) => Error::DuplicateIdInFiles { id, first, second },
                    _ => Error::DuplicateId { path: path(), id, first, second },
                });
            }
        }
        let row = |id: &String| {
            let found = rows.get(id.as_str()).or_else(|| rows.get(unquoted(id)?));
            found.copied().ok_or_else(|| Error::UnknownId { path: path(), id: quoted_id(id) })
        };
        ids.iter().map(row).collect()
    }
}
