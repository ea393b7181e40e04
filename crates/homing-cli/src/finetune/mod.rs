//! `homing finetune`: chooses rows, gets their labels, fine-tunes a network, and repeats.

mod arguments;
mod cell;
mod command;
mod encoded;
mod open;
mod person;
mod report;
mod summary;

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use homing_pool::Paths;
use homing_report::plots::Section;
use homing_train::{
    Candidates, Error, LabelSource, LessonEnd, RunData, RunEvent, RunFolder, RunPlan, RunResults, RunSpec,
};

pub use arguments::{Arguments, DataOptions, parse};
pub use cell::prepare;
pub use command::{typed, words as process_words};
pub use open::{map_progress, open_data, open_run};
pub use summary::{table_of, with_error};

use person::Person;

use crate::terminal::Bar;
use crate::{interrupt, terminal};

pub fn run(arguments: &Arguments) -> Result<()> {
    let cell = arguments.cell.as_deref();
    if cell.is_some() {
        interrupt::end_with_input();
    }
    let (folder, spec, data) = match (&arguments.resume, &arguments.run) {
        (Some(path), _) => resume(path, arguments.quiet, cell)?,
        (None, Some(path)) => start(path, arguments, cell).or_else(|error| match cell {
            // An experiment that was killed a moment ago has started this cell.
            Some(_) if RunFolder::holds_run(path) => resume(path, arguments.quiet, cell),
            _ => Err(error),
        })?,
        (None, None) => bail!("name a folder for the run with --run"),
    };
    if !arguments.quiet {
        let shown = folder.path().display();
        interrupt::leave_on_signal(format!("`homing finetune --resume '{shown}'` continues this run"))?;
    }
    let path = folder.path().to_owned();
    let results = match run_all(&path, &spec, &data, arguments.quiet) {
        Ok(results) => results,
        Err(error) => {
            if arguments.resume.is_none() {
                folder.withdraw(data.waits_for_labels(&spec));
            }
            return Err(error.into());
        }
    };
    results.write_picks(&path.join("picks.csv"), &data.data.train)?;
    results.write(&path.join("results.csv"))?;
    report::write(&path.join("report.html"), &spec, &data, &results)?;
    let mut out = terminal::stdout();
    writeln!(out, "{}", summary::table(&results))?;
    writeln!(out, "{}", summary::note(&results))?;
    writeln!(
        out,
        "The report is in {}, and the network is in {}.",
        path.join("report.html").display(),
        results.network(&path).display()
    )?;
    Ok(())
}

/// Largest pool of which all rows are candidates by default.
const MOST_CANDIDATES: usize = 200_000;

/// Starts a new run in a folder of its own. All checks come before anything is written.
fn start(path: &Path, arguments: &Arguments, cell: Option<&str>) -> Result<(RunFolder, RunSpec, RunData)> {
    let mut spec = arguments.run_options.spec()?.rooted()?;
    spec.reads().fold(Paths::new(), Paths::reads).writes("--run", path).check()?;
    let data = open_run(&spec, arguments.quiet)?;
    if let LessonEnd::ValidationDrops { max_epochs, .. } = spec.learning.until
        && data.waits_for_labels(&spec)
        && data.split(&spec, spec.seed)?.problem().valid.is_none()
    {
        // Nobody has labels yet that could say when to stop.
        spec.learning.until = LessonEnd::Epochs(max_epochs);
        if !arguments.quiet {
            terminal::note(format_args!(
                "Without labelled validation examples, each round trains for {max_epochs} epochs (--epochs sets another number)."
            ));
        }
    }
    let is_small = data.data.train.len() <= MOST_CANDIDATES;
    if cell.is_none() && !arguments.run_options.names_candidates() && data.network.to_string() == "linear" && is_small {
        spec.choosing.candidates = Candidates::All;
    }
    if cell.is_none() && spec.choosing.noise_std.is_none() && encoded::needs_encoder(&spec.data) {
        spec.choosing.noise_std = Some(encoded::NOISE_STD);
    }
    let hashes = data.fingerprint(&spec)?;
    cell::check(cell, &spec, &data, &hashes)?;
    spec.check_with(&data)?;
    let plan = RunPlan::new(spec, hashes);
    Ok((RunFolder::start(path, &plan, cell::patience(cell))?, plan.run, data))
}

/// Continues a run that was interrupted. Its plan is checked like the arguments of a new run.
fn resume(path: &Path, quiet: bool, cell: Option<&str>) -> Result<(RunFolder, RunSpec, RunData)> {
    let (folder, RunPlan { run: spec, data: hashes, .. }) = RunFolder::resume(path, cell::patience(cell))?;
    let unfit = || format!("{} cannot be continued, so start a run in another folder", path.display());
    spec.check().with_context(unfit)?;
    let data = open_run(&spec, quiet)?;
    let found = data.fingerprint(&spec)?;
    cell::check(cell, &spec, &data, &found)?;
    if found != hashes {
        return Err(Error::DataChanged { path: spec.data.path }.into());
    }
    spec.check_with(&data).with_context(unfit)?;
    folder.tidy()?;
    Ok((folder, spec, data))
}

/// Runs `spec` in a folder of its own and returns the learning curves.
pub fn learning(spec: &RunSpec, folder: &Path) -> Result<Section> {
    let results = run_all(folder, spec, &open_run(spec, false)?, false)?;
    Ok(report::curves(&results))
}

/// Runs every rule with every seed, with a progress bar.
fn run_all(folder: &Path, spec: &RunSpec, data: &RunData, quiet: bool) -> homing_train::Result<RunResults> {
    let total = spec.choosing.rounds.saturating_mul(spec.rules().len() * spec.seeds as usize);
    let quiet = quiet || spec.labels == LabelSource::Person;
    let bar = Bar::counting("rounds", total, quiet);
    let mut person = Person { data: &data.data.train, classes: &data.classes };
    let results = homing_train::run(folder, spec, data, &mut person, |event| match event {
        RunEvent::Opened { rounds } => bar.inc(rounds),
        RunEvent::Round { rule, seed, accuracy, task_share } => {
            let accuracy = accuracy.map_or_else(String::new, |share| format!(" · accuracy {:.1} %", 100.0 * share));
            bar.set_message(format!("{rule}, seed {seed}{accuracy} · {} from the task", summary::percent(task_share)));
            bar.inc(1);
        }
    })?;
    bar.finish();
    Ok(results)
}
