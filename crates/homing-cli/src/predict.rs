//! `homing predict`: classifies new examples with the network of a run.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use homing_pool::{Paths, check_writable};
use homing_train::{RunFolder, RunPlan, RunSpec};

use crate::finetune::open_run;
use crate::terminal::{self, grouped};

const EXAMPLES: &str = "\
Examples:
  homing predict run new.csv --out predictions.csv
  homing predict pets holiday-photos --out predictions.csv";

#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Arguments {
    /// Folder of a finished run of `homing finetune`.
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// New examples of the same kind as the pool of the run: texts, images or rows of numbers.
    #[arg(value_name = "DATA")]
    data: PathBuf,
    /// CSV file for the most probable class of each example, with its probability.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    out: PathBuf,
    /// Print only errors.
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { run, data, out, quiet } = arguments;
    let read = [run, data].into_iter().filter(|path| path.exists());
    read.fold(Paths::new(), |paths, path| paths.reads(&**path)).writes("--out", &**out).check()?;
    check_writable(out)?;
    let finished = |spec: &RunSpec| run.join(format!("{}-{}", spec.rule, spec.seed)).join("model.safetensors").exists();
    let (folder, RunPlan { run: mut spec, .. }) = RunFolder::resume(run, Duration::ZERO)?;
    if !finished(&spec) {
        bail!("the run in {} is not finished; continue it with `homing finetune --resume`", run.display());
    }
    // The examples are read and prepared like the targets of the run.
    spec.task.targets = Some(data.clone());
    let count = open_run(&spec, *quiet)?.write_predictions(&spec, folder.path(), out)?;
    if !quiet {
        writeln!(terminal::stdout(), "Wrote the classes of {} examples to {}.", grouped(count), out.display())?;
    }
    Ok(())
}
