//! Finds the files that a path stands for: those of a folder, those that match a pattern, or those that a list names.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use glob::{GlobError, MatchOptions, Pattern, glob_with};

use crate::mapped::read_file;
use crate::{Error, Result, shards};

/// Ending of a list of files.
const LIST: &str = "list";

/// Maximum number of bytes that a list of files may have.
const LONGEST_LIST: u64 = 256 << 20;

/// A wildcard matches no `/`, and no dot at the start of a name.
const MATCHING: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// Files that a path stands for.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) files: Vec<PathBuf>,
    /// Names of files and folders in the same folder that are not read.
    pub(crate) left_out: Vec<String>,
}

/// Returns the files that `path` stands for.
///
/// | path | files |
/// |---|---|
/// | a folder | its files of embeddings, in the order of their names, or those that its `state.json` lists |
/// | a pattern, such as `shards/*.npy` | the files that match it, in the order of their paths; `*` and `?` match within a name, `**` matches folders, and `[ab]` matches one of the characters |
/// | a list, which is a text file with the ending `.list` | the files that it names, one per line, in the order of the lines; paths are relative to the folder of the list |
/// | anything else | the file itself |
///
/// Paths are compared byte by byte. A file whose name has the characters of a pattern stands for itself.
///
/// ```
/// use homing_pool::{Pool, ReadOptions, expand};
///
/// let folder = tempfile::tempdir()?;
/// for (name, rows) in [("b.csv", "x,y\n4,5.5\n"), ("a.csv", "x,y\n0.5,1\n2,3\n")] {
///     std::fs::write(folder.path().join(name), rows)?;
/// }
/// let files = expand(&folder.path().join("*.csv"))?;
/// assert_eq!(files, [folder.path().join("a.csv"), folder.path().join("b.csv")]);
///
/// let pool = Pool::open_many(&files, &ReadOptions::default())?;
/// assert_eq!(pool.embeddings().row(2), [4.0, 5.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn expand(path: &Path) -> Result<Vec<PathBuf>> {
    Ok(listing(path)?.map_or_else(|| vec![path.to_owned()], |listing| listing.files))
}

/// Whether `path` is a pattern and not the name of a file.
pub fn is_pattern(path: &Path) -> bool {
    let has_wildcard = path.to_str().is_some_and(|text| text.contains(['*', '?', '[']));
    has_wildcard && fs::symlink_metadata(path).is_err()
}

/// Whether the file at `path` is a list of files, by its ending.
pub fn is_list(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(LIST)) && !path.is_dir()
}

/// Whether an output at `path` would belong to the files that `input` stands for the next time.
pub(crate) fn would_match(input: &Path, path: &Path) -> bool {
    let pattern = |input: &str| Pattern::new(input).ok();
    let absolute = |path: &Path| std::path::absolute(path).ok();
    is_pattern(input)
        && absolute(input)
            .and_then(|input| pattern(input.to_str()?))
            .zip(absolute(path))
            .is_some_and(|(pattern, path)| pattern.matches_path_with(&path, MATCHING))
}

/// Returns the files that `path` stands for, or `None` if it is one file.
pub(crate) fn listing(path: &Path) -> Result<Option<Listing>> {
    let listing = match () {
        () if path.is_dir() => shards::listing(path)?,
        () if is_pattern(path) => Listing { files: matches(path)?, left_out: Vec::new() },
        () if is_list(path) => Listing { files: listed(path)?, left_out: Vec::new() },
        () => return Ok(None),
    };
    refuse_repeated(&listing.files)?;
    Ok(Some(listing))
}

fn matches(path: &Path) -> Result<Vec<PathBuf>> {
    let pattern = path.to_str().expect("a pattern is text");
    let found = glob_with(pattern, MATCHING)
        .map_err(|error| Error::BadPattern { path: path.to_owned(), detail: error.msg.to_owned() })?;
    let unreadable = |error: GlobError| {
        let path = error.path().to_owned();
        Error::read(&path, error.into())
    };
    let mut files: Vec<PathBuf> = found.collect::<Result<_, _>>().map_err(unreadable)?;
    if files.is_empty() {
        return Err(Error::NoMatch { path: path.to_owned() });
    }
    in_order(&mut files);
    Ok(files)
}

/// Sorts paths byte by byte, as `sort` and Python do.
pub(crate) fn in_order(paths: &mut [PathBuf]) {
    paths.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
}

fn listed(path: &Path) -> Result<Vec<PathBuf>> {
    let bytes = read_file(path, LONGEST_LIST)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Error::malformed(path, "list", "it is not UTF-8 text"))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim).filter(|line| !line.is_empty());
    let files: Vec<PathBuf> = lines.map(|line| folder.join(line)).collect();
    match files.iter().find(|file| !file.exists()) {
        _ if files.is_empty() => Err(Error::EmptyList { path: path.to_owned() }),
        Some(missing) => Err(Error::NotListed { path: path.to_owned(), missing: missing.clone() }),
        None => Ok(files),
    }
}

/// Refuses a file that is named twice, because its rows would be in the pool twice.
pub(crate) fn refuse_repeated(files: &[PathBuf]) -> Result<()> {
    let mut seen = HashSet::new();
    match files.iter().find(|path| !seen.insert(fs::canonicalize(path).unwrap_or_else(|_| (*path).clone()))) {
        Some(path) => Err(Error::NamedTwice { path: path.clone() }),
        None => Ok(()),
    }
}

/// Returns the ending of a path, with a dot.
pub(crate) fn ending(path: &Path) -> String {
    path.extension().unwrap_or(OsStr::new("")).to_string_lossy().to_lowercase()
}
