//! `homing`: choose the data that teaches a model the most about a task.
#![allow(missing_docs, clippy::struct_excessive_bools)]

mod arguments;
mod cache;
#[cfg(feature = "train")]
mod data;
mod demo;
mod diagnose;
mod digits;
#[cfg(feature = "train")]
mod embed;
#[cfg(feature = "train")]
mod encode;
mod experiment;
mod explain;
mod files;
#[cfg(feature = "train")]
mod finetune;
#[cfg(any(feature = "train", feature = "label"))]
#[cfg_attr(not(feature = "train"), allow(dead_code, reason = "training uses the rest"))]
mod interrupt;
#[cfg(feature = "label")]
mod label;
mod manual;
#[cfg(feature = "train")]
mod picture;
#[cfg(feature = "train")]
mod predict;
mod refusal;
mod row_lists;
mod rules;
mod select;
mod standard_input;
mod terminal;
mod texts;

use std::process::ExitCode;
use std::sync::Arc;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use refusal::Options;

const QUICK_START: &str = "\
Quick start:
  homing demo
  homing select pool.npy --targets targets.npy -n 100 --out picks.csv
  homing diagnose pool.npy --targets targets.npy --picks picks.csv";

/// The description, the examples, the usage, then the options under their headings.
const HELP: &str = "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// Choose the few rows of a large pool that teach a model the most about your task.
#[derive(Parser)]
#[command(name = "homing", version, arg_required_else_help = true, max_term_width = 110, before_help = QUICK_START)]
#[command(after_help = "`homing COMMAND --help` shows examples and all options of a command.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Choose the rows of a pool that are most informative about a few targets.
    Select(Box<select::Arguments>),
    /// Show what a pool can teach about the targets, how far the picks have come, and what is guaranteed.
    Diagnose(Box<diagnose::Arguments>),
    /// Show the few rows that explain most of what is known about each target.
    Explain(Box<explain::Arguments>),
    /// Label the most informative rows on a page in the browser, and watch a classifier learn.
    #[cfg(feature = "label")]
    Label(Box<label::Arguments>),
    /// Choose rows, get their labels, fine-tune a network, and repeat (Algorithm 1).
    #[cfg(feature = "train")]
    Finetune(Box<finetune::Arguments>),
    /// Classify new examples with the network of a finished run.
    #[cfg(feature = "train")]
    Predict(predict::Arguments),
    /// Turn texts, images or any data set into embeddings.
    #[cfg(feature = "train")]
    Embed(Box<embed::Arguments>),
    /// Show or clear the embeddings that were kept on disk.
    Cache(cache::Arguments),
    /// Download common data sets.
    #[cfg(feature = "train")]
    Data(data::Arguments),
    /// Run the paper's experiments or your own, and check which claims hold.
    Experiment(experiment::Arguments),
    /// List the rules with what they need, their formula and a reference to the paper.
    #[command(before_help = rules::EXAMPLES)]
    Rules,
    /// Choose from the built-in handwritten digits and write a report.
    Demo(demo::Arguments),
    /// Print a script that completes commands and options in a shell.
    Completions(manual::CompletionArguments),
    /// Print the manual page, or write the pages of all commands to a folder.
    Man(manual::ManArguments),
}

/// The parser, with the examples first in the help of every command.
fn parser() -> clap::Command {
    fn examples_first(command: clap::Command) -> clap::Command {
        command.help_template(HELP).mut_subcommands(examples_first)
    }
    examples_first(Cli::command())
}

fn main() -> ExitCode {
    let parsed = parser().try_get_matches().and_then(|typed| Ok((Cli::from_arg_matches(&typed)?, typed)));
    let (cli, typed) = match parsed {
        Ok(parsed) => parsed,
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            terminal::note(error);
            return ExitCode::from(2);
        }
        Err(error) => return refuse(&format!("{}; see --help", refusal::of_arguments(&error))),
    };
    let options = Arc::new(Options::of_command(parser(), &typed));
    let of_lost_files = Arc::clone(&options);
    // If this fails, a file that shrinks while it is mapped still ends the process, only without an explanation.
    let _ = homing_pool::explain_lost_files(move |error| _ = refuse(&of_lost_files.phrase(error)));
    let outcome = match cli.command {
        Command::Select(arguments) => select::run(&arguments),
        Command::Diagnose(arguments) => diagnose::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Experiment(arguments) => experiment::run(&arguments),
        Command::Cache(arguments) => cache::run(&arguments),
        #[cfg(feature = "label")]
        Command::Label(arguments) => label::run(&arguments),
        #[cfg(feature = "train")]
        Command::Data(arguments) => data::run(&arguments),
        #[cfg(feature = "train")]
        Command::Embed(arguments) => embed::run(&arguments),
        #[cfg(feature = "train")]
        Command::Predict(arguments) => predict::run(&arguments),
        #[cfg(feature = "train")]
        Command::Finetune(arguments) => finetune::run(&arguments),
        Command::Rules => rules::print(),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Completions(arguments) => manual::completions(&arguments, parser()),
        Command::Man(arguments) => manual::man(&arguments, parser()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if terminal::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => refuse(&options.sentence(&error)),
    }
}

/// Prints one sentence and returns the exit code for bad input.
fn refuse(sentence: &str) -> ExitCode {
    terminal::note(format_args!("error: {}", terminal::one_line(sentence)));
    ExitCode::from(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each(command: &clap::Command, check: &mut dyn FnMut(&clap::Command)) {
        check(command);
        command.get_subcommands().for_each(|below| each(below, check));
    }

    #[test]
    fn the_parser_is_consistent() {
        parser().debug_assert();
    }

    #[test]
    fn help_shows_examples_that_are_commands() {
        each(&parser(), &mut |command| {
            let examples = command.get_before_help().map(ToString::to_string);
            let examples = examples.unwrap_or_else(|| panic!("{} has no examples", command.get_name()));
            let mut shown = 0;
            for line in examples.lines().filter_map(|line| line.strip_prefix("  homing")) {
                let line = line.split(['|', '>']).next().unwrap_or(line);
                let words = std::iter::once("homing").chain(line.split_whitespace());
                parser().try_get_matches_from(words).unwrap_or_else(|error| panic!("homing{line}: {error}"));
                shown += 1;
            }
            assert!((1..=3).contains(&shown), "{}: {examples}", command.get_name());
        });
    }

    #[test]
    fn every_option_is_explained_by_one_sentence() {
        each(&parser(), &mut |command| {
            for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
                let name = format!("{} {}", command.get_name(), argument.get_id());
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.starts_with(|c: char| c.is_uppercase()) && !help.contains(". "), "{name}: {help:?}");
            }
        });
    }
}
