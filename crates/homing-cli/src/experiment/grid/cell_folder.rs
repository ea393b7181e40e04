//! A cell of an experiment and the folder that it runs in.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use homing_experiment::GridCell;
use homing_pool::refuse_foreign;
use homing_train::{RunFolder, RunSpec};

use crate::finetune::process_words;

/// How long the results of another machine may take to appear.
const PATIENCE: Duration = Duration::from_secs(5);

/// A cell of an experiment and the folder that it runs in.
pub struct CellFolder<'a> {
    pub cell: &'a GridCell,
    /// The folder, named by the key.
    pub folder: PathBuf,
    /// A hash of everything that the result depends on; experiments share cells with the same key.
    pub key: String,
    /// The run that the cell stands for.
    spec: &'a RunSpec,
}

impl<'a> CellFolder<'a> {
    pub fn new(cell: &'a GridCell, spec: &'a RunSpec, key: &str, cells: &Path) -> Self {
        Self { cell, folder: cells.join(key), key: key.to_owned(), spec }
    }

    pub fn is_done(&self) -> bool {
        self.folder.join("results.csv").exists()
    }

    /// Waits for the results, because a shared folder may show what another machine wrote some seconds later. Returns whether they
    /// are there.
    pub fn wait_until_done(&self) -> bool {
        let since = Instant::now();
        while !self.is_done() && since.elapsed() < PATIENCE {
            thread::sleep(PATIENCE / 50);
        }
        self.is_done()
    }

    pub fn rounds(&self) -> usize {
        let Ok(entries) = fs::read_dir(&self.folder) else { return 0 };
        let count = |path: PathBuf| fs::read_dir(path.join("rounds")).map_or(0, Iterator::count);
        entries.flatten().map(|entry| count(entry.path())).sum()
    }

    /// Returns the arguments of the process that runs the cell, or continues it. The process ends when the pipe to its standard
    /// input is closed, and so with the process that started it at the latest, whatever ends that one.
    pub fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = ["finetune", "--quiet", "--cell", &self.key].map(Into::into).into();
        if RunFolder::holds_run(&self.folder) {
            words.extend(["--resume".into(), self.folder.clone().into()]);
        } else {
            words.extend(["--run".into(), self.folder.clone().into()]);
            words.extend(process_words(self.spec));
        }
        words
    }

    /// Creates the file for what the cell writes to standard error.
    pub fn open_log(&self) -> Result<File> {
        refuse_foreign(&self.folder)?;
        refuse_foreign(&self.log())?;
        File::create(self.log()).with_context(|| format!("{} cannot be written", self.log().display()))
    }

    /// Returns why the cell failed: the last line of its log.
    pub fn failure(&self) -> String {
        let text = fs::read(self.log()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().last().unwrap_or("another process ended it; run the experiment again to continue");
        line.strip_prefix("error: ").unwrap_or(line).to_owned()
    }

    pub fn log(&self) -> PathBuf {
        self.folder.with_extension("log")
    }
}
