//! The data of a selection, kept alive while Python uses the selection.

use homing::{Embeddings, Interrupt, Kernel, Points, Precomputed, Preparation, kernel_named};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::argument::{Argument, Reader, read};
use crate::data::{Data, View};
use crate::error::core_error;
use crate::run::run;

/// The data that a selection is made from.
#[pyclass(frozen, module = "homing._homing")]
pub struct Task {
    pool: Py<Data>,
    targets: Option<Py<Data>>,
    inputs: Inputs,
    /// The pool's mean, if it is subtracted.
    mean: Option<Vec<f64>>,
    is_normalized: bool,
}

/// The data of a selection except the pool and the targets.
#[derive(Default)]
pub struct Inputs {
    observed_rows: Vec<usize>,
    observed_points: Option<Py<Data>>,
    probabilities: Option<Py<Data>>,
    target_probabilities: Option<Py<Data>>,
    groups: Option<Vec<usize>>,
    /// The maximum number of picks of each group number.
    quotas: Vec<usize>,
    costs: Option<Vec<f64>>,
    kernel: KernelInput,
    center: Option<bool>,
    normalize: Option<bool>,
    forbidden: Vec<usize>,
    noise_vars: Option<Vec<f64>>,
}

/// The kernel that suits the rows, the name of a kernel, or a kernel matrix whose row numbers are the points.
#[derive(Default)]
enum KernelInput {
    #[default]
    Usual,
    Name(String),
    Matrix(Py<Data>),
}

/// Returns the class probabilities that were given, or else those of the file.
fn probabilities_of<'a>(given: Option<&'a View<'_>>, data: Option<&'a Data>) -> PyResult<Option<Embeddings<'a>>> {
    match given {
        Some(view) => view.embeddings().map(Some),
        None => Ok(data.and_then(Data::file).and_then(homing_pool::Pool::probabilities)),
    }
}

fn view<'a>(py: Python<'a>, data: Option<&'a Py<Data>>) -> PyResult<Option<View<'a>>> {
    data.map(|data| data.get().view(py)).transpose()
}

/// Every input, with the field that stores it. The package lists the same names in `_settings.py`.
pub const INPUTS: &[Reader<Inputs>] = &[
    ("observed", |to, rows| rows.rows().map(|rows| to.observed_rows = rows)),
    ("observed_points", |to, points| points.optional(Data::of).map(|points| to.observed_points = points)),
    ("probabilities", |to, data| data.optional(Data::of).map(|data| to.probabilities = data)),
    ("target_probabilities", |to, data| data.optional(Data::of).map(|data| to.target_probabilities = data)),
    ("groups", |to, groups| groups.optional(Argument::rows).map(|groups| to.groups = groups)),
    ("quotas", |to, quotas| quotas.optional(Argument::rows).map(|quotas| to.quotas = quotas.unwrap_or_default())),
    ("costs", |to, costs| costs.optional(Argument::numbers).map(|costs| to.costs = costs)),
    ("kernel", |to, kernel| kernel_input(kernel).map(|kernel| to.kernel = kernel)),
    ("center", |to, center| center.optional(Argument::flag).map(|center| to.center = center)),
    ("normalize", |to, normalize| normalize.optional(Argument::flag).map(|normalize| to.normalize = normalize)),
    ("forbidden", |to, rows| rows.rows().map(|rows| to.forbidden = rows)),
    ("noise_vars", |to, vars| vars.optional(Argument::numbers).map(|vars| to.noise_vars = vars)),
];

fn kernel_input(kernel: &Argument<'_, '_>) -> PyResult<KernelInput> {
    let given = |kernel: &Argument<'_, '_>| {
        Data::of(kernel).map(KernelInput::Matrix).or_else(|_| kernel.text().map(KernelInput::Name))
    };
    Ok(kernel.optional(given)?.unwrap_or_default())
}

#[pymethods]
impl Task {
    #[new]
    fn new(py: Python<'_>, pool: Py<Data>, targets: Option<Py<Data>>, inputs: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut all = Inputs::default();
        read(INPUTS, &mut all, inputs)?;
        let usual = match &all.kernel {
            KernelInput::Usual => Preparation::usual("linear", pool.get().rows(), targets.is_some()),
            KernelInput::Name(name) => Preparation::usual(name, pool.get().rows(), targets.is_some()),
            KernelInput::Matrix(_) => Preparation::default(),
        };
        let is_normalized = all.normalize.unwrap_or(usual.normalize);
        let is_centered = all.center.unwrap_or(usual.center);
        let mut task = Self { pool, targets, inputs: all, mean: None, is_normalized };
        task.check().map_err(core_error)?;
        if is_centered {
            task.mean = Some(task.pool_mean(py)?);
        }
        Ok(task)
    }

    /// Returns the name of the kernel for so many picks; a kernel matrix takes the place of `linear`.
    fn kernel(&self, picks: usize) -> &str {
        match &self.inputs.kernel {
            KernelInput::Usual => self.usual_kernel(picks),
            KernelInput::Name(name) => name,
            KernelInput::Matrix(_) => "linear",
        }
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

    pub fn is_normalized(&self) -> bool {
        self.is_normalized
    }

    fn usual_kernel(&self, picks: usize) -> &'static str {
        let points = self.inputs.observed_points.as_ref().map_or(0, |points| points.get().rows());
        let observations = picks.min(self.pool().rows()) + self.inputs.observed_rows.len() + points;
        let targets = self.targets().map_or(0, Data::rows);
        let preparation = Preparation { center: self.is_centered(), normalize: self.is_normalized };
        preparation.kernel(self.pool().rows(), self.pool().dim(), targets, observations)
    }

    pub fn quotas(&self) -> &[usize] {
        &self.inputs.quotas
    }

    /// Refuses points whose dimension differs from the pool's, and lists that do not have one number per row.
    fn check(&self) -> homing::Result<()> {
        let (rows, pool) = (self.pool().rows(), self.pool().dim());
        for (what, points) in [("targets", &self.targets), ("observed points", &self.inputs.observed_points)] {
            if let Some(got) = points.as_ref().map(|points| points.get().dim()).filter(|&got| got != pool) {
                return Err(homing::Error::Dimension { what, got, pool });
            }
        }
        for (what, numbers) in [("costs", &self.inputs.costs), ("noise variances", &self.inputs.noise_vars)] {
            if let Some(got) = numbers.as_ref().map(Vec::len).filter(|&got| got != rows) {
                return Err(homing::Error::Length { what, got, expected: rows });
            }
        }
        Ok(())
    }

    fn pool_mean(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        let view = self.pool().view(py)?;
        let interrupt = Interrupt::default();
        let embeddings = view.embeddings()?.watching(&interrupt);
        run(py, None, &interrupt, None, |_| embeddings.check_finite("pool").map(|()| embeddings.mean()))
    }

    /// Borrows the data and calls `f` with the core's task. By default, its kernel is the one that suits so many `picks`.
    pub fn with<T>(
        &self,
        py: Python<'_>,
        interrupt: &Interrupt,
        picks: usize,
        f: impl FnOnce(homing::Task<'_>) -> PyResult<T>,
    ) -> PyResult<T> {
        let inputs = &self.inputs;
        let pool = self.pool().view(py)?;
        let targets = view(py, self.targets.as_ref())?;
        let observed_points = view(py, inputs.observed_points.as_ref())?;
        let given = [view(py, inputs.probabilities.as_ref())?, view(py, inputs.target_probabilities.as_ref())?];
        let probabilities = probabilities_of(given[0].as_ref(), Some(self.pool()))?;
        let target_probabilities = probabilities_of(given[1].as_ref(), self.targets())?;

        let name = self.kernel(picks);
        let matrix = match &inputs.kernel {
            KernelInput::Matrix(matrix) => Some(matrix.get().view(py)?),
            _ => None,
        };
        let by_name = kernel_named(name, probabilities.map_or(0, |p| p.dim())).map_err(core_error)?;
        let by_matrix = match matrix.as_ref().map(View::embeddings).transpose()? {
            Some(matrix) => {
                let matrix = matrix.watching(interrupt);
                Some(run(py, None, interrupt, None, |_| Precomputed::new(matrix))?)
            }
            None => None,
        };
        let kernel: &dyn Kernel = by_matrix.as_ref().map_or(&*by_name, |kernel| kernel);

        let gradients = name == "loss-gradient";
        if gradients && observed_points.is_some() {
            let why = "with kernel='loss-gradient', observed examples must be rows of the pool; give their indices";
            return Err(PyValueError::new_err(why));
        }
        let pool = self.points(&pool, probabilities, gradients, interrupt)?;
        let targets = targets.as_ref().map(|view| self.points(view, target_probabilities, gradients, interrupt));
        let observed_points = observed_points.as_ref().map(|view| self.points(view, None, false, interrupt));
        let mut task = homing::Task::undirected(pool)
            .targets(targets.transpose()?)
            .kernel(kernel)
            .observed_rows(&inputs.observed_rows)
            .observed_points(observed_points.transpose()?)
            .probabilities(probabilities)
            .forbidden(&inputs.forbidden);
        task.noise_vars = inputs.noise_vars.as_deref();
        task.costs = inputs.costs.as_deref();
        task.groups = inputs.groups.as_deref();
        f(task)
    }

    /// Returns the embeddings, centred and scaled as requested, or their loss gradients.
    fn points<'a>(
        &'a self,
        view: &'a View<'_>,
        probabilities: Option<Embeddings<'a>>,
        gradients: bool,
        interrupt: &'a Interrupt,
    ) -> PyResult<Points<'a>> {
        let embeddings = view.embeddings()?.watching(interrupt);
        let embeddings = self.mean.as_ref().map_or(embeddings, |mean| embeddings.centered(mean));
        let embeddings = if self.is_normalized { embeddings.normalized() } else { embeddings };
        match probabilities {
            _ if !gradients => Ok(embeddings.into()),
            Some(probabilities) => Points::loss_gradient(embeddings, probabilities).map_err(core_error),
            None => Err(PyValueError::new_err(
                "loss gradients need the class probabilities of pool and targets; give probabilities and target_probabilities",
            )),
        }
    }
}
