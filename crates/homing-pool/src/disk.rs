//! All writing to disk goes through this module, which lets tests make any step fail.
//!
//! The environment variable `HOMING_FAULT` selects the step, counted from 1. With `fail:3`, the third step reports a full
//! disk. With `full:3`, the third and all later steps do. With `kill:3`, the process ends abruptly before the third step.
//! A step is a write, a sync, a rename, a removal, or the creation of a file or a folder.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Kind of fault, and the step at which it happens.
#[derive(Clone, Copy)]
enum Fault {
    Fail(u64),
    Full(u64),
    Kill(u64),
}

impl Fault {
    fn parse(text: &str) -> Option<Self> {
        let (kind, step) = text.split_once(':')?;
        let step = step.parse().ok()?;
        match kind {
            "fail" => Some(Fault::Fail(step)),
            "full" => Some(Fault::Full(step)),
            "kill" => Some(Fault::Kill(step)),
            _ => None,
        }
    }

    fn strike(self, step: u64) -> io::Result<()> {
        match self {
            Fault::Kill(at) if step == at => std::process::abort(),
            Fault::Fail(at) if step == at => Err(io::ErrorKind::StorageFull.into()),
            Fault::Full(from) if step >= from => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }
}

/// Counts a step, and fails if a test requested that.
pub(crate) fn step() -> io::Result<()> {
    static FAULT: LazyLock<Option<Fault>> = LazyLock::new(|| Fault::parse(&std::env::var("HOMING_FAULT").ok()?));
    static STEPS: AtomicU64 = AtomicU64::new(0);
    match *FAULT {
        Some(fault) => fault.strike(STEPS.fetch_add(1, Ordering::Relaxed) + 1),
        None => Ok(()),
    }
}

/// A file that is being written.
#[derive(Debug)]
pub struct Output<'a>(pub(crate) &'a File);

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        step()?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes `bytes` at the current position, or at the end of a file that was opened for appending.
pub fn write_all(file: &File, bytes: &[u8]) -> io::Result<()> {
    Output(file).write_all(bytes)
}

/// Waits until all data written to the file is on the disk.
pub fn sync(file: &File) -> io::Result<()> {
    step()?;
    file.sync_all()
}

/// Changes the length of a file.
pub fn set_len(file: &File, length: u64) -> io::Result<()> {
    step()?;
    file.set_len(length)
}

/// Creates a folder and its parents.
pub fn create_dir_all(path: &Path) -> io::Result<()> {
    step()?;
    fs::create_dir_all(path)
}

/// Removes a file.
pub fn remove_file(path: &Path) -> io::Result<()> {
    step()?;
    fs::remove_file(path)
}

/// Renames a file and replaces an existing file of that name.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    step()?;
    fs::rename(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_happen_at_the_requested_step() {
        let failures = |text: &str| {
            let fault = Fault::parse(text).unwrap();
            (1..=4).map(|step| fault.strike(step).is_err()).collect::<Vec<_>>()
        };
        assert_eq!(failures("fail:3"), [false, false, true, false]);
        assert_eq!(failures("full:3"), [false, false, true, true]);
        assert_eq!(failures("kill:9"), [false; 4]);
        assert!(Fault::parse("fail").is_none() && Fault::parse("burn:3").is_none());
    }
}
