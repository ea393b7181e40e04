//! NumPy's .npz archives: zip files of .npy files.

use std::io::{self, Cursor, Read};
use std::path::Path;

use bytes::Bytes;
use zip::ZipArchive;

use crate::guard::{caught, guarded};
use crate::room::Room;
use crate::store::Store;
use crate::tensor::{Archive, Header, Tensor};
use crate::{Error, ReadOptions, Result, npy};

pub(crate) const MAGIC: &[u8] = b"PK\x03\x04";
const FORMAT: &str = ".npz";

/// No deflated byte stands for more than 1032 bytes.
const DEFLATE_RATIO: u64 = 1032;

/// Enough of an entry for any header that `npy::header` accepts.
const HEADER_BYTES: u64 = 12 * 1024;

pub(crate) fn read(path: &Path, bytes: &Bytes, options: &ReadOptions) -> Result<crate::pool::Contents> {
    crate::tensor::read(path, &mut Npz::open(path, bytes)?, options)
}

pub(crate) struct Npz<'a> {
    path: &'a Path,
    zip: ZipArchive<Cursor<Bytes>>,
    entries: Vec<Entry>,
}

struct Entry {
    name: String,
    position: usize,
    header: Header,
    start: usize,
}

impl<'a> Npz<'a> {
    pub(crate) fn open(path: &'a Path, bytes: &Bytes) -> Result<Self> {
        let mut zip = guarded(path, FORMAT, || ZipArchive::new(Cursor::new(bytes.clone())))?;
        if zip.has_duplicate_names() {
            return Err(Error::malformed(path, FORMAT, "two of its arrays have one name"));
        }
        let mut entries = Vec::new();
        for position in 0..zip.len() {
            let Some((name, front)) = guarded(path, FORMAT, || front(&mut zip, position))? else { continue };
            if !front.starts_with(npy::MAGIC) {
                return Err(Error::malformed(path, FORMAT, &format!("its entry '{name}' is not a .npy file")));
            }
            let (header, start) = npy::header(path, &front)?;
            entries.push(Entry { name, position, header, start });
        }
        Ok(Self { path, zip, entries })
    }
}

/// The array name and the first bytes of an entry; none for what is no array.
fn front(zip: &mut ZipArchive<Cursor<Bytes>>, position: usize) -> io::Result<Option<(String, Vec<u8>)>> {
    let entry = zip.by_index(position)?;
    let file_name = String::from_utf8_lossy(entry.name_raw()).into_owned();
    let Some(name) = npyz::npz::array_name_from_file_name(&file_name) else { return Ok(None) };
    let name = name.to_owned();
    let mut front = Vec::new();
    entry.take(HEADER_BYTES).read_to_end(&mut front)?;
    Ok(Some((name, front)))
}

impl Archive for Npz<'_> {
    fn headers(&self) -> Vec<(String, Header)> {
        self.entries.iter().map(|entry| (entry.name.clone(), entry.header.clone())).collect()
    }

    fn tensor(&mut self, position: usize) -> Result<Tensor> {
        let Entry { name, position, header, start } = &self.entries[position];
        let expected = header.byte_len().map_or(u64::MAX, |length| length as u64);
        let possible = guarded(self.path, FORMAT, || {
            self.zip.by_index(*position).map(|entry| entry.compressed_size().saturating_mul(DEFLATE_RATIO))
        })?;
        if expected <= possible {
            Room::now().check(self.path, expected)?;
        }
        let mut unpacked = || {
            let mut entry = self.zip.by_index(*position)?;
            let mut bytes = Vec::new();
            if expected <= possible {
                bytes.try_reserve_exact(expected as usize).map_err(|_| io::ErrorKind::OutOfMemory)?;
                io::copy(&mut entry.by_ref().take(*start as u64), &mut io::sink())?;
                entry.take(expected).read_to_end(&mut bytes)?;
            }
            Ok(bytes)
        };
        let bytes = caught(self.path, FORMAT, || {
            unpacked().map_err(|error: io::Error| match error.kind() {
                io::ErrorKind::OutOfMemory => Error::TooLarge { path: self.path.to_owned() },
                _ => Error::malformed(self.path, FORMAT, &error),
            })
        })?;
        if (bytes.len() as u64) < expected {
            let name = crate::error::quoted(name);
            return Err(Error::malformed(self.path, FORMAT, &format!("its array {name} is cut short")));
        }
        Ok(Tensor { header: header.clone(), store: Store::Memory(Bytes::from(bytes)) })
    }
}
