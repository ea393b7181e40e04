//! The folder of a run: its lock, its plan, and what is in it.
//!
//! A process holds the file `lock` before it writes anything else, and until it ends.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use homing_pool::{disk, is_left_over};
use homing_train::{read_json, remove_left_overs, write_json};

use super::Plan;
use crate::lock::hold_at;

const LOCK: &str = "lock";
const PLAN: &str = "plan.json";
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
            folder.withdraw();
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
            let path = path.join(name);
            if fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
                bail!("{} is a link, and a run writes into its own folder alone; remove the link", path.display());
            }
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

    /// Removes a run in which nothing was chosen yet, so that its folder can be used as before. Whatever else is in it stays.
    pub fn withdraw(self) {
        let Ok(entries) = fs::read_dir(&self.path) else { return };
        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
            entries.flatten().map(|entry| entry.path()).partition(|path| path.is_dir());
        let begun =
            |path: &PathBuf| !is_empty(&path.join("rounds")) || fs::read_dir(path).is_ok_and(|all| all.count() > 1);
        if folders.iter().any(begun) {
            return;
        }
        for folder in &folders {
            let _ = fs::remove_dir(folder.join("rounds")).and_then(|()| fs::remove_dir(folder));
        }
        let ours = |path: &&PathBuf| is_left_over(path) || [LOCK, PLAN].iter().any(|name| path.ends_with(name));
        // The lock goes last, since the folder is ours as long as it is there.
        let (mut files, lock): (Vec<_>, Vec<_>) = files.iter().filter(ours).partition(|path| !path.ends_with(LOCK));
        files.extend(lock);
        files.iter().for_each(|path| drop(disk::remove_file(path)));
        for folder in &self.made {
            let _ = fs::remove_dir(folder);
        }
    }
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
