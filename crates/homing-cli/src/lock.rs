//! One process at a time.

use std::fs::{File, TryLockError};

use anyhow::{Result, bail};

/// The file, locked until it is dropped; what `busy` says where another process holds it.
pub fn hold(file: File, busy: impl FnOnce() -> String) -> Result<File> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => bail!("{}", busy()),
        // Where a file system knows no locks, a process is as good as alone.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}
