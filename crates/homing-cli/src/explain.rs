//! `homing explain`: shows which few rows explain what is known about a target (its approximate Markov boundary, Definition D.3).

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use homing::theory::{Boundary, Model, boundary, reach};
use homing::{Embeddings, Noise, SpanCoordinates};
use serde::Serialize;

use crate::arguments::{ColumnArguments, EncoderArguments, ModelArguments};
use crate::files::{FilePaths, FurtherColumns, TaskFiles, located};
use crate::refusal::Options;
use crate::row_lists::picked_rows;
use crate::terminal::{self, OutputFormat, cell, grouped, note, plain_table, short, text_width};
use crate::texts::{RowTexts, quoted};

/// Number of targets that are explained unless some are named.
const LISTED: usize = 20;

const EXAMPLES: &str = "\
Examples:
  homing explain pool.npy --targets targets.npy --picks picks.csv
  homing explain pool.npy --targets targets.npy --target 0 --max-rows 5
  homing explain pool.npy --targets targets.npy --format json";

#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Arguments {
    /// Pool, in any format that `select` reads.
    pool: PathBuf,
    /// Unlabelled examples of the task.
    #[arg(long, value_name = "FILE")]
    targets: PathBuf,
    /// Labelled rows (a picks file, indices or ids); without them, the most informative rows of the whole pool are shown.
    #[arg(long, value_name = "FILE")]
    picks: Option<PathBuf>,
    /// Target to explain, by number or id; repeat the option for several; by default, the first twenty targets.
    #[arg(long, value_name = "N|ID")]
    target: Vec<String>,
    /// Share of what is known that the rows must explain.
    #[arg(long, default_value_t = 0.9, allow_negative_numbers = true)]
    share: f64,
    /// Maximum number of rows per target.
    #[arg(long, value_name = "N", default_value_t = 10)]
    max_rows: usize,
    /// Output format: human-readable tables, or JSON with a list of targets and their rows.
    #[arg(long, value_enum, default_value_t = OutputFormat::Table, help_heading = "Output")]
    format: OutputFormat,
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

/// A target's variance, and the rows that explain what is known about it.
#[derive(Serialize)]
struct TargetExplanation {
    index: usize,
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Prior variance σ²_0.
    prior_var: f64,
    /// Variance with all picks labelled, or with the whole pool labelled.
    posterior_var: f64,
    /// The rows in the order in which they were found.
    rows: Vec<ExplainingRow>,
}

#[derive(Serialize)]
struct ExplainingRow {
    index: usize,
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Variance that it removes, given the rows before it.
    variance_removed: f64,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if !(arguments.share > 0.0 && arguments.share <= 1.0) {
        bail!("--share {} is not a share; give a number above 0 and at most 1", arguments.share);
    }
    if arguments.max_rows == 0 {
        bail!("--max-rows 0 allows no row; give at least 1");
    }
    arguments.model.on_threads(|| explain(arguments))
}

fn explain(arguments: &Arguments) -> Result<()> {
    let paths = FilePaths {
        pool: &arguments.pool,
        targets: Some(&arguments.targets),
        observed: None,
        forbid: None,
        access: homing_pool::Access::Auto,
        model: &arguments.model,
        encoder: arguments.encoder.choice(),
        quiet: arguments.quiet,
    };
    let files = TaskFiles::open(&paths, &arguments.columns, FurtherColumns::default())?;
    let picks = arguments.picks.as_ref().map(|path| picked_rows(path, &files.pool_file.pool)).transpose()?;
    let kernel = files.kernel(&arguments.model, picks.as_ref().map_or(0, Vec::len))?;
    let whole = files.task(&arguments.model, &*kernel)?;
    let in_file = |error: homing::Error| located(&files.pool_file.pool, error.into());
    let span = SpanCoordinates::of(&whole).map_err(in_file)?;
    let task = span.as_ref().map_or(whole, |span| span.task(&whole));
    let model = Model::new(task, arguments.model.noise()).map_err(in_file)?;
    let targets = targets_to_explain(&arguments.target, &files, task.targets.map_or(0, |targets| targets.rows()))?;
    let mut explanations = if let Some(picks) = picks {
        // Checks the rows' numbers.
        model.given(&picks)?;
        among_picks(&model, &picks, &targets, arguments, &files)?
    } else {
        let left = reach(&model)?.labelled;
        explain_targets(&model, &targets, arguments, &files, |target| left[target], |row| row)?
    };
    whole.check_read()?;
    add_texts(&mut explanations, &files)?;
    if !arguments.quiet {
        files.notes(&Options::of::<Arguments>()).into_iter().for_each(note);
    }
    let mut out = terminal::stdout();
    match arguments.format {
        OutputFormat::Json => terminal::print_json(&explanations)?,
        OutputFormat::Table => print(&mut out, &explanations, arguments)?,
    }
    Ok(())
}

/// Returns the numbers of the targets to explain.
fn targets_to_explain(named: &[String], files: &TaskFiles, count: usize) -> Result<Vec<usize>> {
    if named.is_empty() {
        return Ok((0..count.min(LISTED)).collect());
    }
    let ids = files.target_file.as_ref().and_then(|file| file.pool.ids());
    let find = |name: &String| {
        let by_id = ids.and_then(|ids| ids.iter().position(|id| id == name));
        match by_id.or_else(|| name.parse().ok()) {
            Some(target) if target < count => Ok(target),
            _ => bail!(
                "--target {name} is none of the {} targets; give an id, or a number that counts from 0",
                grouped(count)
            ),
        }
    };
    named.iter().map(find).collect()
}

/// Explains the targets by rows among the picks.
fn among_picks(
    model: &Model<'_>,
    picks: &[usize],
    targets: &[usize],
    arguments: &Arguments,
    files: &TaskFiles,
) -> Result<Vec<TargetExplanation>> {
    let mut rows = picks.to_vec();
    rows.sort_unstable();
    rows.dedup();
    let task = model.task();
    let points = task.pool.gather(&rows);
    let few = task.pool(Embeddings::new(&points[..], task.pool.dim())?).probabilities(None);
    let among = Model::new(few, Noise::Std(model.noise_var().sqrt()))?;
    let known = among.given(&(0..rows.len()).collect::<Vec<_>>())?.target_vars();
    explain_targets(&among, targets, arguments, files, |target| known[target], |place| rows[place])
}

/// Explains the targets. `left` is the variance of a target with everything known; `row` turns a row of the model into one of
/// the pool.
fn explain_targets(
    model: &Model<'_>,
    targets: &[usize],
    arguments: &Arguments,
    files: &TaskFiles,
    left: impl Fn(usize) -> f64,
    row: impl Fn(usize) -> usize,
) -> Result<Vec<TargetExplanation>> {
    let start = model.target_vars();
    let one = |&index: &usize| -> Result<TargetExplanation> {
        let (prior_var, posterior_var) = (start[index], left(index));
        let goal = prior_var - arguments.share * (prior_var - posterior_var);
        let Boundary { rows, vars } = boundary(model, index, goal, arguments.max_rows)?;
        let explaining_row = |(i, &place): (usize, &usize)| {
            let index = row(place);
            ExplainingRow { index, id: files.pool_file.id(index), text: None, variance_removed: vars[i] - vars[i + 1] }
        };
        let id = files.target_file.as_ref().map_or_else(String::new, |file| file.id(index));
        Ok(TargetExplanation {
            index,
            id,
            text: None,
            prior_var,
            posterior_var,
            rows: rows.iter().enumerate().map(explaining_row).collect(),
        })
    };
    targets.iter().map(one).collect()
}

/// Adds the texts of the targets and of the rows that explain them.
fn add_texts(explanations: &mut [TargetExplanation], files: &TaskFiles) -> Result<()> {
    let rows: Vec<usize> = explanations.iter().flat_map(|target| target.rows.iter().map(|row| row.index)).collect();
    let targets: Vec<usize> = explanations.iter().map(|target| target.index).collect();
    let texts = RowTexts::read(files, &rows, &targets)?;
    for target in explanations {
        target.text = texts.target(target.index);
        for row in &mut target.rows {
            row.text = texts.row(row.index);
        }
    }
    Ok(())
}

/// Returns an id, with its text in quotes if there is one.
fn with_text(id: &str, text: Option<&str>, width: usize) -> String {
    text.map_or_else(|| cell(id), |text| format!("{} {}", cell(id), quoted(text, width)))
}

fn print(out: &mut impl Write, explanations: &[TargetExplanation], arguments: &Arguments) -> Result<()> {
    let mut table = plain_table();
    let known = if arguments.picks.is_some() { "with all picks" } else { "with the whole pool" };
    table.set_header(["target", "prior", known, "explained", "by these rows (each with its share)"]);
    let has_texts = explanations.iter().flat_map(|target| &target.rows).any(|row| row.text.is_some());
    // Two texts share the line with about 60 other characters.
    let width = (text_width(60) / 2).max(40);
    for target in explanations {
        let reducible = target.prior_var - target.posterior_var;
        let share = |var: f64| if reducible > 1e-12 * target.prior_var { var / reducible } else { 0.0 };
        let explained: f64 = target.rows.iter().map(|row| row.variance_removed).sum();
        let row = |row: &ExplainingRow| {
            let name = with_text(&row.id, row.text.as_deref(), width);
            let share = 100.0 * share(row.variance_removed);
            if has_texts { format!("{share:3.0} % {name}") } else { format!("{name} {share:.0} %") }
        };
        let rows: Vec<String> = target.rows.iter().map(row).collect();
        table.add_row([
            with_text(&target.id, target.text.as_deref(), width),
            short(target.prior_var),
            short(target.posterior_var),
            format!("{:.0} %", 100.0 * share(explained)),
            // A text takes a line of its own.
            if rows.is_empty() {
                "nothing is known".to_owned()
            } else {
                rows.join(if has_texts { "\n" } else { ", " })
            },
        ]);
    }
    writeln!(out, "{table}")?;
    writeln!(
        out,
        "\nThe rows are an approximate Markov boundary (Definition D.3): their labels remove {:.0} % of the variance that {} \
         remove, or as much as {} rows can. They were found greedily, so a smaller set may exist.",
        100.0 * arguments.share,
        if arguments.picks.is_some() { "labels for all picks" } else { "labels for the whole pool" },
        arguments.max_rows,
    )?;
    Ok(())
}
