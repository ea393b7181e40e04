//! The cache of feature maps on disk.
//!
//! A file is a pool of half-precision rows, named after the hash of weights and images. Until it is complete, its name ends
//! in `.part`. Interrupted work continues before the last complete chunk, which may be damaged.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use half::f16;
use homing_pool::{Pool, ReadOptions, disk};
use rayon::prelude::*;
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};

use super::layout::{MAPS, SIDE};
use super::trunk::Trunk;
use crate::{Error, Examples, Inputs, Remedy, Result};

/// Images per chunk.
const CHUNK: usize = 64;
/// Numbers per image.
const SIZE: usize = MAPS[0] * MAPS[1] * MAPS[2];
/// Bytes per image.
const BYTES: usize = 2 * SIZE;
/// Name of half precision in a pool.
const DTYPE: &str = "float16";

/// Returns the feature maps of `images` in their order, 15,680 numbers each, from the cache in `folder`. Missing maps are
/// computed and added to the cache.
///
/// `progress` receives the number of computed maps and may stop the work. Then the result is none, and the next call
/// continues from there.
pub fn feature_maps(
    trunk: &Trunk,
    images: Examples<'_>,
    folder: &Path,
    mut progress: impl FnMut(usize) -> ControlFlow<()>,
) -> Result<Option<Inputs>> {
    let Examples { inputs, rows } = images;
    let count = rows.len();
    if count == 0 {
        return Err(Error::NoExamples { of: "images" });
    }
    let mut key = blake3::Hasher::new();
    key.update(trunk.hash().as_bytes()).update(inputs.fingerprint(rows)?.as_bytes());
    let path = folder.join(format!("{}.safetensors", key.finalize()));
    if let Some(pool) = open_complete(&path, count) {
        return Ok(Some(Inputs::pool(pool)));
    }
    disk::create_dir_all(folder).map_err(Error::io(folder))?;
    let mut part = PartialFile::lock(path.with_extension("part"))?;
    // Another process may have completed the file while this one waited for the lock.
    if let Some(pool) = open_complete(&path, count) {
        part.remove()?;
        return Ok(Some(Inputs::pool(pool)));
    }
    part.resume(count)?;
    while part.rows < count {
        let chunk = &rows[part.rows..count.min(part.rows + CHUNK)];
        let pixels: Vec<Vec<f32>> =
            chunk.par_iter().map(|&row| inputs.resized_rgb(&[row], SIDE)).collect::<Result<_, _>>()?;
        part.append(&trunk.maps(pixels.concat()))?;
        if progress(part.rows).is_break() {
            return Ok(None);
        }
    }
    part.finish(&path)?;
    Ok(Some(Inputs::pool(Pool::open(&path, &ReadOptions::default())?)))
}

/// Returns the default folder of the cache: `$XDG_CACHE_HOME/homing` or `~/.cache/homing`.
pub fn cache_folder() -> Result<PathBuf> {
    cache_of(|name| std::env::var_os(name)).ok_or(Error::NoHome)
}

/// Returns the default folder of the cache for given environment variables.
fn cache_of(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(cache.join("homing"))
}

/// Opens the file at `path` if it holds the expected number of feature maps; a damaged file counts as missing.
fn open_complete(path: &Path, count: usize) -> Option<Pool> {
    let pool = Pool::open(path, &ReadOptions::default()).ok()?;
    (pool.rows() == count && pool.dim() == SIZE && pool.dtype() == DTYPE).then_some(pool)
}

/// An incomplete file. It is locked, so that other processes wait until this one has completed it or ended.
struct PartialFile {
    file: File,
    path: PathBuf,
    /// Number of rows in the file.
    rows: usize,
}

impl PartialFile {
    /// Waits until no other process holds the file. It may have been renamed by then, so it is not changed yet.
    fn lock(path: PathBuf) -> Result<Self> {
        let file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(Error::io(&path))?;
        file.lock().map_err(Error::io(&path))?;
        Ok(Self { file, path, rows: 0 })
    }

    /// Keeps the rows that an interrupted process has written, or writes the header of a new file.
    fn resume(&mut self, count: usize) -> Result<()> {
        let io = |error| Error::Io { path: self.path.clone(), error };
        let header = header(count);
        let length = self.file.metadata().map_err(io)?.len() as usize;
        // Every chunk is on disk before the next one starts, so only the last can be damaged.
        let rows = (length.saturating_sub(header.len()) / (CHUNK * BYTES)).saturating_sub(1) * CHUNK;
        if rows == 0 {
            disk::set_len(&self.file, 0).and_then(|()| disk::write_all(&self.file, &header)).map_err(io)?;
        }
        disk::set_len(&self.file, (header.len() + rows * BYTES) as u64).map_err(io)?;
        self.rows = rows;
        Ok(())
    }

    fn append(&mut self, maps: &[f32]) -> Result<()> {
        let halves: Vec<f16> = maps.iter().map(|&value| f16::from_f32(value)).collect();
        if let Some(at) = halves.iter().position(|half| !half.is_finite()) {
            let row = self.rows + at / SIZE;
            let reason = format!("image {row} has features that half precision cannot hold");
            return Err(Error::weights(reason, Remedy::SaveWeightsAgain));
        }
        let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
        disk::write_all(&self.file, &bytes).and_then(|()| disk::sync(&self.file)).map_err(Error::io(&self.path))?;
        self.rows += maps.len() / SIZE;
        Ok(())
    }

    fn finish(self, path: &Path) -> Result<()> {
        disk::sync(&self.file).and_then(|()| disk::rename(&self.path, path)).map_err(Error::io(path))
    }

    fn remove(self) -> Result<()> {
        match disk::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::Io { path: self.path, error }),
            _ => Ok(()),
        }
    }
}

/// Returns the header of a safetensors file with one matrix of `count` rows.
fn header(count: usize) -> Vec<u8> {
    let info = TensorInfo { dtype: Dtype::F16, shape: vec![count, SIZE], data_offsets: (0, count * BYTES) };
    let metadata = Metadata::new(None, vec![("features".into(), info)]).expect("one tensor that starts at 0 is valid");
    let mut text = serde_json::to_vec(&metadata).expect("the metadata can be written as JSON");
    text.resize(text.len().next_multiple_of(8), b' ');
    let mut header = (text.len() as u64).to_le_bytes().to_vec();
    header.extend(text);
    header
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn maps(chunk: usize) -> Vec<f32> {
        (0..CHUNK * SIZE).map(|at| ((at + chunk) % 1000) as f32).collect()
    }

    #[test]
    fn interrupted_work_continues_before_the_last_chunk() {
        let folder = tempfile::tempdir().unwrap();
        let (path, part) = (folder.path().join("a.safetensors"), folder.path().join("a.part"));
        let open = || {
            let mut part = PartialFile::lock(part.clone()).unwrap();
            part.resume(3 * CHUNK).unwrap();
            part
        };
        let mut complete = open();
        (0..3).for_each(|chunk| complete.append(&maps(chunk)).unwrap());
        complete.finish(&path).unwrap();
        let expected = fs::read(&path).unwrap();
        let head = header(3 * CHUNK).len();
        for (length, rows) in [(0, 0), (5, 0), (head + CHUNK * BYTES + 7, 0), (head + 2 * CHUNK * BYTES + 1, CHUNK)] {
            // The last chunk of an interrupted process may hold any bytes.
            let mut torn = expected[..length].to_vec();
            torn[(head + rows * BYTES).min(length)..].fill(0xab);
            fs::write(&part, &torn).unwrap();
            let mut again = open();
            assert_eq!(again.rows, rows);
            (rows / CHUNK..3).for_each(|chunk| again.append(&maps(chunk)).unwrap());
            again.finish(&path).unwrap();
            assert!(fs::read(&path).unwrap() == expected, "cut off at {length}");
        }
        let pool = open_complete(&path, 3 * CHUNK).unwrap();
        assert_eq!(pool.embeddings().row(CHUNK)[..3], [1.0, 2.0, 3.0]);
    }

    #[test]
    fn numbers_that_are_too_large_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut part = PartialFile::lock(folder.path().join("a.part")).unwrap();
        part.resume(2).unwrap();
        let mut numbers = vec![0.0; 2 * SIZE];
        numbers[SIZE + 3] = 1e9;
        assert!(part.append(&numbers).unwrap_err().to_string().contains("image 1 has"));
    }

    #[test]
    fn the_cache_is_in_the_users_folder() {
        let of = |set: &[(&str, &str)]| {
            cache_of(|name| set.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into()))
        };
        assert_eq!(of(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]), Some("/c/homing".into()));
        assert_eq!(of(&[("XDG_CACHE_HOME", ""), ("HOME", "/h")]), Some("/h/.cache/homing".into()));
        assert_eq!(of(&[]), None);
    }
}
