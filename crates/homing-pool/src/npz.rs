//! Reads NumPy's .npz archives, which are zip files of .npy files.

use std::io::{self, Cursor, Read};
use std::path::Path;

use bytes::Bytes;
use zip::ZipArchive;

use crate::format::{Beginning, FormatReader};
use crate::guard::{caught, guarded};
use crate::memory_budget::MemoryBudget;
use crate::store::Store;
use crate::tensor::{Archive, Header, Tensor};
use crate::{Error, Result, column, npy, tensor};

const FORMAT: &str = ".npz";

pub(crate) const READER: FormatReader = FormatReader {
    extensions: &["npz"],
    description: "a NumPy .npz file",
    beginning: Beginning::Magic(&[(b"PK\x03\x04", "a zip file, such as .npz")]),
    in_place: false,
    pool: |path, store, options| tensor::read(path, &mut Npz::open(path, &store.bytes()?)?, options),
    column: |path, bytes, name| column::array(path, &mut Npz::open(path, bytes)?, name),
    rows: |_, _| Ok(None),
    values: |path, bytes, reader| tensor::values(path, &mut Npz::open(path, bytes)?, reader),
    count: |path, store, options| tensor::count(path, &Npz::open(path, &store.bytes()?)?, options),
    shard: None,
};

/// Maximum number of bytes that one deflated byte can represent.
const DEFLATE_RATIO: u64 = 1032;

/// Bytes of an entry that suffice for any header that `npy::header` accepts.
const HEADER_BYTES: u64 = 12 * 1024;

struct Npz<'a> {
    path: &'a Path,
    zip: ZipArchive<Cursor<Bytes>>,
    entries: Vec<NpzArray>,
}

struct NpzArray {
    name: String,
    position: usize,
    header: Header,
    start: usize,
}

impl<'a> Npz<'a> {
    fn open(path: &'a Path, bytes: &Bytes) -> Result<Self> {
        let mut zip = guarded(path, FORMAT, || ZipArchive::new(Cursor::new(bytes.clone())))?;
        if zip.has_duplicate_names() {
            return Err(Error::malformed(path, FORMAT, "two of its arrays have the same name"));
        }
        let mut entries = Vec::new();
        for position in 0..zip.len() {
            let Some((name, bytes)) = guarded(path, FORMAT, || first_bytes(&mut zip, position))? else { continue };
            if !bytes.starts_with(npy::MAGIC) {
                return Err(Error::malformed(path, FORMAT, &format!("its entry '{name}' is not a .npy file")));
            }
            let (header, start) = npy::header(path, &bytes)?;
            entries.push(NpzArray { name, position, header, start });
        }
        Ok(Self { path, zip, entries })
    }
}

/// Returns the array name and the first bytes of an entry, or `None` if the entry is not an array.
fn first_bytes(zip: &mut ZipArchive<Cursor<Bytes>>, position: usize) -> io::Result<Option<(String, Vec<u8>)>> {
    let entry = zip.by_index(position)?;
    let file_name = String::from_utf8_lossy(entry.name_raw()).into_owned();
    let Some(name) = npyz::npz::array_name_from_file_name(&file_name) else { return Ok(None) };
    let name = name.to_owned();
    let mut bytes = Vec::new();
    entry.take(HEADER_BYTES).read_to_end(&mut bytes)?;
    Ok(Some((name, bytes)))
}

impl Archive for Npz<'_> {
    fn headers(&self) -> Vec<(String, Header)> {
        self.entries.iter().map(|entry| (entry.name.clone(), entry.header.clone())).collect()
    }

    fn tensor(&mut self, position: usize) -> Result<Tensor> {
        let NpzArray { name, position, header, start } = &self.entries[position];
        let expected = header.byte_len().map_or(u64::MAX, |length| length as u64);
        let possible = guarded(self.path, FORMAT, || {
            self.zip.by_index(*position).map(|entry| entry.compressed_size().saturating_mul(DEFLATE_RATIO))
        })?;
        if expected <= possible {
            MemoryBudget::now().check(self.path, expected)?;
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
            let name = crate::message::quoted(name);
            return Err(Error::malformed(self.path, FORMAT, &format!("its array {name} is cut short")));
        }
        Ok(Tensor { header: header.clone(), store: Store::Memory(Bytes::from(bytes)) })
    }
}
