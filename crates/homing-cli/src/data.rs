//! `homing data`: downloads common data sets from where they are published.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use homing_data::{DownloadProgress, SETS, fetch};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  homing data fetch mnist
  homing data fetch cifar100 --out data/cifar100";

#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Download a data set and verify its checksums; an interrupted download continues where it stopped.
    #[command(before_help = EXAMPLES)]
    Fetch {
        /// Name of the data set.
        #[arg(value_parser = clap::builder::PossibleValuesParser::new(SETS))]
        name: String,
        /// Folder for its files; by default, a folder with the name of the data set.
        #[arg(short, long, value_name = "FOLDER")]
        out: Option<PathBuf>,
        /// Print only errors and the result.
        #[arg(long, short)]
        quiet: bool,
    },
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let Command::Fetch { name, out, quiet } = &arguments.command;
    let folder = out.clone().unwrap_or_else(|| PathBuf::from(name));
    let target = if *quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(None, target);
    bar.set_style(
        ProgressStyle::with_template("{msg} {bar:32} {bytes}/{total_bytes} {eta} left").expect("a fixed template"),
    );
    fetch(name, &folder, |DownloadProgress { file, done, total }| {
        bar.set_message(file.to_owned());
        bar.set_length(total);
        bar.set_position(done);
        ControlFlow::Continue(())
    })?;
    bar.finish_and_clear();
    writeln!(terminal::stdout(), "The data set {name} is in {}.", folder.display())?;
    Ok(())
}
