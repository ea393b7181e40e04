//! Diagnoses what a pool can teach about some targets.

use std::path::PathBuf;

use homing::Interrupt;
use homing::diagnose::{Diagnosis as CoreDiagnosis, Question};
use homing_pool::values_of_rows;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::argument::Argument;
use crate::error::pool_error;
use crate::pages::{self, DiagnosisWords};
use crate::run::run;
use crate::settings::Settings;
use crate::task::Task;

/// A diagnosis with the task that it is about.
#[pyclass(frozen, module = "homing._homing")]
pub struct Diagnosis {
    diagnosis: CoreDiagnosis,
    task: Py<Task>,
}

/// The fields of the package's `Target`.
#[derive(IntoPyObject)]
struct TargetFields {
    row: usize,
    closeness: Option<f64>,
    nearest_row: Option<usize>,
    nearest_cosine: Option<f64>,
    prior_var: f64,
    irreducible_var: f64,
    labelled_var: f64,
    posterior_var: f64,
}

/// The fields of the package's `Closeness`.
#[derive(IntoPyObject)]
struct ClosenessFields {
    mean: f64,
    offer: &'static str,
    nearest_cosine: f64,
    cosine_among_rows: f64,
    cosine_by_chance: f64,
}

/// The fields of the package's `Prospect`.
#[derive(IntoPyObject)]
struct ProspectFields {
    n: usize,
    left: f64,
    left_by_random: f64,
    left_of_rows: Option<f64>,
}

/// The numeric fields of the package's `Diagnosis`. A pair is a lower and an upper bound.
#[derive(IntoPyObject)]
struct DiagnosisFields {
    targets: Vec<TargetFields>,
    closeness: Option<ClosenessFields>,
    prospect: ProspectFields,
    objective: f64,
    next_row: Option<usize>,
    next_gain: Option<f64>,
    batch: Vec<usize>,
    information: f64,
    gamma: (f64, f64),
    kappa: (f64, f64),
    guarantee: f64,
    noise_var: f64,
    suggested_noise_var: Option<f64>,
    mean_var: f64,
    target_var: f64,
    duplicates: usize,
    near_duplicate_share: f64,
}

/// Diagnoses a task. Of the settings, only `n`, `noise_std`, `seed` and `threads` have an effect.
#[pyfunction]
pub fn diagnose(
    py: Python<'_>,
    task: Py<Task>,
    picks: Vec<usize>,
    values: &Bound<'_, PyAny>,
    settings: &Bound<'_, PyDict>,
) -> PyResult<Diagnosis> {
    let Settings { plan, threads, .. } = Settings::read(settings)?;
    let rows = task.get().pool().rows();
    let values = match values.extract::<PathBuf>() {
        Ok(path) => values_of_rows(&path, task.get().pool().file(), rows, None).map_err(pool_error)?,
        Err(_) => Argument { name: "values", object: values }.optional(|values| values.columns(rows))?,
    };
    let interrupt = Interrupt::default();
    let batch = if picks.is_empty() { plan.count } else { picks.len() };
    let diagnosis = task.get().with(py, &interrupt, batch, |task| {
        let question = Question::new(task).noise(plan.noise).picks(&picks).count(plan.count).seed(plan.seed);
        let question = question.values(values.as_deref());
        run(py, threads, &interrupt, None, |_| {
            let diagnosis = CoreDiagnosis::new(&question)?;
            task.check_read()?;
            Ok(diagnosis)
        })
    })?;
    Ok(Diagnosis { diagnosis, task })
}

#[pymethods]
impl Diagnosis {
    /// Returns the numeric fields of the package's `Diagnosis`.
    fn fields(&self) -> DiagnosisFields {
        let found = &self.diagnosis;
        let near = |row| found.closeness.iter().flat_map(|near| &near.targets).find(|near| near.row == row);
        let target = |target: &homing::diagnose::TargetReach| {
            let near = near(target.row);
            TargetFields {
                row: target.row,
                closeness: near.map(|near| near.closeness),
                nearest_row: near.map(|near| near.nearest.0),
                nearest_cosine: near.map(|near| near.nearest.1),
                prior_var: target.prior,
                irreducible_var: target.irreducible,
                labelled_var: target.labelled,
                posterior_var: target.now,
            }
        };
        let closeness = found.closeness.as_ref().map(|near| ClosenessFields {
            mean: near.mean(),
            offer: near.offer().name(),
            nearest_cosine: near.cosine,
            cosine_among_rows: near.among_rows,
            cosine_by_chance: near.chance,
        });
        let homing::diagnose::Prospect { count, left, left_by_random, left_of_rows, .. } = found.prospect;
        DiagnosisFields {
            targets: found.targets.iter().map(target).collect(),
            closeness,
            prospect: ProspectFields { n: count, left, left_by_random, left_of_rows },
            objective: found.objective.value,
            next_row: found.next.map(|next| next.row),
            next_gain: found.next.map(|next| next.value),
            batch: found.batch.clone(),
            information: found.information,
            gamma: (found.capacity.lower, found.capacity.upper),
            kappa: (found.ratio.lower, found.ratio.upper),
            guarantee: found.ratio.guarantee(),
            noise_var: found.noise_var,
            suggested_noise_var: found.suggested_noise_var(),
            mean_var: found.scale.mean_var,
            target_var: found.scale.target_var,
            duplicates: found.duplicates.exact,
            near_duplicate_share: found.duplicates.near_share,
        }
    }

    /// Returns the sentences of the package's `Diagnosis`.
    fn words(&self) -> DiagnosisWords {
        pages::diagnosis_words(&self.diagnosis, self.task.get())
    }

    /// Returns the page that `homing diagnose --report` writes.
    #[pyo3(signature = (threads=None))]
    fn page(&self, py: Python<'_>, threads: Option<usize>) -> PyResult<String> {
        pages::diagnosis_page(py, &self.diagnosis, self.task.get(), threads)
    }
}
