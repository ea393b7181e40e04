//! The cells of an experiment: each series with each seed, as a command line of `homing finetune`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::check::MOST_CELLS;
use crate::error::{Fault, Remedy, Result};
use crate::experiment::{Experiment, ExperimentLine, SeriesName, as_text};

/// Options that name a file in the data folder.
const FILES: [&str; 3] = ["weights", "targets", "labels"];

/// The option and value that name the built-in digits instead of a file.
const DIGITS: (&str, &str) = ("targets", "digits");

/// An option that is on by default, so `false` has to be written out.
const ON_BY_DEFAULT: &str = "condition";

/// Upper bound of the seeds.
const SEEDS_END: u64 = 1 << 32;

/// One series with one seed: a run of `homing finetune`.
pub struct GridCell {
    /// The series.
    pub series: SeriesName,
    /// The seed.
    pub seed: u64,
    /// Command line without the folder of the run; the data come last, after `--`.
    pub words: Vec<OsString>,
    /// Files that the command line names.
    pub files: Vec<PathBuf>,
}

impl GridCell {
    /// Returns the series and the seed as text.
    pub fn label(&self) -> String {
        format!("{}, seed {}", self.series.label(), self.seed)
    }
}

/// Returns the cells of an experiment, with seeds from `first` on. Files are searched in `folder`.
pub fn cells(experiment: &Experiment, folder: &Path, device: &str, first: u64) -> Result<Vec<GridCell>> {
    grid(experiment, folder, device, first).map_err(|fault| fault.of(&experiment.file))
}

fn grid(experiment: &Experiment, folder: &Path, device: &str, first: u64) -> Result<Vec<GridCell>, Fault> {
    let series: Vec<(SeriesName, Table)> = experiment.lines.iter().flat_map(ExperimentLine::series).collect();
    let count = experiment.seeds.saturating_mul(series.len() as u64);
    if count > MOST_CELLS {
        let problem = format!("{} seeds of {} series make more than {MOST_CELLS} runs", experiment.seeds, series.len());
        return Err(Fault::new(problem, "use fewer seeds, or split it into several experiments"));
    }
    let end = first.saturating_add(experiment.seeds);
    if end > SEEDS_END {
        let problem = format!("{} seeds from {first} on exceed the largest seed, {}", experiment.seeds, SEEDS_END - 1);
        return Err(Fault::new(problem, "start with a smaller seed"));
    }
    let data = data(experiment, folder)?;
    let mut cells = Vec::new();
    for (series, own) in series {
        let mut arguments = experiment.arguments.clone();
        arguments.extend(own);
        let (options, mut files) = options(&arguments, folder)?;
        files.push(data.clone());
        for seed in first..end {
            let mut words: Vec<OsString> =
                [format!("--device={device}"), format!("--seed={seed}"), "--against=none".into()]
                    .map(Into::into)
                    .into();
            words.extend(options.iter().cloned());
            words.extend(["--".into(), data.clone().into()]);
            cells.push(GridCell { series: series.clone(), seed, words, files: files.clone() });
        }
    }
    Ok(cells)
}

fn data(experiment: &Experiment, folder: &Path) -> Result<PathBuf, Fault> {
    if experiment.data == ["digits"] {
        return Ok("digits".into());
    }
    let found = experiment.data.iter().map(|name| folder.join(name)).find(|path| path.exists());
    found.ok_or_else(|| {
        let problem = format!("the folder {} does not contain {}", folder.display(), experiment.data.join(" or "));
        Fault { problem, remedy: Remedy::NameDataFolder }
    })
}

/// Returns arguments as words of a command line, and the files that they name.
fn options(arguments: &Table, folder: &Path) -> Result<(Vec<OsString>, Vec<PathBuf>), Fault> {
    let (mut words, mut files) = (Vec::new(), Vec::new());
    for (name, value) in arguments {
        let mut word = OsString::from(format!("--{name}"));
        match value {
            Value::Boolean(false) if name == ON_BY_DEFAULT => word.push("=false"),
            Value::Boolean(false) => continue,
            Value::Boolean(true) => {}
            Value::String(file) if FILES.contains(&&**name) && (&**name, &**file) != DIGITS => {
                let path = folder.join(file);
                if !path.exists() {
                    let problem =
                        format!("{} does not contain {file:?}, which the argument {name:?} names", folder.display());
                    return Err(Fault { problem, remedy: Remedy::NameFileFolder });
                }
                word.push("=");
                word.push(&path);
                files.push(path);
            }
            value => word.push(format!("={}", as_text(value))),
        }
        words.push(word);
    }
    Ok((words, files))
}
