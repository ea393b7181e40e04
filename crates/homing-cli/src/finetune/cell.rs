//! Runs that are cells of an experiment, known by all that their results depend on.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::setup::Setup;
use super::{Asked, parse};

/// How long a run waits for another in its folder: a cell for one that an experiment has left behind, which ends by itself.
pub fn patience(cell: Option<&str>) -> Duration {
    Duration::from_secs(if cell.is_some() { 10 } else { 0 })
}

/// Checks the arguments of named runs, and makes what they share: the feature maps of a frozen trunk. Their keys.
pub fn prepare(runs: &[(String, &[OsString])]) -> Result<Vec<String>> {
    let parsed = |(name, words): &(String, &[OsString])| parse(*words).with_context(|| name.clone());
    let all: Vec<Asked> = runs.iter().map(parsed).collect::<Result<_>>()?;
    let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (run, asked) in all.iter().enumerate() {
        alike.entry(Setup::looked_at(asked)).or_default().push(run);
    }
    let mut keys = vec![String::new(); runs.len()];
    for group in alike.into_values() {
        let first = group[0];
        let setup = Setup::open(&all[first]).with_context(|| runs[first].0.clone())?;
        let data = setup.fingerprint(&all[first]).with_context(|| runs[first].0.clone())?;
        let mut checked = HashSet::new();
        for run in group {
            let asked = &all[run];
            // One seed stands for all: each draws other examples in the same way.
            if checked.insert(format!("{:?}", Asked { seed: 0, ..asked.clone() })) {
                asked.check(&setup).with_context(|| runs[run].0.clone())?;
            }
            keys[run] = key(asked, &setup, &data);
        }
    }
    Ok(keys)
}

/// Refuses a cell that has another key than the experiment has found.
pub fn check(expected: Option<&str>, asked: &Asked, setup: &Setup, data: &[String]) -> Result<()> {
    if expected.is_some_and(|expected| key(asked, setup, data) != expected) {
        bail!("the files that it reads have changed since the experiment began; run the experiment again");
    }
    Ok(())
}

/// A hash of the arguments, of what stands in the files that they name, wherever these are, and of the program's version.
fn key(asked: &Asked, setup: &Setup, data: &[String]) -> String {
    let mut asked = asked.clone();
    for path in asked.paths() {
        *path = path.take().map(|_| PathBuf::new());
    }
    if asked.has_label_file() {
        asked.choosing.labels = String::new();
    }
    let text = format!("{asked:?}\n{data:?}\n{:?}\n{}", setup.label_hash(), env!("CARGO_PKG_VERSION"));
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// Whether a command line is one of `homing finetune`.
#[cfg(test)]
pub fn parsed(words: &[OsString]) -> Result<()> {
    parse(words).map(drop)
}
