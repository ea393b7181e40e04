//! The folder of a run: its lock, its plan, and what is in it.
//!
//! A process holds the file `lock` before it writes anything else, and until it ends.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use homing_pool::{disk, is_left_over, refuse_foreign};
use homing_train::{read_json, remove_left_overs, write_json};

use super::Plan;
use crate::lock::hold_at;

const LOCK: &str = "lock";
const PLAN: &str = "plan.json";
/// In the folder of a rule: its records, a batch that is being labelled, a network that may lack its record.
const ROUNDS: &str = "rounds";
const PENDING: &str = "pending.json";
const FIRST_MODEL: &str = "model-0001.safetensors";
/// What a run leaves in the end, beside the folders of its rules.
const RESULTS: [&str; 3] = ["picks.csv", "results.csv", "report.html"];

/// A folder that this process alone works in.
pub struct Folder {
    path: PathBuf,
    /// Folders that were made for it, the innermost first.
    made: Vec<PathBuf>,
    _lock: File,
}

impl Folder {
    /// For a new run; refused where something is in it already, or another process works in it for longer than `patience`.
    pub fn start(path: &Path, plan: &Plan, patience: Duration) -> Result<Self> {
        refuse_full(path)?;
        let made: Vec<PathBuf> = path.ancestors().take_while(|above| is_missing(above)).map(Path::to_owned).collect();
        disk::create_dir_all(path).with_context(|| format!("{} cannot be made", path.display()))?;
        let folder = Self { path: path.into(), made, _lock: hold(path, patience)? };
        // Another process may have been faster.
        refuse_full(path)?;
        let written = remove_left_overs(path).and_then(|()| write_json(&path.join(PLAN), plan));
        if let Err(error) = written {
            folder.withdraw(false);
            return Err(error.into());
        }
        Ok(folder)
    }

    /// Of a run that was interrupted, with its plan; a process that is about to end may still work in it for so long.
    pub fn resume(path: &Path, patience: Duration) -> Result<(Self, Plan)> {
        if is_missing(&path.join(PLAN)) {
            bail!("{} is no run that can be resumed; name the folder of one", path.display());
        }
        for name in [LOCK, PLAN].into_iter().chain(RESULTS) {
            refuse_foreign(&path.join(name))?;
        }
        let lock = hold(path, patience)?;
        let plan = read_json(&path.join(PLAN))?;
        Ok((Self { path: path.into(), made: Vec::new(), _lock: lock }, plan))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes what interrupted processes have left.
    pub fn tidy(&self) -> Result<()> {
        Ok(remove_left_overs(&self.path)?)
    }

    /// Removes a run that has no round yet, so that its folder can be used as before: what it cannot do now, it never will.
    /// With `answers`, one that has asked for labels stays.
    pub fn withdraw(self, answers: bool) {
        // Where that fails, the plan is still there, and the run can be resumed.
        let _ = self.remove(answers);
    }

    fn remove(&self, answers: bool) -> io::Result<()> {
        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
            listed(&self.path)?.into_iter().partition(|path| path.is_dir());
        let made_of_rule =
            |path: &PathBuf| path.ends_with(FIRST_MODEL) || is_left_over(path) || (path.ends_with(PENDING) && !answers);
        let mut useless = Vec::new();
        for folder in &folders {
            let (rounds, others): (Vec<PathBuf>, Vec<PathBuf>) =
                listed(folder)?.into_iter().partition(|path| path.ends_with(ROUNDS));
            if !rounds.iter().all(|rounds| is_empty(rounds)) || !others.iter().all(made_of_rule) {
                return Ok(());
            }
            useless.extend(others);
        }
        useless.iter().try_for_each(|path| disk::remove_file(path))?;
        for folder in &folders {
            fs::remove_dir(folder.join(ROUNDS)).and_then(|()| fs::remove_dir(folder))?;
        }
        files.iter().filter(|path| is_left_over(path)).try_for_each(|path| disk::remove_file(path))?;
        // The lock goes last, since the folder is ours as long as it is there.
        for name in [PLAN, LOCK] {
            if !is_missing(&self.path.join(name)) {
                disk::remove_file(&self.path.join(name))?;
            }
        }
        self.made.iter().try_for_each(fs::remove_dir)
    }
}

fn listed(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

fn hold(path: &Path, patience: Duration) -> Result<File> {
    let busy = || format!("another process is at work in {}; wait until it is done, or end it", path.display());
    hold_at(&path.join(LOCK), patience, busy)
}

/// Refuses a folder that is not for a new run.
fn refuse_full(path: &Path) -> Result<()> {
    let shown = path.display();
    if path.as_os_str().is_empty() {
        bail!("--run is empty; name a folder");
    }
    if !is_missing(path) && !path.is_dir() {
        bail!("{shown} is no folder; name another one for the run");
    }
    if !is_missing(&path.join(PLAN)) {
        bail!("{shown} holds a run already; go on with `--resume {shown}`, or name another folder");
    }
    let there = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut others = there.filter(|path| !is_left_over(path) && !is_lock(path));
    if others.next().is_some() {
        bail!("{shown} is not empty; name another folder");
    }
    Ok(())
}

/// Whether a file is what is left of a lock.
fn is_lock(path: &Path) -> bool {
    path.ends_with(LOCK) && fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0)
}

fn is_missing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err()
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}
