//! Runs the cells of an experiment, several at once, so that they can be interrupted and resumed.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use homing_pool::disk;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::GridOptions;
use super::cell_folder::CellFolder;
use super::workers::Workers;
use crate::interrupt::StopSignal;
use crate::refusal::Options;
use crate::terminal::{note, seconds};

/// Time between two looks at the cells.
const PAUSE: Duration = Duration::from_millis(100);

/// A cell that runs.
struct RunningCell<'a> {
    folder: &'a CellFolder<'a>,
    since: Instant,
    bar: ProgressBar,
}

/// Runs the cells that are not done yet, `jobs` at a time and seed after seed; `keep` is called before the first and after
/// every cell.
pub fn run(
    folders: &[CellFolder<'_>],
    rounds: usize,
    jobs: usize,
    workers: &mut dyn Workers,
    quiet: bool,
    mut keep: impl FnMut() -> Result<()>,
) -> Result<()> {
    let once: BTreeMap<&Path, &CellFolder<'_>> = folders.iter().rev().map(|folder| (&*folder.folder, folder)).collect();
    let mut left: Vec<&CellFolder<'_>> =
        folders.iter().filter(|&folder| std::ptr::eq(once[&*folder.folder], folder)).collect();
    let total = left.len();
    let mut kept = keep();
    left.retain(|folder| !folder.is_done());
    left.sort_by_key(|folder| folder.cell.seed);
    let board = ProgressDisplay::new(total, rounds, quiet);
    let signal = StopSignal::watch()?;
    let mut running: Vec<RunningCell<'_>> = Vec::new();
    let (mut done, mut failed) = (total - left.len(), Vec::new());
    let mut waiting = left.into_iter().peekable();
    while waiting.peek().is_some() || !running.is_empty() {
        while running.len() < jobs
            && let Some(folder) = waiting.next()
        {
            match workers.start(folder) {
                Ok(()) => running.push(RunningCell { folder, since: Instant::now(), bar: board.line() }),
                Err(error) => failed.push((folder.cell.label(), Options::of::<GridOptions>().sentence(&error))),
            }
        }
        let ended = workers.ended().inspect_err(|_| board.finish())?;
        for (key, is_done) in ended {
            let Some(at) = running.iter().position(|one| one.folder.key == key) else { continue };
            let one = running.remove(at);
            one.bar.finish_and_clear();
            let missing = is_done && !one.folder.wait_until_done();
            if missing {
                let why = "it left no results here; start the experiment in a folder that all machines share";
                failed.push((one.folder.cell.label(), why.to_owned()));
            } else if is_done {
                done += 1;
                board.done(&one, done);
                let _ = disk::remove_file(&one.folder.log());
                kept = kept.and(keep());
            } else {
                failed.push((one.folder.cell.label(), one.folder.failure()));
            }
        }
        if signal.has_come() {
            workers.end();
            board.finish();
            signal.leave(&format!("{done} of {total} cells are done; the same command continues with the rest"));
        }
        board.update(done, &running, rounds);
        std::thread::sleep(PAUSE);
    }
    board.finish();
    kept?;
    match &failed[..] {
        [] => Ok(()),
        [(label, why), ..] => bail!("{} of {total} cells failed; {label}: {why}", failed.len()),
    }
}

/// The live display: overall progress, and a line per running cell. If standard error is not a terminal, it is a line per
/// finished cell instead.
struct ProgressDisplay {
    all: MultiProgress,
    top: ProgressBar,
    watched: bool,
    quiet: bool,
    total: usize,
}

impl ProgressDisplay {
    fn new(total: usize, rounds: usize, quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let all = MultiProgress::with_draw_target(target);
        let top = all.add(ProgressBar::new((total * rounds) as u64));
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len} rounds · {msg} · {eta} left");
        top.set_style(style.expect("a fixed template"));
        Self { watched: !all.is_hidden(), all, top, quiet, total }
    }

    fn line(&self) -> ProgressBar {
        let bar = self.all.add(ProgressBar::new(0));
        bar.set_style(ProgressStyle::with_template("  {msg}").expect("a fixed template"));
        bar
    }

    fn update(&self, done: usize, running: &[RunningCell<'_>], rounds: usize) {
        if !self.watched {
            return;
        }
        let mut sum = done * rounds;
        for one in running {
            let at = one.folder.rounds();
            sum += at;
            one.bar.set_message(format!("{}: round {at} of {rounds}", one.folder.cell.label()));
        }
        self.top.set_message(format!("{done} of {} cells done, {} running", self.total, running.len()));
        self.top.set_position(sum as u64);
    }

    fn done(&self, one: &RunningCell<'_>, done: usize) {
        if !self.watched && !self.quiet {
            let time = seconds(one.since.elapsed());
            note(format_args!("{done}/{} {}: {time}", self.total, one.folder.cell.label()));
        }
    }

    fn finish(&self) {
        self.top.finish();
        let _ = self.all.clear();
    }
}
