//! `homing data`: the usual data sets, from where they are published.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use homing_data::{Progress, SETS, fetch};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal;

#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Download a data set: checksums are verified, and what broke off goes on where it was.
    Fetch {
        /// Which one.
        #[arg(value_parser = clap::builder::PossibleValuesParser::new(SETS))]
        name: String,
        /// Folder to put it in; the set's name by default.
        #[arg(long, value_name = "FOLDER")]
        to: Option<PathBuf>,
        /// No progress.
        #[arg(long, short)]
        quiet: bool,
    },
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let Command::Fetch { name, to, quiet } = &arguments.command;
    let folder = to.clone().unwrap_or_else(|| PathBuf::from(name));
    let target = if *quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(None, target);
    bar.set_style(
        ProgressStyle::with_template("{msg} {bar:32} {bytes}/{total_bytes} {eta} left").expect("a fixed template"),
    );
    fetch(name, &folder, |Progress { file, done, total }| {
        bar.set_message(file.to_owned());
        bar.set_length(total);
        bar.set_position(done);
        ControlFlow::Continue(())
    })?;
    bar.finish_and_clear();
    writeln!(terminal::stdout(), "{name} is in {}", folder.display())?;
    Ok(())
}
