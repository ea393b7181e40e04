//! The folder of a run: its lock, its plan and its files.
//!
//! A process locks the file `lock` before it writes anything else, and holds the lock until it ends.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use homing_pool::{disk, is_left_over, refuse_foreign};
use serde::{Deserialize, Serialize};

use crate::lock::lock_file;
use crate::remedy::PathParameter;
use crate::{Error, Result};

use super::RunSpec;
use super::label_file::TO_LABEL;
use super::record::{read_json, remove_left_overs, write_json};

const LOCK: &str = "lock";
const PLAN: &str = "plan.json";
/// Files in the folder of a rule: its records, the batch that is being labelled, and a network and moments that may lack
/// their record.
const ROUNDS: &str = "rounds";
const PENDING: &str = "pending.json";
const FIRST_MODEL: &str = "model-0001.safetensors";
const FIRST_MOMENTS: &str = "moments-0001.bin";
/// Files that a finished run writes in addition to the folders of its rules.
const RESULTS: [&str; 4] = ["picks.csv", "results.csv", "report.html", TO_LABEL];

/// Content of `plan.json`.
#[derive(Serialize, Deserialize)]
pub struct RunPlan {
    /// Version of the crate that wrote the plan.
    pub version: String,
    /// Description of the run.
    pub run: RunSpec,
    /// Hashes of the data, which make sure that a run continues with the data it started with.
    pub data: Vec<String>,
}

impl RunPlan {
    /// Returns the plan of a run over data with these hashes.
    pub fn new(run: RunSpec, data: Vec<String>) -> Self {
        Self { version: env!("CARGO_PKG_VERSION").into(), run, data }
    }
}

/// The part of `plan.json` that every version of Homing writes.
#[derive(Deserialize)]
struct PlanVersion {
    version: String,
}

/// The locked folder of a run.
pub struct RunFolder {
    path: PathBuf,
    /// Folders that were created for it, the innermost first.
    created: Vec<PathBuf>,
    _lock: File,
}

impl RunFolder {
    /// Creates the folder of a new run. Refuses a folder that is not empty, or that another process uses for longer than
    /// `patience`.
    pub fn start(path: &Path, plan: &RunPlan, patience: Duration) -> Result<Self> {
        refuse_full(path)?;
        let created: Vec<PathBuf> =
            path.ancestors().take_while(|above| is_missing(above)).map(Path::to_owned).collect();
        disk::create_dir_all(path).map_err(Error::io(path))?;
        let folder = Self { path: path.into(), created, _lock: hold(path, patience)? };
        // Another process may have started a run before this one held the lock.
        refuse_full(path)?;
        let written = remove_left_overs(path).and_then(|()| write_json(&path.join(PLAN), plan));
        if let Err(error) = written {
            folder.withdraw(false);
            return Err(error);
        }
        Ok(folder)
    }

    /// Opens the folder of an interrupted run and reads its plan. Waits up to `patience` for another process to leave the
    /// folder.
    pub fn resume(path: &Path, patience: Duration) -> Result<(Self, RunPlan)> {
        if !Self::holds_run(path) {
            return Err(Error::NoRun { folder: path.into() });
        }
        for name in [LOCK, PLAN].into_iter().chain(RESULTS) {
            refuse_foreign(&path.join(name))?;
        }
        let lock = hold(path, patience)?;
        let PlanVersion { version } = read_json(&path.join(PLAN))?;
        if version != env!("CARGO_PKG_VERSION") {
            return Err(Error::OtherVersion { path: path.into(), version });
        }
        let plan = read_json(&path.join(PLAN))?;
        Ok((Self { path: path.into(), created: Vec::new(), _lock: lock }, plan))
    }

    /// Returns whether a folder contains a run.
    pub fn holds_run(path: &Path) -> bool {
        !is_missing(&path.join(PLAN))
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes temporary files of interrupted processes.
    pub fn tidy(&self) -> Result<()> {
        remove_left_overs(&self.path)
    }

    /// Removes a run that failed before its first round, so that the folder can be used again. With `keep_answers`, a run
    /// with a batch that is being labelled stays.
    pub fn withdraw(self, keep_answers: bool) {
        // If this fails, the plan is still there and the run can be resumed.
        let _ = self.remove(keep_answers);
    }

    fn remove(&self, keep_answers: bool) -> io::Result<()> {
        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
            listed(&self.path)?.into_iter().partition(|path| path.is_dir());
        let is_removable = |path: &PathBuf| {
            let unfinished = path.ends_with(FIRST_MODEL) || path.ends_with(FIRST_MOMENTS);
            unfinished || is_left_over(path) || (path.ends_with(PENDING) && !keep_answers)
        };
        let mut removable = Vec::new();
        for folder in &folders {
            let (rounds, others): (Vec<PathBuf>, Vec<PathBuf>) =
                listed(folder)?.into_iter().partition(|path| path.ends_with(ROUNDS));
            if !rounds.iter().all(|rounds| is_empty(rounds)) || !others.iter().all(is_removable) {
                return Ok(());
            }
            removable.extend(others);
        }
        removable.iter().try_for_each(|path| disk::remove_file(path))?;
        for folder in &folders {
            fs::remove_dir(folder.join(ROUNDS)).and_then(|()| fs::remove_dir(folder))?;
        }
        files.iter().filter(|path| is_left_over(path)).try_for_each(|path| disk::remove_file(path))?;
        // The lock goes last, because it keeps other processes out of the folder.
        for name in [PLAN, LOCK] {
            if !is_missing(&self.path.join(name)) {
                disk::remove_file(&self.path.join(name))?;
            }
        }
        self.created.iter().try_for_each(fs::remove_dir)
    }
}

fn listed(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

fn hold(path: &Path, patience: Duration) -> Result<File> {
    lock_file(&path.join(LOCK), patience)?.ok_or_else(|| Error::Busy { folder: path.into() })
}

/// Refuses a folder that cannot take a new run.
fn refuse_full(path: &Path) -> Result<()> {
    if path.as_os_str().is_empty() {
        return Err(Error::EmptyPath { of: PathParameter::Run });
    }
    if !is_missing(path) && !path.is_dir() {
        return Err(Error::NoFolder { path: path.into() });
    }
    // The entries are listed first: a plan that another process writes in between is then found by its name.
    let entries: Vec<PathBuf> = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    if RunFolder::holds_run(path) {
        return Err(Error::RunExists { folder: path.into() });
    }
    if entries.iter().any(|path| !is_left_over(path) && !is_lock(path)) {
        return Err(Error::FullFolder { folder: path.into() });
    }
    Ok(())
}

/// Returns whether a file is the lock of a process that has ended.
fn is_lock(path: &Path) -> bool {
    path.ends_with(LOCK) && fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0)
}

fn is_missing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err()
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}
