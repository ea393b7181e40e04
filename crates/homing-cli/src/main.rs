//! `homing`: choose the data that teaches a model most about a task.
#![allow(missing_docs, clippy::struct_excessive_bools)]

mod demo;
mod digits;
mod inputs;
mod report;
mod rules;
mod select;
mod story;
mod terminal;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Choose the few rows of a large pool that teach a model most about your task.
#[derive(Parser)]
#[command(version, arg_required_else_help = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Choose rows of a pool for a few targets.
    Select(Box<select::Arguments>),
    /// List the rules: name, what each wants, formula.
    Rules,
    /// Do the main job on handwritten digits that the binary carries, and write a report.
    Demo(demo::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Select(arguments) => select::run(&arguments),
        Command::Rules => rules::print(),
        Command::Demo(arguments) => demo::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if terminal::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
