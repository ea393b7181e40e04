//! `homing select`.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use homing::{Ended, Engine, Noise, Plan, Points, Selection, Stop, Strategy, TargetSampling, Task, select};
use homing_pool::{Ids, Paths, PickFormat, prepare, write_beside, write_picks, write_picks_csv};
use homing_report::story::{self, Story};
use homing_report::{self as report, Facts};

use crate::inputs::{ColumnArguments, Files, Inputs, LimitArguments, ModelArguments, PoolAccess};
use crate::terminal::{self, Bar, grouped, memory, note, peak_memory_bytes, picks_table, seconds, short};

#[derive(Args)]
pub struct Arguments {
    /// The pool: .npy, .npz, .safetensors, .parquet, .arrow, .csv, .tsv, .jsonl, or a folder of shards.
    pool: PathBuf,
    /// Unlabelled examples of the task, in any of those formats.
    #[arg(long, value_name = "FILE")]
    targets: Option<PathBuf>,
    /// How many rows to choose.
    #[arg(short = 'n', long)]
    count: usize,
    /// How to choose; `homing rules` lists all.
    #[arg(long, default_value = "itl")]
    rule: String,
    /// Rows that are labelled already: a picks file, indices, ids, or their embeddings.
    #[arg(long, value_name = "FILE")]
    observed: Option<PathBuf>,
    /// Where to write the picks: .csv, .jsonl, .parquet, .npy, or - for CSV on standard output.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Put an apostrophe before ids in CSV that a spreadsheet would take for a formula (those that begin with =, +, - or @).
    #[arg(long)]
    csv_safe: bool,
    /// Where to write a page that shows the picks and why.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Say nothing but errors.
    #[arg(short, long)]
    quiet: bool,
    /// Say more: passes over the pool, and whether it was mapped, read or held in memory.
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,
    /// Seed of everything random.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Whether a .npy or .safetensors pool is mapped or read block by block; auto reads one that takes more than half of the memory.
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pool_access: PoolAccess,

    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    columns: ColumnArguments,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    more: MoreArguments,
}

#[derive(Args)]
#[command(next_help_heading = "Targets and limits")]
struct MoreArguments {
    /// Which targets count: a share (0.1), a number (20), or the most explanatory (max-det:20, max-dist:20).
    #[arg(long, value_name = "F")]
    target_sample: Option<String>,
    /// Picks a round; each round samples its own targets.
    #[arg(long, value_name = "N")]
    round_size: Option<usize>,
    /// Rows that must not be picked: indices or ids.
    #[arg(long, value_name = "FILE")]
    forbid: Option<PathBuf>,
    /// Most picks of a group of --group-column: NAME=N, or N for every group not named.
    #[arg(long, value_name = "GROUP=N")]
    quota: Vec<String>,
    /// Most total cost of --cost-column.
    #[arg(long, value_name = "COST")]
    budget: Option<f64>,
    /// Stop when the next pick would add less than this information, in nats.
    #[arg(long, value_name = "NATS", allow_negative_numbers = true)]
    min_gain: Option<f64>,
    /// Stop when this share of the targets' reducible variance is gone.
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    stop_variance: Option<f64>,
    /// Weight β of the similarity in information-density.
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    beta: Option<f64>,
    /// Let a row be picked more than once.
    #[arg(long)]
    repeat: bool,
    /// What each pick is the best of: exact (all rows), stochastic:EPSILON (a random sample of them) or partitioned:PARTS (a
    /// random part, then the picks of all parts). The guarantee of the latter two is printed.
    #[arg(long, value_name = "HOW", default_value = "exact")]
    greedy: String,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let out = arguments.out.as_deref().filter(|out| *out != Path::new("-"));
    let paths = Paths::new().reads(&*arguments.pool).reads(arguments.targets.as_deref());
    let paths = paths.reads(arguments.observed.as_deref()).reads(arguments.more.forbid.as_deref());
    let paths = arguments.columns.files().into_iter().fold(paths, Paths::reads);
    paths.writes("--out", out).writes("--report", arguments.report.as_deref()).check()?;
    if let Some(out) = out
        && prepare(out)? == PickFormat::Parquet
        && arguments.more.repeat
    {
        bail!(
            "a .parquet file has one line for each row of the pool, which cannot say that one is picked twice; with --repeat, write .csv, .jsonl or .npy"
        );
    }
    if let Some(report) = &arguments.report {
        if report == Path::new("-") {
            bail!("--report writes a page to a file; name one, such as report.html");
        }
        homing_pool::check_writable(report)?;
    }
    if arguments.more.budget.is_some() && arguments.limits.cost_column.is_none() {
        bail!("--budget needs --cost-column NAME, the column with each row's cost");
    }
    let plan = plan_of(arguments)?;
    arguments.model.on_threads(|| choose(arguments, plan))
}

fn choose(arguments: &Arguments, mut plan: Plan) -> Result<()> {
    let more = &arguments.more;
    let start = Instant::now();
    let files = Files {
        pool: &arguments.pool,
        targets: arguments.targets.as_deref(),
        observed: arguments.observed.as_deref(),
        forbid: more.forbid.as_deref(),
        access: arguments.pool_access.into(),
        center: arguments.model.center,
    };
    let inputs = Inputs::open(&files, &arguments.columns, &arguments.limits)?;
    plan.quotas = quotas(&more.quota, &inputs.group_names)?;
    plan.target_sampling = target_sampling(more.target_sample.as_deref(), &inputs)?;
    let reading = start.elapsed();

    let kernel = arguments.model.kernel(&inputs)?;
    let task = Task { costs: inputs.source.pool.costs(), ..arguments.model.task(&inputs, &*kernel)? };
    let bar = Bar::new(plan.count, arguments.quiet);
    let start = Instant::now();
    let selection = select(&task, &plan, |progress| {
        bar.tell(progress);
        ControlFlow::Continue(())
    })?;
    let times = Times { reading, choosing: start.elapsed() };
    bar.finish();
    let warning = worthless(&task, &selection)?;

    let reporting = write_results(arguments, &inputs, &task, &plan, &selection, times)?;
    if !arguments.quiet {
        inputs.found().into_iter().for_each(note);
        note(closing_line(&task, &plan, &selection, times, reporting));
        warning.into_iter().for_each(note);
        plan.greedy.guarantee(&task, &plan).into_iter().for_each(note);
    }
    if arguments.verbose {
        note(format_args!("{} passes over the pool, which was {}", selection.passes, inputs.source.place()));
    }
    Ok(())
}

/// How long the work took.
#[derive(Clone, Copy)]
struct Times {
    reading: Duration,
    choosing: Duration,
}

/// A warning where the picks tell nothing; a refusal where no row of the pool could.
fn worthless(task: &Task<'_>, selection: &Selection) -> Result<Option<&'static str>> {
    let size = |points: Points<'_>| (0..points.rows()).map(|row| task.kernel.var(&points.row(row))).fold(0.0, f64::max);
    let (noise_var, targets) = (selection.noise_var, task.targets.map_or(0.0, size));
    let small = targets > 0.0 && noise_var > 1e12 * targets;
    let telling = selection.picks.last().is_none_or(|pick| pick.information > 0.0);
    if telling && !small {
        return Ok(None);
    }
    let pool = task.pool.embeddings();
    if !telling && (0..pool.rows()).all(|row| pool.row(row).iter().all(|&x| x == 0.0)) {
        let centred = if pool.is_centered() { " once their mean is subtracted" } else { "" };
        bail!(
            "all rows of the pool are zero{centred}, so that none is worth more than another; check how they were made"
        );
    }
    // What labels tell is in the last digits of a variance then.
    if noise_var > 1e10 * size(task.pool).max(targets) {
        return Ok(Some(
            "warning: the noise is so much larger than the rows that their labels tell next to nothing; lower --noise-std",
        ));
    }
    if small {
        return Ok(Some(
            "warning: the targets are so small beside the noise that labels tell next to nothing about them; scale them as \
             the pool is, or lower --noise-std",
        ));
    }
    Ok(Some(if task.targets.is_some() {
        "warning: the picks tell nothing about the targets, since no row that may be picked correlates with one; \
         check that the same model made both, or choose another kernel"
    } else {
        "warning: the picks tell nothing that is not known already; check --observed, or choose another kernel"
    }))
}

/// Writes the picks, then the report; returns how long the report took, if one was asked for.
fn write_results(
    arguments: &Arguments,
    inputs: &Inputs,
    task: &Task<'_>,
    plan: &Plan,
    selection: &Selection,
    times: Times,
) -> Result<Option<Duration>> {
    let pool = &inputs.source.pool;
    let ids = Ids { of_rows: pool.ids(), csv_safe: arguments.csv_safe };
    match arguments.out.as_deref() {
        Some(out) if out == Path::new("-") => {
            let mut csv = Vec::new();
            write_picks_csv(&mut csv, &selection.picks, ids)?;
            terminal::print_data(&csv)?;
        }
        Some(out) => write_picks(out, &selection.picks, pool.rows(), ids)?,
        None if arguments.quiet => {}
        None => writeln!(terminal::stdout(), "{}", picks_table(&selection.picks, |row| inputs.source.id(row)))?,
    }
    let Some(path) = &arguments.report else { return Ok(None) };
    let start = Instant::now();
    let written = write_report(path, arguments, inputs, task, plan, selection, times);
    written.with_context(|| match arguments.out.as_deref() {
        Some(out) if out != Path::new("-") => format!("the picks are in {}, but not the report", out.display()),
        _ => "the report could not be made".into(),
    })?;
    Ok(Some(start.elapsed()))
}

fn write_report(
    path: &Path,
    arguments: &Arguments,
    inputs: &Inputs,
    task: &Task<'_>,
    plan: &Plan,
    selection: &Selection,
    times: Times,
) -> Result<()> {
    let pool = &inputs.source.pool;
    let facts = Facts {
        pool_file: file_name(&arguments.pool),
        number_format: pool.dtype().into(),
        targets_file: arguments.targets.as_deref().map(file_name),
        noise_is_default: arguments.model.noise_std.is_none(),
        centred: arguments.model.center,
        read_seconds: times.reading.as_secs_f64(),
        choose_seconds: times.choosing.as_secs_f64(),
        peak_memory_bytes: peak_memory_bytes(),
        ..story::facts(task, plan, selection)
    };
    let names = Story {
        id: &|row| inputs.source.id(row),
        target_id: &|row| inputs.targets.as_ref().map(|targets| targets.id(row)),
        label: &|row| pool.labels().map(|labels| labels[row].clone()),
        group: &|row| pool.groups().map(|groups| groups[row].clone()),
        thumbnail: &|_| None,
        target_thumbnail: &|_| None,
    };
    let report = story::tell(task, selection, facts, &names)?;
    let page = report::render(&report)?;
    Ok(write_beside(path, |file| file.write_all(page.as_bytes()))?)
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn closing_line(
    task: &Task<'_>,
    plan: &Plan,
    selection: &Selection,
    times: Times,
    reporting: Option<Duration>,
) -> String {
    let reporting = reporting.map_or_else(String::new, |time| format!(", the report {}", seconds(time)));
    let targets = task.targets.map_or(String::new(), |t| format!(" for {} targets", grouped(t.rows())));
    let noise = match plan.noise {
        Noise::Relative(share) if task.kernel.is_linear() => format!(", {share} × the mean squared norm"),
        Noise::Relative(share) => format!(", {share} × the mean prior variance"),
        Noise::Std(_) => String::new(),
    };
    let ended = match selection.ended {
        Ended::Gain => "; stopped: the next pick adds too little",
        Ended::Variance => "; stopped: enough of the reducible variance is gone",
        Ended::Limits => "; stopped: quotas or the budget allow no more",
        _ => "",
    };
    format!(
        "picked {} of {} rows{targets} by {} (ρ² = {}{noise}{}){ended}; reading took {}, choosing {}{reporting}; peak memory {}",
        grouped(selection.picks.len()),
        grouped(task.pool.rows()),
        plan.strategy.name(),
        short(selection.noise_var),
        if task_is_centered(task) { ", the pool's mean subtracted" } else { "" },
        seconds(times.reading),
        seconds(times.choosing),
        memory(),
    )
}

fn task_is_centered(task: &Task<'_>) -> bool {
    task.pool.embeddings().is_centered()
}

/// What the arguments mean, as far as it does not depend on the files.
fn plan_of(arguments: &Arguments) -> Result<Plan> {
    let more = &arguments.more;
    let strategy: Strategy = match more.beta {
        Some(beta) if arguments.rule == "information-density" => Strategy::information_density(beta)?,
        Some(_) => bail!("--beta belongs to --rule information-density, not to {}", arguments.rule),
        None => arguments.rule.parse()?,
    };
    Ok(Plan {
        strategy,
        count: arguments.count,
        noise: arguments.model.noise(),
        target_sampling: TargetSampling::All,
        round_size: more.round_size,
        seed: arguments.seed,
        made: 0,
        stop: Stop { min_gain: more.min_gain, reduced_share: more.stop_variance },
        quotas: Vec::new(),
        budget: more.budget,
        repeat: more.repeat,
        greedy: more.greedy.parse()?,
        engine: Engine::Auto,
    })
}

fn target_sampling(given: Option<&str>, inputs: &Inputs) -> Result<TargetSampling> {
    let weights = inputs.targets.as_ref().and_then(|targets| targets.pool.costs());
    if given.is_some() && inputs.targets.is_none() {
        bail!("--target-sample needs --targets");
    }
    let Some(given) = given else {
        if weights.is_some() {
            bail!("--target-weights needs --target-sample N, the number of targets to draw");
        }
        return Ok(TargetSampling::All);
    };
    let wrong = || format!("--target-sample {given} is no share (0.1), number (20), max-det:N or max-dist:N");
    if let Some((kind, count)) = given.split_once(':') {
        if weights.is_some() {
            bail!("--target-weights draws targets; it does not go with {kind}:{count}");
        }
        let count = count.parse().with_context(wrong)?;
        return match kind {
            "max-det" => Ok(TargetSampling::MaxDet(count)),
            "max-dist" => Ok(TargetSampling::MaxDist(count)),
            _ => bail!(wrong()),
        };
    }
    match (given.parse::<usize>(), weights) {
        (Ok(size), Some(weights)) => Ok(TargetSampling::Weighted { weights: weights.to_vec(), size }),
        (Err(_), Some(_)) => bail!("with --target-weights, --target-sample is a whole number of draws, not {given}"),
        (Ok(size), None) => Ok(TargetSampling::Size(size)),
        (Err(_), None) => Ok(TargetSampling::Fraction(given.parse().with_context(wrong)?)),
    }
}

/// `NAME=N` for one group, `N` for all others.
fn quotas(given: &[String], names: &[String]) -> Result<Vec<usize>> {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    if names.is_empty() {
        bail!("--quota needs --group-column NAME, the column with each row's group");
    }
    let mut quotas = vec![usize::MAX; names.len()];
    let number = |text: &str| text.parse().with_context(|| format!("'{text}' is no number of picks in --quota"));
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
