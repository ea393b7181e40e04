//! A directory of shards, such as Hugging Face datasets' `save_to_disk` writes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::mapped::map;
use crate::pool::Contents;
use crate::{Error, Format, ReadOptions, Result, ipc, parquet};

pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<(Format, Contents)> {
    refuse_indices_mapping(path)?;
    let shards = shards(path)?;
    let mut table = None;
    for Shard { path, format } in &shards {
        let bytes = map(path)?;
        format.check(path, &bytes)?;
        match format {
            Format::Parquet => parquet::append(path, &bytes, options, &mut table)?,
            _ => ipc::append(path, &bytes, options, &mut table)?,
        }
    }
    Ok((shards[0].format, parquet::finish(path, table)?))
}

struct Shard {
    path: PathBuf,
    format: Format,
}

/// The shards in the directory at `path`, at least one, in the order of their names.
fn shards(path: &Path) -> Result<Vec<Shard>> {
    let unreadable = |source| Error::read(path, source);
    let (mut shards, mut directories) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let entry = entry.path();
        if entry.is_dir() {
            directories.push(name);
        // `datasets` leaves the results of earlier steps beside the shards.
        } else if !name.starts_with("cache-")
            && let Ok(format @ (Format::Arrow | Format::Parquet)) = Format::of(&entry)
        {
            shards.push(Shard { path: entry, format });
        }
    }
    if shards.is_empty() {
        directories.sort();
        return Err(Error::NoShards { path: path.to_owned(), directories });
    }
    shards.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(shards)
}

fn refuse_indices_mapping(path: &Path) -> Result<()> {
    let Ok(text) = fs::read(path.join("state.json")) else { return Ok(()) };
    let state: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    match state.get("_indices_data_files") {
        None | Some(serde_json::Value::Null) => Ok(()),
        Some(_) => Err(Error::IndicesMapping { path: path.to_owned() }),
    }
}
