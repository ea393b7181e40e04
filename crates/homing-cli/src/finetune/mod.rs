//! `homing finetune`: choose, label, fine-tune, repeat.

mod cell;
mod checked;
mod filed;
mod folder;
mod open;
mod person;
mod report;
mod results;
mod setup;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, FromArgMatches};
use homing_pool::{Paths, read_file, write_beside};
use homing_report::plots::Section;
use homing_train::{Kind, Run, Settings, Spent, Until, fine_tune};
use serde::{Deserialize, Serialize};

#[cfg(test)]
pub use cell::parsed;
pub use cell::prepare;
use folder::Folder;
pub use open::{Open, maps, open_data, trunk};
use results::Results;
pub use results::{mean_and_error, with_error};
use setup::Setup;

use crate::terminal::Bar;
use crate::{interrupt, terminal};

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    asked: Asked,
    /// Folder of the run: plan, picks, metrics, networks, report.
    #[arg(long, value_name = "FOLDER", required_unless_present = "resume", conflicts_with = "resume")]
    run: Option<PathBuf>,
    /// Go on with a run that was interrupted; everything else is in its plan.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["Asked", "Open", "TaskArguments", "Choosing", "Learning"])]
    resume: Option<PathBuf>,
    /// No progress.
    #[arg(long, short)]
    quiet: bool,
    /// The cell of an experiment that this run is: it is refused where that has another key, and ends with its standard input.
    #[arg(long, value_name = "KEY", hide = true)]
    cell: Option<String>,
}

/// What a run depends on: its plan.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
pub struct Asked {
    /// Pool: MNIST or CIFAR files, tiles, an image folder, a table with labels, embeddings with labels, or `digits`, which the
    /// binary carries.
    #[arg(value_name = "DATA", required_unless_present = "resume")]
    data: Option<PathBuf>,
    #[command(flatten)]
    open: Open,
    #[command(flatten)]
    task: setup::TaskArguments,
    #[command(flatten)]
    choosing: Choosing,
    #[command(flatten)]
    learning: Learning,
    /// Seed of everything random; with --seeds the first of them.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Repeat everything with so many seeds, and report means.
    #[arg(long, default_value_t = 1)]
    seeds: u64,
}

#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[command(next_help_heading = "Choosing")]
struct Choosing {
    /// How to choose; `homing rules` lists them.
    #[arg(long, default_value = "itl")]
    rule: String,
    /// Rules to compare with, each in a loop of its own; none by default where a person labels.
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    against: Option<Vec<String>>,
    /// How often to choose, label and fine-tune.
    #[arg(long, default_value_t = 30)]
    rounds: usize,
    /// Picks a round.
    #[arg(long, default_value_t = 1)]
    batch_size: usize,
    /// What a round chooses from: all, sample:COUNT or nearest:COUNT.
    #[arg(long, default_value = "sample:1000")]
    candidates: String,
    /// Targets that a round looks at, drawn from all of them.
    #[arg(long, value_name = "COUNT")]
    targets_a_round: Option<usize>,
    /// last-layer, loss-gradient, output-gradient, network-gradient[:WIDTH] or outputs.
    #[arg(long, default_value = "last-layer")]
    embedding: String,
    /// Covariance Σ of the weights: identity, or laplace-diagonal, -kronecker, -damped or -full of the last layer.
    #[arg(long, default_value = "identity")]
    sigma: String,
    /// Noise ρ of an observation; by default ρ² is 0.01 of the mean squared norm.
    #[arg(long, value_name = "RHO")]
    noise_std: Option<f64>,
    /// Condition on the picks of earlier rounds, where the paper starts every round from the prior.
    #[arg(long)]
    condition: bool,
    /// Who labels: the data set, a file with columns id (or row) and label, or a person (ask), who is offered the classes of
    /// --task.
    #[arg(long, value_name = "data|ask|FILE", default_value = "data")]
    labels: String,
}

#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[command(next_help_heading = "Learning")]
struct Learning {
    /// cnn, linear, mlp:WIDTHS, efficientnet-b0 or efficientnet-lite0 (the last two with --weights; their frozen part runs once,
    /// what it makes of the images is kept in the cache); by default cnn for images and linear for rows of numbers.
    #[arg(long)]
    model: Option<String>,
    /// Weights that the network starts from, as safetensors.
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Epochs a round; by default until the accuracy on the validation examples drops.
    #[arg(long)]
    epochs: Option<usize>,
    /// Epochs without a rise of that accuracy before a lesson ends.
    #[arg(long, default_value_t = 20)]
    patience: usize,
    /// Most epochs a round.
    #[arg(long, default_value_t = 100)]
    most_epochs: usize,
    /// Go on from the network of the round before, in place of fresh weights.
    #[arg(long)]
    go_on: bool,
    /// Adam's learning rate; by default 0.03 for linear, 0.01 for mlp, 0.001 for others.
    #[arg(long)]
    rate: Option<f64>,
    /// Most examples a step.
    #[arg(long, default_value_t = 64)]
    step_size: usize,
    /// Let every class weigh as much as it has examples, in place of the same for all.
    #[arg(long)]
    plain_loss: bool,
    /// cpu; in builds with libtorch also torch and cuda:0.
    #[arg(long, default_value = "cpu")]
    device: String,
}

impl Asked {
    /// The rules to run, the main one first.
    fn rules(&self) -> Vec<String> {
        let random = || if self.choosing.labels == "ask" { Vec::new() } else { vec!["random".to_owned()] };
        let others = self.choosing.against.clone().unwrap_or_else(random);
        let mut rules = vec![self.choosing.rule.clone()];
        for rule in others.into_iter().filter(|rule| rule != "none") {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        rules
    }

    fn data(&self) -> &Path {
        self.data.as_deref().unwrap_or(Path::new(""))
    }

    /// What the data are called.
    fn name(&self) -> String {
        self.data().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// How a run goes, for its page.
    fn words(&self, network: &str) -> String {
        let (choosing, task) = (&self.choosing, self.task.words());
        let covariance = if choosing.sigma == "identity" { String::new() } else { format!(", Σ {}", choosing.sigma) };
        let seeds = match self.seeds {
            1 => format!("seed {}", self.seed),
            seeds => format!("seeds {} to {}", self.seed, self.seed + seeds - 1),
        };
        format!(
            "{task} Network {network}; {} embeddings{covariance}; {} rounds of {} from {}; {seeds}; plan.json has the rest.",
            choosing.embedding, choosing.rounds, choosing.batch_size, choosing.candidates
        )
    }

    /// What names files, beside the labels.
    fn paths(&mut self) -> [&mut Option<PathBuf>; 4] {
        [&mut self.data, &mut self.task.targets, &mut self.learning.weights, &mut self.open.label_file]
    }

    /// Whether a file labels what is picked.
    fn has_label_file(&self) -> bool {
        !["data", "ask"].contains(&self.choosing.labels.as_str())
    }

    fn settings(&self, setup: &Setup, rule: &str, seed: u64) -> Result<Settings> {
        let (choosing, learning) = (&self.choosing, &self.learning);
        let drops = Until::ValidationDrops { patience: learning.patience, most: learning.most_epochs };
        Ok(Settings {
            rule: rule.into(),
            rounds: choosing.rounds,
            batch_size: choosing.batch_size,
            candidates: choosing.candidates.clone(),
            targets_a_round: choosing.targets_a_round,
            embedding: choosing.embedding.parse::<Kind>()?,
            sigma: choosing.sigma.parse()?,
            noise_std: choosing.noise_std,
            condition: choosing.condition,
            scratch: !learning.go_on,
            until: learning.epochs.map_or(drops, Until::Epochs),
            rate: learning.rate.unwrap_or_else(|| setup.rate()),
            step_size: learning.step_size,
            reweight: !learning.plain_loss,
            seed,
        })
    }
}

/// Most bytes of the table of how long rounds took.
const MOST_TIMES: u64 = 1 << 28;

/// `plan.json`.
#[derive(Serialize, Deserialize)]
struct Plan {
    version: String,
    asked: Asked,
    /// Hashes of the examples, so that a run goes on with the data it began with.
    data: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let cell = arguments.cell.as_deref();
    if cell.is_some() {
        interrupt::end_with_input();
    }
    let (folder, asked, setup) = match (&arguments.resume, &arguments.run) {
        (Some(path), _) => resume(path, cell)?,
        (None, Some(path)) => start(path, &arguments.asked, cell).or_else(|error| match cell {
            // Begun by a cell of an experiment that was killed a moment ago.
            Some(_) if path.join("plan.json").exists() => resume(path, cell),
            _ => Err(error),
        })?,
        (None, None) => bail!("name a folder with --run"),
    };
    if !arguments.quiet {
        let shown = folder.path().display();
        interrupt::leave_when_told(format!("`homing finetune --resume '{shown}'` goes on"))?;
    }
    let path = folder.path().to_owned();
    let results = match go(&path, &asked, &setup, arguments.quiet) {
        Ok(results) => results,
        Err(error) => {
            if arguments.resume.is_none() {
                folder.withdraw(asked.choosing.labels != "data");
            }
            return Err(error);
        }
    };
    results.write_picks(&path.join("picks.csv"), &setup.data.train)?;
    results.write(&path.join("results.csv"))?;
    report::write(&path.join("report.html"), &asked, &setup, &results)?;
    let mut out = terminal::stdout();
    writeln!(out, "{}", results.table())?;
    writeln!(out, "{}", results.note())?;
    writeln!(
        out,
        "The report is {}, the network {}.",
        path.join("report.html").display(),
        results.network(&path).display()
    )?;
    Ok(())
}

/// A new run in a folder of its own. Everything that can be refused is, before anything is written.
fn start(path: &Path, asked: &Asked, cell: Option<&str>) -> Result<(Folder, Asked, Setup)> {
    let asked = asked.clone().checked()?.rooted()?;
    asked.reads().fold(Paths::new(), Paths::reads).writes("--run", path).check()?;
    let setup = Setup::open(&asked)?;
    let data = setup.fingerprint(&asked)?;
    cell::check(cell, &asked, &setup, &data)?;
    asked.check(&setup)?;
    let plan = Plan { version: env!("CARGO_PKG_VERSION").into(), asked, data };
    Ok((Folder::start(path, &plan, cell::patience(cell))?, plan.asked, setup))
}

/// A run that was interrupted. Its plan is looked at like one that is typed.
fn resume(path: &Path, cell: Option<&str>) -> Result<(Folder, Asked, Setup)> {
    let (folder, plan) = Folder::resume(path, cell::patience(cell))?;
    let unfit = || format!("{} cannot be gone on with, so start a run in another folder", path.display());
    let asked = plan.asked.checked().with_context(unfit)?;
    let setup = Setup::open(&asked)?;
    let data = setup.fingerprint(&asked)?;
    cell::check(cell, &asked, &setup, &data)?;
    if data != plan.data {
        bail!(
            "the data in {} or the weights are not those that the run began with; restore them, or start a run of its own",
            asked.data().display()
        )
    }
    asked.check(&setup).with_context(unfit)?;
    folder.tidy()?;
    Ok((folder, asked, setup))
}

/// A command line without the command and without the folder of the run.
fn parse<T: Into<OsString>>(arguments: impl IntoIterator<Item = T>) -> Result<Asked> {
    let command = Arguments::augment_args(clap::Command::new("finetune").no_binary_name(true));
    let folder = std::iter::once("--run=-".into());
    let matches = command.try_get_matches_from(folder.chain(arguments.into_iter().map(Into::into)));
    let short = |error: clap::Error| {
        let text = error.to_string();
        let tip = text.lines().find_map(|line| line.trim_start().strip_prefix("tip: "));
        let first = text.lines().next().unwrap_or_default().replace("error: ", "");
        anyhow!(tip.map_or(first.clone(), |tip| format!("{first}; {tip}")))
    };
    Arguments::from_arg_matches(&matches.map_err(short)?)?.asked.checked()
}

/// The learning curves of a run with the given arguments in a folder of its own.
pub fn learning(arguments: &[&str], folder: &Path) -> Result<Section> {
    let asked = parse(arguments)?;
    let results = go(folder, &asked, &Setup::open(&asked)?, false)?;
    Ok(report::curves(&results))
}

/// Every rule with every seed, each in a folder of its own.
fn go(folder: &Path, asked: &Asked, setup: &Setup, quiet: bool) -> Result<Results> {
    let rules = asked.rules();
    let total = asked.choosing.rounds.saturating_mul(rules.len() * asked.seeds as usize);
    let quiet = quiet || asked.choosing.labels == "ask";
    let bar = Bar::counting("rounds", total, quiet);
    let mut results = Results::new(rules.clone());
    for seed in asked.each_seed() {
        let split = setup.split(asked, seed)?;
        let problem = split.problem();
        for rule in &rules {
            let settings = asked.settings(setup, rule, seed)?;
            let mut run = Run::open(&folder.join(format!("{rule}-{seed}")), &problem, &settings)?;
            setup.check_labels(asked, run.rounds()).with_context(|| run.folder().display().to_string())?;
            bar.inc(run.rounds().len());
            let mut learner = setup.learner(asked)?;
            let mut oracle = setup.oracle(asked);
            let mut share = results::Share::new(run.rounds(), &split);
            let times = run.folder().join("times.csv");
            fine_tune(&problem, &settings, &mut *learner, &mut *oracle, &mut run, |round, spent| {
                keep_time(&times, round.round, spent)?;
                share.count(round, &split);
                let accuracy = round
                    .accuracy
                    .map_or_else(String::new, |accuracy| format!(" · accuracy {:.1} %", 100.0 * accuracy));
                bar.say(format!("{rule}, seed {seed}{accuracy} · {} from the task", share.percent()));
                bar.inc(1);
                Ok(())
            })?;
            results.add(rule, seed, run.rounds(), &split);
        }
    }
    bar.finish();
    Ok(results)
}

/// Adds to the table of how long rounds took, which is no part of a run's result.
fn keep_time(path: &Path, round: usize, spent: Spent) -> std::io::Result<()> {
    let mut table = if path.try_exists()? {
        read_file(path, MOST_TIMES).map_err(std::io::Error::other)?
    } else {
        b"round,choosing,learning\n".to_vec()
    };
    writeln!(table, "{round},{:.4},{:.4}", spent.choosing.as_secs_f64(), spent.learning.as_secs_f64())?;
    write_beside(path, |file| file.write_all(&table)).map_err(std::io::Error::other)
}
