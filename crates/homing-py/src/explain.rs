//! Why rows were picked, as numbers and as a page.

use homing::{Ended, Interrupt, Pick, Plan, Selection};
use homing_report::story::{self, Story};
use homing_report::{Facts, render};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::data::Data;
use crate::error::unwritten;
use crate::run::run;
use crate::task::Task;

/// Variance removed, (target, share) it serves, (target, cosine) nearest, redundant rows, the most similar of them.
type Why = (f64, Vec<(usize, f64)>, Vec<(usize, f64)>, usize, Option<(usize, f64)>);

/// Variance before the first pick, after the last, and the pick that took most of it.
type Told = (f64, f64, usize);

/// A selection as it came from `select`.
#[derive(FromPyObject)]
pub struct Made<'py> {
    indices: PyReadonlyArray1<'py, i64>,
    scores: PyReadonlyArray1<'py, f64>,
    information: PyReadonlyArray1<'py, f64>,
    variance_left: Option<PyReadonlyArray1<'py, f64>>,
    noise_var: f64,
    passes: usize,
}

impl Made<'_> {
    /// The picks, refused where they are not some of a pool of so many rows.
    fn selection(&self, rows: usize) -> PyResult<Selection> {
        let (indices, scores, information) =
            (self.indices.as_slice()?, self.scores.as_slice()?, self.information.as_slice()?);
        let left = self.variance_left.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
        let lengths = [scores.len(), information.len(), left.map_or(indices.len(), <[f64]>::len)];
        if lengths != [indices.len(); 3] {
            return Err(PyValueError::new_err(
                "the fields of the selection differ in length; use one that select returned",
            ));
        }
        let pick = |(i, &index): (usize, &i64)| {
            let within = usize::try_from(index).ok().filter(|&row| row < rows);
            let row = within.ok_or_else(|| {
                PyValueError::new_err(format!("the selection has row {index} of a pool of {rows} rows; select again"))
            })?;
            let (score, information, variance_left) = (scores[i], information[i], left.map(|left| left[i]));
            Ok(Pick { rank: i + 1, index: row, score, information, variance_left })
        };
        let picks = indices.iter().enumerate().map(pick).collect::<PyResult<_>>()?;
        Ok(Selection { picks, noise_var: self.noise_var, ended: Ended::Count, passes: self.passes })
    }
}

#[pyfunction]
#[pyo3(signature = (task, made, threads=None))]
pub fn explain(
    py: Python<'_>,
    task: &Bound<'_, Task>,
    made: Made<'_>,
    threads: Option<usize>,
) -> PyResult<(Vec<Why>, Vec<Told>)> {
    let (whole, interrupt) = (task.get(), Interrupt::default());
    let selection = made.selection(whole.pool().rows())?;
    let why = whole
        .with(py, &interrupt, |task| run(py, threads, &interrupt, None, |_| homing::explain(&task, &selection)))?;
    let one = |why: homing::Why| (why.variance_removed, why.serves, why.nearest, why.redundant, why.redundant_example);
    let target = |target: homing::TargetStory| (target.start_var, target.var, target.best_pick);
    Ok((why.picks.into_iter().map(one).collect(), why.targets.into_iter().map(target).collect()))
}

/// The page of a selection.
#[pyfunction]
#[pyo3(signature = (task, made, *, rule, seed=0, title=None, pool_name="", targets_name=None, noise_is_default=false, seconds=0.0, ids=None, labels=None, threads=None))]
#[expect(clippy::too_many_arguments, reason = "they are what the page says")]
pub fn report(
    py: Python<'_>,
    task: &Bound<'_, Task>,
    made: Made<'_>,
    rule: &str,
    seed: u64,
    title: Option<String>,
    pool_name: &str,
    targets_name: Option<String>,
    noise_is_default: bool,
    seconds: f64,
    ids: Option<Vec<String>>,
    labels: Option<Vec<String>>,
    threads: Option<usize>,
) -> PyResult<String> {
    let (whole, interrupt) = (task.get(), Interrupt::default());
    let selection = made.selection(whole.pool().rows())?;
    let plan = Plan { strategy: rule.parse().map_err(crate::error::refused)?, seed, ..Plan::default() };
    let dtype: String = whole.pool().dtype().into();
    let ids = ids.as_deref().or_else(|| whole.pool().file().and_then(homing_pool::Pool::ids));
    let labels = labels.as_deref().or_else(|| whole.pool().file().and_then(homing_pool::Pool::labels));
    let groups = whole.pool().file().and_then(homing_pool::Pool::groups);
    let target_ids = whole.targets().and_then(Data::file).and_then(homing_pool::Pool::ids);
    let named = |names: Option<&[String]>, row: usize| names.and_then(|names| names.get(row)).cloned();
    let told = whole.with(py, &interrupt, |task| {
        let facts = Facts {
            pool_file: pool_name.into(),
            number_format: dtype,
            targets_file: targets_name,
            noise_is_default,
            centred: whole.is_centered(),
            choose_seconds: seconds,
            ..story::facts(&task, &plan, &selection)
        };
        run(py, threads, &interrupt, None, |_| {
            let story = Story {
                id: &|row| named(ids, row).unwrap_or_else(|| row.to_string()),
                target_id: &|row| named(target_ids, row),
                label: &|row| named(labels, row),
                group: &|row| named(groups, row),
                thumbnail: &|_| None,
                target_thumbnail: &|_| None,
            };
            story::tell(&task, &selection, facts, &story)
        })
    })?;
    let told = homing_report::Report { title: title.unwrap_or(told.title), ..told };
    py.detach(|| render(&told)).map_err(unwritten)
}
