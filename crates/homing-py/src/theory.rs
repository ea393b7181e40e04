//! The paper's guarantees as numbers.

use homing::{Interrupt, theory};
use pyo3::prelude::*;

use crate::error::refused;
use crate::run::run;
use crate::select::noise_of;
use crate::task::Task;

/// A Gaussian process with its pool, targets, noise and observations.
#[pyclass(frozen, module = "homing._homing")]
pub struct Model {
    task: Py<Task>,
    noise_std: Option<f64>,
    observed: Vec<usize>,
    threads: Option<usize>,
}

impl Model {
    /// Asks the core's model, without the lock.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&theory::Model<'_>) -> homing::Result<T> + Send,
    ) -> PyResult<T> {
        let interrupt = Interrupt::default();
        self.task.get().with(py, &interrupt, |task| {
            run(py, self.threads, &interrupt, None, |_| {
                let model = theory::Model::new(task, noise_of(self.noise_std))?.given(&self.observed)?;
                let answer = question(&model)?;
                task.check_read()?;
                Ok(answer)
            })
        })
    }
}

#[pymethods]
impl Model {
    #[new]
    #[pyo3(signature = (task, noise_std=None, observed=Vec::new(), threads=None))]
    fn new(task: Py<Task>, noise_std: Option<f64>, observed: Vec<usize>, threads: Option<usize>) -> Self {
        Self { task, noise_std, observed, threads }
    }

    fn given(&self, py: Python<'_>, rows: Vec<usize>) -> Self {
        let observed = [&self.observed[..], &rows].concat();
        Self { task: self.task.clone_ref(py), noise_std: self.noise_std, observed, threads: self.threads }
    }

    #[getter]
    fn observed(&self) -> Vec<usize> {
        self.observed.clone()
    }

    fn noise_var(&self, py: Python<'_>) -> PyResult<f64> {
        self.ask(py, |model| Ok(model.noise_var()))
    }

    fn prior_vars(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        self.ask(py, |model| Ok(model.prior_vars()))
    }

    fn target_vars(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        self.ask(py, |model| Ok(model.target_vars()))
    }

    fn irreducible_vars(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        self.ask(py, |model| Ok(theory::reach(model)?.irreducible))
    }

    fn labelled_vars(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        self.ask(py, |model| Ok(theory::reach(model)?.labelled))
    }

    fn gains(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        self.ask(py, |model| Ok(model.gains()))
    }

    fn information(&self, py: Python<'_>) -> PyResult<f64> {
        self.ask(py, |model| Ok(model.information()))
    }

    fn objective(&self, py: Python<'_>) -> PyResult<f64> {
        self.ask(py, |model| Ok(model.objective().value))
    }

    fn next_pick(&self, py: Python<'_>) -> PyResult<Option<(usize, f64)>> {
        self.ask(py, |model| Ok(model.next_pick().map(|next| (next.row, next.value))))
    }

    fn capacity(&self, py: Python<'_>, n: usize) -> PyResult<(f64, f64)> {
        self.ask(py, |model| theory::capacity(model, n).map(|capacity| (capacity.lower, capacity.upper)))
    }

    #[pyo3(signature = (batch, seed=0))]
    fn submodularity_ratio(&self, py: Python<'_>, batch: Vec<usize>, seed: u64) -> PyResult<(f64, f64)> {
        self.ask(py, |model| theory::submodularity_ratio(model, &batch, seed).map(|ratio| (ratio.lower, ratio.upper)))
    }

    fn boundary(&self, py: Python<'_>, target: usize, goal: f64, most: usize) -> PyResult<(Vec<usize>, Vec<f64>)> {
        self.ask(py, |model| theory::boundary(model, target, goal, most).map(|found| (found.rows, found.vars)))
    }

    /// max σ²_0(x), max σ²_0(x) + ρ²(x), and λ_min(K_SS) where it is known.
    fn constants(&self, py: Python<'_>) -> PyResult<(f64, f64, Option<f64>)> {
        self.ask(py, |model| {
            let constants = theory::Constants::of(model);
            Ok((constants.max_var, constants.max_total_var, constants.least_eigenvalue))
        })
    }

    fn reducible_bound(&self, py: Python<'_>, n: usize) -> PyResult<Option<f64>> {
        self.ask(py, |model| {
            let capacity = theory::capacity(model, n)?.upper;
            Ok(theory::reducible_bound(&theory::Constants::of(model), capacity, n))
        })
    }
}

/// 1 − e^−κ: the share of the best batch's information that ITL's has at least (Theorem C.2).
#[pyfunction]
fn guarantee(ratio: f64) -> f64 {
    theory::guarantee(ratio)
}

/// γ_n/n, which Γ_{n−1} does not exceed where the pool is among the targets and ITL chose the first n rows (Eq. 7).
#[pyfunction]
fn objective_bound(capacity: f64, n: usize) -> f64 {
    theory::objective_bound(capacity, n)
}

/// β_n(δ) = ‖f*‖ + ρ·√(2(γ_n + 1 + ln(1/δ))), as Theorem 3.2 states it; for ρ < 1 it is too narrow.
#[pyfunction]
fn confidence_width(norm: f64, noise_std: f64, capacity: f64, delta: f64) -> PyResult<f64> {
    theory::confidence_width(norm, noise_std, capacity, delta).map_err(refused)
}

/// ‖f*‖ + √(2(γ_n + ln(1/δ))): the width for which the band of Theorem 3.2 holds whatever ρ is.
#[pyfunction]
fn calibrated_width(norm: f64, capacity: f64, delta: f64) -> PyResult<f64> {
    theory::calibrated_width(norm, capacity, delta).map_err(refused)
}

/// d·ln n: how fast γ_n grows with the linear kernel.
#[pyfunction]
fn linear_growth(n: f64, dim: usize) -> f64 {
    theory::linear_growth(n, dim)
}

/// lnᵈ⁺¹ n: with the Gaussian kernel.
#[pyfunction]
fn gaussian_growth(n: f64, dim: usize) -> f64 {
    theory::gaussian_growth(n, dim)
}

/// n^(d/(1+d)) · ln^(1/(1+d)) n: with the Laplace kernel.
#[pyfunction]
fn laplace_growth(n: f64, dim: usize) -> f64 {
    theory::laplace_growth(n, dim)
}

/// n^(d/(2ν+d)) · ln^(2ν/(2ν+d)) n: with the Matérn kernel of smoothness ν.
#[pyfunction]
fn matern_growth(n: f64, dim: usize, smoothness: f64) -> f64 {
    theory::matern_growth(n, dim, smoothness)
}

#[pyfunction]
fn sampled(weight: f64, size: usize, rounds: usize) -> PyResult<(f64, f64, f64)> {
    let sampled = theory::sampled(weight, size, rounds).map_err(refused)?;
    Ok((sampled.inclusion, sampled.at_least, sampled.probability))
}

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Model>()?;
    module.add_class::<crate::diagnose::Diagnosis>()?;
    module.add_function(wrap_pyfunction!(guarantee, module)?)?;
    module.add_function(wrap_pyfunction!(objective_bound, module)?)?;
    module.add_function(wrap_pyfunction!(confidence_width, module)?)?;
    module.add_function(wrap_pyfunction!(calibrated_width, module)?)?;
    module.add_function(wrap_pyfunction!(linear_growth, module)?)?;
    module.add_function(wrap_pyfunction!(gaussian_growth, module)?)?;
    module.add_function(wrap_pyfunction!(laplace_growth, module)?)?;
    module.add_function(wrap_pyfunction!(matern_growth, module)?)?;
    module.add_function(wrap_pyfunction!(sampled, module)?)
}
