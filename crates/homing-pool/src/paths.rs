//! Checks that the outputs of a command do not overwrite its inputs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::beside::target;
use crate::expand::{expand, is_list, is_pattern, would_match};
use crate::{Error, Result};

/// Paths that a command reads and writes.
///
/// ```
/// use homing_pool::Paths;
/// use std::path::Path;
///
/// let paths = Paths::new().reads(Path::new("pool.npy")).writes("the picks", Path::new("pool.npy"));
/// let message = paths.check().unwrap_err().to_string();
/// assert!(message.starts_with("pool.npy is an input and would be overwritten"));
/// ```
#[derive(Debug, Default)]
pub struct Paths {
    inputs: Vec<PathBuf>,
    outputs: Vec<(&'static str, PathBuf)>,
}

impl Paths {
    /// Creates an empty set of paths.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an input, if there is one: a file, a folder, or a pattern or list of files ([`expand`](crate::expand())).
    #[must_use]
    pub fn reads<'a>(mut self, path: impl Into<Option<&'a Path>>) -> Self {
        let Some(path) = path.into() else { return self };
        if is_pattern(path) || is_list(path) {
            // A path that cannot be expanded is refused when it is read.
            self.inputs.extend(expand(path).unwrap_or_default());
        }
        self.inputs.push(path.to_owned());
        self
    }

    /// Adds an output file or folder, if there is one, with the name by which the user knows it.
    #[must_use]
    pub fn writes<'a>(mut self, name: &'static str, path: impl Into<Option<&'a Path>>) -> Self {
        self.outputs.extend(path.into().map(|path| (name, path.to_owned())));
        self
    }

    /// Refuses an output that is an input, lies in an input folder, or is also another output.
    pub fn check(&self) -> Result<()> {
        let inputs: Vec<FileIdentity> = self.inputs.iter().map(|path| FileIdentity::of(path)).collect();
        let linked: Vec<Vec<PathBuf>> = self.inputs.iter().map(|path| linked_from(path)).collect();
        // Writing follows a link even if its destination does not exist yet, so that destination is the output.
        let end = |path: &PathBuf| target(path).unwrap_or_else(|_| path.clone());
        let outputs: Vec<FileIdentity> = self.outputs.iter().map(|(_, path)| FileIdentity::of(&end(path))).collect();
        for (i, (output, (name, path))) in outputs.iter().zip(&self.outputs).enumerate() {
            let path = || path.clone();
            for ((input, folder), linked) in inputs.iter().zip(&self.inputs).zip(&linked) {
                if output.is(input) || linked.iter().any(|linked| output.path.starts_with(linked)) {
                    return Err(Error::OverInput { path: path() });
                }
                if output.path.starts_with(&input.path) || would_match(folder, &self.outputs[i].1) {
                    return Err(Error::InsideInput { path: path(), folder: folder.clone() });
                }
            }
            if let Some(other) = outputs[..i].iter().position(|other| output.is(other)) {
                return Err(Error::SameOutput { path: path(), first: self.outputs[other].0, second: name });
            }
        }
        Ok(())
    }
}

/// Returns the destinations of the symbolic links in a folder and its subfolders.
fn linked_from(folder: &Path) -> Vec<PathBuf> {
    let mut linked = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => linked.extend(fs::canonicalize(entry.path())),
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                _ => {}
            }
        }
    }
    linked
}

/// Refuses a path that exists but is neither a file nor a folder.
///
/// This is for folders that only this program writes to, where a link or a pipe must have been created by somebody else.
pub fn refuse_foreign(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => Err(Error::NotOurs { path: path.to_owned() }),
        _ => Ok(()),
    }
}

/// Identity of a file, independent of the name under which it is accessed.
struct FileIdentity {
    /// Path without symbolic links, as far as it exists.
    path: PathBuf,
    /// File system and inode number, which all names of the file share.
    file: Option<(u64, u64)>,
}

impl FileIdentity {
    fn of(path: &Path) -> Self {
        Self { path: resolved(path), file: identity(path) }
    }

    fn is(&self, other: &FileIdentity) -> bool {
        self.path == other.path || (self.file.is_some() && self.file == other.file)
    }
}

/// Resolves symbolic links in the part of the path that exists.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let existing = absolute.ancestors().find_map(|above| Some((above, fs::canonicalize(above).ok()?)));
    match existing {
        Some((above, real)) => {
            let rest = absolute.strip_prefix(above).unwrap_or(Path::new(""));
            if rest.as_os_str().is_empty() { real } else { real.join(rest) }
        }
        None => absolute,
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(paths: &Paths) -> String {
        paths.check().map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn an_output_that_is_an_input_is_refused_under_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("pool.npy"), "x").unwrap();
        fs::create_dir(at("below")).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("pool.npy"), at("link.npy")).unwrap();
            fs::hard_link(at("pool.npy"), at("hard.npy")).unwrap();
        }
        let names: &[&str] =
            if cfg!(unix) { &["pool.npy", "below/../pool.npy", "link.npy", "hard.npy"] } else { &["pool.npy"] };
        for name in names {
            let pool = at("pool.npy");
            let message = message(&Paths::new().reads(&*pool).writes("--out", &*at(name)));
            assert!(message.contains("is an input and would be overwritten"), "{name}: {message}");
        }
        assert_eq!(message(&Paths::new().reads(&*at("pool.npy")).writes("--out", &*at("picks.csv"))), "");
    }

    #[test]
    fn an_output_inside_an_input_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("new/part-1.parquet");
        let message = message(&Paths::new().reads(folder.path()).writes("--out", &*out));
        assert!(message.contains("lies in"), "{message}");
    }

    #[cfg(unix)]
    #[test]
    fn an_output_that_a_link_leads_to_is_refused() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("shards/deep")).unwrap();
        fs::write(at("real.parquet"), "x").unwrap();
        symlink("../../real.parquet", at("shards/deep/part-1.parquet")).unwrap();
        let over = message(&Paths::new().reads(&*at("shards")).writes("--out", &*at("real.parquet")));
        assert!(over.contains("is an input and would be overwritten"), "{over}");
        symlink("shards/part-9.parquet", at("out.parquet")).unwrap();
        let inside = message(&Paths::new().reads(&*at("shards")).writes("--out", &*at("out.parquet")));
        assert!(inside.contains("lies in"), "{inside}");
        symlink("new.csv", at("link.html")).unwrap();
        let paths = Paths::new().writes("--out", &*at("new.csv")).writes("--report", &*at("link.html"));
        assert!(message(&paths).contains("--out and --report both name"), "{}", message(&paths));
        assert!(refuse_foreign(&at("link.html")).is_err() && refuse_foreign(&at("shards")).is_ok());
    }

    #[test]
    fn an_output_among_the_files_of_a_pattern_or_list_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["a.csv", "b.csv"] {
            fs::write(at(name), "x").unwrap();
        }
        fs::write(at("pool.list"), "a.csv\nb.csv\n").unwrap();
        let check = |input: &str, output: &str| message(&Paths::new().reads(&*at(input)).writes("--out", &*at(output)));
        for (input, output) in [("*.csv", "b.csv"), ("pool.list", "a.csv"), ("pool.list", "pool.list")] {
            let message = check(input, output);
            assert!(message.contains("is an input and would be overwritten"), "{input} {output}: {message}");
        }
        // The next run would read it as a part of the pool.
        let message = check("*.csv", "picks.csv");
        assert!(message.contains("picks.csv lies in") && message.contains("*.csv, which is an input"), "{message}");
        assert_eq!((check("*.csv", "picks.jsonl"), check("pool.list", "picks.csv")), (String::new(), String::new()));
    }

    #[test]
    fn two_outputs_that_are_one_file_are_refused() {
        let (first, second) = (Path::new("picks.csv"), Path::new("./picks.csv"));
        let message = message(&Paths::new().writes("--out", first).writes("--report", second));
        assert!(message.contains("--out and --report both name"), "{message}");
    }
}
