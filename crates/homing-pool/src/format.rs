//! File formats: the table of all formats, how they are recognised, and their readers.

use std::path::Path;

use bytes::Bytes;

use crate::arrow::ArrowTable;
use crate::pool::Contents;
use crate::row_values::ValueReader;
use crate::store::Store;
use crate::{Error, ReadOptions, Result, RowList, csv, ipc, jsonl, npy, npz, parquet, safetensors};

/// Defines the enum of formats with the reader of each.
macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident => $reader:path,)*) => {
        /// File format of a pool.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Format {
            $($(#[$doc])* $format,)*
        }

        impl Format {
            /// All formats.
            pub const ALL: &'static [Format] = &[$(Format::$format),*];

            pub(crate) fn reader(self) -> &'static FormatReader {
                match self {
                    $(Format::$format => &$reader,)*
                }
            }
        }
    };
}

// To add a format, write a module with a `FormatReader` and add one row here.
formats! {
    /// A NumPy array.
    Npy => npy::READER,
    /// A zip file of NumPy arrays.
    Npz => npz::READER,
    /// Named tensors.
    Safetensors => safetensors::READER,
    /// An Apache Parquet table.
    Parquet => parquet::READER,
    /// An Apache Arrow IPC stream or file.
    Arrow => ipc::READER,
    /// Comma-separated text.
    Csv => csv::CSV_READER,
    /// Tab-separated text.
    Tsv => csv::TSV_READER,
    /// One JSON value per line.
    Jsonl => jsonl::READER,
}

/// Description of one format and the functions that read it.
pub(crate) struct FormatReader {
    /// File extensions in lower case, without a dot.
    pub(crate) extensions: &'static [&'static str],
    /// Description of a file of this format, with an article.
    pub(crate) description: &'static str,
    /// How files of this format begin.
    pub(crate) beginning: Beginning,
    /// Whether the numbers can be used in place, without reading the whole file into memory.
    pub(crate) in_place: bool,
    /// Reads a pool.
    pub(crate) pool: fn(&Path, &Store, &ReadOptions) -> Result<Contents>,
    /// Reads the column of this name as texts. Without a name, this is the column of labels.
    pub(crate) column: fn(&Path, &Bytes, Option<&str>) -> Result<Vec<String>>,
    /// Reads a list of rows. Returns `None` if the file names no rows but may hold embeddings.
    pub(crate) rows: fn(&Path, &Bytes) -> Result<Option<RowList>>,
    /// Reads the values of some columns and rows.
    pub(crate) values: fn(&Path, &Bytes, &mut ValueReader) -> Result<()>,
    /// Counts the rows of a pool.
    pub(crate) count: fn(&Path, &Store, &ReadOptions) -> Result<usize>,
    /// Adds the rows of a file to a table, which the first file creates. Only formats that shards may have need this.
    pub(crate) shard: Option<ShardReader>,
}

pub(crate) type ShardReader = fn(&Path, &Bytes, &ReadOptions, &mut Option<ArrowTable>) -> Result<()>;

/// How the files of a format begin.
pub(crate) enum Beginning {
    /// Files begin with one of these byte strings; the second element describes such a file.
    Magic(&'static [(&'static [u8], &'static str)]),
    /// Files begin with text.
    Text,
    /// Files begin with bytes that the function accepts.
    Accepted(fn(&[u8]) -> bool),
}

impl Format {
    /// Returns the format for the extension of `path`.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let known = |format: &&Format| {
            extension.as_deref().is_some_and(|extension| format.reader().extensions.contains(&extension))
        };
        Format::ALL.iter().find(known).copied().ok_or_else(|| {
            let extensions: Vec<String> = Format::extensions().map(|extension| format!(".{extension}")).collect();
            let (last, others) = extensions.split_last().expect("there are formats");
            Error::UnknownExtension { path: path.to_owned(), known: format!("{} or {last}", others.join(", ")) }
        })
    }

    /// Like [`Format::of`], but the file must exist.
    pub(crate) fn of_file(path: &Path) -> Result<Self> {
        match Format::of(path) {
            Err(_) if !path.exists() => Err(Error::NotFound { path: path.to_owned() }),
            format => format,
        }
    }

    /// Lists the extensions of all formats, without a dot.
    ///
    /// ```
    /// assert!(homing_pool::Format::extensions().any(|extension| extension == "parquet"));
    /// ```
    pub fn extensions() -> impl Iterator<Item = &'static str> {
        Format::ALL.iter().flat_map(|format| format.reader().extensions).copied()
    }

    /// Whether shards in a folder may have this format.
    pub fn is_for_shards(self) -> bool {
        self.reader().shard.is_some()
    }

    /// Whether files of this format are tables, whose columns may hold texts.
    pub fn is_table(self) -> bool {
        matches!(self, Format::Parquet | Format::Arrow | Format::Csv | Format::Tsv | Format::Jsonl)
    }

    pub(crate) fn is_used_in_place(self) -> bool {
        self.reader().in_place
    }

    /// Refuses `bytes` that begin like another format.
    pub(crate) fn check(self, path: &Path, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Err(Error::EmptyFile { path: path.to_owned() });
        }
        let FormatReader { description, beginning, .. } = self.reader();
        let (fits, unread) = match beginning {
            Beginning::Magic(magic) => (magic.iter().any(|(magic, _)| bytes.starts_with(magic)), None),
            Beginning::Text => (is_text(bytes), unread_text(bytes)),
            Beginning::Accepted(accepts) => (accepts(bytes), None),
        };
        if fits {
            return Ok(());
        }
        let found = unread.map_or_else(|| found(bytes), str::to_owned);
        Err(Error::Foreign { path: path.to_owned(), expected: description, found })
    }
}

/// First bytes of formats that cannot be read, and descriptions of such files.
const FOREIGN: [(&[u8], &str); 11] = [
    (b"PK", "a zip file, such as .npz"),
    (b"PARE", "an encrypted Parquet file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x1f\x8b", "a gzip file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x03", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x80\x05", "a Python pickle"),
    (b"version https://git-lfs", "a Git LFS pointer (fetch the file with `git lfs pull`)"),
    (b"<!DOCTYPE", "a web page"),
];

/// Returns the description of a file that begins with these bytes.
fn magic(bytes: &[u8]) -> Option<&'static str> {
    let known = Format::ALL.iter().filter_map(|format| match format.reader().beginning {
        Beginning::Magic(magic) => Some(magic),
        _ => None,
    });
    let mut all = known.flatten().chain(&FOREIGN);
    all.find(|(magic, _)| bytes.starts_with(magic)).map(|(_, name)| *name)
}

/// Describes what `bytes` look like, for a message.
fn found(bytes: &[u8]) -> String {
    let accepts =
        |format: &&Format| matches!(format.reader().beginning, Beginning::Accepted(accepts) if accepts(bytes));
    let accepting = || Format::ALL.iter().find(accepts).map(|format| format.reader().description);
    match magic(bytes).or_else(accepting) {
        Some(name) => format!("it looks like {name}"),
        None if reads_as_text(bytes) => "it looks like text".to_owned(),
        None => "it begins with bytes of no known format".to_owned(),
    }
}

fn is_text(bytes: &[u8]) -> bool {
    let front = &bytes[..bytes.len().min(4096)];
    magic(bytes).is_none() && !front.contains(&0) && !front.starts_with(&[0xff, 0xfe])
}

/// Returns why `bytes` that look like text cannot be read, or `None` if they can.
fn unread_text(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xfe, ..] => Some("it is UTF-16 text, but only UTF-8 can be read"),
        _ if magic(bytes).is_none() && reads_as_text(bytes) => Some("it holds a NUL byte, which text never does"),
        _ => None,
    }
}

fn reads_as_text(bytes: &[u8]) -> bool {
    let front = &bytes[..bytes.len().min(16)];
    front.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_extension_belongs_to_one_format() {
        for &format in Format::ALL {
            for extension in format.reader().extensions {
                assert_eq!(Format::of(Path::new(&format!("A.{}", extension.to_uppercase()))).unwrap(), format);
            }
        }
        let message = Format::of(Path::new("a.h5")).unwrap_err().to_string();
        assert!(
            message.contains("use one of .npy, .npz, .safetensors, .parquet, .arrow, .csv, .tsv, .jsonl or .ndjson")
        );
    }
}
