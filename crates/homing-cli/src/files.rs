//! Opens the files of a task and joins them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Error, Result, bail};
use homing::{Embeddings, Kernel, Points, Task, kernel_named};
use homing_encode::{Cache, EncoderChoice, Error as EncodeError, Items, Opened, Progress as EncodingProgress, Session};
use homing_pool::{Access, Error as PoolError, Format, Pool, ReadOptions, one_line};

use crate::arguments::{ColumnArguments, LimitColumnArguments, ModelArguments, file_of};
use crate::refusal::Options;
use crate::row_lists::{Observed, named_rows};
use crate::terminal::{Bar, grouped, seconds};

/// A pool with probabilities from its own file or another.
pub struct PoolFile {
    pub pool: Pool,
    /// The texts or images that were embedded; `None` if the file held embeddings.
    pub items: Option<Items>,
    probabilities_file: Option<Pool>,
}

impl PoolFile {
    fn open(
        session: &mut Session,
        path: &Path,
        options: &ReadOptions,
        probabilities: Option<&str>,
        quiet: bool,
    ) -> Result<Self> {
        let file = probabilities.and_then(file_of);
        let column = probabilities.filter(|_| file.is_none()).map(str::to_owned);
        let opened = session.open(path, &options.clone().probabilities(column), &mut encoding_progress(quiet));
        let Opened { pool, items } = opened.map_err(|error| match (&error, probabilities) {
            (EncodeError::Pool(PoolError::NoColumn { name, .. } | PoolError::NoColumns { name, .. }), Some(asked))
                if *name == format!("'{asked}'") =>
            {
                Error::new(error).context(format!("'{asked}' is neither a file nor a column"))
            }
            _ => Error::new(error),
        })?;
        let probabilities_file = file.map(|file| Pool::open(file, &ReadOptions::default())).transpose()?;
        Ok(Self { pool, items, probabilities_file })
    }

    /// Describes where the embeddings are while they are used.
    pub fn place(&self) -> &'static str {
        match () {
            () if self.pool.is_read() => "read from its file",
            () if self.pool.is_mapped() => "mapped",
            () => "held in memory",
        }
    }

    pub fn probabilities(&self) -> Option<Embeddings<'_>> {
        self.probabilities_file.as_ref().map(Pool::embeddings).or_else(|| self.pool.probabilities())
    }

    /// Returns the id of a row. Without ids, this is the row's number, or its file and its number there if there are several files.
    pub fn id(&self, row: usize) -> String {
        let number = || self.pool.short_place(row).unwrap_or_else(|| row.to_string());
        self.pool.ids().map_or_else(number, |ids| ids[row].clone())
    }
}

/// The files of a task, after they were read.
pub struct TaskFiles {
    pub pool_file: PoolFile,
    pub target_file: Option<PoolFile>,
    pub observed_rows: Vec<usize>,
    pub observed_points: Option<Pool>,
    pub forbidden: Vec<usize>,
    pub group_names: Vec<String>,
    pub groups: Option<Vec<usize>>,
    /// The pool's mean embedding, if it is to be subtracted.
    pub mean: Option<Vec<f64>>,
    /// Whether rows are scaled to unit length.
    pub is_normalized: bool,
    /// Says that columns were scaled.
    scaled: Option<String>,
    /// Says what was embedded, and with which encoder.
    encoded: Option<String>,
    /// Says which of the observed rows do not count.
    unlabelled: Option<String>,
}

/// Paths of the files, and how to read the pool.
pub struct FilePaths<'a> {
    pub pool: &'a Path,
    pub targets: Option<&'a Path>,
    pub observed: Option<&'a Path>,
    pub forbid: Option<&'a Path>,
    pub access: Access,
    /// Says how to prepare the rows.
    pub model: &'a ModelArguments,
    pub encoder: EncoderChoice,
    /// Whether no progress is shown.
    pub quiet: bool,
}

/// Columns that only some commands read.
#[derive(Clone, Copy, Default)]
pub struct FurtherColumns<'a> {
    pub group: Option<&'a str>,
    pub cost: Option<&'a str>,
    /// Column of the pool with numbers from which the noise is estimated.
    pub values: Option<&'a str>,
    pub target_weights: Option<&'a str>,
    /// Whether rows of the pool may lack a label.
    pub blank_labels: bool,
}

impl<'a> From<&'a LimitColumnArguments> for FurtherColumns<'a> {
    fn from(arguments: &'a LimitColumnArguments) -> Self {
        Self {
            group: arguments.group_column.as_deref(),
            cost: arguments.cost_column.as_deref(),
            values: None,
            target_weights: arguments.target_weight_column.as_deref(),
            blank_labels: false,
        }
    }
}

fn texts(name: Option<&str>) -> Vec<String> {
    name.map(str::to_owned).into_iter().collect()
}

impl TaskFiles {
    pub fn open(paths: &FilePaths<'_>, columns: &ColumnArguments, further: FurtherColumns<'_>) -> Result<Self> {
        let options = ReadOptions::default()
            .embedding(columns.embedding_column.clone())
            .id(columns.id_column.clone())
            .label(columns.label_column.clone())
            .text(columns.text_column.clone())
            .group(further.group.map(str::to_owned))
            .cost(further.cost.map(str::to_owned))
            .numbers(texts(further.values))
            .blank_labels(further.blank_labels)
            .access(paths.access);
        let start = Instant::now();
        let mut session = Session::new(paths.encoder.clone())?.with_cache(Cache::usual());
        let mut pool_file =
            PoolFile::open(&mut session, paths.pool, &options, columns.probabilities.as_deref(), paths.quiet)?;
        let mut target_file = match paths.targets {
            Some(path) => {
                // The file of the targets may lack columns of the pool, and labels.
                let options = options
                    .side_by_side(pool_file.pool.side_by_side().to_vec())
                    .optional(true)
                    .blank_labels(true)
                    .cost(None)
                    .numbers(texts(further.target_weights))
                    .access(Access::default());
                let probabilities = columns.target_probabilities.as_deref();
                Some(PoolFile::open(&mut session, path, &options, probabilities, paths.quiet)?)
            }
            None => None,
        };
        let encoded = encoded(&session, &pool_file, target_file.as_ref(), start.elapsed());
        let observed = paths.observed.map(|path| Observed::open(path, &pool_file.pool)).transpose()?;
        let Observed { rows: observed_rows, points: mut observed_points, unlabelled } = observed.unwrap_or_default();
        let preparation = paths.model.preparation(pool_file.pool.rows(), paths.targets.is_some());
        let may_scale = paths.model.scale_columns.unwrap_or(preparation.normalize);
        let spread = if may_scale { pool_file.pool.unlike_spread() } else { None };
        let mut scaled = None;
        if let Some(spread) = spread {
            pool_file.pool = divided(pool_file.pool, &spread)?;
            if let Some(file) = target_file {
                target_file = Some(PoolFile { pool: divided(file.pool, &spread)?, ..file });
            }
            observed_points = observed_points.map(|points| divided(points, &spread)).transpose()?;
            scaled = Some(format!(
                "{}: the standard deviations of the columns differ more than tenfold, so each column was divided by its own \
                 (--scale-columns=false leaves them as they are)",
                paths.pool.display()
            ));
        }
        let forbidden = match paths.forbid {
            Some(path) => named_rows(path, &pool_file.pool)?,
            None => Vec::new(),
        };
        let (group_names, groups) = number_groups(pool_file.pool.groups());
        let mean = if preparation.center {
            pool_file.pool.embeddings().check_finite("pool").map_err(|error| located(&pool_file.pool, error.into()))?;
            Some(pool_file.pool.embeddings().mean())
        } else {
            None
        };
        let is_normalized = preparation.normalize;
        Ok(Self {
            pool_file,
            target_file,
            observed_rows,
            observed_points,
            forbidden,
            group_names,
            groups,
            mean,
            is_normalized,
            scaled,
            encoded,
            unlabelled,
        })
    }

    /// Says how the columns were understood: which make up the embeddings, if they were found automatically, and which
    /// numbers of the targets are ignored.
    pub fn notes(&self, options: &Options) -> Vec<String> {
        let read = [Some(&self.pool_file), self.target_file.as_ref()].into_iter().flatten();
        let read = read.filter_map(|file| files_read(&file.pool));
        let found = read.chain(self.encoded.clone()).chain(self.found(options));
        found.chain(self.scaled.clone()).chain(self.ignored()).chain(self.unlabelled.clone()).collect()
    }

    fn ignored(&self) -> Option<String> {
        let targets = &self.target_file.as_ref()?.pool;
        let (path, names) = (targets.path().display(), targets.ignored_numbers());
        let columns = are(names, &format!(" of {path}"));
        (!names.is_empty())
            .then(|| format!("warning: {columns} ignored, because the pool's embedding has no such column"))
    }

    fn found(&self, options: &Options) -> Option<String> {
        const SHOWN: usize = 6;
        let of = |file: &PoolFile| {
            let names = file.pool.side_by_side();
            let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("'{name}'")).collect();
            let last =
                names.last().filter(|_| names.len() > SHOWN).map_or_else(String::new, |last| format!(", … '{last}'"));
            let (path, columns, shown) = (file.pool.path().display(), grouped(names.len()), shown.join(", "));
            (!names.is_empty()).then(|| {
                let uses = options.uses().unwrap_or_default();
                let texts = match file.pool.text_column() {
                    Some(text) => format!("; to embed the texts in '{text}' instead, add --encoder built-in"),
                    None => String::new(),
                };
                format!(
                    "{path}: the embedding consists of the {columns} columns of numbers {shown}{last}; to exclude a column, assign \
                     it another role with {uses}{texts}"
                )
            })
        };
        of(&self.pool_file).or_else(|| self.target_file.as_ref().and_then(of))
    }

    /// Returns the embeddings of a pool, centred and scaled as requested.
    pub fn embeddings<'a>(&'a self, pool: &'a Pool) -> Result<Embeddings<'a>> {
        let embeddings = pool.embeddings();
        let embeddings = match &self.mean {
            Some(mean) => {
                check_dim(pool, mean.len())?;
                embeddings.centered(mean)
            }
            None => embeddings,
        };
        Ok(if self.is_normalized { embeddings.normalized() } else { embeddings })
    }

    /// Returns the name of the kernel: the one that was given, or the one that suits these files and so many picks.
    pub fn kernel_name<'a>(&self, model: &'a ModelArguments, picks: usize) -> &'a str {
        let pool = &self.pool_file.pool;
        let targets = self.target_file.as_ref().map_or(0, |file| file.pool.rows());
        let observed = self.observed_rows.len() + self.observed_points.as_ref().map_or(0, Pool::rows);
        model.kernel(pool.rows(), pool.dim(), targets, picks.min(pool.rows()) + observed)
    }

    /// Returns the kernel for these files and so many picks.
    pub fn kernel(&self, model: &ModelArguments, picks: usize) -> Result<Box<dyn Kernel>> {
        Ok(kernel_named(self.kernel_name(model, picks), self.pool_file.probabilities().map_or(0, |p| p.dim()))?)
    }

    /// Returns the task that the files describe under the kernel.
    pub fn task<'a>(&'a self, model: &ModelArguments, kernel: &'a dyn Kernel) -> Result<Task<'a>> {
        let gradients = model.has_loss_gradients();
        let points = |file: &'a PoolFile| points_of(self.embeddings(&file.pool)?, file.probabilities(), gradients);
        let (pool, targets) = (points(&self.pool_file)?, self.target_file.as_ref().map(points).transpose()?);
        let observed_points = match &self.observed_points {
            Some(_) if gradients => bail!("with --kernel loss-gradient, give --observed as indices or ids"),
            Some(points) => Some(Points::from(self.embeddings(points)?)),
            None => None,
        };
        let mut task = Task::undirected(pool)
            .targets(targets)
            .kernel(kernel)
            .observed_rows(&self.observed_rows)
            .observed_points(observed_points)
            .probabilities(self.pool_file.probabilities())
            .forbidden(&self.forbidden);
        task.groups = self.groups.as_deref();
        Ok(task)
    }
}

/// Begins a statement about columns: "the column 'x' is" or "the columns 'x', 'y' of pool.csv are".
fn are(names: &[String], of: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let (column, verb) = if names.len() == 1 { ("column", "is") } else { ("columns", "are") };
    format!("the {column} {}{of} {verb}", quoted.join(", "))
}

/// Says how many files and rows of a pool were read, if there may be several, and what else lies in the same folder.
pub fn files_read(pool: &Pool) -> Option<String> {
    const SHOWN: usize = 5;
    let files = pool.files()?;
    let (path, count) = (pool.path().display(), files.len());
    let read = format!(
        "{path}: read {} file{} with {} rows",
        grouped(count),
        if count == 1 { "" } else { "s" },
        grouped(pool.rows())
    );
    let left_out = files.left_out();
    let shown: Vec<String> = left_out.iter().take(SHOWN).map(|name| format!("'{}'", one_line(name))).collect();
    let more = if left_out.len() > SHOWN { ", …" } else { "" };
    Some(match left_out.len() {
        0 => format!("{read}."),
        1 => format!("{read}; {} lies there too and was not read.", shown[0]),
        others => {
            format!("{read}; {} others lie there too and were not read ({}{more}).", grouped(others), shown.join(", "))
        }
    })
}

/// Adds to an error about a row of the pool in which of several files the row is.
pub fn located(pool: &Pool, error: Error) -> Error {
    let core = error.chain().find_map(|cause| cause.downcast_ref::<homing::Error>());
    match core {
        Some(&homing::Error::NotFinite { what: "pool", row }) => match pool.place(row) {
            Some(place) => error.context(place),
            None => error,
        },
        _ => error,
    }
}

/// Refuses targets or observed points with another number of values per row than the pool.
fn check_dim(points: &Pool, expected: usize) -> Result<()> {
    let (what, got) = ("targets or observed points", points.dim());
    if got == expected { Ok(()) } else { Err(homing::Error::Dimension { what, got, pool: expected }.into()) }
}

fn divided(pool: Pool, spread: &[f64]) -> Result<Pool> {
    check_dim(&pool, spread.len())?;
    Ok(pool.divided(spread))
}

/// Returns a callback that draws a progress bar for each set of items that is embedded.
pub fn encoding_progress(quiet: bool) -> impl FnMut(EncodingProgress) {
    let mut bar: Option<(Bar, Instant)> = None;
    move |EncodingProgress { kind, done, count }| {
        // A single block is embedded at once.
        if done == count && bar.is_none() {
            return;
        }
        let what = format!("embedding {kind}");
        let (shown, start) = bar.get_or_insert_with(|| (Bar::counting(&what, count, quiet), Instant::now()));
        shown.set_message(format!("{:.0} per second", done as f64 / start.elapsed().as_secs_f64().max(1e-3)));
        shown.set(done);
        if done == count {
            shown.finish();
            bar = None;
        }
    }
}

/// Says what was embedded, with which encoder, and how fast.
fn encoded(session: &Session, pool: &PoolFile, targets: Option<&PoolFile>, time: Duration) -> Option<String> {
    let encoder = session.encoder()?;
    let of = |file: &PoolFile| file.items.as_ref().map_or(0, Items::len);
    let count = of(pool) + targets.map_or(0, of);
    let column = match (&pool.items, pool.pool.text_column()) {
        (Some(Items::Texts(_)), Some(name)) if Format::of(pool.pool.path()).is_ok() => {
            format!(" of the column '{name}'")
        }
        _ => String::new(),
    };
    let left_out = match session.left_out() {
        [] => String::new(),
        names => format!("; {} left out (--encoder none uses the numbers)", are(names, "")),
    };
    let cached = match session.cached() {
        0 => String::new(),
        some => format!(" ({} from the cache)", grouped(some)),
    };
    let better = if session.is_built_in() {
        "; it needs no weights, and a model made for the purpose is better (--encoder FOLDER)"
    } else {
        ""
    };
    Some(format!(
        "Embedded {} {}{column} with {} in {}{cached}, {} numbers each{better}{left_out}.",
        grouped(count),
        encoder.kind(),
        encoder.name(),
        seconds(time),
        encoder.dim()
    ))
}

/// Returns the file for a report: a name without an ending gets `.html`, unless it is a device or a pipe.
pub fn report_path(path: Option<&Path>) -> Option<PathBuf> {
    path.map(|path| {
        let is_special = path.metadata().is_ok_and(|found| !found.is_file());
        let is_complete = path.extension().is_some() || path.file_name().is_none() || path == Path::new("-");
        if is_complete || is_special { path.to_owned() } else { path.with_extension("html") }
    })
}

/// Refuses a report that cannot be written, before the work starts.
pub fn check_report(path: Option<&Path>) -> Result<()> {
    match path {
        Some(path) if path == Path::new("-") => {
            bail!("--report writes a page to a file; name a file, such as report.html")
        }
        Some(path) => Ok(homing_pool::check_writable(path)?),
        None => Ok(()),
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

/// Returns the embeddings, or the loss gradients if the kernel needs those.
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
