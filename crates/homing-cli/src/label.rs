//! `homing label`: a page where a person labels the rows that teach the most.

use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use homing::{Strategy, kernel_named};
use homing_encode::{Cache, Items, Session as Encoders};
use homing_label::{
    Contents, KnownLabels, LabelData, OpenOptions, Opened, Rows, Server, Session, Step, examples_of, open_examples,
    simulate,
};
use homing_pool::{Paths, ReadOptions};

use crate::arguments::{EncoderArguments, ModelArguments};
use crate::files::{encoding_progress, files_read, located};
use crate::interrupt::StopSignal;
use crate::terminal::{self, note, plain_table, seconds};

/// Number of labels for which the default kernel is chosen.
const USUAL_LABELS: usize = 1000;

const EXAMPLES: &str = "\
Examples:
  homing label photos/ --targets examples/ --classes cat,dog,other --run pets
  homing label texts.parquet --targets mine.parquet --classes refund,delivery --run tickets
  homing label texts.csv --encoder all-MiniLM-L6-v2/ --classes spam,ham --run mail";

#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Arguments {
    /// Examples to choose from: a folder or an archive of images, a table with texts, or a file of embeddings.
    pool: PathBuf,
    /// Unlabelled examples of the task, of the same kind; without them, rows are chosen that describe the pool as a whole.
    #[arg(long, value_name = "PATH")]
    targets: Option<PathBuf>,
    /// Names of the classes, separated by commas, to which more can be added on the page; by default, the labels that the pool has.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    classes: Vec<String>,
    /// Folder of the run, in which every answer is kept; the same command continues it.
    #[arg(long, value_name = "FOLDER")]
    run: PathBuf,
    /// Embeddings of the pool, if the pool has none itself; they are matched by id, or by order if they have no ids.
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    embeddings: Option<PathBuf>,
    /// Embeddings of the targets, if the targets have none themselves.
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    target_embeddings: Option<PathBuf>,
    /// Folder of the images that a table lists in --image-column, or by their ids without that option.
    #[arg(long, value_name = "FOLDER", help_heading = "Data")]
    images: Option<PathBuf>,
    /// Column with the paths of images, relative to --images, or to the table without that option.
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    image_column: Option<String>,
    /// Rule that chooses the rows; by default itl with targets and undirected-itl without.
    #[arg(long, value_name = "RULE")]
    rule: Option<String>,
    /// Take the answers from a table with the columns id and label instead of opening a page, and print the accuracy; a label that
    /// is not one of --classes counts as "not my task".
    #[arg(long, value_name = "FILE", help_heading = "Simulation")]
    simulate: Option<PathBuf>,
    /// Number of answers that the simulation gives.
    #[arg(short = 'n', long, default_value_t = 50, requires = "simulate", help_heading = "Simulation")]
    count: usize,
    #[command(flatten)]
    page: PageArguments,
    #[command(flatten)]
    encoder: EncoderArguments,
    #[command(flatten)]
    columns: TableColumns,
    #[command(flatten)]
    model: ModelArguments,
}

/// Columns of a table that a person labels.
#[derive(Args)]
#[command(next_help_heading = "Columns")]
#[allow(clippy::struct_field_names, reason = "the fields are named like the options")]
struct TableColumns {
    /// Column of the embeddings; found automatically if there is only one candidate or one with a usual name.
    #[arg(long, value_name = "NAME")]
    embedding_column: Option<String>,
    /// Column of the ids; found automatically if it is called id, ids, _id or uid.
    #[arg(long, value_name = "NAME")]
    id_column: Option<String>,
    /// Column of labels that are known already; they are not shown, and name the classes if --classes is not given.
    #[arg(long, value_name = "NAME")]
    label_column: Option<String>,
    /// Column of the texts; found automatically if it has a usual name, such as text or question.
    #[arg(long, value_name = "NAME")]
    text_column: Option<String>,
}

/// How the page is served.
#[derive(Args)]
#[command(next_help_heading = "Page")]
pub struct PageArguments {
    /// Port of the page; 0 is any free port.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Address to listen on; anything but a loopback address lets others on the network reach the page if they have its token.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind: IpAddr,
    /// Print the address without opening it in a browser.
    #[arg(long)]
    no_open: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let paths = Paths::new().reads(&*arguments.pool).reads(arguments.targets.as_deref());
    let paths = paths.reads(arguments.embeddings.as_deref()).reads(arguments.target_embeddings.as_deref());
    paths.reads(arguments.simulate.as_deref()).writes("--run", &*arguments.run).check()?;
    arguments.model.on_threads(|| label(arguments))
}

fn label(arguments: &Arguments) -> Result<()> {
    let mut encoders = Encoders::new(arguments.encoder.choice())?.with_cache(Cache::usual());
    let Opened { examples: pool, labels } = open(&mut encoders, arguments, &arguments.pool, None)?;
    if let Rows::Pool(rows) = &pool.rows
        && let Some(read) = files_read(rows)
    {
        note(read);
        rows.embeddings().check_finite("pool").map_err(|error| located(rows, error.into()))?;
    }
    let targets = match &arguments.targets {
        Some(path) => Some(open(&mut encoders, arguments, path, Some(&pool.rows))?.examples),
        None => None,
    };
    if encoders.is_built_in() {
        note(
            "No embeddings were given, so a built-in encoder made them; a model (--encoder FOLDER) chooses much better.",
        );
    }
    let known = match &arguments.simulate {
        Some(file) => KnownLabels::read(file).with_context(|| format!("--simulate {}", file.display()))?,
        None => KnownLabels::of(&pool.ids, &labels),
    };
    let classes = if arguments.classes.is_empty() { known.classes() } else { arguments.classes.clone() };
    let name = arguments.pool.file_name().unwrap_or(arguments.pool.as_os_str()).to_string_lossy().into_owned();
    let preparation = arguments.model.preparation(pool.ids.len(), targets.is_some());
    let dim = pool.rows.embeddings()?.dim();
    let target_count = targets.as_ref().map_or(0, |targets| targets.ids.len());
    let kernel = arguments.model.kernel(pool.ids.len(), dim, target_count, USUAL_LABELS);
    let data = LabelData::new(name, pool, targets, kernel_named(kernel, 0)?)?.noise(arguments.model.noise());
    let mut data = data.normalized(preparation.normalize);
    if preparation.center {
        data = data.centered()?;
    }
    let default = if data.targets.is_some() { "itl" } else { "undirected-itl" };
    let strategy: Strategy = arguments.rule.as_deref().unwrap_or(default).parse()?;
    match &arguments.simulate {
        Some(_) => answer_by_file(arguments, data, &classes, &strategy, &known),
        None => serve(&arguments.run, data, &classes, &strategy, &arguments.page),
    }
}

/// Opens the pool, or targets that go with the rows of `pool`.
fn open(encoders: &mut Encoders, arguments: &Arguments, path: &Path, pool: Option<&Rows>) -> Result<Opened> {
    let columns = &arguments.columns;
    let mut read = ReadOptions::default()
        .embedding(columns.embedding_column.clone())
        .id(columns.id_column.clone())
        .label(columns.label_column.clone())
        .text(columns.text_column.clone())
        .blank_labels(true);
    if let Some(pool) = pool {
        // The file of the targets may lack columns of the pool, and labels.
        let names = if let Rows::Pool(pool) = pool { pool.side_by_side().to_vec() } else { Vec::new() };
        read = read.optional(true).side_by_side(names);
    }
    let options = OpenOptions {
        embeddings: if pool.is_none() { arguments.embeddings.clone() } else { arguments.target_embeddings.clone() },
        images: arguments.images.clone().filter(|_| pool.is_none() || arguments.image_column.is_some()),
        image_column: arguments.image_column.clone(),
        read,
    };
    if arguments.embeddings.is_some() {
        return Ok(open_examples(path, &options)?);
    }
    let opened = encoders.open(path, &options.read, &mut encoding_progress(false))?;
    let shown = opened.items.map(|items| match items {
        Items::Texts(texts) => Contents::Texts(texts),
        Items::Images(inputs) => {
            let root = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
            Contents::Images { inputs, root: if root == Path::new("") { ".".into() } else { root.to_owned() } }
        }
    });
    Ok(examples_of(opened.pool, shown, &options)?)
}

/// Shows a run in the browser until Ctrl-C.
pub fn serve(run: &Path, data: LabelData, classes: &[String], strategy: &Strategy, page: &PageArguments) -> Result<()> {
    let session = Session::open(run, data, classes, strategy)?;
    let added = session.added_classes();
    if !added.is_empty() {
        let (run, added) = (run.display(), added.join(", "));
        note(format_args!("The run {run} was started with other classes, which stay; it now also has {added}."));
    }
    let server = Server::bind(run, page.bind, page.port)?;
    let address = server.address();
    let signal = StopSignal::watch()?;
    let mut out = io::stdout();
    writeln!(out, "{address}")?;
    out.flush()?;
    if !page.bind.is_loopback() {
        note("warning: the page is open to the network, and its connections are not encrypted");
    }
    if !page.no_open {
        open_in_browser(&address);
    }
    note(format_args!("Every answer is kept in {}. Press Ctrl-C to stop; the same command continues.", run.display()));
    server.run(&session, || signal.has_come())?;
    drop(session);
    note(format_args!("Stopped; the answers are in {}.", run.display()));
    Ok(())
}

/// Opens an address in the browser of the user, if there is one.
fn open_in_browser(address: &str) {
    let (program, before): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/c", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(before).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Without a browser, the printed address is enough.
    let _ = command.spawn();
}

fn answer_by_file(
    arguments: &Arguments,
    data: LabelData,
    classes: &[String],
    strategy: &Strategy,
    known: &KnownLabels,
) -> Result<()> {
    if known.is_empty() {
        bail!("the file of --simulate has no labels");
    }
    let session = Session::open(&arguments.run, data, classes, strategy)?;
    let count = arguments.count;
    let marked = |answers: usize| answers.is_multiple_of(10) || answers == count;
    let mut table = plain_table();
    table.set_header(["answers", "labels", "accuracy", "cross-validated", "variance left", "longest wait", "advice"]);
    let mut longest = std::time::Duration::ZERO;
    let percent = |share: Option<f64>| share.map_or_else(String::new, |share| format!("{:.1} %", 100.0 * share));
    simulate(&session, known, count, marked, |step: &Step| {
        longest = longest.max(step.wait);
        if marked(step.answers) {
            table.add_row([
                step.answers.to_string(),
                step.labels.to_string(),
                percent(step.accuracy),
                percent(step.cross_validated),
                percent(step.variance_left),
                seconds(longest),
                step.advice.to_owned(),
            ]);
            longest = std::time::Duration::ZERO;
        }
    })?;
    writeln!(terminal::stdout(), "{table}")?;
    Ok(())
}
