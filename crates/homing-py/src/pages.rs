//! Sentences and pages about selections and diagnoses.

use std::collections::HashMap;

use homing::diagnose::{Advice, Diagnosis};
use homing::{Interrupt, Noise, Plan};
use homing_report::{Findings, Provenance, Report, RowDetails, diagnosis, render};
use pyo3::prelude::*;

use crate::data::Data;
use crate::error::report_error;
use crate::run::run;
use crate::task::Task;

/// What the page of a selection shows.
pub struct SelectionPage<'a> {
    pub selection: &'a homing::Selection,
    pub plan: &'a Plan,
    pub task: &'a Task,
    /// Seconds that the core took.
    pub seconds: f64,
    pub title: Option<String>,
    pub ids: Option<&'a [String]>,
    pub labels: Option<&'a [String]>,
}

/// Renders the page of a selection.
pub fn selection_page(py: Python<'_>, page: SelectionPage<'_>, threads: Option<usize>) -> PyResult<String> {
    let SelectionPage { selection, plan, task: whole, seconds, title, ids, labels } = page;
    let interrupt = Interrupt::default();
    let file = whole.pool().file();
    let ids = ids.or_else(|| whole.pool().ids());
    let labels = labels.or_else(|| file.and_then(homing_pool::Pool::labels));
    let groups = file.and_then(homing_pool::Pool::groups);
    let target_ids = whole.targets().and_then(Data::ids);
    let name = |names: Option<&[String]>, row: usize| names.and_then(|names| names.get(row)).cloned();
    let report = whole.with(py, &interrupt, |task| {
        let provenance = Provenance {
            pool_file: whole.pool().name(),
            number_format: whole.pool().dtype().into(),
            targets_file: whole.targets().map(Data::name),
            noise_is_default: !matches!(plan.noise, Noise::Std(_)),
            centred: whole.is_centered(),
            unit_length: whole.is_normalized(),
            choose_seconds: seconds,
            ..Provenance::new(&task, plan, selection)
        };
        run(py, threads, &interrupt, None, |_| {
            let findings = Findings::new(&task, selection, provenance.seed)?;
            // A page without texts is better than none, for example if the file has changed.
            let texts = texts_of(Some(whole.pool()), &findings.rows()).unwrap_or_default();
            let target_texts = texts_of(whole.targets(), &findings.target_rows()).unwrap_or_default();
            let details = RowDetails {
                id: &|row| name(ids, row).or_else(|| file?.short_place(row)).unwrap_or_else(|| row.to_string()),
                target_id: &|row| name(target_ids, row),
                text: &|row| texts.get(&row).cloned(),
                target_text: &|row| target_texts.get(&row).cloned(),
                label: &|row| name(labels, row),
                group: &|row| name(groups, row),
                thumbnail: &|_| None,
                target_thumbnail: &|_| None,
            };
            Ok(Report::of_findings(&findings, provenance, &details))
        })
    })?;
    let report = Report { title: title.unwrap_or(report.title), ..report };
    py.detach(|| render(&report)).map_err(report_error)
}

/// Draws the curves of a selection for a notebook.
#[pyfunction]
pub fn curves(information: Vec<f64>, variance_left: Option<Vec<f64>>) -> PyResult<String> {
    homing_report::curves(&information, variance_left.as_deref()).map_err(report_error)
}

/// Returns the texts of some rows of a file that has a column of texts.
fn texts_of(data: Option<&Data>, rows: &[usize]) -> Option<HashMap<usize, String>> {
    let pool = data?.file()?;
    let values = pool.values(&[pool.text_column()?.to_owned()], rows).ok()?;
    Some(rows.iter().filter_map(|&row| Some((row, values.text(0, row)?))).collect())
}

/// Phrases advice with the names of Python's arguments. A noise is about rows that are prepared as now.
fn advice(task: &Task) -> impl Fn(Advice) -> String + use<> {
    let prepared = match (task.is_centered(), task.is_normalized()) {
        (true, true) => ", center=True, normalize=True",
        (true, false) => ", center=True",
        (false, true) => ", normalize=True",
        (false, false) => "",
    };
    move |advice| match advice {
        Advice::LowerNoise => "lower noise_std".to_owned(),
        Advice::RaiseNoise => "raise noise_std".to_owned(),
        Advice::SetNoise(std) => format!("try noise_std={}{prepared}", homing_report::text::short(std)),
        Advice::Center => "try center=True".to_owned(),
        other => diagnosis::plain_advice(other),
    }
}

/// The fields of the package's `Fact`.
#[derive(IntoPyObject)]
pub struct FactFields {
    name: String,
    value: String,
    meaning: String,
    kind: &'static str,
    paper: &'static str,
}

impl From<homing_report::Fact> for FactFields {
    fn from(fact: homing_report::Fact) -> Self {
        Self { name: fact.name, value: fact.value, meaning: fact.meaning, kind: fact.kind, paper: fact.place }
    }
}

/// The fields of the package's `Diagnosis` that are sentences.
#[derive(IntoPyObject)]
pub struct DiagnosisWords {
    verdict: String,
    warnings: Vec<String>,
    facts: Vec<FactFields>,
    checks: Vec<FactFields>,
}

/// Returns the sentences of a diagnosis.
pub fn diagnosis_words(found: &Diagnosis, task: &Task) -> DiagnosisWords {
    let facts = diagnosis::prospects(found).into_iter().chain(diagnosis::facts(found, |row| row_name(task, row)));
    DiagnosisWords {
        verdict: diagnosis::verdict(found, |target| target_name(task, target)),
        warnings: diagnosis::warnings(found, &advice(task)),
        facts: facts.map(FactFields::from).collect(),
        checks: diagnosis::checks(found).into_iter().map(FactFields::from).collect(),
    }
}

/// Renders the page of a diagnosis.
pub fn diagnosis_page(py: Python<'_>, found: &Diagnosis, whole: &Task, threads: Option<usize>) -> PyResult<String> {
    let interrupt = Interrupt::default();
    let page = whole.with(py, &interrupt, |task| {
        run(py, threads, &interrupt, None, |_| {
            let (row, target) = (|row| row_name(whole, row), |target| target_name(whole, target));
            let names = diagnosis::Names { row: &row, target: &target, advice: &advice(whole) };
            Ok(diagnosis::render(&names, &task, found))
        })
    })?;
    page.map_err(report_error)
}

fn row_name(task: &Task, row: usize) -> String {
    let number = || task.pool().place_of(row).unwrap_or_else(|| format!("row {row}"));
    task.pool().ids().map_or_else(number, |ids| format!("{} (row {row})", ids[row]))
}

fn target_name(task: &Task, target: usize) -> String {
    task.targets().and_then(Data::ids).map_or_else(|| target.to_string(), |ids| ids[target].clone())
}
