//! One process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use homing_pool::refuse_foreign;

/// How often a lock that another process holds is tried again.
const PAUSE: Duration = Duration::from_millis(20);

/// The file, locked until it is dropped; what `busy` says where another process holds it for longer than `patience`.
fn hold_within(file: File, patience: Duration, busy: impl FnOnce() -> String) -> Result<File> {
    let since = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if since.elapsed() < patience => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => bail!("{}", busy()),
            // Where a file system knows no locks, a process is as good as alone.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
}

/// The file at `path`, made where it is not there, and locked as by [`hold_within`].
pub fn hold_at(path: &Path, patience: Duration, busy: impl Fn() -> String) -> Result<File> {
    refuse_foreign(path)?;
    loop {
        let file = open(path).with_context(|| format!("{} cannot be locked", path.display()))?;
        let file = hold_within(file, patience, &busy)?;
        // Whoever held it before may have removed it, and a lock on what has no name any more keeps nobody out.
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    // For reading too, since to open a pipe for writing alone would wait for its other end.
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file; remove it")) }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |found: std::fs::Metadata| (found.dev(), found.ino());
    file.metadata()
        .map(place)
        .is_ok_and(|place_of_file| std::fs::metadata(path).map(place).is_ok_and(|at| at == place_of_file))
}

/// A file that is open cannot be removed here.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}
