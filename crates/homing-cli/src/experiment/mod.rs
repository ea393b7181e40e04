//! `homing experiment`: the paper's figures and tables, each a name.

#[cfg(feature = "train")]
mod grid;
mod theory;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::terminal::{self, plain_table};

#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Name the experiments and say what each shows.
    List,
    /// Run one, or go on with it where it was interrupted.
    Run(Run),
    /// Draw the results of one again, as SVG and PNG.
    #[cfg(feature = "train")]
    Plot(grid::Which),
    /// Put the results of one beside the paper's, and say which of its claims hold.
    #[cfg(feature = "train")]
    Compare(grid::Which),
}

#[derive(Args)]
struct Run {
    /// A name of the list, or a TOML file of your own.
    name: String,
    /// Folder of the results, `results` by default; the page of a gp-… picture, NAME.html by default.
    #[arg(short, long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Seed of everything random; where there are several, the first.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..1 << 32))]
    seed: u64,
    #[cfg(feature = "train")]
    #[command(flatten)]
    grid: grid::How,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::List => list(),
        Command::Run(run) => match theory::PICTURES.into_iter().find(|(name, ..)| *name == run.name) {
            Some(picture) => theory::run(picture, run.out.clone(), run.seed),
            None => of_grid(run),
        },
        #[cfg(feature = "train")]
        Command::Plot(which) => grid::plot(which),
        #[cfg(feature = "train")]
        Command::Compare(which) => grid::compare(which),
    }
}

#[cfg(feature = "train")]
fn of_grid(run: &Run) -> Result<()> {
    grid::run(&run.name, run.out.as_deref(), run.seed, &run.grid)
}

#[cfg(not(feature = "train"))]
fn of_grid(run: &Run) -> Result<()> {
    anyhow::bail!(
        "there is no experiment {:?} in a build without networks; `homing experiment list` names those there are",
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
    table.add_rows(theory::PICTURES.map(|(name, shows, _)| [name, shows]));
    writeln!(terminal::stdout(), "{table}")?;
    Ok(())
}
