//! Interrupting work in the middle of a pass.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Error, Result};

/// A flag that another thread sets to end running work.
///
/// Work that reads embeddings which [watch the flag](crate::Embeddings::watching) unwinds at its next block of rows. Its
/// partial results are dropped, and its inputs are unchanged.
///
/// ```
/// use homing::{Embeddings, Error, Interrupt, Plan, Task, select};
///
/// let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2];
/// let interrupt = Interrupt::default();
/// let task = Task::undirected(Embeddings::new(&pool, 2)?.watching(&interrupt));
/// let plan = Plan::default().strategy("uncertainty".parse()?);
/// interrupt.set(); // another thread does this, when somebody presses Ctrl-C
/// assert_eq!(interrupt.guard(|| select(&task, &plan)), Err(Error::Interrupted));
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Interrupt(AtomicBool);

/// Payload that a thread unwinds with once the flag is set.
struct InterruptPayload;

impl Interrupt {
    /// Ends all work that watches this flag.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Runs `work`, and returns [`Error::Interrupted`] if the flag is set before it ends.
    pub fn guard<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(result) => result,
            Err(payload) if payload.is::<InterruptPayload>() => Err(Error::Interrupted),
            Err(payload) => resume_unwind(payload),
        }
    }

    pub(crate) fn check(&self) {
        if self.0.load(Ordering::Relaxed) {
            // `resume_unwind` prints no message, unlike `panic!`.
            resume_unwind(Box::new(InterruptPayload));
        }
    }
}
