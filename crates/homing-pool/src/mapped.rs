//! A file's bytes, mapped into memory.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;
use memmap2::Mmap;

use crate::{Error, Result};

/// The bytes of the file at `path`, which has some, read by the operating system when they are looked at.
///
/// The file must not be rewritten in place while they are.
pub fn map(path: &Path) -> Result<Bytes> {
    let (file, _) = open(path)?;
    match map_file(&file) {
        Ok(map) => Ok(Bytes::from_owner(map)),
        Err(source) if source.kind() == io::ErrorKind::OutOfMemory => Err(Error::TooLarge { path: path.to_owned() }),
        Err(source) => Err(Error::read(path, source)),
    }
}

/// The file at `path` and its length, which is not zero.
pub(crate) fn open(path: &Path) -> Result<(File, u64)> {
    match open_regular(path)? {
        (_, 0) => Err(Error::EmptyFile { path: path.to_owned() }),
        found => Ok(found),
    }
}

/// The bytes of the regular file at `path`, at most `most`.
pub fn read_file(path: &Path, most: u64) -> Result<Vec<u8>> {
    let (file, found) = open_regular(path)?;
    if found > most {
        return Err(Error::TooLong { path: path.to_owned(), found, most });
    }
    let mut bytes = Vec::new();
    // A file that grows meanwhile is cut off, and what reads it will say so.
    file.take(most).read_to_end(&mut bytes).map_err(|source| Error::read(path, source))?;
    Ok(bytes)
}

/// The regular file at `path` and its length.
fn open_regular(path: &Path) -> Result<(File, u64)> {
    // Asked of the path: to open a pipe would wait for its other end.
    let metadata = fs::metadata(path).map_err(|source| Error::read(path, source))?;
    if metadata.is_dir() {
        return Err(Error::Directory { path: path.to_owned() });
    }
    if !metadata.is_file() {
        return Err(Error::NotRegular { path: path.to_owned() });
    }
    let file = File::open(path).map_err(|source| Error::read(path, source))?;
    Ok((file, metadata.len()))
}

#[allow(
    unsafe_code,
    reason = "a mapping is only as constant as its file; as with any mapped reader, pools must not be rewritten in place while they are read"
)]
fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: the bytes are only ever read, as numbers or text for which every bit pattern is checked or valid.
    unsafe { Mmap::map(file) }
}
