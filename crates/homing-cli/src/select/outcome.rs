//! Writes the picks and the report of a selection, and says what was chosen.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use homing::{EndReason, Noise, Plan, Selection, Task};
use homing_pool::{PickColumns, PoolFiles, RowValues, write_beside, write_picks, write_picks_csv};
use homing_report::{self as report, Findings, Provenance, Report, RowDetails};

use super::Arguments;
use crate::files::TaskFiles;
use crate::terminal::{self, SHOWN_PICKS, grouped, peak_memory, peak_memory_bytes, picks_table, seconds, short};
use crate::texts::{RowPictures, RowTexts};

/// Durations of the two parts of the work.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) reading: Duration,
    pub(super) choosing: Duration,
}

/// A selection, with everything that it was made from.
pub(super) struct Outcome<'a> {
    pub(super) arguments: &'a Arguments,
    /// Columns of the pool that the picks carry.
    pub(super) columns: Vec<String>,
    /// File for the report.
    pub(super) report: Option<&'a Path>,
    pub(super) files: &'a TaskFiles,
    pub(super) task: &'a Task<'a>,
    pub(super) plan: &'a Plan,
    pub(super) selection: &'a Selection,
    pub(super) times: Times,
}

impl Outcome<'_> {
    /// Writes the picks, then the report; returns how long the report took, if one was requested.
    pub(super) fn write(&self) -> Result<Option<Duration>> {
        match self.files.pool_file.pool.values(&self.columns, &self.selection.rows()) {
            Ok(values) => self.write_picks(Some(&values))?,
            // The selection may have taken long, so its picks are not lost.
            Err(error) => {
                self.write_picks(None)?;
                return Err(error).context("the picks were written without columns of the pool");
            }
        }
        let Some(path) = self.report else { return Ok(None) };
        let start = Instant::now();
        self.write_report(path).with_context(|| match self.out() {
            Some(out) => format!("the picks are in {}, but the report failed", out.display()),
            None => "the report failed".into(),
        })?;
        Ok(Some(start.elapsed()))
    }

    /// Returns the file of the picks.
    fn out(&self) -> Option<&Path> {
        self.arguments.out.as_deref().filter(|out| *out != Path::new("-"))
    }

    fn write_picks(&self, values: Option<&RowValues>) -> Result<()> {
        let Self { arguments, files, selection, .. } = self;
        let pool = &files.pool_file.pool;
        let columns = PickColumns { ids: pool.ids(), values, csv_safe: arguments.csv_safe };
        match self.out() {
            Some(out) => write_picks(out, &selection.picks, pool.rows(), columns)?,
            None if arguments.out.is_some() => {
                let mut csv = Vec::new();
                write_picks_csv(&mut csv, &selection.picks, columns)?;
                terminal::print_data(&csv)?;
            }
            None => {
                let shown: Vec<usize> = selection.picks.iter().take(SHOWN_PICKS).map(|pick| pick.row).collect();
                let texts = RowTexts::read(files, &shown, &[])?;
                let table = picks_table(&selection.picks, |row| files.pool_file.id(row), |row| texts.row(row));
                writeln!(terminal::stdout(), "{table}")?;
            }
        }
        Ok(())
    }

    fn write_report(&self, path: &Path) -> Result<()> {
        let Self { arguments, files, task, plan, selection, .. } = self;
        let pool = &files.pool_file.pool;
        let provenance = Provenance {
            pool_file: match pool.files().map(PoolFiles::len) {
                Some(count) => format!("{} (number of files: {})", arguments.pool.display(), grouped(count)),
                None => file_name(&arguments.pool),
            },
            number_format: pool.dtype().into(),
            targets_file: arguments.targets.as_deref().map(file_name),
            noise_is_default: arguments.model.noise_std.is_none(),
            centred: task.pool.embeddings().is_centered(),
            unit_length: task.pool.embeddings().is_normalized(),
            read_seconds: self.times.reading.as_secs_f64(),
            choose_seconds: self.times.choosing.as_secs_f64(),
            peak_memory_bytes: peak_memory_bytes(),
            ..Provenance::new(task, plan, selection)
        };
        let findings = Findings::new(task, selection, plan.seed)?;
        let texts = RowTexts::read(files, &findings.rows(), &findings.target_rows())?;
        let pictures = RowPictures::read(files, &selection.rows(), &findings.target_rows())?;
        let details = RowDetails {
            id: &|row| files.pool_file.id(row),
            target_id: &|row| files.target_file.as_ref().map(|file| file.id(row)),
            text: &|row| texts.row(row),
            target_text: &|row| texts.target(row),
            label: &|row| pool.labels().map(|labels| labels[row].clone()),
            group: &|row| pool.groups().map(|groups| groups[row].clone()),
            thumbnail: &|row| pictures.row(row),
            target_thumbnail: &|row| pictures.target(row),
        };
        let report = Report::of_findings(&findings, provenance, &details);
        let page = report::render(&report)?;
        Ok(write_beside(path, |file| file.write_all(page.as_bytes()))?)
    }

    /// Says where the picks and the report are.
    pub(super) fn places(&self) -> Option<String> {
        match (self.out(), self.report) {
            (Some(out), Some(report)) => {
                Some(format!("The picks are in {}, and the report is in {}.", out.display(), report.display()))
            }
            (Some(out), None) => Some(format!("The picks are in {}.", out.display())),
            (None, Some(report)) => Some(format!("The report is in {}.", report.display())),
            (None, None) => None,
        }
    }

    /// Says what was picked, by which rule and with which noise.
    pub(super) fn summary(&self) -> String {
        let Self { arguments, files, task, plan, selection, .. } = self;
        let kernel = match files.kernel_name(&arguments.model) {
            "linear" => String::new(),
            name => format!(" and the kernel {name}"),
        };
        let targets = match task.targets.map(|targets| targets.rows()) {
            None => String::new(),
            Some(1) => " for one target".to_owned(),
            Some(targets) => format!(" for {} targets", grouped(targets)),
        };
        let noise = match plan.noise.resolve(task) {
            Noise::Relative(1.0) if task.kernel.is_linear() => " (the mean squared norm)".to_owned(),
            Noise::Relative(share) if task.kernel.is_linear() => format!(" ({share} × the mean squared norm)"),
            Noise::Relative(share) => format!(" ({share} × the mean prior variance)"),
            _ => String::new(),
        };
        let ended = match selection.end_reason {
            EndReason::Gain => " It stopped because the next pick would add too little.",
            EndReason::Variance => " It stopped because enough of the reducible variance has been removed.",
            EndReason::Limits => " It stopped because the quotas or the budget allow no more picks.",
            _ => "",
        };
        format!(
            "Picked {} of {} rows{targets} with {}{kernel}; ρ² = {}{noise}{}.{ended}",
            grouped(selection.picks.len()),
            grouped(task.pool.rows()),
            plan.strategy.name(),
            short(selection.noise_var),
            preparation(task),
        )
    }

    /// Says how long the work took and how much memory it needed.
    pub(super) fn times(&self, reporting: Option<Duration>) -> String {
        let reporting = reporting.map_or_else(String::new, |time| format!(", report {}", seconds(time)));
        let (reading, choosing) = (seconds(self.times.reading), seconds(self.times.choosing));
        format!("Time: reading {reading}, choosing {choosing}{reporting}. Peak memory: {}.", peak_memory())
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Says how the rows were prepared.
fn preparation(task: &Task<'_>) -> &'static str {
    let rows = task.pool.embeddings();
    match (rows.is_centered(), rows.is_normalized()) {
        (true, true) => ", the pool's mean subtracted and rows scaled to unit length",
        (true, false) => ", the pool's mean subtracted",
        (false, true) => ", rows scaled to unit length",
        (false, false) => "",
    }
}
