//! Chooses rows.

use std::ffi::CString;
use std::time::Instant;

use homing::{Interrupt, Pick};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::core_error;
use crate::run::run;
use crate::selection::Selection;
use crate::settings::Settings;
use crate::task::Task;

/// The fields of the package's `Pick`.
#[derive(IntoPyObject)]
struct PickFields {
    rank: usize,
    count: usize,
    row: usize,
    score: f64,
    information: f64,
    variance_left: Option<f64>,
}

impl PickFields {
    fn new(pick: Pick, count: usize) -> Self {
        let Pick { rank, row, score, information, variance_left } = pick;
        Self { rank, count, row, score, information, variance_left }
    }
}

/// Chooses rows of a task. `made` are the rows and scores of the first picks, if an earlier call has made them.
#[pyfunction]
#[pyo3(signature = (task, settings, made=Vec::new()))]
pub fn select(
    py: Python<'_>,
    task: Py<Task>,
    settings: &Bound<'_, PyDict>,
    made: Vec<(usize, f64)>,
) -> PyResult<Selection> {
    let Settings { mut plan, threads, progress, device, .. } = Settings::read(settings)?;
    plan.quotas = task.get().quotas().to_vec();
    let interrupt = Interrupt::default();
    let mut on_pick = progress.map(|progress| {
        let count = plan.count;
        move |pick: Pick| {
            let answer = progress.bind(py).call1((PickFields::new(pick, count),))?;
            Ok(!matches!(answer.extract::<bool>(), Ok(false)))
        }
    });
    let py_task = task.get();
    let (selection, seconds, guarantee) = py_task.with(py, &interrupt, plan.count, |task| {
        let on_pick = on_pick.as_mut().map(|call| call as &mut dyn FnMut(Pick) -> PyResult<bool>);
        let given = task;
        let carried = py_task.pool().carried(py, device.as_deref(), &given, &plan)?;
        if let Some(sentence) = carried.refusal() {
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(sentence)?, 3)?;
        }
        let task = carried.task(given).map_err(core_error)?;
        let (selection, time) = run(py, threads, &interrupt, on_pick, |report| {
            let start = Instant::now();
            let selection = homing::resume_with(&task, &plan, &made, |progress| report(progress.pick))?;
            Ok((selection, start.elapsed()))
        })?;
        Ok((selection, time.as_secs_f64(), plan.greedy.guarantee(&given, &plan)))
    })?;
    Ok(Selection { core: selection, plan, task, seconds, guarantee })
}
