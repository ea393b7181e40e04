//! Progress, tables and notes in the terminal.

use std::cell::Cell;
#[cfg(feature = "train")]
use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use comfy_table::{Table, presets};
use homing::{Pick, Progress};
use homing_report::text::memory;
pub use homing_report::text::{grouped, short};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A progress bar on standard error if that is a terminal. Otherwise, a bar that counts prints a line now and then.
pub struct Bar {
    bar: ProgressBar,
    lines: Option<Lines>,
}

/// Prints a line per tenth of the work, and at least one per minute.
struct Lines {
    what: String,
    /// The tenths that the last line reported, and when it was printed.
    last: Cell<(u64, Instant)>,
}

impl Lines {
    /// Minimum time between two lines for tenths.
    const LEAST: Duration = Duration::from_secs(2);
    /// Maximum time between two lines.
    const MOST: Duration = Duration::from_mins(1);

    fn print_if_due(&self, bar: &ProgressBar) {
        let (done, all) = (bar.position(), bar.length().unwrap_or(0).max(1));
        let (last, at) = self.last.get();
        let tenths = 10 * done / all;
        let waited = if tenths > last { Self::LEAST } else { Self::MOST };
        if at.elapsed() >= waited || (last == 0 && tenths > 0) || (tenths > last && done >= all) {
            self.last.set((tenths, Instant::now()));
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
        Self { bar, lines: None }
    }

    pub fn counting(what: &str, count: usize, quiet: bool) -> Self {
        let mut bar = Self::new(count, quiet);
        let style = ProgressStyle::with_template(&format!("{what} {{bar:24}} {{pos}}/{{len}} {{msg}} {{eta}} left"));
        bar.bar.set_style(style.expect("a fixed template"));
        let plain = !quiet && !io::stderr().is_terminal();
        bar.lines = plain.then(|| Lines { what: what.into(), last: Cell::new((0, Instant::now())) });
        bar
    }

    /// Sets the text next to the count.
    pub fn set_message(&self, message: String) {
        self.bar.set_message(message);
    }

    pub fn set(&self, done: usize) {
        self.bar.set_position(done as u64);
        self.lines.iter().for_each(|lines| lines.print_if_due(&self.bar));
    }

    #[cfg(feature = "train")]
    pub fn inc(&self, more: usize) {
        self.set(self.bar.position() as usize + more);
    }

    pub fn show_pick(&self, progress: Progress<'_>) {
        self.bar.set_message(format!("{:.2} nats", progress.pick.information));
        self.bar.set_position(progress.pick.rank as u64);
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The current step, on standard error if that is a terminal.
pub struct Steps(ProgressBar);

impl Steps {
    pub fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{msg} {elapsed}").expect("a fixed template"));
        Self(bar)
    }

    pub fn show(&self, step: &'static str) {
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

/// Returns the peak memory of this process, if the system reports it.
pub fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

pub fn peak_memory() -> String {
    peak_memory_bytes().map_or_else(|| "unknown".into(), memory)
}

/// Whether text on standard output may be coloured.
#[cfg(feature = "train")]
pub fn may_colour() -> bool {
    colours(io::stdout().is_terminal(), std::env::var_os("NO_COLOR").as_deref())
}

/// A terminal has colours unless `NO_COLOR` is set to anything (<https://no-color.org>).
#[cfg(feature = "train")]
fn colours(is_terminal: bool, no_color: Option<&OsStr>) -> bool {
    is_terminal && no_color.is_none_or(OsStr::is_empty)
}

/// How a result is printed on standard output.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    // Doc comments here would become part of the help and change its layout.
    Table,
    Json,
}

/// Returns an empty table without borders.
pub fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// Number of picks that the table of picks shows.
pub const SHOWN_PICKS: usize = 20;

/// Returns the picks as a table, of which only the first are shown. Their texts are cut to the width of the terminal.
pub fn picks_table(picks: &[Pick], id: impl Fn(usize) -> String, text: impl Fn(usize) -> Option<String>) -> Table {
    const SHOWN: usize = SHOWN_PICKS;
    let mut table = plain_table();
    let shown: Vec<&Pick> = picks.iter().take(SHOWN).collect();
    let texts: Vec<Option<String>> = shown.iter().map(|pick| text(pick.row)).collect();
    let has_texts = texts.iter().any(Option::is_some);
    let header = ["rank", "index", "id", "score", "information", "variance left"];
    table.set_header(header.into_iter().chain(has_texts.then_some("text")));
    let ids: Vec<String> = shown.iter().map(|pick| cell(&id(pick.row))).collect();
    // The other columns take about 54 characters in addition to the ids.
    let longest_id = ids.iter().map(|id| id.chars().count()).max().unwrap_or(0);
    let width = text_width(54 + longest_id);
    for ((pick, id), text) in shown.into_iter().zip(ids).zip(texts) {
        let own = [
            pick.rank.to_string(),
            pick.row.to_string(),
            id,
            short(pick.score),
            format!("{:.3}", pick.information),
            pick.variance_left.map_or_else(String::new, |left| format!("{:.1} %", 100.0 * left)),
        ];
        let text = text.map_or_else(String::new, |text| clipped(&text, width));
        table.add_row(own.into_iter().chain(has_texts.then_some(text)));
    }
    if picks.len() > SHOWN {
        table.add_row(["…".to_owned(), format!("{} more; --out FILE writes all", picks.len() - SHOWN)]);
    }
    table
}

/// Returns how many characters of a text fit next to `others` characters: those that the terminal has left, or 60 if standard
/// output is not a terminal.
pub fn text_width(others: usize) -> usize {
    const FEWEST: usize = 24;
    match terminal_size::terminal_size().filter(|_| io::stdout().is_terminal()) {
        Some((terminal_size::Width(width), _)) => usize::from(width).saturating_sub(others).max(FEWEST),
        None => 60,
    }
}

/// Returns a text as one line of at most `width` columns of the terminal, with an ellipsis if it was cut. Control characters
/// become escapes here, because they count for the width.
pub fn clipped(text: &str, width: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = escaped(&words.join(" "), |c| c.escape_unicode().to_string());
    if line.width() <= width {
        return line;
    }
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used < width
    };
    let front: String = line.chars().take_while(fits).collect();
    format!("{}…", front.trim_end())
}

/// Text for people on standard output or standard error. It contains names and ids from files that anybody may have made, so
/// characters that would control a terminal are shown as escapes.
pub struct Screen<W>(W);

/// Returns standard output for text for people.
pub fn stdout() -> Screen<io::Stdout> {
    Screen(io::stdout())
}

/// Prints a line on standard error. Write errors are ignored: the work does not depend on whether somebody reads the line.
pub fn note(text: impl Display) {
    let _ = writeln!(Screen(io::stderr()), "{text}");
}

/// Prints bytes for other programs on standard output, or text for people if that is a terminal. A reader that stops reading
/// early (`homing … | head`) has all that it needs.
pub fn print_data(bytes: &[u8]) -> io::Result<()> {
    if io::stdout().is_terminal() {
        return stdout().write_all(bytes);
    }
    let named = |error: io::Error| io::Error::new(error.kind(), format!("the output cannot be written: {error}"));
    match io::stdout().write_all(bytes) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(named),
    }
}

/// Prints JSON on standard output, with characters that would control a terminal as JSON escapes.
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let json = escaped(&serde_json::to_string_pretty(value)?, |c| format!("\\u{:04x}", u32::from(c)));
    Ok(writeln!(stdout(), "{json}")?)
}

/// Returns a name as the cell of a table, in one line.
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

/// Returns the text with escapes for control characters, except line breaks and tabs, and for marks that change the direction
/// of writing.
fn escaped(text: &str, escape: impl Fn(char) -> String) -> String {
    let controls = |c: char| {
        (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        if controls(c) {
            shown.push_str(&escape(c));
        } else {
            shown.push(c);
        }
        shown
    })
}

/// Returns the text in one line.
pub fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Whether the reader of standard output has stopped reading (`homing … | head`).
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "train")]
    #[test]
    fn no_color_is_honoured() {
        assert!(colours(true, None) && colours(true, Some(OsStr::new(""))));
        assert!(
            !colours(true, Some(OsStr::new("1"))) && !colours(true, Some(OsStr::new("0"))) && !colours(false, None)
        );
    }

    #[test]
    fn texts_are_cut_to_the_columns_that_they_take() {
        assert_eq!(clipped("need  new\n tires", 20), "need new tires");
        assert_eq!(clipped("need new tires", 10), "need new…");
        assert_eq!(clipped("東京都の天気", 7), "東京都…");
        assert_eq!(clipped("a\u{1b}[31mred", 30), "a\\u{1b}[31mred");
        assert_eq!(clipped("", 10), "");
    }

    #[test]
    fn what_would_steer_a_terminal_is_shown_as_an_escape() {
        let mut shown = Vec::new();
        writeln!(Screen(&mut shown), "a\u{1b}]0;title\u{7}\u{9b}31m\u{202e}é\tb").unwrap();
        let shown = String::from_utf8(shown).unwrap();
        assert_eq!(shown, "a\\u{1b}]0;title\\u{7}\\u{9b}31m\\u{202e}é\tb\n");
    }
}
