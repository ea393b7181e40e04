//! The cache of embeddings on disk: one file per block of items and model, named by a hash of both.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use homing_pool::disk;

use crate::{Encoder, Error, Items, Result};

/// A folder with embeddings that were computed before. The files that were not used for the longest time are removed when it grows
/// beyond its limit.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
}

/// Number of files in a cache, and their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSize {
    /// Number of files.
    pub files: usize,
    /// Number of bytes of all files.
    pub bytes: u64,
}

/// Extension of the files in the cache.
const ENDING: &str = "embeddings";

/// Largest size of the usual cache in bytes.
const LIMIT: u64 = 2 << 30;

impl Cache {
    /// Returns the cache in `folder`, which may grow to `limit` bytes.
    pub fn new(folder: impl Into<PathBuf>, limit: u64) -> Self {
        Self { folder: folder.into(), limit }
    }

    /// Returns the usual cache: the folder that `HOMING_CACHE` names, or `homing/embeddings` in the folder of the user's caches. It
    /// is `None` if `HOMING_CACHE` is `off`, or if the user has no folder for caches.
    pub fn usual() -> Option<Self> {
        Self::of(|name| std::env::var_os(name))
    }

    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = match set("HOMING_CACHE") {
            Some(off) if off == Path::new("off") => return None,
            Some(folder) => folder,
            None => {
                set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?.join("homing").join("embeddings")
            }
        };
        Some(Self::new(folder, LIMIT))
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the largest size of the cache in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the number of files in the cache and their size.
    pub fn size(&self) -> Result<CacheSize> {
        let files = self.files().map_err(|error| self.unusable(&error))?;
        Ok(CacheSize { files: files.len(), bytes: files.iter().map(|file| file.bytes).sum() })
    }

    /// Removes all files from the cache, and returns how many there were and how large they were.
    pub fn clear(&self) -> Result<CacheSize> {
        let size = self.size()?;
        for file in self.files().map_err(|error| self.unusable(&error))? {
            disk::remove_file(&file.path).map_err(|error| self.unusable(&error))?;
        }
        Ok(size)
    }

    /// Returns the `rows` × `dim` numbers that the cache holds under this key, if it holds them.
    pub(crate) fn find(&self, key: &str, rows: usize, dim: usize) -> Option<Vec<f32>> {
        let path = self.path(key);
        let bytes = fs::read(&path).ok().filter(|bytes| bytes.len() == rows * dim * 4)?;
        let values: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        // The time of the last use decides which files stay. If it cannot be set, the file may be removed earlier, which does no harm.
        let _ = File::options().write(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        values.iter().all(|value| value.is_finite()).then_some(values)
    }

    /// Adds embeddings to the cache. If this fails, nothing is lost: the embeddings are computed again next time.
    pub(crate) fn keep(&self, key: &str, values: &[f32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        if disk::create_dir_all(&self.folder).is_ok() {
            let _ = homing_pool::write_beside(&self.path(key), |file| file.write_all(&bytes));
        }
    }

    /// Removes files, the least recently used first, until the cache is within its limit.
    pub(crate) fn prune(&self) {
        let Ok(mut files) = self.files() else { return };
        let mut bytes: u64 = files.iter().map(|file| file.bytes).sum();
        files.sort_by_key(|file| file.used);
        for file in files {
            if bytes <= self.limit {
                break;
            }
            if disk::remove_file(&file.path).is_ok() {
                bytes -= file.bytes;
            }
        }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.{ENDING}"))
    }

    fn files(&self) -> io::Result<Vec<CachedFile>> {
        let listed = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed?,
        };
        let mut files = Vec::new();
        for entry in listed {
            let entry = entry?;
            let path = entry.path();
            let metadata = entry.metadata()?;
            if metadata.is_file() && path.extension().is_some_and(|ending| ending == ENDING) {
                let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                files.push(CachedFile { path, bytes: metadata.len(), used });
            }
        }
        Ok(files)
    }

    fn unusable(&self, error: &io::Error) -> Error {
        Error::Cache { path: self.folder.clone(), detail: error.to_string() }
    }
}

struct CachedFile {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// Returns the key of the embeddings of some items by a model, or `None` if they are not worth keeping.
pub(crate) fn key(encoder: &dyn Encoder, items: &Items, rows: std::ops::Range<usize>) -> Result<Option<String>> {
    let Some(fingerprint) = encoder.fingerprint() else { return Ok(None) };
    let mut hash = blake3::Hasher::new();
    // This line changes when the code computes other embeddings than before.
    hash.update(b"homing embeddings 1\n");
    hash.update(fingerprint.as_bytes());
    for row in rows {
        hash.update(&items.content(row)?);
    }
    Ok(Some(hash.finalize().to_hex().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_the_environment_choose_the_folder() {
        let of = |set: &[(&str, &str)]| {
            let cache = Cache::of(|name| set.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into()));
            cache.map(|cache| cache.folder)
        };
        assert_eq!(of(&[("HOME", "/h")]), Some("/h/.cache/homing/embeddings".into()));
        assert_eq!(of(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]), Some("/c/homing/embeddings".into()));
        assert_eq!(of(&[("HOMING_CACHE", "/e"), ("HOME", "/h")]), Some("/e".into()));
        assert_eq!(of(&[("HOMING_CACHE", "off"), ("HOME", "/h")]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn files_are_found_bounded_and_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("new"), 20);
        assert_eq!(cache.size().unwrap(), CacheSize::default());
        cache.keep("a", &[1.0, 2.0]);
        assert_eq!(cache.find("a", 1, 2), Some(vec![1.0, 2.0]));
        assert_eq!((cache.find("a", 2, 2), cache.find("b", 1, 2)), (None, None), "another shape, another key");
        cache.keep("b", &[3.0, 4.0]);
        cache.keep("c", &[f32::NAN, 4.0]);
        assert_eq!(cache.find("c", 1, 2), None, "numbers that are not finite are computed again");
        let old = SystemTime::now() - std::time::Duration::from_secs(1000);
        File::options().write(true).open(cache.path("b")).unwrap().set_modified(old).unwrap();
        cache.prune();
        assert_eq!(cache.size().unwrap(), CacheSize { files: 2, bytes: 16 });
        assert_eq!(cache.find("b", 1, 2), None, "it was not used for the longest time");
        fs::write(cache.folder().join("mine.txt"), "keep").unwrap();
        assert_eq!(cache.clear().unwrap(), CacheSize { files: 2, bytes: 16 });
        assert!(cache.folder().join("mine.txt").exists());
        assert_eq!(cache.size().unwrap(), CacheSize::default());
    }
}
