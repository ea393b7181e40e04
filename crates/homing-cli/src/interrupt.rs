//! Ctrl-C and SIGTERM, for work that can be gone on with.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Says what is left and how to go on, and ends the process as shells expect it.
pub fn leave(sentence: &str) -> ! {
    eprintln!("interrupted: {sentence}");
    process::exit(130)
}

/// Leaves with this sentence as soon as the process is told to end.
pub fn leave_when_told(sentence: String) {
    when_told(move || leave(&sentence));
}

/// Whether the process was told to end.
#[derive(Clone, Default)]
pub struct Told(Arc<AtomicBool>);

impl Told {
    pub fn watch() -> Self {
        let told = Self::default();
        let flag = told.0.clone();
        when_told(move || flag.store(true, Ordering::Relaxed));
        told
    }

    pub fn is_told(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Where nothing can be done about signals, the process just ends.
fn when_told(act: impl FnMut() + Send + 'static) {
    let _ = ctrlc::set_handler(act);
}
