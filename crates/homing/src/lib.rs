//! Choosing data.
#![forbid(unsafe_code)]

mod embeddings;
mod error;
mod selection;

pub use embeddings::{Embeddings, Values};
pub use error::{Error, Result};
pub use selection::Pick;
