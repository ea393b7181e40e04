//! Ctrl-C and SIGTERM, for work that can be continued later.

use std::io::{self, IsTerminal, Write};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

/// Time between two checks for a signal.
const PAUSE: Duration = Duration::from_millis(50);

/// A signal to end the process. A second signal ends it at once, as does a first one after this value is dropped.
pub struct StopSignal {
    by: Arc<AtomicUsize>,
    at_once: Arc<AtomicBool>,
}

impl StopSignal {
    pub fn watch() -> io::Result<Self> {
        let (by, at_once) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, at_once.clone())?;
            flag::register_usize(signal, by.clone(), signal as usize)?;
        }
        Ok(Self { by, at_once })
    }

    pub fn has_come(&self) -> bool {
        let came = self.by.load(Ordering::Relaxed) != 0;
        if came {
            self.at_once.store(true, Ordering::Relaxed);
        }
        came
    }

    /// Prints how to continue, and ends the process as the signal would have ended it.
    pub fn leave(&self, sentence: &str) -> ! {
        // The line may hold a bar, a prompt or the terminal's ^C.
        let line = if io::stderr().is_terminal() { "\n" } else { "" };
        let _ = writeln!(io::stderr(), "{line}interrupted: {sentence}");
        let signal = self.by.load(Ordering::Relaxed) as i32;
        let _ = low_level::emulate_default_handler(signal);
        process::exit(128 + signal)
    }
}

impl Drop for StopSignal {
    fn drop(&mut self) {
        self.at_once.store(true, Ordering::Relaxed);
    }
}

/// Ends the process silently as soon as its standard input ends, because the process at the other end of that pipe is gone.
pub fn end_with_input() {
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = low_level::emulate_default_handler(SIGTERM);
        process::exit(128 + SIGTERM)
    });
}

/// Prints this sentence and ends the process as soon as a signal comes.
pub fn leave_on_signal(sentence: String) -> io::Result<()> {
    let signal = StopSignal::watch()?;
    thread::spawn(move || {
        while !signal.has_come() {
            thread::sleep(PAUSE);
        }
        signal.leave(&sentence);
    });
    Ok(())
}
