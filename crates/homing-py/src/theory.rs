//! Computes the paper's guarantees.

use homing::{Interrupt, Noise, theory};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::core_error;
use crate::run::run;
use crate::settings::Settings;
use crate::task::Task;

/// A Gaussian process with its pool, targets, noise and observations.
#[pyclass(frozen, module = "homing._homing")]
pub struct Model {
    task: Py<Task>,
    noise: Noise,
    observed: Vec<usize>,
    threads: Option<usize>,
}

impl Model {
    /// Calls `question` with the core's model, without the interpreter lock.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&theory::Model<'_>) -> homing::Result<T> + Send,
    ) -> PyResult<T> {
        let interrupt = Interrupt::default();
        self.task.get().with(py, &interrupt, self.observed.len(), |task| {
            run(py, self.threads, &interrupt, None, |_| {
                let model = theory::Model::new(task, self.noise)?.given(&self.observed)?;
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
    fn new(task: Py<Task>, observed: Vec<usize>, settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let Settings { plan, threads, .. } = Settings::read(settings)?;
        Ok(Self { task, noise: plan.noise, observed, threads })
    }

    fn given(&self, py: Python<'_>, rows: Vec<usize>) -> Self {
        let observed = [&self.observed[..], &rows].concat();
        Self { task: self.task.clone_ref(py), noise: self.noise, observed, threads: self.threads }
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

    /// Returns max σ²_0(x), max (σ²_0(x) + ρ²(x)), and λ_min(K_SS) if it is known.
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

/// Returns 1 − e^−κ: ITL's batch has at least this share of the best batch's information (Theorem C.2).
#[pyfunction]
fn guarantee(ratio: f64) -> f64 {
    theory::guarantee(ratio)
}

/// Returns γ_n/n, an upper bound of Γ_{n−1} if the targets include the pool and ITL chose the first n rows (Eq. 7).
#[pyfunction]
fn objective_bound(capacity: f64, n: usize) -> f64 {
    theory::objective_bound(capacity, n)
}

/// Returns β_n(δ) = ‖f*‖ + ρ·√(2(γ_n + 1 + ln(1/δ))), as Theorem 3.2 states it; for ρ < 1 it is too narrow.
#[pyfunction]
fn confidence_width(norm: f64, noise_std: f64, capacity: f64, delta: f64) -> PyResult<f64> {
    theory::confidence_width(norm, noise_std, capacity, delta).map_err(core_error)
}

/// Returns ‖f*‖ + √(2(γ_n + ln(1/δ))), the width for which the band of Theorem 3.2 holds for every ρ.
#[pyfunction]
fn calibrated_width(norm: f64, capacity: f64, delta: f64) -> PyResult<f64> {
    theory::calibrated_width(norm, capacity, delta).map_err(core_error)
}

/// Returns d·ln n, the growth of γ_n with the linear kernel.
#[pyfunction]
fn linear_growth(n: f64, dim: usize) -> f64 {
    theory::linear_growth(n, dim)
}

/// Returns lnᵈ⁺¹ n, the growth of γ_n with the Gaussian kernel.
#[pyfunction]
fn gaussian_growth(n: f64, dim: usize) -> f64 {
    theory::gaussian_growth(n, dim)
}

/// Returns n^(d/(1+d)) · ln^(1/(1+d)) n, the growth of γ_n with the Laplace kernel.
#[pyfunction]
fn laplace_growth(n: f64, dim: usize) -> f64 {
    theory::laplace_growth(n, dim)
}

/// Returns n^(d/(2ν+d)) · ln^(2ν/(2ν+d)) n, the growth of γ_n with the Matérn kernel of smoothness ν.
#[pyfunction]
fn matern_growth(n: f64, dim: usize, smoothness: f64) -> f64 {
    theory::matern_growth(n, dim, smoothness)
}

/// Returns the numbers of Lemma F.1: the probability that a round includes a target, a number of rounds that include it, and
/// the probability that at least this many do.
#[pyfunction]
fn sampling_bound(weight: f64, size: usize, rounds: usize) -> PyResult<(f64, f64, f64)> {
    let bound = theory::sampling_bound(weight, size, rounds).map_err(core_error)?;
    Ok((bound.inclusion, bound.at_least, bound.probability))
}

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Model>()?;
    module.add_function(wrap_pyfunction!(guarantee, module)?)?;
    module.add_function(wrap_pyfunction!(objective_bound, module)?)?;
    module.add_function(wrap_pyfunction!(confidence_width, module)?)?;
    module.add_function(wrap_pyfunction!(calibrated_width, module)?)?;
    module.add_function(wrap_pyfunction!(linear_growth, module)?)?;
    module.add_function(wrap_pyfunction!(gaussian_growth, module)?)?;
    module.add_function(wrap_pyfunction!(laplace_growth, module)?)?;
    module.add_function(wrap_pyfunction!(matern_growth, module)?)?;
    module.add_function(wrap_pyfunction!(sampling_bound, module)?)
}
