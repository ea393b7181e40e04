//! `homing`: choose the data that teaches a model most about a task.
#![allow(missing_docs, clippy::struct_excessive_bools)]

#[cfg(feature = "train")]
mod data;
mod demo;
mod diagnose;
mod digits;
#[cfg(feature = "train")]
mod embed;
mod experiment;
mod explain;
#[cfg(feature = "train")]
mod finetune;
mod inputs;
#[cfg(feature = "train")]
mod interrupt;
#[cfg(feature = "train")]
mod lock;
mod rules;
mod select;
mod terminal;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

/// Choose the few rows of a large pool that teach a model most about your task.
#[derive(Parser)]
#[command(name = "homing", version, arg_required_else_help = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Choose rows of a pool for a few targets.
    Select(Box<select::Arguments>),
    /// Say what a pool can teach about some targets, how far picks have come, and what is guaranteed.
    Diagnose(Box<diagnose::Arguments>),
    /// Say which few rows carry what is known about a target.
    Explain(Box<explain::Arguments>),
    /// Run the paper's experiments, or your own, and say which claims hold.
    Experiment(experiment::Arguments),
    /// Download the usual data sets.
    #[cfg(feature = "train")]
    Data(data::Arguments),
    /// Embed a data set with a network, as a pool to choose from.
    #[cfg(feature = "train")]
    Embed(Box<embed::Arguments>),
    /// Choose, label, fine-tune a network, repeat (Algorithm 1).
    #[cfg(feature = "train")]
    Finetune(Box<finetune::Arguments>),
    /// List the rules: name, what each wants, formula.
    Rules,
    /// Do the main job on handwritten digits that the binary carries, and write a report.
    Demo(demo::Arguments),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            terminal::note(error);
            return ExitCode::from(2);
        }
        Err(error) => return refuse(&first_sentence(&error.to_string())),
    };
    // Without this, the system ends the process as it did, only without a sentence.
    let _ = homing_pool::explain_lost_files(|sentence| _ = refuse(sentence));
    let outcome = match cli.command {
        Command::Select(arguments) => select::run(&arguments),
        Command::Diagnose(arguments) => diagnose::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Experiment(arguments) => experiment::run(&arguments),
        #[cfg(feature = "train")]
        Command::Data(arguments) => data::run(&arguments),
        #[cfg(feature = "train")]
        Command::Embed(arguments) => embed::run(&arguments),
        #[cfg(feature = "train")]
        Command::Finetune(arguments) => finetune::run(&arguments),
        Command::Rules => rules::print(),
        Command::Demo(arguments) => demo::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if terminal::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => refuse(&terminal::sentence(&error)),
    }
}

/// One sentence, and the exit code of bad input.
fn refuse(sentence: &str) -> ExitCode {
    terminal::note(format_args!("error: {}", terminal::one_line(sentence)));
    ExitCode::from(2)
}

/// What is wrong with the arguments, without the usage that follows it.
fn first_sentence(message: &str) -> String {
    let paragraph: Vec<&str> = message.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    let sentence = paragraph.join(" ");
    format!("{}; see --help", sentence.strip_prefix("error: ").unwrap_or(&sentence))
}
