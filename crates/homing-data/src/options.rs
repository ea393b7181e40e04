//! What a caller says about a data set.

use std::path::PathBuf;

/// Options for reading a data set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// Width and height in pixels to which images are resized; images that are not square are cropped to the middle.
    pub size: Option<usize>,
    /// Column of labels in a table or in the file of `labels`. By default the column called `label`, `labels`, `class` or
    /// `target`.
    pub label_column: Option<String>,
    /// Column of embeddings in a table.
    pub embedding: Option<String>,
    /// File with one label per row of an embeddings file.
    pub labels: Option<PathBuf>,
}
