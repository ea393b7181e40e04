//! Writes pages to the disk.

use std::io::Write;
use std::path::PathBuf;

use homing_pool::{Paths, check_writable, write_beside};
use pyo3::prelude::*;

use crate::error::write_error;

/// Refuses a path that cannot be written, or that is or lies in one of the files or folders that were read.
#[pyfunction]
pub fn check_output(path: PathBuf, read: Vec<PathBuf>) -> PyResult<()> {
    let paths = read.iter().fold(Paths::new(), |paths, file| paths.reads(&**file)).writes("path", &*path);
    paths.check().and_then(|()| check_writable(&path)).map_err(|error| write_error(&path, &error))
}

/// Writes a page atomically: if writing fails, no partial file is left.
#[pyfunction]
pub fn write_page(py: Python<'_>, path: PathBuf, page: &str) -> PyResult<()> {
    let written = py.detach(|| write_beside(&path, |file| file.write_all(page.as_bytes())));
    written.map_err(|error| write_error(&path, &error))
}
