//! `homing diagnose`: shows what a pool can teach, how far the picks have come, and what is guaranteed.

mod table;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use homing::Task;
use homing::diagnose::{Advice, Diagnosis, Question, TargetReach};
use homing_pool::{Access, NumberTable, Paths, Pool, write_beside};
use homing_report::diagnosis::{Names, plain_advice, render};
use serde::Serialize;

use crate::arguments::{ColumnArguments, EncoderArguments, ModelArguments, file_of};
use crate::files::{FilePaths, FurtherColumns, TaskFiles, check_report, picked_rows, report_path};
use crate::refusal::Options;
use crate::terminal::{self, OutputFormat, Steps, grouped, note};
use crate::texts::RowTexts;

const EXAMPLES: &str = "\
Examples:
  homing diagnose pool.npy --targets targets.npy
  homing diagnose pool.npy --targets targets.npy --picks picks.csv --report page.html
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
    /// Values to estimate the noise from: a column of numbers of the pool, or a file with one row per row of the pool.
    #[arg(long, value_name = "NAME|FILE")]
    values: Option<String>,
    /// Seed for all random choices.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Output format: human-readable tables, or JSON with one object (targets, objective, gamma, kappa and noise_var).
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
    let (column, file) = match &arguments.values {
        Some(values) => match file_of(values) {
            None => (Some(&**values), None),
            file => (None, file),
        },
        None => (None, None),
    };
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
    let values = match file {
        Some(file) => Some(values_of_file(file, files.pool_file.pool.rows())?),
        None => values_of_pool(&files.pool_file.pool, column)?,
    };
    let kernel = files.kernel(&arguments.model)?;
    let task = files.task(&arguments.model, &*kernel)?;
    let noise = arguments.model.noise();
    let steps = Steps::new(arguments.quiet);
    let (count, values, seed) = (arguments.count, values.as_deref(), arguments.seed);
    let question = Question::new(task).noise(noise).picks(&picks).count(count).values(values).seed(seed);
    let diagnosis = Diagnosis::with_progress(&question, |step| steps.show(step))?;
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
        OutputFormat::Json => terminal::print_json(&Json::new(&diagnosis, &texts))?,
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

/// Reads the numbers of a file with one row per row of the pool.
fn values_of_file(path: &Path, rows: usize) -> Result<Vec<f64>> {
    let values = NumberTable::open(path).context("--values")?;
    if values.rows != rows {
        let (got, path) = (grouped(values.rows), path.display());
        bail!(
            "{path} has {got} rows of values but the pool has {} rows; give one row of values per row",
            grouped(rows)
        );
    }
    Ok(values.numbers)
}

/// Maximum number of values that labels may turn into, one per row and class.
const MOST_VALUES: usize = 100_000_000;

/// Returns a column of numbers, or the labels as one column per class, with NaN for rows without a label.
fn values_of_pool(pool: &Pool, column: Option<&str>) -> Result<Option<Vec<f64>>> {
    if let Some(values) = column.and_then(|column| pool.numbers(column)) {
        return Ok(Some(values.to_vec()));
    }
    let Some(labels) = pool.labels() else { return Ok(None) };
    let mut classes: Vec<&String> = labels.iter().collect();
    classes.sort_unstable();
    classes.dedup();
    classes.retain(|class| !class.is_empty());
    if classes.is_empty() {
        return Ok(None);
    }
    if classes.len().saturating_mul(labels.len()) > MOST_VALUES {
        bail!(
            "{} has {} different labels, too many to estimate the noise from; leave --label-column out",
            pool.path().display(),
            grouped(classes.len())
        );
    }
    // A row without a label has no values.
    let one_hot = |label: &String| {
        let class = classes.binary_search(&label).ok();
        (0..classes.len()).map(move |c| class.map_or(f64::NAN, |class| f64::from(u8::from(c == class))))
    };
    Ok(Some(labels.iter().flat_map(one_hot).collect()))
}

/// The output of `--format json`.
#[derive(Serialize)]
struct Json {
    targets: Vec<JsonTarget>,
    objective: f64,
    gamma: Gamma,
    kappa: Kappa,
    noise_var: f64,
}

#[derive(Serialize)]
struct JsonTarget {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    prior_var: f64,
    irreducible_var: f64,
    posterior_var: f64,
}

#[derive(Serialize)]
struct Gamma {
    n: usize,
    lower: f64,
    upper: f64,
}

#[derive(Serialize)]
struct Kappa {
    lower: f64,
    upper: f64,
}

impl Json {
    fn new(diagnosis: &Diagnosis, texts: &RowTexts) -> Self {
        let target = |target: &TargetReach| JsonTarget {
            index: target.row,
            text: texts.target(target.row),
            prior_var: target.prior,
            irreducible_var: target.irreducible,
            posterior_var: target.now,
        };
        let (gamma, kappa) = (diagnosis.capacity, diagnosis.ratio);
        Self {
            targets: diagnosis.targets.iter().map(target).collect(),
            objective: diagnosis.objective.value,
            gamma: Gamma { n: gamma.n, lower: gamma.lower, upper: gamma.upper },
            kappa: Kappa { lower: kappa.lower, upper: kappa.upper },
            noise_var: diagnosis.noise_var,
        }
    }
}
