//! Refusals as Python raises them.

use std::path::Path;

use pyo3::PyErr;
use pyo3::exceptions::{
    PyFileNotFoundError, PyIsADirectoryError, PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError,
};

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

/// A refusal of the writer of files.
pub fn unwritable(path: &Path, error: &homing_pool::Error) -> PyErr {
    let sentence = error.to_string();
    match error {
        homing_pool::Error::Write { .. } if path.is_dir() => PyIsADirectoryError::new_err(sentence),
        homing_pool::Error::Write { .. } if path.parent().is_some_and(is_missing) => {
            PyFileNotFoundError::new_err(sentence)
        }
        homing_pool::Error::Write { .. } => PyOSError::new_err(sentence),
        _ => PyValueError::new_err(sentence),
    }
}

fn is_missing(folder: &Path) -> bool {
    !folder.as_os_str().is_empty() && !folder.exists()
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
