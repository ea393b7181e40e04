//! Refusals as Python raises them.

use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};

/// A refusal of the core.
pub fn refused(error: homing::Error) -> PyErr {
    match error {
        homing::Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        homing::Error::Unreadable(why) => PyOSError::new_err(why),
        error => PyValueError::new_err(in_python(&error.to_string())),
    }
}

/// A refusal of a reader.
pub fn unreadable(error: homing_pool::Error) -> PyErr {
    match error {
        homing_pool::Error::NotFound { .. } => PyFileNotFoundError::new_err(error.to_string()),
        error => PyValueError::new_err(in_python(&error.to_string())),
    }
}

/// A page that could not be made.
pub fn unwritten(error: homing_report::Error) -> PyErr {
    match error {
        homing_report::Error::Numbers(error) => refused(error),
        error => PyRuntimeError::new_err(error.to_string()),
    }
}

/// The options that a sentence names, as the arguments that they are here: `--noise-std` is `noise_std`.
pub fn in_python(sentence: &str) -> String {
    let word = |word: &str| match word.strip_prefix("--") {
        Some(option) => option.replace('-', "_"),
        None => word.to_owned(),
    };
    sentence.split(' ').map(word).collect::<Vec<_>>().join(" ")
}
