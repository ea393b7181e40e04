//! Contents of folders, for comparisons.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

/// Returns every file under a folder with a hash of its bytes, except `times.csv`, which differs from run to run.
pub fn files(folder: &Path) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            all.extend(files(&entry.path()).into_iter().map(|(inner, hash)| (format!("{name}/{inner}"), hash)));
        } else if name != "times.csv" {
            let mut hasher = DefaultHasher::new();
            fs::read(entry.path()).unwrap().hash(&mut hasher);
            all.insert(name, hasher.finish());
        }
    }
    all
}
