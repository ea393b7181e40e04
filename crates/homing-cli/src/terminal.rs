//! What people see while and after a selection runs.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;
#[cfg(feature = "train")]
use std::{cell::Cell, time::Instant};

use comfy_table::{Table, presets};
use homing::{Pick, Progress};
pub use homing_report::text::{grouped, short};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

/// A bar on standard error, when that is a terminal. One that counts says a line now and then when it is none.
pub struct Bar {
    bar: ProgressBar,
    #[cfg(feature = "train")]
    lines: Option<Lines>,
}

/// A line for every tenth that is done, and one a minute.
#[cfg(feature = "train")]
struct Lines {
    what: String,
    told: Cell<(u64, Instant)>,
}

#[cfg(feature = "train")]
impl Lines {
    /// Tenths come no faster than this.
    const LEAST: Duration = Duration::from_secs(2);
    const MOST: Duration = Duration::from_secs(60);

    fn tell(&self, bar: &ProgressBar) {
        let (done, all) = (bar.position(), bar.length().unwrap_or(0).max(1));
        let (told, at) = self.told.get();
        let tenths = 10 * done / all;
        let waited = if tenths > told { Self::LEAST } else { Self::MOST };
        if at.elapsed() >= waited || (told == 0 && tenths > 0) || (tenths > told && done >= all) {
            self.told.set((tenths, Instant::now()));
            let message = bar.message();
            let dot = if message.is_empty() { "" } else { " · " };
            note(format_args!("{}: {} of {}{dot}{message}", self.what, grouped(done as usize), grouped(all as usize)));
        }
    }
}

impl Bar {
    pub fn new(count: usize, quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(count as u64), target);
        let style = ProgressStyle::with_template("choosing {bar:32} {pos}/{len} {msg} {eta} left");
        bar.set_style(style.expect("a fixed template"));
        Self {
            bar,
            #[cfg(feature = "train")]
            lines: None,
        }
    }

    #[cfg(feature = "train")]
    pub fn counting(what: &str, count: usize, quiet: bool) -> Self {
        let mut bar = Self::new(count, quiet);
        let style = ProgressStyle::with_template(&format!("{what} {{bar:24}} {{pos}}/{{len}} {{msg}} {{eta}} left"));
        bar.bar.set_style(style.expect("a fixed template"));
        let plain = !quiet && !io::stderr().is_terminal();
        bar.lines = plain.then(|| Lines { what: what.into(), told: Cell::new((0, Instant::now())) });
        bar
    }

    /// What stands beside the count.
    #[cfg(feature = "train")]
    pub fn say(&self, message: String) {
        self.bar.set_message(message);
    }

    #[cfg(feature = "train")]
    pub fn set(&self, done: usize) {
        self.bar.set_position(done as u64);
        self.lines.iter().for_each(|lines| lines.tell(&self.bar));
    }

    #[cfg(feature = "train")]
    pub fn inc(&self, more: usize) {
        self.set(self.bar.position() as usize + more);
    }

    pub fn tell(&self, progress: Progress<'_>) {
        self.bar.set_message(format!("{:.2} nats", progress.pick.information));
        self.bar.set_position(progress.pick.rank as u64);
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The step under way, on standard error when that is a terminal.
pub struct Steps(ProgressBar);

impl Steps {
    pub fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{msg} {elapsed}").expect("a fixed template"));
        Self(bar)
    }

    pub fn tell(&self, step: &'static str) {
        self.0.set_message(step);
        self.0.tick();
    }

    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

pub fn seconds(duration: Duration) -> String {
    let s = duration.as_secs_f64();
    if s < 1.0 { format!("{:.0} ms", s * 1e3) } else { format!("{s:.1} s") }
}

/// The most memory this process has had, where the system tells.
pub fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

pub fn memory() -> String {
    peak_memory_bytes().map_or_else(|| "unknown".into(), |bytes| format!("{:.0} MB", bytes as f64 / 1e6))
}

/// An empty table without borders, for figures.
pub fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// The picks as people read them; long lists are cut.
pub fn picks_table(picks: &[Pick], id: impl Fn(usize) -> String) -> Table {
    const SHOWN: usize = 20;
    let mut table = plain_table();
    table.set_header(["rank", "row", "id", "score", "information", "variance left"]);
    for pick in picks.iter().take(SHOWN) {
        table.add_row([
            pick.rank.to_string(),
            pick.index.to_string(),
            cell(&id(pick.index)),
            short(pick.score),
            format!("{:.3}", pick.information),
            pick.variance_left.map_or_else(String::new, |left| format!("{:.1} %", 100.0 * left)),
        ]);
    }
    if picks.len() > SHOWN {
        table.add_row(["…".to_owned(), format!("{} more; --out FILE writes all", picks.len() - SHOWN)]);
    }
    table
}

/// Text for people on standard output or standard error. Names and ids in it come from files that anybody may have made, so
/// characters that would steer a terminal are shown as escapes.
pub struct Screen<W>(W);

/// Standard output for text that people read.
pub fn stdout() -> Screen<io::Stdout> {
    Screen(io::stdout())
}

/// A line on standard error. Nobody may be there to read it, which is no reason to end.
pub fn note(text: impl Display) {
    let _ = writeln!(Screen(io::stderr()), "{text}");
}

/// Bytes for other programs on standard output; a terminal gets them as text for people.
pub fn print_data(bytes: &[u8]) -> io::Result<()> {
    if io::stdout().is_terminal() {
        return stdout().write_all(bytes);
    }
    let named = |error: io::Error| io::Error::new(error.kind(), format!("the output cannot be written: {error}"));
    io::stdout().write_all(bytes).map_err(named)
}

/// JSON on standard output, with the characters that would steer a terminal as escapes of its own.
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let json = escaped(&serde_json::to_string_pretty(value)?, |c| format!("\\u{:04x}", u32::from(c)));
    Ok(writeln!(stdout(), "{json}")?)
}

/// A name as the cell of a table, in one line.
pub fn cell(name: &str) -> String {
    name.replace('\n', "\\n")
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = escaped(&String::from_utf8_lossy(bytes), |c| c.escape_unicode().to_string());
        match self.0.write_all(text.as_bytes()) {
            Ok(()) => Ok(bytes.len()),
            Err(error) => Err(io::Error::new(error.kind(), format!("the output cannot be written: {error}"))),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The text with control characters, except for ends of lines, and marks that reverse the direction of writing as escapes.
fn escaped(text: &str, escape: impl Fn(char) -> String) -> String {
    let steers = |c: char| {
        (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        if steers(c) {
            shown.push_str(&escape(c));
        } else {
            shown.push(c);
        }
        shown
    })
}

/// The text in one line.
pub fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// What went wrong, with its causes; one that the sentence has said already is not said again.
pub fn sentence(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |said, cause| match said {
        said if said.is_empty() => cause,
        said if said.contains(&cause) => said,
        said => format!("{said}: {cause}"),
    })
}

/// Whether the reader of standard output went away (`homing … | head`).
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn what_would_steer_a_terminal_is_shown_as_an_escape() {
        let mut shown = Vec::new();
        writeln!(Screen(&mut shown), "a\u{1b}]0;title\u{7}\u{9b}31m\u{202e}é\tb").unwrap();
        let shown = String::from_utf8(shown).unwrap();
        assert_eq!(shown, "a\\u{1b}]0;title\\u{7}\\u{9b}31m\\u{202e}é\tb\n");
    }

    #[test]
    fn a_cause_that_its_error_quotes_is_said_once() {
        let io = || io::Error::other("the disk is full");
        let quoted = anyhow!(io()).context("picks.csv cannot be written: the disk is full; make room");
        assert_eq!(sentence(&quoted), "picks.csv cannot be written: the disk is full; make room");
        let named = anyhow!(io()).context("picks.csv cannot be written");
        assert_eq!(sentence(&named), "picks.csv cannot be written: the disk is full");
        assert_eq!(sentence(&anyhow!("no such rule").context("--rule")), "--rule: no such rule");
    }
}
