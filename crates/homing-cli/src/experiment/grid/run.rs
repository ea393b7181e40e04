//! Runs the cells of an experiment, each a process of its own that can be interrupted and resumed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use homing_pool::{disk, refuse_foreign};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::cells::Cell;
use crate::interrupt::Told;
use crate::terminal::{note, seconds, sentence};

/// How often the processes are looked at.
const PAUSE: Duration = Duration::from_millis(100);

/// A cell and where it runs.
pub struct Place<'a> {
    pub cell: &'a Cell,
    /// Named by the key.
    pub folder: PathBuf,
    /// All that the cell's result depends on, hashed, so that experiments share cells.
    key: String,
}

impl<'a> Place<'a> {
    pub fn new(cell: &'a Cell, key: &str, cells: &Path) -> Self {
        Self { cell, folder: cells.join(key), key: key.to_owned() }
    }

    pub fn results(&self) -> PathBuf {
        self.folder.join("results.csv")
    }

    pub fn is_done(&self) -> bool {
        self.results().exists()
    }

    pub fn rounds(&self) -> usize {
        let Ok(entries) = fs::read_dir(&self.folder) else { return 0 };
        let count = |path: PathBuf| fs::read_dir(path.join("rounds")).map_or(0, Iterator::count);
        entries.flatten().map(|entry| count(entry.path())).sum()
    }

    fn log(&self) -> PathBuf {
        self.folder.with_extension("log")
    }

    /// The cell as a process, which ends when the pipe to its standard input is closed: with this process at the latest,
    /// whatever ends it.
    fn start(&self, threads: usize) -> Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["finetune", "--quiet", "--cell", &self.key]);
        if self.folder.join("plan.json").exists() {
            command.arg("--resume").arg(&self.folder);
        } else {
            command.arg("--run").arg(&self.folder).args(&self.cell.words);
        }
        let threads = threads.to_string();
        command.env("RAYON_NUM_THREADS", &threads).env("OMP_NUM_THREADS", &threads);
        refuse_foreign(&self.folder)?;
        refuse_foreign(&self.log())?;
        let log = File::create(self.log()).with_context(|| format!("{} cannot be written", self.log().display()))?;
        Ok(command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log).spawn()?)
    }
}

struct Running<'a> {
    place: &'a Place<'a>,
    child: Child,
    since: Instant,
    bar: ProgressBar,
}

/// Runs what is not done yet, `jobs` cells at a time and seed after seed; `keep` is called before the first and
/// behind every one.
pub fn run(
    places: &[Place<'_>],
    rounds: usize,
    jobs: usize,
    quiet: bool,
    mut keep: impl FnMut() -> Result<()>,
) -> Result<()> {
    let once: BTreeMap<&Path, &Place<'_>> = places.iter().rev().map(|place| (&*place.folder, place)).collect();
    let mut left: Vec<&Place<'_>> = places.iter().filter(|&place| std::ptr::eq(once[&*place.folder], place)).collect();
    let total = left.len();
    let mut kept = keep();
    left.retain(|place| !place.is_done());
    left.sort_by_key(|place| place.cell.seed);
    let board = Board::new(total, rounds, quiet);
    let told = Told::watch()?;
    let threads = (std::thread::available_parallelism().map_or(1, usize::from) / jobs).max(1);
    let mut running: Vec<Running<'_>> = Vec::new();
    let (mut done, mut failed) = (total - left.len(), Vec::new());
    let mut waiting = left.into_iter().peekable();
    while waiting.peek().is_some() || !running.is_empty() {
        while running.len() < jobs
            && let Some(place) = waiting.next()
        {
            match place.start(threads) {
                Ok(child) => running.push(Running { place, child, since: Instant::now(), bar: board.line() }),
                Err(error) => failed.push((place.cell.label(), sentence(&error))),
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
                        let _ = disk::remove_file(&one.place.log());
                        kept = kept.and(keep());
                    } else {
                        failed.push((one.place.cell.label(), last_line(&one.place.log())));
                    }
                }
            }
        }
        running = still;
        if told.is_told() {
            for one in &mut running {
                let _ = one.child.kill().and_then(|()| one.child.wait());
            }
            board.finish();
            told.leave(&format!("{done} of {total} cells are done; the same command goes on with the rest"));
        }
        board.tell(done, &running, rounds);
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
    let line = text.lines().last().unwrap_or("it was ended from outside; run the experiment again to go on");
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// The live table: how far everything is, and a line for every cell that runs. Where nobody watches, a line for every cell
/// that is done.
struct Board {
    all: MultiProgress,
    top: ProgressBar,
    watched: bool,
    quiet: bool,
    total: usize,
}

impl Board {
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

    fn tell(&self, done: usize, running: &[Running<'_>], rounds: usize) {
        if !self.watched {
            return;
        }
        let mut sum = done * rounds;
        for one in running {
            let at = one.place.rounds();
            sum += at;
            one.bar.set_message(format!("{}: round {at} of {rounds}", one.place.cell.label()));
        }
        self.top.set_message(format!("{done} of {} cells done, {} running", self.total, running.len()));
        self.top.set_position(sum as u64);
    }

    fn done(&self, one: &Running<'_>, done: usize) {
        if !self.watched && !self.quiet {
            let time = seconds(one.since.elapsed());
            note(format_args!("{done}/{} {}: {time}", self.total, one.place.cell.label()));
        }
    }

    fn finish(&self) {
        self.top.finish();
        let _ = self.all.clear();
    }
}
