//! Bytes of a file, which are in memory, mapped, or read on demand.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use crate::mapped::{map, open};
use crate::memory::allowed;
use crate::{Error, Result};

/// How the numbers of a `.npy` or `.safetensors` file are accessed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Access {
    /// Mapped, unless the file is larger than half of the memory that this process may use; then read by position.
    #[default]
    Auto,
    /// Mapped into the address space, whatever the file's size.
    Map,
    /// Read by position, one block of rows at a time.
    Read,
}

impl Access {
    /// Returns how to access files of this length in all: by position instead of mapped if that is left open and they are too
    /// large.
    pub(crate) fn of(self, length: u64) -> Self {
        // If a mapping does not fit into memory, it is slower than reads, because a page fault also fetches nearby pages.
        match self {
            Access::Auto if allowed().is_some_and(|allowed| length > allowed / 2) => Access::Read,
            access => access,
        }
    }
}

/// Bytes in memory or in a file.
#[derive(Debug, Clone)]
pub(crate) enum Store {
    /// Bytes that are in memory or mapped.
    Memory(Bytes),
    /// Bytes that stay in a file.
    File(FileRange),
}

impl Store {
    /// Opens the file at `path`.
    pub(crate) fn open(path: &Path, access: Access) -> Result<Self> {
        Self::open_among(1, path, access)
    }

    /// Opens the file at `path`, one of `count` files of a pool.
    pub(crate) fn open_among(count: usize, path: &Path, access: Access) -> Result<Self> {
        let (file, length) = open(path)?;
        let access = access.of(length);
        let mapped = if access == Access::Read { None } else { Some(map(path)) };
        match (mapped, access) {
            (None, _) | (Some(Err(Error::TooLarge { .. })), Access::Auto) => {
                Ok(Store::File(FileRange::new(path, Some(file).filter(|_| count <= MOST_OPEN), length)))
            }
            (Some(Err(Error::TooLarge { path })), _) => Err(Error::Unmapped { path }),
            (Some(mapped), _) => mapped.map(Store::Memory),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Store::Memory(bytes) => bytes.len() as u64,
            Store::File(span) => span.len(),
        }
    }

    /// Returns the first bytes, at most `most`.
    pub(crate) fn first_bytes(&self, most: u64) -> Result<Bytes> {
        self.slice(0..most.min(self.len())).bytes()
    }

    /// Returns all bytes in memory.
    pub(crate) fn bytes(&self) -> Result<Bytes> {
        match self {
            Store::Memory(bytes) => Ok(bytes.clone()),
            Store::File(span) => span.bytes(),
        }
    }

    /// Returns a part of the bytes.
    pub(crate) fn slice(&self, range: Range<u64>) -> Self {
        match self {
            Store::Memory(bytes) => Store::Memory(bytes.slice(range.start as usize..range.end as usize)),
            Store::File(span) => Store::File(span.slice(range)),
        }
    }
}

/// Maximum number of files of a pool that are kept open, because processes may open only about a thousand. The files of larger pools
/// are opened for each read, which takes microseconds.
const MOST_OPEN: usize = 256;

/// Part of a file.
#[derive(Debug, Clone)]
pub(crate) struct FileRange {
    source: Arc<Source>,
    range: Range<u64>,
}

#[derive(Debug)]
struct Source {
    path: PathBuf,
    /// The open file, or `None` if it is opened for each read.
    file: Option<File>,
}

impl Source {
    fn with<T>(&self, use_file: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        match &self.file {
            Some(file) => use_file(file),
            None => use_file(&File::open(&self.path)?),
        }
    }
}

impl FileRange {
    fn new(path: &Path, file: Option<File>, length: u64) -> Self {
        Self { source: Arc::new(Source { path: path.to_owned(), file }), range: 0..length }
    }

    pub(crate) fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    fn slice(&self, range: Range<u64>) -> Self {
        assert!(range.start <= range.end && range.end <= self.len(), "{range:?} of {} bytes", self.len());
        Self { range: self.range.start + range.start..self.range.start + range.end, ..self.clone() }
    }

    fn bytes(&self) -> Result<Bytes> {
        let mut bytes = Vec::new();
        let length = usize::try_from(self.len()).unwrap_or(usize::MAX);
        bytes.try_reserve_exact(length).map_err(|_| Error::TooLarge { path: self.source.path.clone() })?;
        bytes.resize(length, 0);
        self.read(0, &mut bytes)?;
        Ok(bytes.into())
    }

    /// Reads the bytes from `start` on, until `out` is full.
    pub(crate) fn read(&self, start: u64, out: &mut [u8]) -> Result<()> {
        let from = self.slice(start..start + out.len() as u64).range.start;
        let path = &self.source.path;
        self.source.with(|file| read_exact_at(file, out, from)).map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => {
                let found = self.source.with(|file| Ok(file.metadata()?.len())).unwrap_or(0);
                Error::Truncated { path: path.clone(), expected: self.range.end, found }
            }
            _ => Error::read(path, source),
        })
    }

    /// Asks the system to fetch bytes that are about to be read, which lets many fetches run at once.
    ///
    /// Sequential reads do not need this, because the system reads ahead by itself and in larger pages.
    pub(crate) fn announce(&self, range: Range<u64>) {
        let range = self.slice(range).range;
        #[cfg(target_os = "linux")]
        if let Some(length) = std::num::NonZeroU64::new(range.end - range.start) {
            // The system may ignore this advice, so a failure does not matter.
            let will_need = rustix::fs::Advice::WillNeed;
            let _ = self.source.with(|file| Ok(rustix::fs::fadvise(file, range.start, Some(length), will_need)?));
        }
        #[cfg(not(target_os = "linux"))]
        let _ = range;
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, out: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, start)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut out: &mut [u8], mut start: u64) -> io::Result<()> {
    while !out.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, out, start) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                out = &mut out[read..];
                start += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
