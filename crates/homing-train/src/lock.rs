//! File locks, which keep two processes from writing to the same folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use homing_pool::refuse_foreign;

use crate::{Error, Result};

/// Time between two attempts to take a lock that another process holds.
const PAUSE: Duration = Duration::from_millis(20);

/// Opens the file at `path`, creates it if it is missing, and locks it until it is dropped. Returns none if another process
/// holds the lock for longer than `patience`.
pub fn lock_file(path: &Path, patience: Duration) -> Result<Option<File>> {
    refuse_foreign(path)?;
    loop {
        let file = open(path).map_err(Error::io(path))?;
        if !is_locked_within(&file, patience) {
            return Ok(None);
        }
        // The previous holder may have removed the file; a lock on a removed file excludes nobody.
        if is_at(&file, path) {
            return Ok(Some(file));
        }
    }
}

fn is_locked_within(file: &File, patience: Duration) -> bool {
    let since = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if since.elapsed() < patience => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return false,
            // The file system has no locks, so nothing can exclude other processes.
            Ok(()) | Err(TryLockError::Error(_)) => return true,
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    // Opening a pipe only for writing would block until somebody reads from it.
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |found: std::fs::Metadata| (found.dev(), found.ino());
    file.metadata()
        .map(identity)
        .is_ok_and(|locked| std::fs::metadata(path).map(identity).is_ok_and(|at_path| at_path == locked))
}

/// Always true, because these systems do not remove open files.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}
