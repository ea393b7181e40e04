//! Everything that can go wrong between a data set and a trained network.

use std::path::PathBuf;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call was refused. Each message is one sentence: what is wrong, the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a variant's fields are those of its message")]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {error}; check the path and its permissions", .path.display())]
    Io { path: PathBuf, error: std::io::Error },
    /// A file whose content is not what its name says.
    #[error("{}: {reason}", .path.display())]
    Malformed { path: PathBuf, reason: String },
    /// A device that this build or this machine does not have.
    #[error("there is no device {name:?}; {remedy}")]
    Device { name: String, remedy: &'static str },
    /// A library that could not be loaded or refuses the network.
    #[error("{} does not serve as ONNX Runtime: {reason}; name its library in ORT_DYLIB_PATH, or leave that unset", .path.display())]
    Library { path: PathBuf, reason: String },
    /// Weights that do not fit the network.
    #[error("the weights do not fit the network: {reason}")]
    Weights { reason: String },
    /// Examples of another shape than the network's.
    #[error(
        "the network takes examples of {expected} numbers, these have {got}; choose another network or another data set"
    )]
    Shape { expected: usize, got: usize },
    /// A label beyond the classes.
    #[error("example {row} has the label {label}, but there are {classes} classes, counted from 0")]
    Label { row: usize, label: u32, classes: usize },
    /// A setting that cannot be.
    #[error("{0}")]
    Setting(String),
    #[error(transparent)]
    Select(#[from] homing::Error),
    #[error(transparent)]
    Data(#[from] homing_data::Error),
    #[error(transparent)]
    Pool(#[from] homing_pool::Error),
}

impl Error {
    /// For `map_err` after a call that touches `path`.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        |error| Self::Io { path, error }
    }
}
