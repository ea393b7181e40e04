//! What a pool can teach about some targets.

use homing::{Interrupt, Task as CoreTask};
use homing_report::diagnosis::{self, Names, Question};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::data::Data;
use crate::error::{in_python, unwritten};
use crate::run::run;
use crate::select::noise_of;
use crate::task::Task;

/// Every number of a diagnosis; the package gives it its face.
#[pyclass(frozen, module = "homing._homing")]
pub struct Diagnosis {
    numbers: diagnosis::Diagnosis,
    task: Py<Task>,
    rows: usize,
}

/// Name, value, meaning, kind and place in the paper.
type Fact = (String, String, String, &'static str, &'static str);

fn facts(facts: Vec<homing_report::Fact>) -> Vec<Fact> {
    let one = |fact: homing_report::Fact| (fact.name, fact.value, in_python(&fact.meaning), fact.kind, fact.place);
    facts.into_iter().map(one).collect()
}

impl Diagnosis {
    fn row_name(&self, row: usize) -> String {
        let ids = self.task.get().pool().file().and_then(homing_pool::Pool::ids);
        ids.map_or_else(|| format!("row {row}"), |ids| format!("{} (row {row})", ids[row]))
    }

    fn target_name(&self, row: usize) -> String {
        let ids = self.task.get().targets().and_then(Data::file).and_then(homing_pool::Pool::ids);
        ids.map_or_else(|| row.to_string(), |ids| ids[row].clone())
    }
}

#[pyfunction]
#[pyo3(signature = (task, picks, *, n=10, noise_std=None, values=None, seed=0, threads=None))]
pub fn diagnose(
    task: Bound<'_, Task>,
    picks: Vec<usize>,
    n: usize,
    noise_std: Option<f64>,
    values: Option<PyReadonlyArray2<'_, f64>>,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Diagnosis> {
    let (py, interrupt) = (task.py(), Interrupt::default());
    let values = values.as_ref().map(|values| values.as_slice()).transpose()?;
    let (numbers, rows) = task.get().with(py, &interrupt, |task: CoreTask<'_>| {
        let question = Question { task, noise: noise_of(noise_std), picks: &picks, count: n, values, seed };
        let numbers = run(py, threads, &interrupt, None, |_| {
            let numbers = diagnosis::Diagnosis::new(&question, |_| {})?;
            task.check_read()?;
            Ok(numbers)
        })?;
        Ok((numbers, task.pool.rows()))
    })?;
    Ok(Diagnosis { numbers, task: task.unbind(), rows })
}

#[pymethods]
impl Diagnosis {
    /// The numbers, by the names that `homing diagnose --format json` has for them and a few more.
    fn numbers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = &self.numbers;
        let dict = PyDict::new(py);
        let targets: Vec<Bound<'py, PyDict>> = all
            .targets
            .iter()
            .map(|target| {
                let one = PyDict::new(py);
                one.set_item("index", target.index)?;
                one.set_item("prior_var", target.prior)?;
                one.set_item("irreducible_var", target.irreducible)?;
                one.set_item("labelled_var", target.labelled)?;
                one.set_item("posterior_var", target.now)?;
                Ok(one)
            })
            .collect::<PyResult<_>>()?;
        dict.set_item("targets", targets)?;
        dict.set_item("objective", all.objective.value)?;
        dict.set_item("next_row", all.next.map(|next| next.row))?;
        dict.set_item("next_gain", all.next.map(|next| next.value))?;
        dict.set_item("batch", &all.batch)?;
        dict.set_item("information", all.information)?;
        dict.set_item("gamma", (all.capacity.n, all.capacity.lower, all.capacity.upper))?;
        dict.set_item("kappa", (all.ratio.lower, all.ratio.upper))?;
        dict.set_item("guarantee", all.ratio.guarantee())?;
        dict.set_item("noise_var", all.noise_var)?;
        dict.set_item("suggested_noise_var", all.fit.map(|fit| fit.noise_var))?;
        dict.set_item("mean_var", all.scale.mean_var)?;
        dict.set_item("target_var", all.scale.target_var)?;
        dict.set_item("duplicates", all.duplicates.exact)?;
        dict.set_item("near_duplicate_share", all.duplicates.near_share)?;
        Ok(dict)
    }

    fn verdict(&self) -> String {
        diagnosis::verdict(&self.numbers, self.rows, |row| self.target_name(row))
    }

    fn warnings(&self) -> Vec<String> {
        self.numbers.warnings(self.rows).iter().map(|warning| in_python(warning)).collect()
    }

    fn facts(&self) -> Vec<Fact> {
        facts(diagnosis::facts(&self.numbers, |row| self.row_name(row)))
    }

    fn checks(&self) -> Vec<Fact> {
        facts(diagnosis::checks(&self.numbers, self.rows))
    }

    /// The page that `homing diagnose --report` writes.
    #[pyo3(signature = (threads=None))]
    fn page(&self, py: Python<'_>, threads: Option<usize>) -> PyResult<String> {
        let interrupt = Interrupt::default();
        let page = self.task.get().with(py, &interrupt, |task| {
            run(py, threads, &interrupt, None, |_| {
                let names = Names { row: &|row| self.row_name(row), target: &|row| self.target_name(row) };
                Ok(diagnosis::render(&names, &task, &self.numbers))
            })
        })?;
        page.map_err(unwritten)
    }
}
