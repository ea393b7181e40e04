//! Ctrl-C and SIGTERM, for work that can be gone on with.

use std::io::{self, IsTerminal, Write};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

/// How often a process that works asks whether it was told to end.
const PAUSE: Duration = Duration::from_millis(50);

/// Whether the process was told to end. Told again once that is known, or when nobody asks any more, it ends at once.
pub struct Told {
    by: Arc<AtomicUsize>,
    at_once: Arc<AtomicBool>,
}

impl Told {
    pub fn watch() -> io::Result<Self> {
        let (by, at_once) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, at_once.clone())?;
            flag::register_usize(signal, by.clone(), signal as usize)?;
        }
        Ok(Self { by, at_once })
    }

    pub fn is_told(&self) -> bool {
        let told = self.by.load(Ordering::Relaxed) != 0;
        if told {
            self.at_once.store(true, Ordering::Relaxed);
        }
        told
    }

    /// Says how to go on, and ends as the signal would have ended the process.
    pub fn leave(&self, sentence: &str) -> ! {
        // Behind a bar, a prompt or the terminal's ^C.
        let line = if io::stderr().is_terminal() { "\n" } else { "" };
        let _ = writeln!(io::stderr(), "{line}interrupted: {sentence}");
        let signal = self.by.load(Ordering::Relaxed) as i32;
        let _ = low_level::emulate_default_handler(signal);
        process::exit(128 + signal)
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.at_once.store(true, Ordering::Relaxed);
    }
}

/// Ends the process as soon as its standard input does, at any moment and without a word: whoever holds the other end of that
/// pipe is gone, however it ended.
pub fn end_with_input() {
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = low_level::emulate_default_handler(SIGTERM);
        process::exit(128 + SIGTERM)
    });
}

/// Leaves with this sentence as soon as the process is told to end.
pub fn leave_when_told(sentence: String) -> io::Result<()> {
    let told = Told::watch()?;
    thread::spawn(move || {
        while !told.is_told() {
            thread::sleep(PAUSE);
        }
        told.leave(&sentence);
    });
    Ok(())
}
