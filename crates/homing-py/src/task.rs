//! The data of a selection, held for as long as Python asks about it.

use homing::{Embeddings, Interrupt, Kernel, Points, Precomputed, kernel_named};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::data::{Data, View};
use crate::error::refused;
use crate::run::run;

/// What a selection is made from.
#[pyclass(frozen, module = "homing._homing")]
pub struct Task {
    pool: Py<Data>,
    targets: Option<Py<Data>>,
    observed_points: Option<Py<Data>>,
    probabilities: Option<Py<Data>>,
    target_probabilities: Option<Py<Data>>,
    /// A kernel matrix, whose row numbers are the points then.
    gram: Option<Py<Data>>,
    kernel: String,
    /// The pool's mean, where it is subtracted.
    mean: Option<Vec<f64>>,
    observed_rows: Vec<usize>,
    forbidden: Vec<usize>,
    noise_vars: Option<Vec<f64>>,
    costs: Option<Vec<f64>>,
    groups: Option<Vec<usize>>,
}

fn rows_of(array: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<usize>> {
    let row = |&row: &i64| {
        usize::try_from(row)
            .map_err(|_| PyValueError::new_err(format!("row {row} is negative; rows of the pool are counted from 0")))
    };
    array.as_slice()?.iter().map(row).collect()
}

fn numbers_of(array: &PyReadonlyArray1<'_, f64>) -> PyResult<Vec<f64>> {
    Ok(array.as_slice()?.to_vec())
}

fn view<'a>(py: Python<'a>, data: Option<&'a Py<Data>>) -> PyResult<Option<View<'a>>> {
    data.map(|data| data.get().view(py)).transpose()
}

#[pymethods]
impl Task {
    #[new]
    #[pyo3(signature = (
        pool, targets=None, *, observed_points=None, probabilities=None, target_probabilities=None, gram=None,
        kernel="linear", center=false, observed_rows=None, forbidden=None, noise_vars=None, costs=None, groups=None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are what a selection is made from")]
    fn new(
        py: Python<'_>,
        pool: Py<Data>,
        targets: Option<Py<Data>>,
        observed_points: Option<Py<Data>>,
        probabilities: Option<Py<Data>>,
        target_probabilities: Option<Py<Data>>,
        gram: Option<Py<Data>>,
        kernel: &str,
        center: bool,
        observed_rows: Option<PyReadonlyArray1<'_, i64>>,
        forbidden: Option<PyReadonlyArray1<'_, i64>>,
        noise_vars: Option<PyReadonlyArray1<'_, f64>>,
        costs: Option<PyReadonlyArray1<'_, f64>>,
        groups: Option<PyReadonlyArray1<'_, i64>>,
    ) -> PyResult<Self> {
        let mean = if center {
            let view = pool.get().view(py)?;
            let interrupt = Interrupt::default();
            let embeddings = view.embeddings()?.watching(&interrupt);
            let mean =
                run(py, None, &interrupt, None, |_| embeddings.check_finite("pool").map(|()| embeddings.mean()))?;
            Some(mean)
        } else {
            None
        };
        let dim = pool.get().view(py)?.embeddings()?.dim();
        for (what, other) in [("targets", &targets), ("observed points", &observed_points)] {
            if let Some(other) = other {
                let got = other.get().view(py)?.embeddings()?.dim();
                if got != dim {
                    return Err(refused(homing::Error::Dimension { what, got, pool: dim }));
                }
            }
        }
        Ok(Self {
            pool,
            targets,
            observed_points,
            probabilities,
            target_probabilities,
            gram,
            kernel: kernel.to_owned(),
            mean,
            observed_rows: observed_rows.as_ref().map(rows_of).transpose()?.unwrap_or_default(),
            forbidden: forbidden.as_ref().map(rows_of).transpose()?.unwrap_or_default(),
            noise_vars: noise_vars.as_ref().map(numbers_of).transpose()?,
            costs: costs.as_ref().map(numbers_of).transpose()?,
            groups: groups.as_ref().map(rows_of).transpose()?,
        })
    }
}

impl Task {
    pub fn pool(&self) -> &Data {
        self.pool.get()
    }

    pub fn targets(&self) -> Option<&Data> {
        self.targets.as_ref().map(Py::get)
    }

    pub fn is_centered(&self) -> bool {
        self.mean.is_some()
    }

    /// Borrows everything and hands it over as the core wants it.
    pub fn with<T>(
        &self,
        py: Python<'_>,
        interrupt: &Interrupt,
        f: impl FnOnce(homing::Task<'_>) -> PyResult<T>,
    ) -> PyResult<T> {
        let (pool, targets, observed) =
            (self.pool.get().view(py)?, view(py, self.targets.as_ref())?, view(py, self.observed_points.as_ref())?);
        let (likely, target_likely) =
            (view(py, self.probabilities.as_ref())?, view(py, self.target_probabilities.as_ref())?);
        let gram = view(py, self.gram.as_ref())?;
        let probabilities = match &likely {
            Some(view) => Some(view.embeddings()?),
            None => self.pool().file().and_then(homing_pool::Pool::probabilities),
        };
        let target_probabilities = match &target_likely {
            Some(view) => Some(view.embeddings()?),
            None => self.targets().and_then(Data::file).and_then(homing_pool::Pool::probabilities),
        };

        let matrix = gram.as_ref().map(View::embeddings).transpose()?;
        let precomputed = match matrix {
            Some(matrix) => {
                let matrix = matrix.watching(interrupt);
                Some(run(py, None, interrupt, None, |_| Precomputed::new(matrix))?)
            }
            None => None,
        };
        let named = kernel_named(&self.kernel, probabilities.map_or(0, |p| p.dim())).map_err(refused)?;
        let kernel: &dyn Kernel = precomputed.as_ref().map_or(&*named, |kernel| kernel);

        let gradients = self.kernel == "loss-gradient" && gram.is_none();
        let pool = self.points(&pool, probabilities, gradients, interrupt)?;
        let targets = match &targets {
            Some(targets) => Some(self.points(targets, target_probabilities, gradients, interrupt)?),
            None => None,
        };
        let observed_points = match &observed {
            Some(_) if gradients => {
                let why = "with kernel='loss-gradient', observed examples are rows of the pool; give their indices";
                return Err(PyValueError::new_err(why));
            }
            Some(points) => Some(self.points(points, None, false, interrupt)?),
            None => None,
        };
        f(homing::Task {
            kernel,
            observed_rows: &self.observed_rows,
            observed_points,
            probabilities,
            noise_vars: self.noise_vars.as_deref(),
            costs: self.costs.as_deref(),
            groups: self.groups.as_deref(),
            forbidden: &self.forbidden,
            ..homing::Task::new(pool, targets)
        })
    }

    /// Embeddings, less the mean if that is asked for; or loss gradients made of them.
    fn points<'a>(
        &'a self,
        view: &'a View<'_>,
        probabilities: Option<Embeddings<'a>>,
        gradients: bool,
        interrupt: &'a Interrupt,
    ) -> PyResult<Points<'a>> {
        let embeddings = view.embeddings()?.watching(interrupt);
        let embeddings = self.mean.as_ref().map_or(embeddings, |mean| embeddings.centered(mean));
        match probabilities {
            _ if !gradients => Ok(embeddings.into()),
            Some(probabilities) => Points::loss_gradient(embeddings, probabilities).map_err(refused),
            None => Err(PyValueError::new_err(
                "loss gradients need the class probabilities of pool and targets; give probabilities and target_probabilities",
            )),
        }
    }
}
