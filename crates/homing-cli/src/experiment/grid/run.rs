//! Runs the cells of an experiment, each in its own process that can be interrupted and resumed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use homing_experiment::GridCell;
use homing_pool::{disk, refuse_foreign};
use homing_train::{RunFolder, RunSpec};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::GridOptions;
use crate::finetune::process_words;
use crate::interrupt::StopSignal;
use crate::refusal::Options;
use crate::terminal::{note, seconds};

/// Time between two checks of the processes.
const PAUSE: Duration = Duration::from_millis(100);

/// A cell of an experiment and the folder that it runs in.
pub struct CellFolder<'a> {
    pub cell: &'a GridCell,
    /// The folder, named by the key.
    pub folder: PathBuf,
    /// The run that the cell stands for.
    spec: &'a RunSpec,
    /// A hash of everything that the result depends on; experiments share cells with the same key.
    key: String,
}

impl<'a> CellFolder<'a> {
    pub fn new(cell: &'a GridCell, spec: &'a RunSpec, key: &str, cells: &Path) -> Self {
        Self { cell, folder: cells.join(key), spec, key: key.to_owned() }
    }

    pub fn is_done(&self) -> bool {
        self.folder.join("results.csv").exists()
    }

    pub fn rounds(&self) -> usize {
        let Ok(entries) = fs::read_dir(&self.folder) else { return 0 };
        let count = |path: PathBuf| fs::read_dir(path.join("rounds")).map_or(0, Iterator::count);
        entries.flatten().map(|entry| count(entry.path())).sum()
    }

    fn log(&self) -> PathBuf {
        self.folder.with_extension("log")
    }

    /// Starts the cell as a process that ends when the pipe to its standard input is closed, and so with this process at the
    /// latest, whatever ends it.
    fn start(&self, threads: usize) -> Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["finetune", "--quiet", "--cell", &self.key]);
        if RunFolder::holds_run(&self.folder) {
            command.arg("--resume").arg(&self.folder);
        } else {
            command.arg("--run").arg(&self.folder).args(process_words(self.spec));
        }
        let threads = threads.to_string();
        command.env("RAYON_NUM_THREADS", &threads).env("OMP_NUM_THREADS", &threads);
        refuse_foreign(&self.folder)?;
        refuse_foreign(&self.log())?;
        let log = File::create(self.log()).with_context(|| format!("{} cannot be written", self.log().display()))?;
        Ok(command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log).spawn()?)
    }
}

struct CellProcess<'a> {
    folder: &'a CellFolder<'a>,
    child: Child,
    since: Instant,
    bar: ProgressBar,
}

/// Runs the cells that are not done yet, `jobs` at a time and seed after seed; `keep` is called before the first and after
/// every cell.
pub fn run(
    folders: &[CellFolder<'_>],
    rounds: usize,
    jobs: usize,
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
    let threads = (std::thread::available_parallelism().map_or(1, usize::from) / jobs).max(1);
    let mut running: Vec<CellProcess<'_>> = Vec::new();
    let (mut done, mut failed) = (total - left.len(), Vec::new());
    let mut waiting = left.into_iter().peekable();
    while waiting.peek().is_some() || !running.is_empty() {
        while running.len() < jobs
            && let Some(folder) = waiting.next()
        {
            match folder.start(threads) {
                Ok(child) => running.push(CellProcess { folder, child, since: Instant::now(), bar: board.line() }),
                Err(error) => failed.push((folder.cell.label(), Options::of::<GridOptions>().sentence(&error))),
            }
        }
        let mut still = Vec::new();
        for mut one in running {
            match one.child.try_wait()? {
                None => still.push(one),
                Some(status) => {
                    one.bar.finish_and_clear();
                    if status.success() {
                        done += 1;
                        board.done(&one, done);
                        let _ = disk::remove_file(&one.folder.log());
                        kept = kept.and(keep());
                    } else {
                        failed.push((one.folder.cell.label(), last_line(&one.folder.log())));
                    }
                }
            }
        }
        running = still;
        if signal.has_come() {
            for one in &mut running {
                let _ = one.child.kill().and_then(|()| one.child.wait());
            }
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

fn last_line(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().last().unwrap_or("another process ended it; run the experiment again to continue");
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
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

    fn update(&self, done: usize, running: &[CellProcess<'_>], rounds: usize) {
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

    fn done(&self, one: &CellProcess<'_>, done: usize) {
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
