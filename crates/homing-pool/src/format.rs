//! File formats, by extension and by their first bytes.

use std::path::Path;

use crate::{Error, Result, npy, npz};

/// How a pool is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A NumPy array.
    Npy,
    /// A zip file of NumPy arrays.
    Npz,
    /// Named tensors.
    Safetensors,
    /// An Apache Parquet table.
    Parquet,
    /// An Apache Arrow IPC stream or file.
    Arrow,
    /// Comma-separated text.
    Csv,
    /// Tab-separated text.
    Tsv,
    /// One JSON value a line.
    Jsonl,
}

const KNOWN: &str = ".npy, .npz, .safetensors, .parquet, .arrow, .csv, .tsv, .jsonl or .ndjson";

impl Format {
    /// Every format.
    pub const ALL: [Format; 8] = [
        Format::Npy,
        Format::Npz,
        Format::Safetensors,
        Format::Parquet,
        Format::Arrow,
        Format::Csv,
        Format::Tsv,
        Format::Jsonl,
    ];

    /// The format that the extension of `path` stands for.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("npy") => Ok(Format::Npy),
            Some("npz") => Ok(Format::Npz),
            Some("safetensors") => Ok(Format::Safetensors),
            Some("parquet") => Ok(Format::Parquet),
            Some("arrow") => Ok(Format::Arrow),
            Some("csv") => Ok(Format::Csv),
            Some("tsv") => Ok(Format::Tsv),
            Some("jsonl" | "ndjson") => Ok(Format::Jsonl),
            _ => Err(Error::UnknownExtension { path: path.to_owned(), known: KNOWN }),
        }
    }

    /// The format's name, for a message.
    pub fn name(self) -> &'static str {
        match self {
            Format::Npy => "npy",
            Format::Npz => "npz",
            Format::Safetensors => "safetensors",
            Format::Parquet => "Parquet",
            Format::Arrow => "Arrow",
            Format::Csv => "CSV",
            Format::Tsv => "TSV",
            Format::Jsonl => "JSON lines",
        }
    }

    /// Refuses `bytes` that begin as another format's do.
    pub(crate) fn check(self, path: &Path, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Err(Error::EmptyFile { path: path.to_owned() });
        }
        let (fits, expected) = match self {
            Format::Npy => (bytes.starts_with(npy::MAGIC), "a NumPy .npy file"),
            Format::Npz => (bytes.starts_with(npz::MAGIC), "a NumPy .npz file"),
            Format::Safetensors => (is_safetensors(bytes), "a safetensors file"),
            Format::Parquet => (bytes.starts_with(b"PAR1"), "a Parquet file"),
            Format::Arrow => (is_arrow(bytes), "an Arrow file"),
            Format::Csv | Format::Tsv => (is_text(bytes), "a table of text"),
            Format::Jsonl => (is_text(bytes), "a file of JSON lines"),
        };
        let text = matches!(self, Format::Csv | Format::Tsv | Format::Jsonl);
        let found = || unread_text(bytes).filter(|_| text).map_or_else(|| found(bytes), str::to_owned);
        if fits { Ok(()) } else { Err(Error::Foreign { path: path.to_owned(), expected, found: found() }) }
    }
}

fn is_safetensors(bytes: &[u8]) -> bool {
    const LONGEST_HEADER: u64 = 100_000_000;
    let Some(front) = bytes.first_chunk::<8>() else { return false };
    u64::from_le_bytes(*front) <= LONGEST_HEADER && bytes.get(8).is_none_or(|&byte| byte == b'{')
}

fn is_arrow(bytes: &[u8]) -> bool {
    bytes.starts_with(b"ARROW1") || bytes.starts_with(&[0xff; 4])
}

fn is_text(bytes: &[u8]) -> bool {
    let front = &bytes[..bytes.len().min(4096)];
    magic(bytes).is_none() && !front.contains(&0) && !front.starts_with(&[0xff, 0xfe])
}

/// Why `bytes` that begin as text are none that can be read.
fn unread_text(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xfe, ..] => Some("it is UTF-16 text, where UTF-8 is read"),
        _ if magic(bytes).is_none() && reads_as_text(bytes) => Some("it holds a NUL byte, which text does not"),
        _ => None,
    }
}

fn reads_as_text(bytes: &[u8]) -> bool {
    let front = &bytes[..bytes.len().min(16)];
    front.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace())
}

/// What `bytes` look like, for a message.
fn found(bytes: &[u8]) -> String {
    match magic(bytes) {
        Some(name) => format!("it looks like {name}"),
        None if is_safetensors(bytes) => "it looks like a safetensors file".to_owned(),
        None if reads_as_text(bytes) => "it looks like text".to_owned(),
        None => "it begins with bytes of no known format".to_owned(),
    }
}

fn magic(bytes: &[u8]) -> Option<&'static str> {
    const MAGIC: [(&[u8], &str); 15] = [
        (npy::MAGIC, "a NumPy .npy file"),
        (b"PK", "a zip file, such as .npz"),
        (b"PAR1", "a Parquet file"),
        (b"PARE", "an encrypted Parquet file"),
        (b"ARROW1", "an Arrow file"),
        (&[0xff; 4], "an Arrow stream"),
        (b"\x89HDF", "an HDF5 file"),
        (b"\x1f\x8b", "a gzip file"),
        (b"\x28\xb5\x2f\xfd", "a zstd file"),
        (b"\x80\x02", "a Python pickle"),
        (b"\x80\x03", "a Python pickle"),
        (b"\x80\x04", "a Python pickle"),
        (b"\x80\x05", "a Python pickle"),
        (b"version https://git-lfs", "a Git LFS pointer, to be fetched by `git lfs pull`"),
        (b"<!DOCTYPE", "a web page"),
    ];
    MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, name)| *name)
}
