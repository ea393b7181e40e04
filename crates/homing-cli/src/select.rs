//! `homing select`: chooses rows of a pool for some targets.

mod outcome;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use homing::diagnose::{NothingLearned, nothing_learned};
use homing::{Plan, Selection, Stop, Strategy, TargetSampling, Task, select_with};
use homing_cuda::Carried;
use homing_pool::{ColumnChoice, Format, Paths, PickFormat, check_picks_writable};

use crate::arguments::{ColumnArguments, EncoderArguments, LimitColumnArguments, ModelArguments, PoolAccess};
use crate::files::{FilePaths, TaskFiles, check_report, located, report_path};
use crate::refusal::Options;
use crate::standard_input::InputFile;
use crate::terminal::{Bar, note};
use outcome::{Outcome, Times};

const EXAMPLES: &str = "\
Examples:
  homing select pool.npy --targets targets.npy -n 100 --out picks.csv
  homing select pool.csv --targets targets.csv -n 20 --report report.html
  homing select pool.parquet --targets targets.parquet -n 50 --observed labelled.csv";

#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Arguments {
    #[arg(help = pool_help())]
    pool: PathBuf,
    /// Unlabelled examples of the task, in any of the formats of the pool, or - for standard input.
    #[arg(long, value_name = "FILE")]
    targets: Option<PathBuf>,
    /// Number of rows to choose.
    #[arg(short = 'n', long)]
    count: usize,
    /// Rule that chooses the rows; `homing rules` lists all rules.
    #[arg(long, default_value = "itl")]
    rule: String,
    /// Rows that are labelled already: a picks file, indices, ids, a table of labels, the folder of a labelling run, or embeddings.
    #[arg(long, value_name = "FILE")]
    observed: Option<PathBuf>,
    /// Seed for all random choices.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// File for the picks: .csv, .jsonl, .parquet or .npy, or - for CSV on standard output.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Columns of the pool that the picks carry: all, none, or names separated by commas; by default, texts, labels and paths
    /// that have usual names.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Output")]
    columns: Vec<String>,
    /// Put an apostrophe before ids and texts in CSV that a spreadsheet would read as a formula (they begin with =, +, - or @).
    #[arg(long, help_heading = "Output")]
    csv_safe: bool,
    /// File for an HTML page that shows the picks and the reasons for them; a name without an ending gets .html.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    /// Print only errors and the result: the picks, unless --out names a file for them.
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
    /// Also print the number of passes over the pool, and whether it was mapped, read or held in memory.
    #[arg(short, long, conflicts_with = "quiet", help_heading = "Output")]
    verbose: bool,

    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    roles: ColumnArguments,
    #[command(flatten)]
    limit_columns: LimitColumnArguments,
    #[command(flatten)]
    encoder: EncoderArguments,
    #[command(flatten)]
    model: ModelArguments,

    /// How to access a .npy or .safetensors pool: auto reads it block by block if it takes more than half of the memory,
    /// and maps it otherwise.
    #[arg(long, value_name = "HOW", default_value = "auto", help_heading = "Performance")]
    pool_access: PoolAccess,
    /// Rows that each pick is chosen from: exact (all rows), stochastic:EPSILON (a random sample) or partitioned:PARTS (a
    /// random part, then the picks of all parts); the last two print what they guarantee.
    #[arg(long, value_name = "HOW", default_value = "exact", help_heading = "Performance")]
    greedy: String,
    /// Where the passes over the pool run: cpu, a GPU such as cuda:0 (cuda:0,1 for several), or auto, which uses the first GPU
    /// for pools of at least a gigabyte that fit into its memory.
    #[arg(long, value_name = "DEVICE", default_value = "cpu", help_heading = "Performance")]
    device: String,
}

#[derive(Args)]
#[command(next_help_heading = "Targets and limits")]
struct LimitArguments {
    /// Targets that each round uses: a share (0.1), a number (20), or a diverse subset (max-det:20, max-dist:20).
    #[arg(long, value_name = "F")]
    target_sample: Option<String>,
    /// Picks per round; each round draws its own sample of targets.
    #[arg(long, value_name = "N")]
    picks_per_round: Option<usize>,
    /// Rows that must not be picked, as indices or ids.
    #[arg(long, value_name = "FILE")]
    forbid: Option<PathBuf>,
    /// Maximum number of picks per group of --group-column: NAME=N for one group, or N for every group that is not named.
    #[arg(long, value_name = "GROUP=N")]
    quota: Vec<String>,
    /// Maximum total cost of the picks, by --cost-column.
    #[arg(long, value_name = "COST")]
    budget: Option<f64>,
    /// Stop if the next pick would add less than this information, in nats.
    #[arg(long, value_name = "NATS", allow_negative_numbers = true)]
    min_gain: Option<f64>,
    /// Stop once this share of the targets' reducible variance has been removed.
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    stop_variance: Option<f64>,
    /// Weight β of the similarity in the rule information-density.
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    beta: Option<f64>,
    /// Allow a row to be picked more than once.
    #[arg(long)]
    repeat: bool,
}

fn pool_help() -> String {
    let extensions: Vec<String> = Format::extensions().map(|extension| format!(".{extension}")).collect();
    format!(
        "Pool to choose from: embeddings or texts in a file ({}, .txt), images, several files (a pattern in quotes, a folder or a .list), or - for standard input",
        extensions.join(", ")
    )
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let is_file = |path: &&Path| *path != Path::new("-");
    let out = arguments.out.as_deref().filter(is_file);
    if !is_file(&&*arguments.pool) && arguments.targets.as_deref().is_some_and(|targets| !is_file(&targets)) {
        bail!("the pool and the targets cannot both come from standard input; name a file for one of them");
    }
    let paths = Paths::new().reads(Some(&*arguments.pool).filter(is_file));
    let paths = paths.reads(arguments.targets.as_deref().filter(is_file));
    let paths = paths.reads(arguments.observed.as_deref()).reads(arguments.limits.forbid.as_deref());
    let paths = arguments.roles.files().into_iter().fold(paths, Paths::reads);
    let paths = paths.reads(arguments.encoder.path());
    let report = report_path(arguments.report.as_deref());
    paths.writes("--out", out).writes("--report", report.as_deref()).check()?;
    match out.map(check_picks_writable).transpose()? {
        Some(PickFormat::Parquet) if arguments.limits.repeat => bail!(
            "a .parquet file has one line per row of the pool, so it cannot show that a row is picked twice; with --repeat, write .csv, .jsonl or .npy"
        ),
        Some(PickFormat::Npy) if !arguments.columns.is_empty() => {
            bail!("a .npy file holds only the indices of the picks; for --columns, write .csv, .jsonl or .parquet")
        }
        _ => {}
    }
    if arguments.out.is_none() && !arguments.columns.is_empty() {
        bail!("--columns says what the file of the picks carries; name that file with --out FILE");
    }
    check_report(report.as_deref())?;
    if arguments.limits.budget.is_some() && arguments.limit_columns.cost_column.is_none() {
        bail!("--budget needs --cost-column NAME, the column with each row's cost");
    }
    let plan = plan_of(arguments)?;
    arguments.model.on_threads(|| choose(arguments, plan))
}

fn choose(arguments: &Arguments, mut plan: Plan) -> Result<()> {
    let limits = &arguments.limits;
    let start = Instant::now();
    let pool = InputFile::of(&arguments.pool)?;
    let targets = arguments.targets.as_deref().map(InputFile::of).transpose()?;
    let paths = FilePaths {
        pool: pool.path(),
        targets: targets.as_ref().map(InputFile::path),
        observed: arguments.observed.as_deref(),
        forbid: limits.forbid.as_deref(),
        access: arguments.pool_access.into(),
        model: &arguments.model,
        encoder: arguments.encoder.choice(),
        quiet: arguments.quiet,
    };
    let files = TaskFiles::open(&paths, &arguments.roles, (&arguments.limit_columns).into())?;
    let columns = match out_format(arguments) {
        Some(PickFormat::Npy) | None => Vec::new(),
        Some(_) => files.pool_file.pool.choose_columns(&column_choice(&arguments.columns))?,
    };
    plan.quotas = quotas(&limits.quota, &files.group_names)?;
    let weights = arguments.limit_columns.target_weight_column.as_deref();
    plan.target_sampling = target_sampling(limits.target_sample.as_deref(), weights, &files)?;
    let reading = start.elapsed();

    let kernel = files.kernel(&arguments.model, plan.count)?;
    let mut task = files.task(&arguments.model, &*kernel)?;
    task.costs = files.pool_file.pool.costs();
    let carried = Carried::new(&arguments.device, &task, &plan, None, homing_pool::memory_allowed())?;
    let uploading = start.elapsed().saturating_sub(reading);
    let bar = Bar::new(plan.count, arguments.quiet);
    let start = Instant::now();
    let selection = select_with(&carried.task(task)?, &plan, |progress| {
        bar.show_pick(progress);
        ControlFlow::Continue(())
    });
    let selection = selection.map_err(|error| located(&files.pool_file.pool, error.into()))?;
    let times = Times { reading, choosing: start.elapsed() };
    bar.finish();
    let warning = warning_of(&task, &selection)?;

    let report = report_path(arguments.report.as_deref());
    let report = report.as_deref();
    let files = &files;
    let outcome = Outcome { arguments, columns, report, files, task: &task, plan: &plan, selection: &selection, times };
    let reporting = outcome.write()?;
    if !arguments.quiet {
        files.notes(&Options::of::<Arguments>()).into_iter().for_each(note);
        note(outcome.summary());
        note(outcome.times(reporting));
        outcome.places().into_iter().for_each(note);
        warning.into_iter().for_each(note);
        device_note(&carried, selection.left_carrier, uploading).into_iter().for_each(note);
        plan.greedy.guarantee(&task, &plan).into_iter().for_each(note);
    }
    if arguments.verbose {
        note(format_args!("{} passes over the pool, which was {}.", selection.passes, files.pool_file.place()));
    }
    Ok(())
}

/// Returns a sentence about where the selection ran, if a device was requested.
fn device_note(carried: &Carried, left: bool, uploading: Duration) -> Option<String> {
    match carried {
        Carried::On { device, .. } if left => Some(format!(
            "Passes ran on the CPU although {device} holds the pool, which is small or has too many rows whose scores are equal up to rounding; the upload took {:.2} s.",
            uploading.as_secs_f64()
        )),
        Carried::On { device, pool } if pool.is_lent() => Some(format!(
            "The pool is larger than the memory of {device}, so every pass read it from this machine's memory; copying it there took {:.2} s.",
            uploading.as_secs_f64()
        )),
        Carried::On { device, .. } => {
            Some(format!("The passes ran on {device}; the upload took {:.2} s.", uploading.as_secs_f64()))
        }
        carried => carried.refusal(),
    }
}

/// Returns the format of the picks, which is CSV on standard output, or `None` if they are not written.
fn out_format(arguments: &Arguments) -> Option<PickFormat> {
    match arguments.out.as_deref() {
        Some(out) if out == Path::new("-") => Some(PickFormat::Csv),
        Some(out) => PickFormat::of(out).ok(),
        None => None,
    }
}

/// Returns the columns that `--columns` chooses.
fn column_choice(given: &[String]) -> ColumnChoice {
    match given {
        [] => ColumnChoice::Usual,
        [all] if all == "all" => ColumnChoice::All,
        [none] if none == "none" => ColumnChoice::Named(Vec::new()),
        names => ColumnChoice::Named(names.iter().map(|name| name.trim().to_owned()).collect()),
    }
}

/// Returns a warning if the picks reveal nothing, or an error if no row of the pool could.
fn warning_of(task: &Task<'_>, selection: &Selection) -> Result<Option<&'static str>> {
    Ok(Some(match nothing_learned(task, selection) {
        None => return Ok(None),
        Some(NothingLearned::ZeroPool { is_centered }) => {
            let centred = if is_centered { " once their mean is subtracted" } else { "" };
            bail!(
                "all rows of the pool are zero{centred}, so no row is worth more than another; check how they were made"
            );
        }
        Some(NothingLearned::LargeNoise) => {
            "warning: the noise is so large compared with the rows that their labels reveal almost nothing; lower --noise-std"
        }
        Some(NothingLearned::SmallTargets) => {
            "warning: the targets are so small compared with the noise that labels reveal almost nothing about them; scale them \
             like the pool, or lower --noise-std"
        }
        Some(NothingLearned::UnrelatedTargets) => {
            "warning: the picks reveal nothing about the targets, because no row that may be picked correlates with any of them; \
             check that the same model made both, or choose another kernel"
        }
        Some(_) => {
            "warning: the picks reveal nothing that is not known already; check --observed, or choose another kernel"
        }
    }))
}

/// Returns what the arguments mean, as far as it does not depend on the files.
fn plan_of(arguments: &Arguments) -> Result<Plan> {
    let limits = &arguments.limits;
    let strategy: Strategy = match limits.beta {
        Some(beta) if arguments.rule == "information-density" => Strategy::information_density(beta)?,
        Some(_) => bail!("--beta belongs to --rule information-density, not to --rule {}", arguments.rule),
        None => arguments.rule.parse()?,
    };
    Ok(Plan::default()
        .strategy(strategy)
        .count(arguments.count)
        .noise(arguments.model.noise())
        .picks_per_round(limits.picks_per_round)
        .seed(arguments.seed)
        .stop(Stop { min_gain: limits.min_gain, reduced_share: limits.stop_variance })
        .budget(limits.budget)
        .repeat(limits.repeat)
        .greedy(arguments.greedy.parse()?))
}

fn target_sampling(given: Option<&str>, column: Option<&str>, files: &TaskFiles) -> Result<TargetSampling> {
    let weights = files.target_file.as_ref().zip(column).and_then(|(file, column)| file.pool.numbers(column));
    if given.is_some() && files.target_file.is_none() {
        bail!("--target-sample needs --targets");
    }
    let Some(given) = given else {
        if weights.is_some() {
            bail!("--target-weight-column needs --target-sample N, the number of targets to draw");
        }
        return Ok(TargetSampling::All);
    };
    let wrong = |_| anyhow!("--target-sample {given} is not a share (0.1), a number (20), max-det:N or max-dist:N");
    match (given.parse().map_err(wrong)?, weights) {
        (sampling, None) => Ok(sampling),
        (TargetSampling::Size(size), Some(weights)) => Ok(TargetSampling::Weighted { weights: weights.to_vec(), size }),
        (TargetSampling::MaxDet(_) | TargetSampling::MaxDist(_), Some(_)) => {
            bail!("--target-weight-column draws targets at random, so it cannot be combined with {given}")
        }
        (_, Some(_)) => {
            bail!("with --target-weight-column, --target-sample must be a whole number of draws, not {given}")
        }
    }
}

/// Returns the quota of each group: `NAME=N` sets that of one group, `N` that of all others.
fn quotas(given: &[String], names: &[String]) -> Result<Vec<usize>> {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    if names.is_empty() {
        bail!("--quota needs --group-column NAME, the column with each row's group");
    }
    let mut quotas = vec![usize::MAX; names.len()];
    let number = |text: &str| text.parse().with_context(|| format!("'{text}' in --quota is not a number of picks"));
    for all in given.iter().filter(|quota| !quota.contains('=')) {
        quotas.fill(number(all)?);
    }
    for (name, most) in given.iter().filter_map(|quota| quota.rsplit_once('=')) {
        let Some(group) = names.iter().position(|known| known == name) else {
            bail!("--quota names the group '{name}', which no row of the pool has");
        };
        quotas[group] = number(most)?;
    }
    Ok(quotas)
}
