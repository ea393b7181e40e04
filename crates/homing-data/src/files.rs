//! Lists the files of a folder or of an archive.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use homing_pool::{catch_panic, map, memory_allowed, one_line};
use lzma_rust2::XzReader;

use crate::picture::is_named;
use crate::{Error, Result};

/// Maximum number of bytes that an archive may unpack to if there is memory for it.
const MOST_UNPACKED: u64 = 8 << 30;

/// Bytes that any archive may unpack to, however small it is.
const LITTLE_UNPACKED: u64 = 64 << 20;

/// Maximum number of bytes that a larger archive may unpack to per packed byte. Images and numbers shrink to a
/// twentieth at most, and zeros to a thousandth or less.
const MOST_RATIO: u64 = 100;

/// Bytes of a block of a tar archive. Every file is padded to whole blocks, and two empty blocks end the archive.
const BLOCK: u64 = 512;

/// Memory that unpacking .xz may take.
const XZ_MEMORY_KIB: u32 = 1 << 20;

/// Where an image is, as it is stored.
#[derive(Clone, Debug)]
pub enum StoredImage {
    /// A file on the disk.
    File(PathBuf),
    /// The bytes of an image file.
    Bytes(Bytes),
}

/// A file that can be read.
#[derive(Clone, Debug)]
pub(crate) struct ListedFile {
    /// Path relative to the root, with `/` between folders.
    pub(crate) name: String,
    /// Full path, for messages.
    pub(crate) path: PathBuf,
    /// Bytes of a file in an archive, which is not on disk at `path`.
    packed: Option<Bytes>,
}

impl ListedFile {
    /// Returns the file at `path`.
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { name: path.to_string_lossy().into_owned(), path, packed: None }
    }

    /// Returns the bytes of the file as they are stored.
    pub(crate) fn bytes(&self) -> Result<Bytes> {
        match &self.packed {
            Some(bytes) => Ok(bytes.clone()),
            None => Ok(map(&self.path)?),
        }
    }

    /// Returns where the file is.
    pub(crate) fn stored(&self) -> StoredImage {
        match &self.packed {
            Some(bytes) => StoredImage::Bytes(bytes.clone()),
            None => StoredImage::File(self.path.clone()),
        }
    }

    /// Returns the bytes of the file, unpacked if they are compressed.
    pub(crate) fn unpacked(&self) -> Result<Bytes> {
        unpacked(&self.path, self.bytes()?)
    }

    /// Returns the name without its folders.
    pub(crate) fn file_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}

/// Files below a folder or in an archive, in the order of their names.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) root: PathBuf,
    pub(crate) entries: Vec<ListedFile>,
}

impl Listing {
    /// Lists the files of the folder at `root` and its subfolders, except hidden ones.
    pub(crate) fn folder(root: &Path) -> Result<Self> {
        let mut walk = FolderWalk::default();
        walk.enter(root, "")?;
        walk.refuse_twice()?;
        Ok(Self::sorted(root, walk.entries))
    }

    /// Lists the files of the archive at `path`. Returns `None` if `bytes` are not a tar archive.
    pub(crate) fn archive(path: &Path, bytes: &Bytes) -> Result<Option<Self>> {
        let named = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tar"));
        if bytes.get(257..262) != Some(b"ustar") && !named {
            return Ok(None);
        }
        let malformed = |error: std::io::Error| Error::malformed(path, "tar", &error);
        let found = bytes.len() as u64;
        let mut entries = Vec::new();
        let mut last = 0;
        for entry in tar::Archive::new(&bytes[..]).entries().map_err(malformed)? {
            let entry = entry.map_err(malformed)?;
            let start = entry.raw_file_position();
            let end = start.saturating_add(entry.size());
            last = end.saturating_add(BLOCK - 1) / BLOCK * BLOCK;
            if end > found {
                return Err(Error::Truncated { path: path.to_owned(), expected: end, found });
            }
            let name = String::from_utf8_lossy(&entry.path_bytes()).trim_start_matches("./").to_owned();
            let kind = entry.header().entry_type();
            if !kind.is_file() {
                if (kind.is_hard_link() || kind.is_symlink()) && is_named(&name) && !hidden(&name) {
                    return Err(Error::PackedLink { path: path.to_owned(), name });
                }
                continue;
            }
            if !hidden(&name) {
                let packed = Some(bytes.slice(start as usize..end as usize));
                entries.push(ListedFile { path: path.join(&name), name, packed });
            }
        }
        // If the end is missing, further files may be missing as well.
        if found < last.saturating_add(BLOCK) {
            return Err(Error::Truncated { path: path.to_owned(), expected: last.saturating_add(2 * BLOCK), found });
        }
        let listing = Self::sorted(path, entries);
        match listing.entries.windows(2).find(|pair| pair[0].name == pair[1].name) {
            Some(pair) => Err(Error::PackedTwice { path: path.to_owned(), name: one_line(&pair[0].name) }),
            None => Ok(Some(listing)),
        }
    }

    fn sorted(root: &Path, mut entries: Vec<ListedFile>) -> Self {
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Self { root: root.to_owned(), entries }
    }

    /// Returns the only file with this name, in whichever folder it is.
    pub(crate) fn find(&self, file_name: &str) -> Result<Option<&ListedFile>> {
        let mut found = self.entries.iter().filter(|entry| entry.file_name() == file_name);
        match (found.next(), found.next()) {
            (Some(first), Some(second)) => Err(self.several(first, second)),
            (first, _) => Ok(first),
        }
    }

    pub(crate) fn several(&self, first: &ListedFile, second: &ListedFile) -> Error {
        Error::Several { path: self.root.clone(), first: first.path.clone(), second: second.path.clone() }
    }

    /// Returns the non-blank lines of the file with this name, if there is one. They are names of classes.
    pub(crate) fn lines(&self, file_name: &str) -> Result<Option<Vec<String>>> {
        let Some(entry) = self.find(file_name)? else { return Ok(None) };
        let bytes = entry.bytes()?;
        let text = std::str::from_utf8(&bytes).map_err(|_| Error::malformed(&entry.path, "text", "it is not UTF-8"))?;
        Ok(Some(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()))
    }
}

fn hidden(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('.'))
}

/// State of a walk through folders that follows symbolic links.
#[derive(Default)]
struct FolderWalk {
    /// Current folder and its parents in the walk, with links resolved.
    within: Vec<PathBuf>,
    /// Every folder that was entered: its path with links resolved, and the path by which the walk reached it.
    entered: BTreeMap<PathBuf, PathBuf>,
    /// Every link to an image: its destination and its own path.
    links: Vec<(PathBuf, PathBuf)>,
    entries: Vec<ListedFile>,
}

impl FolderWalk {
    /// Lists the files of a folder and its subfolders, with `prefix` before their names.
    fn enter(&mut self, folder: &Path, prefix: &str) -> Result<()> {
        let failed = |source| Error::Folder { path: folder.to_owned(), source };
        let real = fs::canonicalize(folder).map_err(failed)?;
        if let Some(first) = self.entered.insert(real.clone(), folder.to_owned()) {
            return Err(Error::FolderTwice { path: folder.to_owned(), first });
        }
        self.within.push(real);
        let mut found = fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>).map_err(failed)?;
        found.sort_by_key(fs::DirEntry::file_name);
        for found in found {
            let name = format!("{prefix}{}", found.file_name().to_string_lossy());
            let path = found.path();
            if hidden(&name) {
                continue;
            }
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => {
                    if !self.leads_back(&path)? {
                        self.enter(&path, &format!("{name}/"))?;
                    }
                }
                Ok(metadata) if !metadata.is_file() => {}
                // A broken link is refused later, when its file is read.
                _ => {
                    let link = found.file_type().is_ok_and(|kind| kind.is_symlink()) && is_named(&name);
                    if let Some(real) = link.then(|| fs::canonicalize(&path).ok()).flatten() {
                        self.links.push((real, path.clone()));
                    }
                    self.entries.push(ListedFile { name, path, packed: None });
                }
            }
        }
        self.within.pop();
        Ok(())
    }

    /// Refuses a link to an image that is listed under its own name or under that of another link.
    fn refuse_twice(&self) -> Result<()> {
        let mut seen = BTreeMap::new();
        for (real, path) in &self.links {
            let name = real.file_name().unwrap_or_default();
            let folder = real.parent().and_then(|folder| self.entered.get(folder));
            let listed = folder.filter(|_| !hidden(&name.to_string_lossy())).map(|folder| folder.join(name));
            if let Some(first) = listed.or(seen.insert(real, path.clone())) {
                return Err(Error::FileTwice { path: path.clone(), first });
            }
        }
        Ok(())
    }

    /// Whether a folder is the current folder, one of its parents in the walk, or a folder that contains one of these. A link
    /// to such a folder would list the same files again.
    fn leads_back(&self, folder: &Path) -> Result<bool> {
        let real = fs::canonicalize(folder).map_err(|source| Error::Folder { path: folder.to_owned(), source })?;
        Ok(self.within.iter().any(|within| within.starts_with(&real)))
    }
}

/// Unpacks the bytes of the file at `path` if they are compressed with gzip or xz.
pub(crate) fn unpacked(path: &Path, bytes: Bytes) -> Result<Bytes> {
    if bytes.starts_with(b"\x1f\x8b") {
        read_all(path, "gzip", bytes.len(), MultiGzDecoder::new(&bytes[..]))
    } else if bytes.starts_with(b"\xfd7zXZ\0") {
        let most = memory_allowed().and_then(|allowed| u32::try_from(allowed / 1024).ok());
        let most = most.map_or(XZ_MEMORY_KIB, |kib| kib.min(XZ_MEMORY_KIB));
        read_all(path, "xz", bytes.len(), XzReader::new_mem_limit(&bytes[..], true, most))
    } else {
        Ok(bytes)
    }
}

fn read_all(path: &Path, format: &'static str, packed: usize, reader: impl Read) -> Result<Bytes> {
    // The buffer grows by doubling, and the old and the new buffer exist together while it is copied.
    let most = memory_allowed().map_or(MOST_UNPACKED, |allowed| MOST_UNPACKED.min(allowed / 3));
    let most = most.min(LITTLE_UNPACKED.saturating_add(MOST_RATIO.saturating_mul(packed as u64)));
    let mut out = Vec::new();
    let read = catch_panic(|| reader.take(most + 1).read_to_end(&mut out));
    let read = read.ok_or_else(|| Error::malformed(path, format, "its contents contradict each other"))?;
    read.map_err(|error| match error.kind() {
        std::io::ErrorKind::OutOfMemory => Error::TooLarge { path: path.to_owned(), limit: most },
        _ => Error::malformed(path, format, &error),
    })?;
    if out.len() as u64 > most {
        return Err(Error::TooLarge { path: path.to_owned(), limit: most });
    }
    Ok(out.into())
}
