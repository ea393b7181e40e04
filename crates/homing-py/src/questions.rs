//! Questions to the processes that hold the rows of a pool.

use homing::remote::Transport;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

/// A function that takes the numbers of shards and a message, and returns their answers.
pub struct Questions(pub Py<PyAny>);

impl Transport for Questions {
    fn ask(&self, shards: &[usize], message: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        Python::attach(|py| {
            let arguments = (PyList::new(py, shards)?, PyBytes::new(py, message));
            let answers = self.0.bind(py).call1(arguments)?;
            let bytes = |answer: PyResult<Bound<'_, PyAny>>| Ok(answer?.cast::<PyBytes>()?.as_bytes().to_vec());
            answers.try_iter()?.map(bytes).collect::<PyResult<Vec<Vec<u8>>>>()
        })
        .map_err(|error| error.to_string())
    }
}
