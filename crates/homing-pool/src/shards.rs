//! Finds the files of a pool in a folder, such as `save_to_disk` of Hugging Face datasets writes.
//!
//! If its `state.json` lists the shards, exactly these are read, in that order. Otherwise all files of embeddings are read in the
//! order of their names. If the names say how many shards there are (`data-00000-of-00003`), none may be missing.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::expand::{Listing, ending, in_order};
use crate::mapped::read_file;
use crate::message::quoted;
use crate::{Error, Format, Result};

const STATE: &str = "state.json";

/// Files of a dataset that hold no rows.
const DATASET_FILES: [&str; 2] = [STATE, "dataset_info.json"];

/// Endings of files that may lie next to files of embeddings of any format, because they hold neither rows nor images.
const NOTES: [&str; 10] = ["json", "md", "txt", "yaml", "yml", "toml", "log", "html", "list", "crc"];

/// Maximum number of bytes that a list of shards may have.
const LONGEST_STATE: u64 = 64 << 20;

/// Returns the files of the pool in the folder at `path`, at least one.
pub(crate) fn listing(path: &Path) -> Result<Listing> {
    let entries = Entries::read(path)?;
    let files = match listed(path)? {
        Some(files) => files,
        None => entries.found(path)?,
    };
    let read: BTreeSet<&OsStr> = files.iter().filter_map(|file| file.file_name()).collect();
    let others = entries.files.iter().chain(&entries.folders);
    let left_out = others.filter_map(|path| path.file_name()).filter(|name| !read.contains(name));
    let left_out = left_out.map(|name| name.to_string_lossy().into_owned());
    let left_out = left_out.filter(|name| !DATASET_FILES.contains(&name.as_str())).collect();
    Ok(Listing { files, left_out })
}

fn is_shard(path: &Path) -> bool {
    Format::of(path).is_ok_and(Format::is_for_shards)
}

/// Returns the shards that the dataset's own list names, at least one, or `None` if there is no list.
fn listed(path: &Path) -> Result<Option<Vec<PathBuf>>> {
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
        if is_shard(&shard) { Ok(shard) } else { Err(malformed(&detail)) }
    };
    files.iter().map(shard).collect::<Result<_>>().map(Some)
}

/// Files and folders in a folder, in the order of their names.
struct Entries {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Entries {
    fn read(path: &Path) -> Result<Self> {
        let unreadable = |source| Error::read(path, source);
        let mut entries = fs::read_dir(path)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>())
            .map_err(unreadable)?;
        in_order(&mut entries);
        let (folders, files) = entries.into_iter().partition(|path| path.is_dir());
        Ok(Self { files, folders })
    }

    /// Returns the files of embeddings, at least one, in the order of their names.
    ///
    /// Other formats than `.arrow` and `.parquet` count only if the folder holds nothing else than notes: next to images or
    /// folders, a table usually describes those.
    fn found(&self, path: &Path) -> Result<Vec<PathBuf>> {
        let name = |path: &Path| path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        // `datasets` leaves cached results of earlier steps next to the shards.
        let is_cached = |path: &Path| name(path).starts_with("cache-") && is_shard(path);
        let is_hidden = |path: &Path| name(path).starts_with(['.', '_']);
        let is_read = |path: &&PathBuf| Format::of(path).is_ok() && !is_cached(path) && !is_hidden(path);
        let files: Vec<PathBuf> = self.files.iter().filter(is_read).cloned().collect();
        if !files.iter().any(|path| is_shard(path)) {
            let is_foreign = |path: &&PathBuf| {
                let is_note = NOTES.contains(&ending(path).as_str()) || is_hidden(path) || is_cached(path);
                Format::of(path).is_err() && !is_note
            };
            let visible = self.folders.iter().filter(|path| !is_hidden(path));
            let foreign: Vec<String> =
                visible.chain(self.files.iter().filter(is_foreign)).map(|path| name(path)).collect();
            if files.is_empty() || !foreign.is_empty() {
                return Err(Error::NoShards { path: path.to_owned(), found: foreign });
            }
        }
        refuse_gaps(path, &files)?;
        refuse_split(path, &files)?;
        Ok(files)
    }
}

/// Refuses shards whose names imply that some are missing.
fn refuse_gaps(path: &Path, shards: &[PathBuf]) -> Result<()> {
    let mut series: BTreeMap<(&str, u64), Vec<u64>> = BTreeMap::new();
    for shard in shards {
        if let Some((before, number, count)) = shard.file_stem().and_then(OsStr::to_str).and_then(numbered) {
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

/// Refuses files of which some are for training and some for tests, because a pool must not hold test data.
fn refuse_split(path: &Path, files: &[PathBuf]) -> Result<()> {
    let find = |part: &str| {
        files
            .iter()
            .filter_map(|file| Some((file.file_stem()?.to_str()?, file.file_name()?.to_string_lossy())))
            .find_map(|(stem, name)| {
                let stem = numbered(stem).map_or(stem, |(before, ..)| before);
                stem.eq_ignore_ascii_case(part).then(|| name.into_owned())
            })
    };
    match (find("train"), find("test")) {
        (Some(train), Some(test)) => Err(Error::SplitFolder { path: path.to_owned(), train, test }),
        _ => Ok(()),
    }
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
        let shards: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
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
