//! Figures and tables of fine-tuned networks: grids of lines, values and seeds.

mod cells;
mod check;
mod claims;
mod draw;
#[cfg(test)]
mod mutations;
mod plan;
mod run;
mod setting;
mod show;
mod tidy;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use homing_pool::{Paths, disk, refuse_foreign};

use crate::{finetune, lock, terminal};
use cells::Cell;
use plan::Plan;
use run::Place;
use tidy::Tidy;

const RESULTS: &str = "results";

/// Processes that may run at once.
const MOST_JOBS: u64 = 1024;

/// How to run a grid.
#[derive(Args)]
#[command(next_help_heading = "Of networks")]
pub struct How {
    /// Seeds; the experiment's own by default.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=check::MOST_CELLS))]
    seeds: Option<u64>,
    /// Rounds; the experiment's own by default.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=check::MOST_ROUNDS))]
    rounds: Option<u64>,
    /// Fewer seeds and rounds: minutes on two cores.
    #[arg(long)]
    quick: bool,
    /// Cells that run at once, each a process; as many as there are cores by default.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=MOST_JOBS))]
    jobs: Option<u64>,
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
    let cells = cells::cells(&plan, &how.data, &how.device, seed)?;
    let named = |cell: &Cell| format!("{}, {}", plan.file, cell.label());
    let runs: Vec<_> = cells.iter().map(|cell| (named(cell), &cell.words[..])).collect();
    let out = out.unwrap_or(Path::new(RESULTS));
    let (written, folder) = (table(out, &plan), out.join("cells"));
    guard(name, &plan, &cells, out)?;
    let keys = finetune::prepare(&runs)?;
    disk::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    refuse_foreign(&folder)?;
    let busy = || format!("another experiment runs in {}; wait for it, or give --out another folder", folder.display());
    let _lock = lock::hold_at(&folder.join(".lock"), Duration::ZERO, busy)?;
    let mut written_seeds = earlier(&written, &plan)?.map_or(0, |earlier| earlier.seeds());
    let places: Vec<Place<'_>> = cells.iter().zip(&keys).map(|(cell, key)| Place::new(cell, key, &folder)).collect();
    // The seeds that every series has are a table already, should the run be interrupted.
    let keep_whole_seeds = || {
        let open = places.iter().filter(|place| !place.is_done()).map(|place| place.cell.seed).min();
        let whole = |place: &&Place<'_>| open.is_none_or(|open| place.cell.seed < open);
        let seeds = open.map_or(plan.seeds, |open| open - seed) as usize;
        if seeds > written_seeds {
            written_seeds = seeds;
            Tidy::collect(places.iter().filter(whole))?.write(&written)?;
        }
        Ok(())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = how.jobs.map_or(cores, |jobs| jobs as usize);
    run::run(&places, plan.rounds(), jobs, how.quiet, keep_whole_seeds)?;
    let tidy = Tidy::collect(&places)?;
    tidy.write(&written)?;
    draw::draw(&plan, &tidy, out)?;
    show::print(&plan, &tidy)?;
    let name = out.join(&plan.name);
    writeln!(terminal::stdout(), "The results are in {0}.csv, {0}.svg and {0}.png.", name.display())?;
    Ok(())
}

/// Refuses results in the place of what they are made from.
fn guard(name: &str, plan: &Plan, cells: &[Cell], out: &Path) -> Result<()> {
    let files: BTreeSet<&Path> = cells.iter().flat_map(|cell| &cell.files).map(PathBuf::as_path).collect();
    let paths = files.into_iter().fold(Paths::new().reads(Path::new(name)), Paths::reads);
    let tables = ["csv", "svg", "png"].map(|kind| out.join(format!("{}.{kind}", plan.name)));
    let outputs = tables.into_iter().chain([out.join("cells")]);
    Ok(outputs.fold(paths, |paths, output| paths.writes("--out", &*output)).check()?)
}

/// The table that is there already, which must not be larger than what the plan leaves.
fn earlier(written: &Path, plan: &Plan) -> Result<Option<Tidy>> {
    if !written.exists() {
        return Ok(None);
    }
    let Ok(earlier) = Tidy::read(written) else {
        bail!("{} is there and no table of results; move it, or give --out another folder", written.display());
    };
    if earlier.seeds() > plan.seeds as usize || earlier.rounds() > plan.rounds() {
        bail!(
            "{} holds {} seeds of {} rounds, more than this run would leave; give --out another folder",
            written.display(),
            earlier.seeds(),
            earlier.rounds()
        );
    }
    Ok(Some(earlier))
}

pub fn plot(which: &Which) -> Result<()> {
    let (plan, tidy) = which.open()?;
    let pictures = ["svg", "png"].map(|kind| which.out.join(format!("{}.{kind}", plan.name)));
    let paths = Paths::new().reads(Path::new(&which.name)).reads(&*table(&which.out, &plan));
    pictures.iter().fold(paths, |paths, picture| paths.writes("--out", &**picture)).check()?;
    draw::draw(&plan, &tidy, &which.out)?;
    let name = which.out.join(&plan.name);
    writeln!(terminal::stdout(), "The plots are {0}.svg and {0}.png.", name.display())?;
    Ok(())
}

pub fn compare(which: &Which) -> Result<()> {
    let (plan, tidy) = which.open()?;
    show::print(&plan, &tidy)
}

fn table(out: &Path, plan: &Plan) -> PathBuf {
    out.join(format!("{}.csv", plan.name))
}
