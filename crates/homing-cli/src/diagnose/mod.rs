//! `homing diagnose`: shows what a pool can teach, how far the picks have come, and what is guaranteed.

mod json;
mod table;
mod values;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use homing::Task;
use homing::diagnose::{Advice, Diagnosis, Question};
use homing_pool::{Access, Paths, write_beside};
use homing_report::diagnosis::{Names, plain_advice, render};

use crate::arguments::{ColumnArguments, EncoderArguments, ModelArguments, file_of};
use crate::files::{FilePaths, FurtherColumns, TaskFiles, check_report, located, report_path};
use crate::refusal::Options;
use crate::row_lists::picked_rows;
use crate::terminal::{self, OutputFormat, Steps, note};
use crate::texts::RowTexts;
use values::Values;

const EXAMPLES: &str = "\
Examples:
  homing diagnose pool.npy --targets targets.npy --picks picks.csv --report page.html
  homing diagnose pool.npy --targets targets.npy --values labelled-picks.csv
  homing diagnose pool.csv --targets targets.csv --label-column kind --format json";

#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Arguments {
    /// Pool, in any format that `select` reads.
    pool: PathBuf,
    /// Unlabelled examples of the task.
    #[arg(long, value_name = "FILE")]
    targets: PathBuf,
    /// Rows that were chosen so far: a picks file, indices or ids.
    #[arg(long, value_name = "FILE")]
    picks: Option<PathBuf>,
    /// Rows that were labelled before the picks: a picks file, indices, ids, or embeddings.
    #[arg(long, value_name = "FILE")]
    observed: Option<PathBuf>,
    /// Number of rows to compute the guarantee for, if there are no --picks.
    #[arg(short = 'n', long, default_value_t = 10)]
    count: usize,
    /// Values to estimate the noise from: a column of numbers of the pool, a file with one row per row of the pool, or a table
    /// of labels with a column index or id, such as a picks file; by default the labels of the pool, or of the --picks.
    #[arg(long, value_name = "NAME|FILE")]
    values: Option<String>,
    /// Seed for all random choices.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Output format: human-readable tables, or JSON with one object, whose numbers have the names of Python's `Diagnosis.to_dict`.
    #[arg(long, value_enum, default_value_t = OutputFormat::Table, help_heading = "Output")]
    format: OutputFormat,
    /// File for an HTML page with the same content; a name without an ending gets .html.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    /// Print only errors and the result.
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
    #[command(flatten)]
    columns: ColumnArguments,
    #[command(flatten)]
    encoder: EncoderArguments,
    #[command(flatten)]
    model: ModelArguments,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let paths = Paths::new().reads(&*arguments.pool).reads(&*arguments.targets);
    let paths = paths.reads(arguments.picks.as_deref()).reads(arguments.observed.as_deref());
    let paths = arguments.columns.files().into_iter().fold(paths, Paths::reads);
    let paths = paths.reads(arguments.values.as_deref().and_then(file_of));
    let paths = paths.reads(arguments.encoder.path());
    let report = report_path(arguments.report.as_deref());
    paths.writes("--report", report.as_deref()).check()?;
    check_report(report.as_deref())?;
    if arguments.count == 0 {
        bail!("-n 0 leaves no rows to diagnose; give at least 1");
    }
    arguments.model.on_threads(|| diagnose(arguments))
}

fn diagnose(arguments: &Arguments) -> Result<()> {
    let file = arguments.values.as_deref().and_then(file_of);
    let column = arguments.values.as_deref().filter(|_| file.is_none());
    let paths = FilePaths {
        pool: &arguments.pool,
        targets: Some(&arguments.targets),
        observed: arguments.observed.as_deref(),
        forbid: None,
        access: Access::Auto,
        model: &arguments.model,
        encoder: arguments.encoder.choice(),
        quiet: arguments.quiet,
    };
    let files = TaskFiles::open(
        &paths,
        &arguments.columns,
        FurtherColumns { values: column, blank_labels: true, ..FurtherColumns::default() },
    )?;
    let picks = match &arguments.picks {
        Some(path) => picked_rows(path, &files.pool_file.pool)?,
        None => Vec::new(),
    };
    let values = Values { column, file, picks: arguments.picks.as_deref() };
    let values = values.read(&files.pool_file.pool, arguments.columns.label_column.as_deref())?;
    let kernel = files.kernel(&arguments.model, if picks.is_empty() { arguments.count } else { picks.len() })?;
    let task = files.task(&arguments.model, &*kernel)?;
    let noise = arguments.model.noise();
    let steps = Steps::new(arguments.quiet);
    let (count, values, seed) = (arguments.count, values.as_deref(), arguments.seed);
    let question = Question::new(task).noise(noise).picks(&picks).count(count).values(values).seed(seed);
    let diagnosis = Diagnosis::with_progress(&question, |step| steps.show(step));
    let diagnosis = diagnosis.map_err(|error| located(&files.pool_file.pool, error.into()))?;
    steps.finish();
    if !arguments.quiet {
        files.notes(&Options::of::<Arguments>()).into_iter().for_each(note);
    }
    task.check_read()?;
    let (rows, targets) = named_rows(&diagnosis);
    let texts = RowTexts::read(&files, &rows, &targets)?;
    let report = report_path(arguments.report.as_deref());
    if let Some(path) = &report {
        let row = |row| texts.row_name(&files, row, PAGE_TEXT);
        let target = |row| texts.target_name(&files, row, PAGE_TEXT);
        let names = Names { row: &row, target: &target, advice: &advice(&task) };
        let page = render(&names, &task, &diagnosis)?;
        write_beside(path, |file| file.write_all(page.as_bytes()))?;
    }
    let mut out = terminal::stdout();
    match arguments.format {
        OutputFormat::Json => terminal::print_json(&json::Json::new(&diagnosis, &files, &texts))?,
        OutputFormat::Table => table::print(&mut out, &diagnosis, &files, &texts, &advice(&task))?,
    }
    if let Some(path) = report.filter(|_| !arguments.quiet) {
        note(format_args!("The report is in {}.", path.display()));
    }
    Ok(())
}

/// Returns the rows and the targets that the result may name.
fn named_rows(diagnosis: &Diagnosis) -> (Vec<usize>, Vec<usize>) {
    let rows = diagnosis.next.iter().map(|next| next.row).collect();
    let targets = diagnosis.least_reachable().into_iter().take(MAX_NAMED).map(|target| target.row);
    (rows, targets.chain(diagnosis.out_of_reach().iter().take(MAX_NAMED).map(|target| target.row)).collect())
}

/// Maximum number of targets whose texts are read.
const MAX_NAMED: usize = 1000;

/// Maximum number of characters of a text on a page.
const PAGE_TEXT: usize = 80;

/// Phrases advice with the names of the options. A noise is about rows that are prepared as now.
fn advice(task: &Task<'_>) -> impl Fn(Advice) -> String + use<> {
    let rows = task.pool.embeddings();
    let prepared = match (rows.is_centered(), rows.is_normalized()) {
        (true, true) => " --center --normalize",
        (true, false) => " --center",
        (false, true) => " --normalize",
        (false, false) => "",
    };
    move |advice| match advice {
        Advice::LowerNoise => "lower --noise-std".to_owned(),
        Advice::RaiseNoise => "raise --noise-std".to_owned(),
        Advice::SetNoise(std) => format!("try --noise-std {}{prepared}", terminal::short(std)),
        Advice::Center => "try --center".to_owned(),
        other => plain_advice(other),
    }
}
