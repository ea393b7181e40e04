//! One process at a time.

use std::fs::{File, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How often a lock that another process holds is tried again.
const PAUSE: Duration = Duration::from_millis(20);

/// The file, locked until it is dropped; what `busy` says where another process holds it.
pub fn hold(file: File, busy: impl FnOnce() -> String) -> Result<File> {
    hold_within(file, Duration::ZERO, busy)
}

/// The same, where a process that is about to end may still hold it for so long.
pub fn hold_within(file: File, patience: Duration, busy: impl FnOnce() -> String) -> Result<File> {
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
