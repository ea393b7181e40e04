//! Reads a folder of shards, such as `save_to_disk` of Hugging Face datasets writes.
//!
//! If its `state.json` lists the shards, exactly these are read, in that order. Otherwise all shards are read in the order of
//! their names. If the names say how many shards there are (`data-00000-of-00003`), none may be missing.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::format::ShardReader;
use crate::mapped::{map, read_file};
use crate::message::quoted;
use crate::pool::Contents;
use crate::row_values::ValueReader;
use crate::{Error, Format, ReadOptions, Result, arrow};

const STATE: &str = "state.json";

/// Maximum number of bytes that a list of shards may have.
const LONGEST_STATE: u64 = 64 << 20;

pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<(Format, Contents)> {
    let shards = match listed(path)? {
        Some(shards) => shards,
        None => found(path)?,
    };
    let mut table = None;
    for Shard { path, format, append } in &shards {
        let bytes = map(path)?;
        format.check(path, &bytes)?;
        append(path, &bytes, options, &mut table)?;
    }
    Ok((shards[0].format, arrow::finish(path, table)?))
}

/// Reads values of some columns and rows of all shards.
pub(crate) fn read_values(path: &Path, reader: &mut ValueReader) -> Result<()> {
    let shards = match listed(path)? {
        Some(shards) => shards,
        None => found(path)?,
    };
    for Shard { path, format, .. } in &shards {
        if reader.next_row().is_none() {
            break;
        }
        (format.reader().values)(path, &map(path)?, reader)?;
    }
    Ok(())
}

#[derive(Debug)]
struct Shard {
    path: PathBuf,
    format: Format,
    append: ShardReader,
}

impl Shard {
    /// Returns `None` if the file at `path` is not a shard.
    fn of(path: PathBuf) -> Option<Self> {
        let format = Format::of(&path).ok()?;
        Some(Self { path, format, append: format.reader().shard? })
    }
}

/// Returns the shards that the dataset's own list names, at least one, or `None` if there is no list.
fn listed(path: &Path) -> Result<Option<Vec<Shard>>> {
    let state_path = path.join(STATE);
    if !state_path.exists() {
        return Ok(None);
    }
    let malformed = |detail: &str| Error::malformed(&state_path, "dataset's state", detail);
    let state: Value = serde_json::from_slice(&read_file(&state_path, LONGEST_STATE)?)
        .map_err(|error| malformed(&error.to_string()))?;
    if !matches!(state.get("_indices_data_files"), None | Some(Value::Null)) {
        return Err(Error::IndicesMapping { path: path.to_owned() });
    }
    // Other programs may write a file of this name, too.
    let Some(files) = state.get("_data_files") else { return Ok(None) };
    let files =
        files.as_array().filter(|files| !files.is_empty()).ok_or_else(|| malformed("it lists no data files"))?;
    let shard = |file: &Value| {
        let name = file.get("filename").and_then(Value::as_str).unwrap_or_default();
        // The list may name only files of its own folder.
        let shard = path.join(name);
        if shard.file_name() != Some(OsStr::new(name)) {
            return Err(malformed(&format!("it lists {}, which is not a file name", quoted(name))));
        }
        if !shard.exists() {
            return Err(Error::MissingShard { path: shard, list: state_path.clone() });
        }
        let detail = format!("it lists {}, which is neither .arrow nor .parquet", quoted(name));
        Shard::of(shard).ok_or_else(|| malformed(&detail))
    };
    files.iter().map(shard).collect::<Result<_>>().map(Some)
}

/// Returns the shards in the directory at `path`, at least one, in the order of their names.
fn found(path: &Path) -> Result<Vec<Shard>> {
    let unreadable = |source| Error::read(path, source);
    let (mut shards, mut folders) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let entry = entry.path();
        if entry.is_dir() {
            folders.push(name);
        // `datasets` leaves cached results of earlier steps next to the shards.
        } else if !name.starts_with("cache-") {
            shards.extend(Shard::of(entry));
        }
    }
    if shards.is_empty() {
        folders.sort();
        return Err(Error::NoShards { path: path.to_owned(), folders });
    }
    shards.sort_by(|a, b| a.path.cmp(&b.path));
    refuse_gaps(path, &shards)?;
    Ok(shards)
}

/// Refuses shards whose names imply that some are missing.
fn refuse_gaps(path: &Path, shards: &[Shard]) -> Result<()> {
    let mut series: BTreeMap<(&str, u64), Vec<u64>> = BTreeMap::new();
    for shard in shards {
        if let Some((before, number, count)) = shard.path.file_stem().and_then(OsStr::to_str).and_then(numbered) {
            series.entry((before, count)).or_default().push(number);
        }
    }
    for ((before, count), mut numbers) in series {
        numbers.sort_unstable();
        numbers.dedup();
        // Some programs count shards from 0 and some from 1.
        let first = u64::from(!numbers.contains(&0) && numbers.contains(&count));
        if let Some(number) = (first..first.saturating_add(count)).find(|number| numbers.binary_search(number).is_err())
        {
            let missing = quoted(&format!("{before}-{number:05}-of-{count:05}"));
            return Err(Error::ShardGap { path: path.to_owned(), missing, found: numbers.len(), count });
        }
    }
    Ok(())
}

/// Splits a name such as `data-00002-of-00005` into its prefix and the two numbers.
fn numbered(stem: &str) -> Option<(&str, u64, u64)> {
    let (before, after) = stem.rsplit_once("-of-")?;
    let (before, number) = before.rsplit_once('-')?;
    let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    Some((before, number.parse().ok()?, after[..digits].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(names: &[&str]) -> Option<String> {
        let shards: Vec<Shard> = names.iter().filter_map(|name| Shard::of(PathBuf::from(name))).collect();
        assert_eq!(shards.len(), names.len());
        refuse_gaps(Path::new("set"), &shards).err().map(|error| error.to_string())
    }

    #[test]
    fn a_gap_in_numbered_names_is_a_missing_shard() {
        assert_eq!(gaps(&["data-00000-of-00002.arrow", "data-00001-of-00002.arrow"]), None);
        assert_eq!(
            gaps(&["a-1-of-2.arrow", "a-2-of-2-fe12.arrow", "b-0-of-1.parquet", "c.arrow", "d-of-5.arrow"]),
            None
        );
        let message = gaps(&["t-00000-of-00003-ab.parquet", "t-00002-of-00003-cd.parquet"]).unwrap();
        assert!(message.starts_with("set lacks the shard 't-00001-of-00003': it has 2 of 3"), "{message}");
        assert!(gaps(&["t-00000-of-00003.arrow"]).unwrap().contains("'t-00001-of-00003'"));
        assert!(gaps(&["t-00002-of-00002.arrow"]).unwrap().contains("'t-00001-of-00002'"));
    }
}
