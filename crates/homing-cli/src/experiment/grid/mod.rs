//! Figures and tables of fine-tuned networks, as grids of lines, values and seeds.

mod cell_folder;
mod cluster;
#[cfg(test)]
mod mutations;
mod run;
mod show;
mod workers;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use homing_experiment::{ClassTable, Experiment, GridCell, MOST_CELLS, MOST_ROUNDS, ResultTable, cells, draw, names};
use homing_pool::{Paths, disk, refuse_foreign};
use homing_train::{RunSpec, lock_file};

use crate::experiment::defaults::Extent;
use crate::refusal::Options;
use crate::{finetune, terminal};
use cell_folder::CellFolder;
use cluster::Cluster;
use workers::{Processes, Workers};

const RESULTS: &str = "results";

/// Maximum number of processes that run at once.
const MOST_JOBS: u64 = 1024;

/// How to run a grid.
#[derive(Args)]
#[command(next_help_heading = "Experiments with networks")]
pub struct GridOptions {
    /// Number of seeds; by default, that of the experiment.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=MOST_CELLS))]
    seeds: Option<u64>,
    /// Number of rounds; by default, that of the experiment.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=MOST_ROUNDS))]
    rounds: Option<u64>,
    /// Run fewer seeds and rounds, which takes minutes on two cores.
    #[arg(long)]
    quick: bool,
    /// Number of cells that run at once, each in its own process; by default, one per core.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=MOST_JOBS))]
    jobs: Option<u64>,
    /// Run the cells on the Ray cluster at this address (`auto` for the one that runs on this machine), each on one of its CPUs.
    #[arg(long, value_name = "ADDRESS", value_parser = NonEmptyStringValueParser::new(), conflicts_with = "device")]
    pub ray: Option<String>,
    /// Device: cpu, or in builds with libtorch also torch and cuda:0.
    #[arg(long, default_value = "cpu")]
    device: String,
    /// Folder with the data sets and weights.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    data: PathBuf,
    /// Print only errors and the result.
    #[arg(long, short)]
    quiet: bool,
}

impl GridOptions {
    /// Returns what the options say about a study.
    pub fn extent<'a>(&'a self, out: Option<&'a Path>, seed: u64) -> Extent<'a> {
        Extent {
            data: &self.data,
            out: out.unwrap_or(Path::new(RESULTS)),
            draws: self.seeds,
            first_draw: seed,
            quick: self.quick,
            quiet: self.quiet,
        }
    }
}

/// Arguments for results that exist already.
#[derive(Args)]
pub struct ResultOptions {
    /// Name from the list, or your own TOML file.
    pub name: String,
    /// Folder with the results.
    #[arg(short, long, value_name = "FOLDER", default_value = RESULTS)]
    pub out: PathBuf,
    /// Use the results of a run with --quick.
    #[arg(long)]
    quick: bool,
}

impl ResultOptions {
    fn open(&self) -> Result<(Experiment, ResultTable)> {
        let experiment = Experiment::open(&self.name)?;
        let experiment = if self.quick { experiment.quick()? } else { experiment };
        let results = ResultTable::read(&table(&self.out, &experiment))?;
        Ok((experiment, results))
    }
}

pub fn list() -> Result<Vec<(String, String)>> {
    let shown = |name| Ok(Experiment::open(name).map(|experiment| (experiment.name.clone(), experiment.caption()))?);
    names().map(shown).collect()
}

pub fn run(name: &str, out: Option<&Path>, seed: u64, options: &GridOptions) -> Result<()> {
    let experiment = Experiment::open(name)?;
    let experiment = if options.quick { experiment.quick()? } else { experiment };
    let experiment = experiment.with(options.seeds, options.rounds);
    let cells = cells(&experiment, &options.data, &options.device, seed)?;
    let out = out.unwrap_or(Path::new(RESULTS));
    let (written, folder) = (table(out, &experiment), out.join("cells"));
    guard(name, &experiment, &cells, out)?;
    let described = |cell: &GridCell| {
        let name = format!("{}, {}", experiment.file, cell.label());
        let spec =
            finetune::parse(&cell.words).with_context(|| name.clone()).map_err(|error| as_of_finetune(&error))?;
        Ok((name, spec))
    };
    let runs: Vec<(String, RunSpec)> = cells.iter().map(described).collect::<Result<_>>()?;
    let keys = finetune::prepare(&runs).map_err(|error| as_of_finetune(&error))?;
    let (jobs, mut workers) = workers_of(options)?;
    disk::create_dir_all(&folder).with_context(|| format!("{} cannot be created", folder.display()))?;
    refuse_foreign(&folder)?;
    let Some(_lock) = lock_file(&folder.join(".lock"), Duration::ZERO)? else {
        bail!("another experiment is running in {}; wait for it, or give --out another folder", folder.display());
    };
    let mut written_seeds = earlier(&written, &experiment)?.map_or(0, |earlier| earlier.seeds());
    let located = cells.iter().zip(&runs).zip(&keys);
    let folders: Vec<CellFolder<'_>> =
        located.map(|((cell, (_, spec)), key)| CellFolder::new(cell, spec, key, &folder)).collect();
    let collect = |whole: &dyn Fn(&CellFolder<'_>) -> bool| {
        let wanted = folders.iter().filter(|folder| whole(folder));
        ResultTable::collect(wanted.map(|folder| (folder.cell, &*folder.folder)))
    };
    // If the run is interrupted, the seeds that every series has finished are in the table already.
    let keep_whole_seeds = || {
        let open = folders.iter().filter(|folder| !folder.is_done()).map(|folder| folder.cell.seed).min();
        let seeds = open.map_or(experiment.seeds, |open| open - seed) as usize;
        if seeds > written_seeds {
            written_seeds = seeds;
            collect(&|folder| open.is_none_or(|open| folder.cell.seed < open))?.write(&written)?;
        }
        Ok(())
    };
    run::run(&folders, experiment.rounds(), jobs, &mut *workers, options.quiet, keep_whole_seeds)?;
    drop(workers);
    let results = collect(&|_| true)?;
    results.write(&written)?;
    ClassTable::collect(folders.iter().map(|folder| (folder.cell, &*folder.folder)))?
        .write(&out.join(format!("{}-classes.csv", experiment.name)))?;
    draw(&experiment, &results, out)?;
    show::print(&experiment, &results)?;
    let name = out.join(&experiment.name);
    writeln!(terminal::stdout(), "The results are in {0}.csv and {0}.svg.", name.display())?;
    Ok(())
}

/// Returns what runs the cells, and how many at once.
fn workers_of(options: &GridOptions) -> Result<(usize, Box<dyn Workers>)> {
    let jobs = options.jobs.map(|jobs| jobs as usize);
    if let Some(address) = &options.ray {
        let cluster = Cluster::connect(address)?;
        return Ok((jobs.unwrap_or(cluster.cpus()), Box::new(cluster)));
    }
    let jobs = jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    Ok((jobs, Box::new(Processes::new(jobs))))
}

/// Phrases an error with the options of `homing finetune`, which are the arguments in the file of an experiment.
fn as_of_finetune(error: &anyhow::Error) -> anyhow::Error {
    anyhow!(Options::of::<finetune::Arguments>().sentence(error))
}

/// Refuses results that would replace the files that they are made from.
fn guard(name: &str, experiment: &Experiment, cells: &[GridCell], out: &Path) -> Result<()> {
    let files: BTreeSet<&Path> = cells.iter().flat_map(|cell| &cell.files).map(PathBuf::as_path).collect();
    let paths = files.into_iter().fold(Paths::new().reads(Path::new(name)), Paths::reads);
    let tables = [".csv", "-classes.csv", ".svg"].map(|end| out.join(format!("{}{end}", experiment.name)));
    let outputs = tables.into_iter().chain([out.join("cells")]);
    Ok(outputs.fold(paths, |paths, output| paths.writes("--out", &*output)).check()?)
}

/// Returns the table that exists already, which must not be larger than the one that this run would write.
fn earlier(written: &Path, experiment: &Experiment) -> Result<Option<ResultTable>> {
    if !written.exists() {
        return Ok(None);
    }
    let Ok(earlier) = ResultTable::read(written) else {
        bail!("{} exists and is not a table of results; move it, or give --out another folder", written.display());
    };
    if earlier.seeds() > experiment.seeds as usize || earlier.rounds() > experiment.rounds() {
        bail!(
            "{} holds {} seeds of {} rounds, more than this run would write; give --out another folder",
            written.display(),
            earlier.seeds(),
            earlier.rounds()
        );
    }
    Ok(Some(earlier))
}

pub fn plot(options: &ResultOptions) -> Result<()> {
    let (experiment, results) = options.open()?;
    let picture = options.out.join(format!("{}.svg", experiment.name));
    let paths = Paths::new().reads(Path::new(&options.name)).reads(&*table(&options.out, &experiment));
    paths.writes("--out", &*picture).check()?;
    draw(&experiment, &results, &options.out)?;
    writeln!(terminal::stdout(), "The plots are in {}.", picture.display())?;
    Ok(())
}

/// Prints the verdicts on all claims of the built-in experiments whose results are in a folder.
pub fn verdicts(out: &Path) -> Result<()> {
    let mut all = Vec::new();
    for name in names() {
        let experiment = Experiment::open(name)?;
        let path = table(out, &experiment);
        if path.exists() {
            all.push((ResultTable::read(&path)?, experiment));
        }
    }
    if all.is_empty() {
        bail!("{} holds no results of a built-in experiment; run one, or give --out another folder", out.display());
    }
    show::verdicts(&all)
}

pub fn compare(options: &ResultOptions) -> Result<()> {
    let (experiment, results) = options.open()?;
    show::print(&experiment, &results)
}

fn table(out: &Path, experiment: &Experiment) -> PathBuf {
    out.join(format!("{}.csv", experiment.name))
}
