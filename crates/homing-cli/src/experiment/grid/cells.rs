//! The cells of an experiment: every series with every seed, each a command line of `homing finetune`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

use super::check::MOST_CELLS;
use super::plan::{Line, Plan, Series, shown};

/// Options that name a file, which is looked for in the folder of the data.
const FILES: [&str; 4] = ["weights", "targets", "label-file", "labels"];

/// What these options may say beside the name of a file.
const NO_FILES: [(&str, &str); 2] = [("targets", "digits"), ("labels", "data")];

/// Seeds are below this.
const SEEDS_END: u64 = 1 << 32;

/// One series with one seed: a run of `homing finetune`.
pub struct Cell {
    pub series: Series,
    pub seed: u64,
    /// The command line without the folder of the run; the data come last, behind `--`.
    pub words: Vec<OsString>,
    /// The files that it names.
    pub files: Vec<PathBuf>,
}

impl Cell {
    pub fn label(&self) -> String {
        format!("{}, seed {}", self.series.label(), self.seed)
    }
}

/// The series of a plan with every seed from the first on; files are looked for in `folder`.
pub fn cells(plan: &Plan, folder: &Path, device: &str, first: u64) -> Result<Vec<Cell>> {
    made(plan, folder, device, first).with_context(|| plan.file.clone())
}

fn made(plan: &Plan, folder: &Path, device: &str, first: u64) -> Result<Vec<Cell>> {
    let series: Vec<(Series, Table)> = plan.lines.iter().flat_map(Line::series).collect();
    let count = plan.seeds.saturating_mul(series.len() as u64);
    if count > MOST_CELLS {
        bail!(
            "{} seeds of {} series are more than {MOST_CELLS} runs; give fewer seeds, or make several experiments of it",
            plan.seeds,
            series.len()
        );
    }
    let end = first.saturating_add(plan.seeds);
    if end > SEEDS_END {
        bail!("{} seeds from {first} on go beyond the last, {}; begin with a smaller one", plan.seeds, SEEDS_END - 1);
    }
    let data = data(plan, folder)?;
    let mut cells = Vec::new();
    for (series, own) in series {
        let mut arguments = plan.arguments.clone();
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
            cells.push(Cell { series: series.clone(), seed, words, files: files.clone() });
        }
    }
    Ok(cells)
}

fn data(plan: &Plan, folder: &Path) -> Result<PathBuf> {
    if plan.data == ["digits"] {
        return Ok("digits".into());
    }
    let found = plan.data.iter().map(|name| folder.join(name)).find(|path| path.exists());
    found.with_context(|| {
        let names = plan.data.join(" or ");
        format!(
            "{} has no {names}; name the folder of the data with --data, or see `homing data fetch`",
            folder.display()
        )
    })
}

/// Arguments as words of a command line, and the files that they name.
fn options(arguments: &Table, folder: &Path) -> Result<(Vec<OsString>, Vec<PathBuf>)> {
    let (mut words, mut files) = (Vec::new(), Vec::new());
    for (name, value) in arguments {
        let mut word = OsString::from(format!("--{name}"));
        match value {
            Value::Boolean(false) => continue,
            Value::Boolean(true) => {}
            Value::String(file) if FILES.contains(&&**name) && !NO_FILES.contains(&(name, file)) => {
                let path = folder.join(file);
                if !path.exists() {
                    bail!(
                        "{} has no {file:?}, which the option {name:?} names; put it there, or name its folder with --data",
                        folder.display()
                    );
                }
                word.push("=");
                word.push(&path);
                files.push(path);
            }
            value => word.push(format!("={}", shown(value))),
        }
        words.push(word);
    }
    Ok((words, files))
}
