//! A diagnosis as a page.

use homing::Task;
use serde::Serialize;

use super::numbers::{Descent, Diagnosis, Target, descent};
use super::words::{Names, checks, facts, guarantee, reach_note, verdict};
use crate::text::grouped;
use crate::{Axis, Chart, Fact, Result, chart_at, render_page};

/// Rows of the table of targets.
const MAX_TARGETS: usize = 200;

/// What the template shows.
#[derive(Serialize)]
struct Page {
    title: &'static str,
    version: &'static str,
    summary: String,
    warnings: Vec<String>,
    out_of_reach: f64,
    taken: f64,
    picks: usize,
    next_gain: f64,
    next_row: String,
    guarantee: Fact,
    targets: Vec<Row>,
    target_count: usize,
    note: String,
    ways: Vec<Way>,
    ways_note: String,
    facts: Vec<Fact>,
    checks: Vec<Fact>,
}

/// One target: its variances, and the shares of its prior variance.
#[derive(Serialize)]
struct Row {
    name: String,
    gone: bool,
    taken: f64,
    open: f64,
    lost: f64,
    prior: f64,
    irreducible: f64,
    labelled: f64,
    now: f64,
}

/// One target's variance over the picks.
#[derive(Serialize)]
struct Way {
    name: String,
    unit: String,
    chart: Chart,
}

/// The whole page.
pub fn render(names: &Names<'_>, task: &Task<'_>, diagnosis: &Diagnosis) -> Result<String> {
    let way = descent(task, diagnosis)?;
    render_page("diagnosis.html", page(names, task, diagnosis, &way))
}

fn page(names: &Names<'_>, task: &Task<'_>, diagnosis: &Diagnosis, way: &Descent) -> Page {
    let rows = task.pool.rows();
    let (row_name, target) = (names.row, names.target);
    let what = if diagnosis.picks > 0 { "the picks" } else { "what ITL would pick" };
    let lost = !diagnosis.out_of_reach().is_empty();
    let picks = if diagnosis.picks == 0 { String::new() } else { format!(" and {} picks", grouped(diagnosis.picks)) };
    let mut warnings = diagnosis.warnings(rows);
    if lost {
        warnings.insert(0, verdict(diagnosis, rows, target));
    }
    Page {
        title: "What this pool can teach",
        version: env!("CARGO_PKG_VERSION"),
        summary: if lost {
            format!("{} rows, {} targets{picks}", grouped(rows), grouped(diagnosis.targets.len()))
        } else {
            format!("{} {} rows{picks}.", verdict(diagnosis, rows, target), grouped(rows))
        },
        warnings,
        out_of_reach: diagnosis.mean_share(|target| target.labelled),
        taken: diagnosis.mean_share(|target| target.prior - target.now),
        picks: diagnosis.picks,
        next_gain: diagnosis.next.map_or(0.0, |next| next.value),
        next_row: diagnosis.next.map_or_else(|| "every row is picked".into(), |next| row_name(next.row)),
        guarantee: guarantee(diagnosis),
        targets: diagnosis.least_reachable().into_iter().take(MAX_TARGETS).map(|t| row(t, target(t.index))).collect(),
        target_count: diagnosis.targets.len(),
        note: reach_note(diagnosis, rows),
        ways: ways(diagnosis, way, target),
        ways_note: format!(
            "Variance of a target over {what}, the floor η²_S that no label can pass, and the bound of Theorem 3.1’s proof, \
             Var(f_x | y_B)·exp(2bΓ_n/κ) for the best b rows of its Markov boundary (Lemmas D.5 and D.6). Where the bound is the \
             prior variance, it says nothing."
        ),
        facts: facts(diagnosis, row_name),
        checks: checks(diagnosis, rows),
    }
}

fn row(target: &Target, name: String) -> Row {
    // What the picks took, what is out of reach, and the rest; a sampled bound on the latter may overlap with the former.
    let taken = target.share_reached();
    let lost = target.share_out_of_reach().min(1.0 - taken);
    Row {
        name,
        gone: target.is_out_of_reach(),
        taken,
        open: 1.0 - taken - lost,
        lost,
        prior: target.prior,
        irreducible: target.irreducible,
        labelled: target.labelled,
        now: target.now,
    }
}

fn ways(diagnosis: &Diagnosis, way: &Descent, name: impl Fn(usize) -> String) -> Vec<Way> {
    let one = |(place, &index): (usize, &usize)| {
        let floor = diagnosis.targets[index].irreducible;
        let along = |value: &dyn Fn(usize) -> f64| {
            way.rounds.iter().enumerate().map(|(i, round)| (round.n as f64, value(i))).collect::<Vec<_>>()
        };
        let variance = along(&|i| way.rounds[i].vars[index]);
        let bound = along(&|i| way.rounds[i].bounds[place]);
        let chart = chart_at(&Axis::Amount, [("variance", variance), ("bound", bound), ("floor", along(&|_| floor))])?;
        Some(Way { name: format!("target {}", name(index)), unit: "σ²_n".into(), chart })
    };
    way.shown.iter().enumerate().filter_map(one).collect()
}
