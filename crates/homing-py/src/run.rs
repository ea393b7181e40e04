//! Long work, without the interpreter lock, that Ctrl-C ends.

use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use homing::{Interrupt, Pick};
use pyo3::prelude::*;

use crate::error::refused;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(50);

enum Said<T> {
    Picked(Pick),
    Done(homing::Result<T>),
}

/// What work is given to tell its picks with.
pub type Tell<'t> = dyn FnMut(&Pick) -> ControlFlow<()> + 't;

/// Does `work` on so many threads while this one looks for signals; `heard` is told every pick here, with the lock held.
///
/// The work reads embeddings that watch `interrupt`, so that a signal or an exception of `heard` ends it at its next block.
pub fn run<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    interrupt: &Interrupt,
    mut heard: Option<&mut dyn FnMut(Pick) -> PyResult<bool>>,
    work: impl FnOnce(&mut Tell<'_>) -> homing::Result<T> + Send,
) -> PyResult<T> {
    // A pool of its own: one of another process is dead after a fork.
    let workers = homing::thread_pool(threads).map_err(refused)?;
    let (say, mut said) = channel();
    let (answer, answered) = channel();
    let talks = heard.is_some();
    let job = move || {
        let told = say.clone();
        let mut tell = move |pick: &Pick| {
            let go_on = !talks || (told.send(Said::Picked(*pick)).is_ok() && answered.recv().unwrap_or(false));
            if go_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let done = interrupt.guard(|| workers.install(|| work(&mut tell)));
        // Nobody hears it if this thread's caller has panicked.
        let _ = say.send(Said::Done(done));
    };
    let mut failure = None;
    let mut fail = |error: PyErr| {
        interrupt.set();
        failure.get_or_insert(error);
    };
    let done = std::thread::scope(|scope| {
        let worker = scope.spawn(job);
        loop {
            let message;
            (said, message) = py.detach(move || {
                let message = said.recv_timeout(LOOK);
                (said, message)
            });
            match message {
                Ok(Said::Done(done)) => return done,
                Ok(Said::Picked(pick)) => {
                    let go_on = py.check_signals().and_then(|()| heard.as_mut().map_or(Ok(true), |heard| heard(pick)));
                    let _ = answer.send(go_on.unwrap_or_else(|error| {
                        fail(error);
                        false
                    }));
                }
                Err(RecvTimeoutError::Timeout) => py.check_signals().unwrap_or_else(&mut fail),
                Err(RecvTimeoutError::Disconnected) => {
                    let panic = worker.join().expect_err("a worker that ends well says so");
                    std::panic::resume_unwind(panic);
                }
            }
        }
    });
    match failure {
        Some(error) => Err(error),
        None => done.map_err(refused),
    }
}
