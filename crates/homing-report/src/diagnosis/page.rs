//! Renders a diagnosis as a page.

use homing::Task;
use homing::diagnose::{Descent, Diagnosis, TargetReach, descent};
use serde::Serialize;

use super::words::{
    DEFINITIONS, Names, checks, facts, guarantee, is_warning, prospects, reach_note, verdict, warnings,
};
use crate::text::grouped;
use crate::{Axis, Chart, Fact, Result, chart_at, render_page};

/// Maximum number of rows in the table of targets.
const MAX_TARGETS: usize = 200;

/// Variables of `diagnosis.html`.
#[derive(Serialize)]
struct DiagnosisPage {
    title: &'static str,
    version: &'static str,
    summary: String,
    warnings: Vec<String>,
    out_of_reach: f64,
    removed: f64,
    picks: usize,
    next_gain: f64,
    next_row: String,
    guarantee: Option<Fact>,
    targets: Vec<Row>,
    target_count: usize,
    note: String,
    curves: Vec<Curve>,
    curves_note: String,
    prospects: Vec<Fact>,
    definitions: [&'static str; 5],
    facts: Vec<Fact>,
    checks: Vec<Fact>,
}

/// Variances of one target, and how its prior variance divides into shares.
#[derive(Serialize)]
struct Row {
    name: String,
    /// How near the target's nearest rows are, if the pool is large enough to tell.
    closeness: Option<f64>,
    is_out_of_reach: bool,
    /// Share that the picks removed.
    removed: f64,
    /// Share that further picks can remove.
    reducible: f64,
    out_of_reach: f64,
    prior: f64,
    irreducible: f64,
    labelled: f64,
    now: f64,
}

/// Chart of one target's variance over the number of picks.
#[derive(Serialize)]
struct Curve {
    name: String,
    unit: String,
    chart: Chart,
}

/// Renders the page of a diagnosis.
pub fn render(names: &Names<'_>, task: &Task<'_>, diagnosis: &Diagnosis) -> Result<String> {
    let descent = descent(task, diagnosis)?;
    render_page("diagnosis.html", page(names, task, diagnosis, &descent))
}

fn page(names: &Names<'_>, task: &Task<'_>, diagnosis: &Diagnosis, descent: &Descent) -> DiagnosisPage {
    let rows = task.pool.rows();
    let (row_name, target) = (names.row, names.target);
    let what = if diagnosis.picks > 0 { "the picks" } else { "the rows that ITL would pick" };
    let is_warning = is_warning(diagnosis);
    let picks = if diagnosis.picks == 0 { String::new() } else { format!(" and {} picks", grouped(diagnosis.picks)) };
    let mut warnings = warnings(diagnosis, names.advice);
    if is_warning {
        warnings.insert(0, verdict(diagnosis, target));
    }
    DiagnosisPage {
        title: "What this pool can teach",
        version: env!("CARGO_PKG_VERSION"),
        summary: if is_warning {
            format!("{} rows, {} targets{picks}", grouped(rows), grouped(diagnosis.targets.len()))
        } else {
            format!("{} {} rows{picks}.", verdict(diagnosis, target), grouped(rows))
        },
        warnings,
        out_of_reach: diagnosis.mean_share(|target| target.labelled),
        removed: diagnosis.mean_share(|target| target.prior - target.now),
        picks: diagnosis.picks,
        next_gain: diagnosis.next.map_or(0.0, |next| next.value),
        next_row: diagnosis.next.map_or_else(|| "every row has been picked".into(), |next| row_name(next.row)),
        guarantee: guarantee(diagnosis),
        targets: diagnosis
            .least_reachable()
            .into_iter()
            .take(MAX_TARGETS)
            .map(|t| row(t, target(t.row), diagnosis.closeness_of(t.row)))
            .collect(),
        target_count: diagnosis.targets.len(),
        note: reach_note(diagnosis),
        curves: curves(diagnosis, descent, target),
        curves_note: format!(
            "Each chart shows the variance of one target over {what}, the floor η²_S below which no label can bring it, and the \
             bound from the proof of Theorem 3.1: Var(f_x | y_B)·exp(2bΓ_n/κ) for the best b rows of the target’s Markov boundary \
             (Lemmas D.5 and D.6), where that is below the prior variance."
        ),
        prospects: prospects(diagnosis),
        definitions: DEFINITIONS,
        facts: facts(diagnosis, row_name),
        checks: checks(diagnosis),
    }
}

fn row(target: &TargetReach, name: String, closeness: Option<f64>) -> Row {
    // The share out of reach may be an upper bound from a sample, which can overlap with the share that the picks removed.
    let removed = target.share_reached();
    let out_of_reach = target.share_out_of_reach().min(1.0 - removed);
    Row {
        name,
        closeness,
        is_out_of_reach: target.is_out_of_reach(),
        removed,
        reducible: 1.0 - removed - out_of_reach,
        out_of_reach,
        prior: target.prior,
        irreducible: target.irreducible,
        labelled: target.labelled,
        now: target.now,
    }
}

fn curves(diagnosis: &Diagnosis, descent: &Descent, name: impl Fn(usize) -> String) -> Vec<Curve> {
    let curve = |(place, &target): (usize, &usize)| {
        let (floor, prior) = (diagnosis.targets[target].irreducible, diagnosis.targets[target].prior);
        let series = |value: &dyn Fn(usize) -> f64| {
            descent.points.iter().enumerate().map(|(i, point)| (point.n as f64, value(i))).collect::<Vec<_>>()
        };
        let variance = series(&|i| descent.points[i].vars[target]);
        let bound = series(&|i| descent.points[i].bounds[place]);
        let says_something = bound.iter().any(|&(_, bound)| bound < 0.999 * prior);
        let bound = says_something.then_some(("bound", bound));
        let lines = [("variance", variance), ("floor", series(&|_| floor))].into_iter().chain(bound);
        let chart = chart_at(&Axis::Amount, lines)?;
        Some(Curve { name: format!("target {}", name(target)), unit: "σ²_n".into(), chart })
    };
    descent.targets.iter().enumerate().filter_map(curve).collect()
}
