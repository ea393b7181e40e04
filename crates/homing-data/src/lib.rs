//! Reads labelled examples from files: images, tables and embeddings.
//!
//! [`open`] reads a data set of any supported kind, and [`Inputs`] returns its examples as numbers. With the feature `fetch`,
//! the function `fetch` downloads common data sets.

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
mod options;
mod picture;
mod resize;
mod table;
mod tiles;

pub use dataset::{Data, Dataset, NamedExamples};
pub use error::{Error, ImageSize, Remedy, Result};
#[cfg(feature = "fetch")]
pub use fetch::{Download, DownloadProgress, SETS, downloads, fetch, fetch_files};
pub use files::StoredImage;
pub use inputs::{Inputs, RgbPixels};
pub use memory::fits_memory;
pub use open::{open, open_bytes};
pub use options::OpenOptions;
pub use picture::is_named as is_image_name;
