//! Embeddings and what goes with them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use homing::Embeddings;

use crate::error::quoted;
use crate::layout::ID_NAMES;
use crate::mapped::map;
use crate::matrix::Matrix;
use crate::picks::unquoted;
use crate::store::{Access, Store};
use crate::{Error, Format, Result, csv, ipc, jsonl, npy, npz, parquet, safetensors, shards};

/// The names of the columns to read, and how. Those left out are found where that is possible:
/// embeddings and ids by their usual names, the rest not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// A row of floats a row; found as `embedding`, `embeddings`, `vector`, `features`, `emb`, or as the only one.
    pub embedding: Option<String>,
    /// Columns of numbers that are the embeddings side by side, in a table with a header and without a column of lists; all of
    /// those that have no other use if none are named.
    pub side_by_side: Vec<String>,
    /// Whether the columns of ids, groups and labels may be missing although they are named.
    pub optional: bool,
    /// A text or number a row that names it; found as `id`, `ids`, `_id` or `uid`.
    pub id: Option<String>,
    /// A text or number a row, equal for rows that belong together.
    pub group: Option<String>,
    /// A number a row.
    pub cost: Option<String>,
    /// A text or number a row.
    pub label: Option<String>,
    /// Whether a row of a table may lack its label, which then reads as an empty text.
    pub blank_labels: bool,
    /// A row of floats a row, one for each class.
    pub probabilities: Option<String>,
    /// How the numbers of a `.npy` or `.safetensors` file are looked at.
    pub access: Access,
}

impl ReadOptions {
    pub(crate) fn first_name(&self) -> Option<&str> {
        let optional = [&self.id, &self.group, &self.label];
        let needed = [&self.embedding, &self.cost, &self.probabilities];
        let optional = optional.into_iter().filter(|_| !self.optional);
        needed.into_iter().chain(optional).find_map(Option::as_deref)
    }

    /// Whether a column of this name is asked for, or has the usual name of ids.
    pub(crate) fn names(&self, column: &str) -> bool {
        let asked = [&self.embedding, &self.cost, &self.probabilities, &self.id, &self.group, &self.label];
        ID_NAMES.contains(&column) || asked.into_iter().any(|name| name.as_deref() == Some(column))
    }
}

/// An id, with a word on blanks around it, which a line of text does not show.
fn quoted_id(id: &str) -> String {
    let blanks = if id == id.trim() { "" } else { ", with blanks around it," };
    format!("{}{blanks}", quoted(id))
}

/// Columns that go with embeddings, each as long as they are.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    pub(crate) ids: Option<Vec<String>>,
    pub(crate) groups: Option<Vec<String>>,
    pub(crate) labels: Option<Vec<String>>,
    pub(crate) costs: Option<Vec<f64>>,
    pub(crate) probabilities: Option<Matrix>,
}

/// What a reader finds in a file.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) embeddings: Matrix,
    pub(crate) columns: Columns,
    /// The columns that the embeddings were made of, where those are several of a table with a header.
    pub(crate) side_by_side: Vec<String>,
}

/// Bytes that tell a format.
pub(crate) const FRONT: u64 = 4096;

/// A matrix of embeddings from a file, and the columns read with it.
#[derive(Debug)]
pub struct Pool {
    path: PathBuf,
    format: Format,
    contents: Contents,
}

impl Pool {
    /// Reads the file at `path`, or the dataset of shards when it is a directory.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        let decoded = || match options.access {
            Access::Read => Err(Error::NotByPosition { path: path.to_owned() }),
            Access::Auto | Access::Map => Ok(()),
        };
        if path.is_dir() {
            decoded()?;
            let (format, contents) = shards::read(path, options)?;
            return Ok(Self { path: path.to_owned(), format, contents });
        }
        let format = match Format::of(path) {
            Err(_) if !path.exists() => return Err(Error::NotFound { path: path.to_owned() }),
            format => format?,
        };
        let store = match format {
            Format::Npy | Format::Safetensors => Store::open(path, options.access)?,
            _ => decoded().and_then(|()| map(path)).map(Store::Memory)?,
        };
        Self::parse(path, format, &store, options)
    }

    /// Reads `bytes` as if they were a file's.
    #[doc(hidden)]
    pub fn from_bytes(format: Format, bytes: Vec<u8>, options: &ReadOptions) -> Result<Self> {
        Self::parse(Path::new("bytes"), format, &Store::Memory(Bytes::from(bytes)), options)
    }

    pub(crate) fn parse(path: &Path, format: Format, store: &Store, options: &ReadOptions) -> Result<Self> {
        format.check(path, &store.front(FRONT)?)?;
        let contents = match format {
            Format::Npy => npy::read(path, store, options),
            Format::Safetensors => safetensors::read(path, store, options),
            Format::Npz => npz::read(path, &store.bytes()?, options),
            Format::Parquet => parquet::read(path, &store.bytes()?, options),
            Format::Arrow => ipc::read(path, &store.bytes()?, options),
            Format::Csv | Format::Tsv => csv::read(path, &store.bytes()?, format, options),
            Format::Jsonl => jsonl::read(path, &store.bytes()?, options),
        }?;
        Ok(Self { path: path.to_owned(), format, contents })
    }

    /// The embeddings, a row an example. They may hold values that are not finite:
    /// [`Embeddings::check_finite`] tells.
    pub fn embeddings(&self) -> Embeddings<'_> {
        self.contents.embeddings.view()
    }

    /// The columns of numbers that the embeddings are made of; none where they are one column or array.
    pub fn side_by_side(&self) -> &[String] {
        &self.contents.side_by_side
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.contents.embeddings.rows()
    }

    /// Values a row.
    pub fn dim(&self) -> usize {
        self.contents.embeddings.dim()
    }

    /// The rows' names.
    pub fn ids(&self) -> Option<&[String]> {
        self.contents.columns.ids.as_deref()
    }

    /// The group that each row belongs to.
    pub fn groups(&self) -> Option<&[String]> {
        self.contents.columns.groups.as_deref()
    }

    /// The rows' labels.
    pub fn labels(&self) -> Option<&[String]> {
        self.contents.columns.labels.as_deref()
    }

    /// The rows' costs.
    pub fn costs(&self) -> Option<&[f64]> {
        self.contents.columns.costs.as_deref()
    }

    /// The rows' class probabilities, rows × classes.
    pub fn probabilities(&self) -> Option<Embeddings<'_>> {
        self.contents.columns.probabilities.as_ref().map(Matrix::view)
    }

    /// Where the pool was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How the pool is kept.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The embeddings' number type, such as `float32`.
    pub fn dtype(&self) -> &'static str {
        self.contents.embeddings.float().name()
    }

    /// Whether the embeddings are used in place, in the mapped file, rather than held in memory.
    pub fn is_mapped(&self) -> bool {
        matches!(self.format, Format::Npy | Format::Safetensors) && self.contents.embeddings.is_in_place()
    }

    /// Whether the embeddings stay in their file and are read by position.
    pub fn is_read(&self) -> bool {
        self.contents.embeddings.is_read()
    }

    /// The rows that `ids` name, in their order.
    pub fn index_of_ids(&self, ids: &[String]) -> Result<Vec<usize>> {
        let path = || self.path.clone();
        let known = self.ids().ok_or_else(|| Error::NoIds { path: path() })?;
        let mut rows: HashMap<&str, usize> = HashMap::with_capacity(known.len());
        for (second, id) in known.iter().enumerate() {
            if let Some(first) = rows.insert(id, second) {
                return Err(Error::DuplicateId { path: path(), id: quoted(id), first, second });
            }
        }
        let row = |id: &String| {
            let found = rows.get(id.as_str()).or_else(|| rows.get(unquoted(id)?));
            found.copied().ok_or_else(|| Error::UnknownId { path: path(), id: quoted_id(id) })
        };
        ids.iter().map(row).collect()
    }
}
