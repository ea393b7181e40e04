//! Stopping in the middle of a pass.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Error, Result};

/// Set from another thread when nobody waits for an answer any more.
///
/// Work that reads embeddings which [watch it](crate::Embeddings::watching) is unwound at its next block of rows. All that it had
/// is dropped, and nothing that it was given has changed.
#[derive(Debug, Default)]
pub struct Interrupt(AtomicBool);

/// What unwinds.
struct Interrupted;

impl Interrupt {
    /// Ends the work that watches this.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Does some work, or as much of it as there is before this is set.
    pub fn guard<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(answer) => answer,
            Err(payload) if payload.is::<Interrupted>() => Err(Error::Interrupted),
            Err(payload) => resume_unwind(payload),
        }
    }

    pub(crate) fn check(&self) {
        if self.0.load(Ordering::Relaxed) {
            // No message is printed on the way: this is no panic.
            resume_unwind(Box::new(Interrupted));
        }
    }
}
