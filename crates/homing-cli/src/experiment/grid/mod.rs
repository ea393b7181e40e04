//! Figures and tables of fine-tuned networks: grids of lines, values and seeds.

mod claims;
mod draw;
mod plan;
mod run;
mod tidy;

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use comfy_table::Table;

use crate::finetune::{self, with_error};
use crate::terminal::plain_table;
use plan::{Figure, Plan, When};
use run::Place;
use tidy::Tidy;

const RESULTS: &str = "results";

/// How to run a grid.
#[derive(Args)]
#[command(next_help_heading = "Of networks")]
pub struct How {
    /// Seeds; the experiment's own by default.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,
    /// Rounds; the experiment's own by default.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// Fewer seeds and rounds: minutes on two cores.
    #[arg(long)]
    quick: bool,
    /// Cells that run at once, each a process; as many as there are cores by default.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// cpu; in builds with libtorch also torch and cuda:0.
    #[arg(long, default_value = "cpu")]
    device: String,
    /// Folder of data sets and weights.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    data: PathBuf,
    /// No progress.
    #[arg(long, short)]
    quiet: bool,
}

/// Results that are there already.
#[derive(Args)]
pub struct Which {
    /// A name of the list, or a TOML file of your own.
    name: String,
    /// Folder of the results.
    #[arg(short, long, value_name = "FOLDER", default_value = RESULTS)]
    out: PathBuf,
    /// Of a run with --quick.
    #[arg(long)]
    quick: bool,
}

impl Which {
    fn open(&self) -> Result<(Plan, Tidy)> {
        let plan = Plan::open(&self.name)?;
        let plan = if self.quick { plan.quick()? } else { plan };
        let tidy = Tidy::read(&table(&self.out, &plan))?;
        Ok((plan, tidy))
    }
}

pub fn list() -> Result<Vec<(String, String)>> {
    let shown = |name| Plan::open(name).map(|plan| (plan.name.clone(), plan.caption()));
    plan::names().map(shown).collect()
}

pub fn run(name: &str, out: Option<&Path>, seed: u64, how: &How) -> Result<()> {
    let plan = Plan::open(name)?;
    let plan = if how.quick { plan.quick()? } else { plan };
    let plan = plan.with(how.seeds, how.rounds);
    let cells = plan.cells(&how.data, seed)?;
    let data = finetune::prepare(cells.iter().map(|cell| &cell.arguments[..]), &how.device)?;
    let out = out.unwrap_or(Path::new(RESULTS));
    let folder = out.join("cells");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let _lock = lock(&folder)?;
    let written = table(out, &plan);
    if let Ok(larger) = Tidy::read(&written)
        && (larger.seeds() > plan.seeds as usize || larger.rounds() > plan.rounds())
    {
        bail!(
            "{} holds {} seeds of {} rounds, more than this run would leave; give --out another folder",
            written.display(),
            larger.seeds(),
            larger.rounds()
        );
    }
    let places: Vec<Place<'_>> = cells.iter().map(|cell| Place::new(cell, &data, &folder)).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    run::run(&places, plan.rounds(), how.jobs.map_or(cores, |jobs| jobs as usize), &how.device, how.quiet)?;
    let tidy = Tidy::collect(&places)?;
    tidy.write(&written)?;
    draw::draw(&plan, &tidy, out)?;
    print(&plan, &tidy)?;
    let name = out.join(&plan.name);
    writeln!(std::io::stdout(), "The results are in {0}.csv, {0}.svg and {0}.png.", name.display())?;
    Ok(())
}

pub fn plot(which: &Which) -> Result<()> {
    let (plan, tidy) = which.open()?;
    draw::draw(&plan, &tidy, &which.out)?;
    let name = which.out.join(&plan.name);
    writeln!(std::io::stdout(), "The plots are {0}.svg and {0}.png.", name.display())?;
    Ok(())
}

pub fn compare(which: &Which) -> Result<()> {
    let (plan, tidy) = which.open()?;
    print(&plan, &tidy)
}

/// Held as long as cells run, so that two runs do not write into the same ones.
fn lock(cells: &Path) -> Result<File> {
    let path = cells.join(".lock");
    let file = File::create(&path).with_context(|| format!("{} cannot be written", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            bail!("another experiment runs in {}; wait for it, or give --out another folder", cells.display())
        }
        Err(TryLockError::Error(error)) => Err(error).context(format!("{} cannot be locked", path.display())),
    }
}

fn table(out: &Path, plan: &Plan) -> PathBuf {
    out.join(format!("{}.csv", plan.name))
}

fn print(plan: &Plan, tidy: &Tidy) -> Result<()> {
    let mut out = std::io::stdout();
    let seeds = tidy.seeds();
    writeln!(out, "{}, {}\n", plan.caption(), if seeds == 1 { "one seed".into() } else { format!("{seeds} seeds") })?;
    writeln!(out, "{}\n", figures(plan, tidy))?;
    if !plan.claims.is_empty() {
        writeln!(out, "{}\n", judged(plan, tidy))?;
    }
    for note in &plan.notes {
        writeln!(out, "{note}")?;
    }
    Ok(())
}

/// A row for every series, the paper's figure beside ours.
fn figures(plan: &Plan, tidy: &Tidy) -> Table {
    let series = plan.series();
    let with_paper = series.iter().any(|series| plan.paper_of(series).is_some());
    let mut table = plain_table();
    let mut header =
        vec!["line", "accuracy at the end", "mean accuracy", "picks from the task", "choosing", "learning"];
    if with_paper {
        header.insert(2, "in the paper");
    }
    table.set_header(header);
    for series in &series {
        let figure = |figure, when| {
            tidy.mean(series, figure, when).map_or_else(String::new, |(mean, error)| with_error(mean, error))
        };
        let seconds = |s: f64| format!("{s:.3} s");
        let (choosing, learning) = tidy.times(series).unzip();
        let mut row = vec![
            series.label(),
            figure(Figure::Accuracy, When::End),
            figure(Figure::Accuracy, When::Mean),
            figure(Figure::TaskShare, When::End),
            choosing.map_or_else(String::new, seconds),
            learning.map_or_else(String::new, seconds),
        ];
        if with_paper {
            let paper = plan.paper_of(series).map(|[mean, error]| with_error(mean / 100.0, error / 100.0));
            row.insert(2, paper.unwrap_or_default());
        }
        table.add_row(row);
    }
    table
}

fn judged(plan: &Plan, tidy: &Tidy) -> Table {
    let mut table = plain_table();
    table.set_header(["claim", "difference, points", "p", ""]);
    for verdict in claims::verdicts(plan, tidy) {
        table.add_row([
            verdict.claim.says.clone(),
            verdict.difference.map_or_else(String::new, |(mean, error)| match verdict.p {
                Some(_) => format!("{mean:+.1} ± {error:.1}"),
                None => format!("{mean:+.1}"),
            }),
            verdict.p.map_or_else(String::new, |p| if p < 1e-4 { "< 0.0001".into() } else { format!("{p:.4}") }),
            verdict.says().into(),
        ]);
    }
    table
}
