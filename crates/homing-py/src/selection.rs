//! A selection, with the plan and the task that it was made with.

use homing::{Interrupt, Pick, Plan};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::pages::{SelectionPage, selection_page};
use crate::run::run;
use crate::task::Task;

/// The picks, with everything that explanations and pages need later.
#[pyclass(frozen, module = "homing._homing")]
pub struct Selection {
    pub core: homing::Selection,
    pub plan: Plan,
    pub task: Py<Task>,
    /// Seconds that the core took.
    pub seconds: f64,
    pub guarantee: Option<String>,
}

/// The fields of the package's `Selection`.
#[derive(IntoPyObject)]
struct SelectionFields<'py> {
    indices: Bound<'py, PyArray1<i64>>,
    scores: Bound<'py, PyArray1<f64>>,
    information: Bound<'py, PyArray1<f64>>,
    variance_left: Option<Bound<'py, PyArray1<f64>>>,
    noise_var: f64,
    rule: &'static str,
    ended: &'static str,
    passes: usize,
    guarantee: Option<String>,
    seconds: f64,
    rows: usize,
    seed: u64,
    ids: Option<Vec<String>>,
}

/// The fields of the package's `PickReasons`.
#[derive(IntoPyObject)]
struct PickReasonsFields {
    rank: usize,
    row: usize,
    variance_removed: f64,
    serves: Vec<(usize, f64)>,
    nearest: Vec<(usize, f64)>,
    redundant: usize,
    redundant_example: Option<(usize, f64)>,
}

/// The fields of the package's `TargetStory`.
#[derive(IntoPyObject)]
struct TargetStoryFields {
    row: usize,
    start_var: f64,
    var: f64,
    best_pick: usize,
}

#[pymethods]
impl Selection {
    /// Returns the fields of the package's `Selection`.
    fn fields<'py>(&self, py: Python<'py>) -> SelectionFields<'py> {
        let (picks, task) = (&self.core.picks, self.task.get());
        let column = |value: fn(&Pick) -> f64| PyArray1::from_iter(py, picks.iter().map(value));
        let left: Option<Vec<f64>> = picks.iter().map(|pick| pick.variance_left).collect();
        let ids = task.pool().ids();
        SelectionFields {
            indices: PyArray1::from_iter(py, picks.iter().map(|pick| pick.row as i64)),
            scores: column(|pick| pick.score),
            information: column(|pick| pick.information),
            variance_left: left.filter(|_| task.targets().is_some()).map(|left| PyArray1::from_vec(py, left)),
            noise_var: self.core.noise_var,
            rule: self.plan.strategy.name(),
            ended: self.core.end_reason.name(),
            passes: self.core.passes,
            guarantee: self.guarantee.clone(),
            seconds: self.seconds,
            rows: task.pool().rows(),
            seed: self.plan.seed,
            ids: ids.map(|ids| picks.iter().map(|pick| ids[pick.row].clone()).collect()),
        }
    }

    /// Explains why each row was picked, and what happened to each target.
    #[pyo3(signature = (threads=None))]
    fn explain(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
    ) -> PyResult<(Vec<PickReasonsFields>, Vec<TargetStoryFields>)> {
        let interrupt = Interrupt::default();
        let why = self.task.get().with(py, &interrupt, self.plan.count, |task| {
            run(py, threads, &interrupt, None, |_| homing::explain(&task, &self.core))
        })?;
        let reasons = |(pick, why): (&Pick, homing::PickReasons)| PickReasonsFields {
            rank: pick.rank,
            row: pick.row,
            variance_removed: why.variance_removed,
            serves: why.serves,
            nearest: why.nearest,
            redundant: why.redundant,
            redundant_example: why.redundant_example,
        };
        let story = |(row, story): (usize, homing::TargetStory)| TargetStoryFields {
            row,
            start_var: story.start_var,
            var: story.var,
            best_pick: story.best_pick,
        };
        let picks = self.core.picks.iter().zip(why.picks).map(reasons).collect();
        Ok((picks, why.targets.into_iter().enumerate().map(story).collect()))
    }

    /// Returns the page of the selection, on which `ids` and `labels` name the rows of the pool.
    #[pyo3(signature = (*, title=None, ids=None, labels=None, threads=None))]
    fn page(
        &self,
        py: Python<'_>,
        title: Option<String>,
        ids: Option<Vec<String>>,
        labels: Option<Vec<String>>,
        threads: Option<usize>,
    ) -> PyResult<String> {
        let page = SelectionPage {
            selection: &self.core,
            plan: &self.plan,
            task: self.task.get(),
            seconds: self.seconds,
            title,
            ids: ids.as_deref(),
            labels: labels.as_deref(),
        };
        selection_page(py, page, threads)
    }
}
