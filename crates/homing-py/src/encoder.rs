//! Encoders of texts and images.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use homing_data::Inputs;
use homing_encode::{Cache, EncoderChoice, Error, Items, Session};
use homing_pool::ReadOptions;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::argument::read;
use crate::data::{COLUMNS, Data};
use crate::error::{core_error, encoder_error};

/// Number of items between two checks for signals; the command keeps as many in one file of the cache.
const BLOCK: usize = 256;

/// Side to which images would be resized as inputs of a network; encoders read them as they are stored.
const SIDE: usize = 224;

/// An encoder, which keeps what it learned from the first items.
#[pyclass(frozen, module = "homing._homing")]
pub struct Encoder {
    session: Mutex<Session>,
    is_built_in: bool,
}

impl Encoder {
    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Embeds items block by block, so that Ctrl-C can end the work. A built-in encoder learns from all items at once.
    fn embed<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        items: impl Fn(std::ops::Range<usize>) -> Result<Items, Error> + Send + Sync,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let block = if self.is_built_in { count } else { BLOCK };
        // The threads of a shared pool would not survive a fork.
        let workers = homing::thread_pool(None).map_err(core_error)?;
        let mut values = Vec::new();
        for start in (0..count).step_by(block.max(1)) {
            let rows = start..(start + block).min(count);
            let embed = || self.session().embed(&items(rows)?, "the items".as_ref(), &mut |_| ());
            values.extend(py.detach(|| workers.install(embed)).map_err(encoder_error)?);
            py.check_signals()?;
        }
        let dim = self.dim().unwrap_or(0);
        PyArray1::from_vec(py, values).reshape([count, dim])
    }
}

#[pymethods]
impl Encoder {
    /// Opens the model at a path; without one, a built-in encoder learns from the first items that it embeds.
    #[new]
    #[pyo3(signature = (model=None))]
    fn new(py: Python<'_>, model: Option<PathBuf>) -> PyResult<Self> {
        let is_built_in = model.is_none();
        let choice = model.map_or(EncoderChoice::BuiltIn, EncoderChoice::Model);
        let session = py.detach(|| Session::new(choice)).map_err(encoder_error)?.with_cache(Cache::usual());
        Ok(Self { session: Mutex::new(session), is_built_in })
    }

    /// The name for people; None before a built-in encoder has learned.
    #[getter]
    fn name(&self) -> Option<String> {
        self.session().encoder().map(homing_encode::Encoder::name)
    }

    #[getter]
    fn kind(&self) -> Option<String> {
        self.session().encoder().map(|encoder| encoder.kind().to_string())
    }

    #[getter]
    fn dim(&self) -> Option<usize> {
        self.session().encoder().map(homing_encode::Encoder::dim)
    }

    /// Number of items whose embeddings were in the cache.
    #[getter]
    fn cached(&self) -> usize {
        self.session().cached()
    }

    fn texts<'py>(&self, py: Python<'py>, texts: Vec<String>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        self.embed(py, texts.len(), |rows| Ok(Items::Texts(texts[rows].to_vec())))
    }

    fn images<'py>(&self, py: Python<'py>, paths: Vec<PathBuf>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        self.embed(py, paths.len(), |rows| Ok(Items::Images(Inputs::image_files(paths[rows].to_vec(), SIDE)?)))
    }

    /// Embeds the texts or images in a file or folder, and keeps its ids and columns.
    fn open(&self, py: Python<'_>, path: PathBuf, columns: &Bound<'_, PyDict>) -> PyResult<Data> {
        let mut options = ReadOptions::default();
        read(COLUMNS, &mut options, columns)?;
        let workers = homing::thread_pool(None).map_err(core_error)?;
        let open = || self.session().open(&path, &options, &mut |_| ());
        let opened = py.detach(|| workers.install(open)).map_err(encoder_error)?;
        Data::of_pool(py, opened.pool)
    }
}

/// Whether a file or folder holds texts or images instead of embeddings.
#[pyfunction]
pub fn holds_items(py: Python<'_>, path: PathBuf, columns: &Bound<'_, PyDict>) -> PyResult<bool> {
    let mut options = ReadOptions::default();
    read(COLUMNS, &mut options, columns)?;
    Ok(py.detach(|| homing_encode::holds_items(&path, &options)))
}

/// Whether columns of numbers beside a column of texts are facts about them, such as stars or prices, by their names.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "Python hands over a list")]
pub fn are_facts(text: &str, numbers: Vec<String>) -> bool {
    homing_encode::are_facts(text, &numbers)
}

/// Whether a path is the name of an image file.
#[pyfunction]
pub fn is_image_name(name: &str) -> bool {
    homing_data::is_image_name(name)
}

/// Returns the usual names of columns of texts, and then of columns of paths.
#[pyfunction]
pub fn item_names() -> Vec<&'static str> {
    homing_pool::TEXT_NAMES.into_iter().chain(homing_pool::PATH_NAMES).collect()
}
