//! Labelled examples from files: images, tables, embeddings.
//!
//! [`open`] reads a data set of any known kind; [`Inputs`] hands out its examples as numbers. With the feature `fetch`,
//! `fetch` downloads the usual ones.

mod cifar;
mod classes;
mod dataset;
mod ending;
mod error;
#[cfg(feature = "fetch")]
mod fetch;
mod files;
mod folder;
mod idx;
mod inputs;
mod memory;
mod open;
mod picture;
mod resize;
mod table;
mod tiles;

pub use dataset::{Data, Dataset};
pub use error::{Error, Extent, Result};
#[cfg(feature = "fetch")]
pub use fetch::{Progress, SETS, Source, fetch, fetch_files, sources};
pub use inputs::Inputs;
pub use memory::fits_memory;
pub use open::{OpenOptions, open, open_bytes};
