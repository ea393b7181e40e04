//! Finds the library of ONNX Runtime and loads it when it is first used.
//!
//! A process can load one library only, so everything that runs ONNX models asks this crate for the [`Environment`].

mod find;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;

pub use find::{VARIABLE, find};
pub use ort;

/// The library that was loaded.
static LOADED: Mutex<Option<(PathBuf, Environment)>> = Mutex::new(None);

/// Loads the library at `path`, or returns the reason why it cannot be used. If another library has been loaded before, that one
/// is used.
pub fn environment(path: &Path) -> Result<Environment, String> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, environment)) = &*loaded {
        return Ok(environment.clone());
    }
    let builder = ort::init_from(path).map_err(|error| error.to_string())?;
    let environment = builder.with_telemetry(false).build().map_err(|error| error.to_string())?;
    // Otherwise every model prints warnings about its own making.
    environment.set_log_level(ort::logging::LogLevel::Error);
    *loaded = Some((path.to_owned(), environment.clone()));
    Ok(environment)
}
