//! Runs long work without the interpreter lock, so that Ctrl-C can end it.

use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use homing::{Interrupt, Pick};
use pyo3::prelude::*;

use crate::error::core_error;

/// The time between two checks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// What the working thread sends to the calling thread.
enum Message<T> {
    Pick(Pick),
    Done(homing::Result<T>),
}

/// The function that the work calls with each pick.
pub type PickReport<'t> = dyn FnMut(&Pick) -> ControlFlow<()> + 't;

/// Does `work` on other threads while the calling thread checks for signals and calls `on_pick` with every pick, holding the
/// interpreter lock.
///
/// The work must read embeddings that watch `interrupt`: a signal or an exception in `on_pick` sets it, which ends the work at
/// its next block of rows.
pub fn run<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    interrupt: &Interrupt,
    mut on_pick: Option<&mut dyn FnMut(Pick) -> PyResult<bool>>,
    work: impl FnOnce(&mut PickReport<'_>) -> homing::Result<T> + Send,
) -> PyResult<T> {
    // Each call creates its own thread pool, because the threads of a shared one would not survive a fork.
    let workers = homing::thread_pool(threads).map_err(core_error)?;
    let (sender, mut receiver) = channel();
    let (answer_sender, answer_receiver) = channel();
    let has_listener = on_pick.is_some();
    let job = move || {
        let pick_sender = sender.clone();
        let mut report = move |pick: &Pick| {
            let sent = || pick_sender.send(Message::Pick(*pick)).is_ok();
            let continues = !has_listener || (sent() && answer_receiver.recv().unwrap_or(false));
            if continues { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let done = interrupt.guard(|| workers.install(|| work(&mut report)));
        // Sending fails only if the calling thread has panicked.
        let _ = sender.send(Message::Done(done));
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
            (receiver, message) = py.detach(move || {
                let message = receiver.recv_timeout(SIGNAL_INTERVAL);
                (receiver, message)
            });
            match message {
                Ok(Message::Done(done)) => return done,
                Ok(Message::Pick(pick)) => {
                    let answer = py.check_signals().and_then(|()| on_pick.as_mut().map_or(Ok(true), |call| call(pick)));
                    let _ = answer_sender.send(answer.unwrap_or_else(|error| {
                        fail(error);
                        false
                    }));
                }
                Err(RecvTimeoutError::Timeout) => py.check_signals().unwrap_or_else(&mut fail),
                Err(RecvTimeoutError::Disconnected) => {
                    let panic = worker.join().expect_err("a worker that ends well sends that it is done");
                    std::panic::resume_unwind(panic);
                }
            }
        }
    });
    match failure {
        Some(error) => Err(error),
        None => done.map_err(core_error),
    }
}
