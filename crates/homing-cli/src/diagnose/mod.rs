//! `homing diagnose`: what a pool can teach, how far picks have come, and what is guaranteed.

mod table;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use homing_pool::{Access, Paths, Pool, Values, write_beside};
use homing_report::diagnosis::{Diagnosis, Names, Question, Target, render};
use serde::Serialize;

use crate::inputs::{ColumnArguments, Files, Inputs, LimitArguments, ModelArguments, file_of, picked_rows};
use crate::terminal::{self, Steps, grouped, note};

#[derive(Args)]
pub struct Arguments {
    /// The pool, in any format that `select` reads.
    pool: PathBuf,
    /// Unlabelled examples of the task.
    #[arg(long, value_name = "FILE")]
    targets: PathBuf,
    /// Rows chosen so far: a picks file, indices or ids.
    #[arg(long, value_name = "FILE")]
    picks: Option<PathBuf>,
    /// What was labelled before the picks: a picks file, indices, ids, or embeddings.
    #[arg(long, value_name = "FILE")]
    observed: Option<PathBuf>,
    /// Without --picks: how many rows the guarantee is asked for.
    #[arg(short = 'n', long, default_value_t = 10)]
    count: usize,
    /// Values to tell the noise from: a column of numbers of the pool, or a file with a row for each of its rows.
    #[arg(long, value_name = "NAME|FILE")]
    values: Option<String>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Where to write the same as a page.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Say nothing but the result and errors.
    #[arg(short, long)]
    quiet: bool,
    /// Seed of samples.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    columns: ColumnArguments,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables to read.
    Table,
    /// One object: targets, objective, gamma, kappa, noise_var.
    Json,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let paths = Paths::new().reads(&*arguments.pool).reads(&*arguments.targets);
    let paths = paths.reads(arguments.picks.as_deref()).reads(arguments.observed.as_deref());
    let paths = arguments.columns.files().into_iter().fold(paths, Paths::reads);
    let paths = paths.reads(arguments.values.as_deref().and_then(file_of));
    paths.writes("--report", arguments.report.as_deref()).check()?;
    if let Some(report) = &arguments.report {
        if report == Path::new("-") {
            bail!("--report writes a page to a file; name one, such as report.html");
        }
        homing_pool::check_writable(report)?;
    }
    if arguments.count == 0 {
        bail!("-n 0 asks about no rows; give at least 1");
    }
    arguments.model.on_threads(|| diagnose(arguments))
}

fn diagnose(arguments: &Arguments) -> Result<()> {
    let (column, file) = match &arguments.values {
        Some(values) => match file_of(values) {
            None => (Some(values.clone()), None),
            file => (None, file),
        },
        None => (None, None),
    };
    let files = Files {
        pool: &arguments.pool,
        targets: Some(&arguments.targets),
        observed: arguments.observed.as_deref(),
        forbid: None,
        access: Access::Auto,
        center: arguments.model.center,
    };
    // A column of values is read as a cost is: a number a row.
    let inputs =
        Inputs::open(&files, &arguments.columns, &LimitArguments { cost_column: column, ..Default::default() })?;
    let picks = match &arguments.picks {
        Some(path) => picked_rows(path, &inputs.source.pool)?,
        None => Vec::new(),
    };
    let values = match file {
        Some(file) => Some(values_of_file(file, inputs.source.pool.rows())?),
        None => values_of_pool(&inputs.source.pool)?,
    };
    let kernel = arguments.model.kernel(&inputs)?;
    let task = arguments.model.task(&inputs, &*kernel)?;
    let noise = arguments.model.noise();
    let steps = Steps::new(arguments.quiet);
    let (count, values, seed) = (arguments.count, values.as_deref(), arguments.seed);
    let question = Question { task, noise, picks: &picks, count, values, seed };
    let diagnosis = Diagnosis::new(&question, |step| steps.tell(step))?;
    steps.finish();
    inputs.found().filter(|_| !arguments.quiet).into_iter().for_each(note);
    task.check_read()?;
    if let Some(path) = &arguments.report {
        let names = Names { row: &|row| inputs.row_name(row), target: &|row| inputs.target_name(row) };
        let page = render(&names, &task, &diagnosis)?;
        write_beside(path, |file| file.write_all(page.as_bytes()))?;
    }
    let mut out = terminal::stdout();
    match arguments.format {
        Format::Json => terminal::print_json(&Json::new(&diagnosis))?,
        Format::Table => table::print(&mut out, &task, &diagnosis, &inputs)?,
    }
    Ok(())
}

/// Numbers a row, from a file with a row for each of the pool's.
fn values_of_file(path: &Path, rows: usize) -> Result<Vec<f64>> {
    let values = Values::open(path).context("--values")?;
    if values.rows != rows {
        let (got, path) = (grouped(values.rows), path.display());
        bail!("{path} has {got} rows of values but the pool has {}; give one a row", grouped(rows));
    }
    Ok(values.numbers)
}

/// Numbers that labels may make, one for each row and class.
const MOST_VALUES: usize = 100_000_000;

/// A column of numbers, or labels as one column a class.
fn values_of_pool(pool: &Pool) -> Result<Option<Vec<f64>>> {
    if let Some(values) = pool.costs() {
        return Ok(Some(values.to_vec()));
    }
    let Some(labels) = pool.labels() else { return Ok(None) };
    let mut classes: Vec<&String> = labels.iter().collect();
    classes.sort_unstable();
    classes.dedup();
    if classes.len().saturating_mul(labels.len()) > MOST_VALUES {
        bail!(
            "{} has {} different labels, too many to tell the noise from; leave --label-column out",
            pool.path().display(),
            grouped(classes.len())
        );
    }
    let one_hot = |label: &String| {
        let class = classes.binary_search(&label).expect("every label is a class");
        (0..classes.len()).map(move |c| f64::from(u8::from(c == class)))
    };
    Ok(Some(labels.iter().flat_map(one_hot).collect()))
}

/// What `--format json` prints.
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
    fn new(diagnosis: &Diagnosis) -> Self {
        let target = |target: &Target| JsonTarget {
            index: target.index,
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
