//! `homing explain`: which few rows carry what is known about a target (its approximate Markov boundary, Definition D.3).

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use homing::theory::{Boundary, Model, boundary, reach};
use homing::{Embeddings, Noise, Span, Task};
use serde::Serialize;

use crate::inputs::{ColumnArguments, Files, Inputs, LimitArguments, ModelArguments, picked_rows};
use crate::terminal::{self, cell, grouped, note, plain_table, short};

/// Targets that are explained unless some are named.
const LISTED: usize = 20;

#[derive(Args)]
pub struct Arguments {
    /// The pool, in any format that `select` reads.
    pool: PathBuf,
    /// Unlabelled examples of the task.
    #[arg(long, value_name = "FILE")]
    targets: PathBuf,
    /// Labelled rows: a picks file, indices or ids. Without them: which rows of the pool would tell most.
    #[arg(long, value_name = "FILE")]
    picks: Option<PathBuf>,
    /// Targets to explain, by number or id; the first twenty by default.
    #[arg(long, value_name = "N|ID")]
    target: Vec<String>,
    /// How much of what is known the rows must carry.
    #[arg(long, default_value_t = 0.9, allow_negative_numbers = true)]
    share: f64,
    /// Most rows a target.
    #[arg(long, default_value_t = 10)]
    most: usize,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    columns: ColumnArguments,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table to read.
    Table,
    /// A list of targets with their rows.
    Json,
}

/// What is known about a target, and the rows that carry it.
#[derive(Serialize)]
struct Explained {
    index: usize,
    id: String,
    /// σ²_0.
    prior_var: f64,
    /// With all picks, or with the whole pool labelled.
    posterior_var: f64,
    /// In the order in which they were found.
    rows: Vec<Carrier>,
}

#[derive(Serialize)]
struct Carrier {
    index: usize,
    id: String,
    /// What it takes from the variance after the rows before it.
    variance_removed: f64,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if !(arguments.share > 0.0 && arguments.share <= 1.0) {
        bail!("--share {} is no share; give a number above 0 and at most 1", arguments.share);
    }
    if arguments.most == 0 {
        bail!("--most 0 leaves no row to name; give at least 1");
    }
    arguments.model.on_threads(|| explain(arguments))
}

fn explain(arguments: &Arguments) -> Result<()> {
    let files = Files {
        pool: &arguments.pool,
        targets: Some(&arguments.targets),
        observed: None,
        forbid: None,
        access: homing_pool::Access::Auto,
        center: arguments.model.center,
    };
    let inputs = Inputs::open(&files, &arguments.columns, &LimitArguments::default())?;
    let kernel = arguments.model.kernel(&inputs)?;
    let whole = arguments.model.task(&inputs, &*kernel)?;
    let span = Span::of(&whole)?;
    let task = span.as_ref().map_or(whole, |span| span.task(&whole));
    let model = Model::new(task, arguments.model.noise())?;
    let asked = asked(&arguments.target, &inputs, task.targets.map_or(0, |targets| targets.rows()))?;
    let explained = if let Some(path) = &arguments.picks {
        let picks = picked_rows(path, &inputs.source.pool)?;
        // Checks the rows' numbers.
        model.given(&picks)?;
        among_picks(&model, &picks, &asked, arguments, &inputs)?
    } else {
        let left = reach(&model)?.labelled;
        explained(&model, &asked, arguments, &inputs, |target| left[target], |row| row)?
    };
    whole.check_read()?;
    inputs.found().into_iter().for_each(note);
    let mut out = terminal::stdout();
    match arguments.format {
        Format::Json => terminal::print_json(&explained)?,
        Format::Table => print(&mut out, &explained, arguments)?,
    }
    Ok(())
}

/// The targets asked for, by number.
fn asked(named: &[String], inputs: &Inputs, count: usize) -> Result<Vec<usize>> {
    if named.is_empty() {
        return Ok((0..count.min(LISTED)).collect());
    }
    let ids = inputs.targets.as_ref().and_then(|targets| targets.pool.ids());
    let find = |name: &String| {
        let by_id = ids.and_then(|ids| ids.iter().position(|id| id == name));
        match by_id.or_else(|| name.parse().ok()) {
            Some(target) if target < count => Ok(target),
            _ => bail!("--target {name} names none of the {} targets; give an id, or a number from 0", grouped(count)),
        }
    };
    named.iter().map(find).collect()
}

/// Rows among the picks.
fn among_picks(
    model: &Model<'_>,
    picks: &[usize],
    asked: &[usize],
    arguments: &Arguments,
    inputs: &Inputs,
) -> Result<Vec<Explained>> {
    let mut rows = picks.to_vec();
    rows.sort_unstable();
    rows.dedup();
    let task = model.task();
    let points = task.pool.gather(&rows);
    let few = Task { pool: Embeddings::new(&points[..], task.pool.dim())?.into(), probabilities: None, ..*task };
    let among = Model::new(few, Noise::Std(model.noise_var().sqrt()))?;
    let known = among.given(&(0..rows.len()).collect::<Vec<_>>())?.target_vars();
    explained(&among, asked, arguments, inputs, |target| known[target], |place| rows[place])
}

/// `left` is the variance of a target with everything known; `row` turns a row of the model into one of the pool.
fn explained(
    model: &Model<'_>,
    asked: &[usize],
    arguments: &Arguments,
    inputs: &Inputs,
    left: impl Fn(usize) -> f64,
    row: impl Fn(usize) -> usize,
) -> Result<Vec<Explained>> {
    let start = model.target_vars();
    let one = |&index: &usize| -> Result<Explained> {
        let (prior_var, posterior_var) = (start[index], left(index));
        let goal = prior_var - arguments.share * (prior_var - posterior_var);
        let Boundary { rows, vars } = boundary(model, index, goal, arguments.most)?;
        let carrier = |(i, &place): (usize, &usize)| {
            let index = row(place);
            Carrier { index, id: inputs.source.id(index), variance_removed: vars[i] - vars[i + 1] }
        };
        let id = inputs.targets.as_ref().map_or_else(String::new, |targets| targets.id(index));
        Ok(Explained { index, id, prior_var, posterior_var, rows: rows.iter().enumerate().map(carrier).collect() })
    };
    asked.iter().map(one).collect()
}

fn print(out: &mut impl Write, explained: &[Explained], arguments: &Arguments) -> Result<()> {
    let mut table = plain_table();
    let known = if arguments.picks.is_some() { "with all picks" } else { "with the whole pool" };
    table.set_header(["target", "prior", known, "carried", "by these rows, each with its share"]);
    for target in explained {
        let reducible = target.prior_var - target.posterior_var;
        let share = |var: f64| if reducible > 1e-12 * target.prior_var { var / reducible } else { 0.0 };
        let carried: f64 = target.rows.iter().map(|row| row.variance_removed).sum();
        let rows: Vec<String> = target
            .rows
            .iter()
            .map(|row| format!("{} {:.0} %", cell(&row.id), 100.0 * share(row.variance_removed)))
            .collect();
        table.add_row([
            cell(&target.id),
            short(target.prior_var),
            short(target.posterior_var),
            format!("{:.0} %", 100.0 * share(carried)),
            if rows.is_empty() { "nothing is known".to_owned() } else { rows.join(", ") },
        ]);
    }
    writeln!(out, "{table}")?;
    writeln!(
        out,
        "\nThe rows are an approximate Markov boundary (Definition D.3): labels for them take {:.0} % of the variance that {} take, \
         as far as {} rows can. Found greedily; the smallest set may be smaller.",
        100.0 * arguments.share,
        if arguments.picks.is_some() { "labels for all picks" } else { "labels for the whole pool" },
        arguments.most,
    )?;
    Ok(())
}
