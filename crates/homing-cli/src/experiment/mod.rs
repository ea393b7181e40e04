//! `homing experiment`: the paper's figures and tables, each under a name.

#[cfg(feature = "train")]
mod defaults;
#[cfg(feature = "train")]
mod grid;
mod theory;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::terminal::{self, plain_table};

const EXAMPLES: &str = "\
Examples:
  homing experiment list
  homing experiment run digits-quick
  homing experiment compare digits-quick";

const LIST_EXAMPLES: &str = "\
Examples:
  homing experiment list
  homing experiment list | grep cifar";

const RUN_EXAMPLES: &str = "\
Examples:
  homing experiment run defaults --quick
  homing experiment run mnist-main --quick --data data
  homing experiment run mine.toml --jobs 2 --out results";

const PLOT_EXAMPLES: &str = "\
Examples:
  homing experiment plot digits-quick
  homing experiment plot mnist-main --quick --out results";

const COMPARE_EXAMPLES: &str = "\
Examples:
  homing experiment compare digits-quick
  homing experiment compare mnist-main --quick --out results";

#[cfg(feature = "train")]
const VERDICTS_EXAMPLES: &str = "\
Examples:
  homing experiment verdicts
  homing experiment verdicts --out docs/results";

#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the experiments and what each shows.
    #[command(before_help = LIST_EXAMPLES)]
    List,
    /// Run an experiment, or continue an interrupted one.
    #[command(before_help = RUN_EXAMPLES)]
    Run(Run),
    /// Draw the results of an experiment again, as SVG.
    #[command(before_help = PLOT_EXAMPLES)]
    #[cfg(feature = "train")]
    Plot(grid::ResultOptions),
    /// Compare the results of an experiment with the paper's, and check which of its claims hold.
    #[command(before_help = COMPARE_EXAMPLES)]
    #[cfg(feature = "train")]
    Compare(grid::ResultOptions),
    /// Test the claims of all built-in experiments whose results are in a folder, with a correction for their number.
    #[command(before_help = VERDICTS_EXAMPLES)]
    #[cfg(feature = "train")]
    Verdicts {
        /// Folder with the results.
        #[arg(short, long, value_name = "FOLDER", default_value = "results")]
        out: PathBuf,
    },
}

#[derive(Args)]
struct Run {
    /// Name from the list, or your own TOML file.
    name: String,
    /// Folder for the results (by default `results`), or the HTML page of a `gp-…` experiment (by default NAME.html).
    #[arg(short, long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Seed for all random choices, or the first of several --seeds.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..1 << 32))]
    seed: u64,
    #[cfg(feature = "train")]
    #[command(flatten)]
    grid: grid::GridOptions,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::List => list(),
        Command::Run(run) => match theory::PICTURES.into_iter().find(|(name, ..)| *name == run.name) {
            Some(picture) => {
                #[cfg(feature = "train")]
                refuse_cluster(run)?;
                theory::run(picture, run.out.clone(), run.seed)
            }
            None => of_grid(run),
        },
        #[cfg(feature = "train")]
        Command::Plot(which) => grid::plot(which),
        #[cfg(feature = "train")]
        Command::Compare(which) if which.name == defaults::STUDY[0] => defaults::compare(&which.out),
        #[cfg(feature = "train")]
        Command::Compare(which) => grid::compare(which),
        #[cfg(feature = "train")]
        Command::Verdicts { out } => grid::verdicts(out),
    }
}

#[cfg(feature = "train")]
fn of_grid(run: &Run) -> Result<()> {
    if run.name == defaults::STUDY[0] {
        refuse_cluster(run)?;
        return defaults::study(&run.grid.extent(run.out.as_deref(), run.seed));
    }
    grid::run(&run.name, run.out.as_deref(), run.seed, &run.grid)
}

/// Refuses a cluster for an experiment without cells.
#[cfg(feature = "train")]
fn refuse_cluster(run: &Run) -> Result<()> {
    if run.grid.ray.is_some() {
        anyhow::bail!("{} has no cells that a cluster could run; leave --ray out", run.name);
    }
    Ok(())
}

#[cfg(not(feature = "train"))]
fn of_grid(run: &Run) -> Result<()> {
    anyhow::bail!(
        "there is no experiment {:?} in a build without networks; `homing experiment list` lists those that there are",
        run.name
    )
}

fn list() -> Result<()> {
    let mut table = plain_table();
    table.set_header(["name", "shows"]);
    #[cfg(feature = "train")]
    for (name, shows) in grid::list()? {
        table.add_row([name, shows]);
    }
    #[cfg(feature = "train")]
    table.add_row(defaults::STUDY);
    table.add_rows(theory::PICTURES.map(|(name, shows, _)| [name, shows]));
    writeln!(terminal::stdout(), "{table}")?;
    Ok(())
}
