//! The files of a selection, opened and joined.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Error, Result, bail};
use clap::{Args, ValueEnum};
use homing::{Embeddings, Kernel, Noise, Points, Task, kernel_named, thread_pool};
use homing_pool::{Access, Error as PoolError, Format, Pool, ReadOptions, RowList};

use crate::terminal::grouped;

/// How rows and labels are modelled.
#[derive(Args)]
pub struct ModelArguments {
    /// Standard deviation ρ of the observation noise; by default ρ² is 0.01 × the mean squared norm of the pool.
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub noise_std: Option<f64>,
    /// Subtract the pool's mean embedding first.
    #[arg(long)]
    pub center: bool,
    /// linear, gaussian:LENGTH, laplace:LENGTH, matern:SMOOTHNESS:LENGTH or loss-gradient.
    #[arg(long, default_value = "linear")]
    kernel: String,
    /// Threads, 1 to 1,024; by default one for each core. More than four for each core are not started.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

impl ModelArguments {
    pub fn noise(&self) -> Noise {
        self.noise_std.map_or_else(Noise::default, Noise::Std)
    }

    /// The kernel that is named, for these files.
    pub fn kernel(&self, inputs: &Inputs) -> Result<Box<dyn Kernel>> {
        Ok(kernel_named(&self.kernel, inputs.source.probabilities().map_or(0, |p| p.dim()))?)
    }

    /// The task that the files make under the kernel.
    pub fn task<'a>(&self, inputs: &'a Inputs, kernel: &'a dyn Kernel) -> Result<Task<'a>> {
        task_of(inputs, kernel, self.kernel == "loss-gradient")
    }

    /// Runs `work` on so many threads.
    pub fn on_threads<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        on_threads(self.threads, work)
    }
}

/// Which columns (of a table), tensors or arrays (of a file that holds several) to read.
#[derive(Args)]
#[command(next_help_heading = "Columns")]
pub struct ColumnArguments {
    /// Embeddings; found by itself when there is one, or one with a usual name.
    #[arg(long, value_name = "NAME")]
    embedding: Option<String>,
    /// Ids; found by themselves when called id, ids, _id or uid.
    #[arg(long, value_name = "NAME")]
    id_column: Option<String>,
    /// Labels: shown in a report, and what `diagnose` tells the noise from.
    #[arg(long, value_name = "NAME")]
    label_column: Option<String>,
    /// Class probabilities of the pool: a column of it, or a file with a row for each of its rows.
    #[arg(long, value_name = "NAME|FILE")]
    probabilities: Option<String>,
    /// Class probabilities of the targets, for --kernel loss-gradient: a column of theirs, or a file.
    #[arg(long, value_name = "NAME|FILE")]
    target_probabilities: Option<String>,
}

impl ColumnArguments {
    /// The files among them.
    pub fn files(&self) -> [Option<&Path>; 2] {
        [&self.probabilities, &self.target_probabilities].map(|named| file_of(named.as_deref()?))
    }
}

/// The file that the value of an option names; none where it names a column, which may have a dot in its name.
pub fn file_of(named: &str) -> Option<&Path> {
    Some(Path::new(named)).filter(|file| file.exists() || Format::of(file).is_ok())
}

/// Columns that limits and samples read.
#[derive(Args, Default)]
#[command(next_help_heading = "Columns")]
pub struct LimitArguments {
    /// Groups (a source, a class), for --quota.
    #[arg(long, value_name = "NAME")]
    pub group_column: Option<String>,
    /// Costs; a pick is then worth its score for its cost.
    #[arg(long, value_name = "NAME")]
    pub cost_column: Option<String>,
    /// Weights of the targets P_A, a column of theirs; --target-sample then draws by them.
    #[arg(long, value_name = "NAME")]
    pub target_weights: Option<String>,
}

/// [`Access`] as it is typed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum PoolAccess {
    Auto,
    Map,
    Read,
}

impl From<PoolAccess> for Access {
    fn from(access: PoolAccess) -> Self {
        match access {
            PoolAccess::Auto => Access::Auto,
            PoolAccess::Map => Access::Map,
            PoolAccess::Read => Access::Read,
        }
    }
}

/// A pool with probabilities from its own file or another.
pub struct Source {
    pub pool: Pool,
    beside: Option<Pool>,
}

impl Source {
    fn open(path: &Path, options: &ReadOptions, probabilities: Option<&str>) -> Result<Self> {
        let file = probabilities.and_then(file_of);
        let column = probabilities.filter(|_| file.is_none()).map(str::to_owned);
        let opened = Pool::open(path, &ReadOptions { probabilities: column, ..options.clone() });
        let pool = opened.map_err(|error| match (&error, probabilities) {
            (PoolError::NoColumn { name, .. } | PoolError::NoColumns { name, .. }, Some(asked))
                if *name == format!("'{asked}'") =>
            {
                Error::new(error).context(format!("'{asked}' is no file, and no column either"))
            }
            _ => Error::new(error),
        })?;
        let beside = file.map(|file| Pool::open(file, &ReadOptions::default())).transpose()?;
        Ok(Self { pool, beside })
    }

    /// Where the embeddings are while they are used.
    pub fn place(&self) -> &'static str {
        match () {
            () if self.pool.is_read() => "read from its file",
            () if self.pool.is_mapped() => "mapped",
            () => "held in memory",
        }
    }

    pub fn probabilities(&self) -> Option<Embeddings<'_>> {
        self.beside.as_ref().map(Pool::embeddings).or_else(|| self.pool.probabilities())
    }

    /// The id of a row: its own, or its number.
    pub fn id(&self, row: usize) -> String {
        self.pool.ids().map_or_else(|| row.to_string(), |ids| ids[row].clone())
    }
}

/// Everything that was read.
pub struct Inputs {
    pub source: Source,
    pub targets: Option<Source>,
    pub observed_rows: Vec<usize>,
    pub observed_points: Option<Pool>,
    pub forbidden: Vec<usize>,
    pub group_names: Vec<String>,
    pub groups: Option<Vec<usize>>,
    /// The pool's mean embedding, when it is to be subtracted.
    pub mean: Option<Vec<f64>>,
}

/// Files other than the pool.
pub struct Files<'a> {
    pub pool: &'a Path,
    pub targets: Option<&'a Path>,
    pub observed: Option<&'a Path>,
    pub forbid: Option<&'a Path>,
    pub access: Access,
    pub center: bool,
}

impl Inputs {
    pub fn open(files: &Files<'_>, columns: &ColumnArguments, limits: &LimitArguments) -> Result<Self> {
        let options = ReadOptions {
            embedding: columns.embedding.clone(),
            id: columns.id_column.clone(),
            label: columns.label_column.clone(),
            group: limits.group_column.clone(),
            cost: limits.cost_column.clone(),
            access: files.access,
            ..ReadOptions::default()
        };
        let source = Source::open(files.pool, &options, columns.probabilities.as_deref())?;
        let targets = match files.targets {
            Some(path) => {
                // The targets' file need not have all of the pool's columns, nor any labels; a weight is read as their cost.
                let options = ReadOptions {
                    side_by_side: source.pool.side_by_side().to_vec(),
                    optional: true,
                    blank_labels: true,
                    cost: limits.target_weights.clone(),
                    access: Access::default(),
                    ..options
                };
                Some(Source::open(path, &options, columns.target_probabilities.as_deref())?)
            }
            None => None,
        };
        let (mut observed_rows, mut observed_points) = (Vec::new(), None);
        if let Some(path) = files.observed {
            match RowList::open(path)?.in_order_of(source.pool.side_by_side())? {
                RowList::Embeddings(pool) => observed_points = Some(pool),
                rows => observed_rows = rows_of(rows, &source.pool, path)?,
            }
        }
        let forbidden = match files.forbid {
            Some(path) => named_rows(path, &source.pool)?,
            None => Vec::new(),
        };
        let (group_names, groups) = number_groups(source.pool.groups());
        let mean = if files.center {
            source.pool.embeddings().check_finite("pool")?;
            Some(source.pool.embeddings().mean())
        } else {
            None
        };
        Ok(Self { source, targets, observed_rows, observed_points, forbidden, group_names, groups, mean })
    }

    /// What the embeddings were made of, where nobody said and there was a choice: columns of numbers side by side.
    pub fn found(&self) -> Option<String> {
        const SHOWN: usize = 6;
        let of = |source: &Source| {
            let names = source.pool.side_by_side();
            let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("'{name}'")).collect();
            let last =
                names.last().filter(|_| names.len() > SHOWN).map_or_else(String::new, |last| format!(", … '{last}'"));
            let (path, columns, shown) = (source.pool.path().display(), grouped(names.len()), shown.join(", "));
            (!names.is_empty()).then(|| {
                format!(
                    "{path}: the embedding is its {columns} columns of numbers {shown}{last}; one that is something else is left \
                     out once it is named (--id-column, --label-column, --group-column, --cost-column)"
                )
            })
        };
        of(&self.source).or_else(|| self.targets.as_ref().and_then(of))
    }

    /// The embeddings of a pool, centred if asked for.
    pub fn embeddings<'a>(&'a self, pool: &'a Pool) -> Result<Embeddings<'a>> {
        let embeddings = pool.embeddings();
        Ok(match &self.mean {
            Some(mean) => {
                let (got, expected) = (embeddings.dim(), mean.len());
                if got != expected {
                    let what = "targets or observed points";
                    return Err(homing::Error::Dimension { what, got, pool: expected }.into());
                }
                embeddings.centered(mean)
            }
            None => embeddings,
        })
    }

    /// A row's id, or its number.
    pub fn row_name(&self, row: usize) -> String {
        match self.source.pool.ids() {
            Some(ids) => format!("{} (row {row})", ids[row]),
            None => format!("row {row}"),
        }
    }

    pub fn target_name(&self, row: usize) -> String {
        self.targets.as_ref().map_or_else(|| row.to_string(), |targets| targets.id(row))
    }
}

/// The rows of a pool that a file names.
fn named_rows(path: &Path, pool: &Pool) -> Result<Vec<usize>> {
    rows_of(RowList::open(path)?, pool, path)
}

/// The rows of a picks file, of which there must be some.
pub fn picked_rows(path: &Path, pool: &Pool) -> Result<Vec<usize>> {
    let rows = named_rows(path, pool)?;
    if rows.is_empty() {
        bail!("{} names no rows; leave --picks out to ask about the whole pool", path.display());
    }
    Ok(rows)
}

fn rows_of(list: RowList, pool: &Pool, path: &Path) -> Result<Vec<usize>> {
    let rows = list.rows_of(Some(pool)).map_err(|error| match error {
        PoolError::UnclearRows { .. } => Error::new(error),
        _ => Error::new(error).context(format!("{} names rows by id", path.display())),
    })?;
    match rows {
        Some(rows) => Ok(rows),
        None => {
            bail!("{} holds embeddings, but rows of the pool are asked for; give their indices or ids", path.display())
        }
    }
}

fn number_groups(groups: Option<&[String]>) -> (Vec<String>, Option<Vec<usize>>) {
    let mut names: Vec<String> = Vec::new();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let numbered = groups.map(|groups| {
        groups
            .iter()
            .map(|group| {
                *numbers.entry(group).or_insert_with(|| {
                    names.push(group.clone());
                    names.len() - 1
                })
            })
            .collect()
    });
    (names, numbered)
}

/// The task that the inputs make under a kernel, of embeddings or of loss gradients.
fn task_of<'a>(inputs: &'a Inputs, kernel: &'a dyn Kernel, gradients: bool) -> Result<Task<'a>> {
    let pool = points_of(inputs.embeddings(&inputs.source.pool)?, inputs.source.probabilities(), gradients)?;
    let targets = match &inputs.targets {
        Some(source) => Some(points_of(inputs.embeddings(&source.pool)?, source.probabilities(), gradients)?),
        None => None,
    };
    let observed_points = match &inputs.observed_points {
        Some(_) if gradients => bail!("with --kernel loss-gradient, name --observed rows by index or id"),
        Some(points) => Some(Points::from(inputs.embeddings(points)?)),
        None => None,
    };
    Ok(Task {
        kernel,
        observed_rows: &inputs.observed_rows,
        observed_points,
        probabilities: inputs.source.probabilities(),
        groups: inputs.groups.as_deref(),
        forbidden: &inputs.forbidden,
        ..Task::new(pool, targets)
    })
}

/// Runs `work` on so many threads; one for each core by default.
pub fn on_threads<T: Send>(threads: Option<usize>, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread_pool(threads).context("--threads")?.install(work)
}

/// Embeddings as they are, or loss gradients when the kernel is about those.
fn points_of<'a>(
    embeddings: Embeddings<'a>,
    probabilities: Option<Embeddings<'a>>,
    gradients: bool,
) -> Result<Points<'a>> {
    if !gradients {
        return Ok(embeddings.into());
    }
    match probabilities {
        Some(probabilities) => Ok(Points::loss_gradient(embeddings, probabilities)?),
        None => bail!(
            "loss gradients need the class probabilities of pool and targets; \
             give --probabilities and --target-probabilities"
        ),
    }
}
