//! Values from which the noise is estimated: numbers or labels, of the pool or of some of its rows.

use std::path::Path;

use anyhow::{Context, Result};
use homing_pool::{Pool, classes_of, label_values, row_labels, values_of_rows};

use crate::row_lists::label_table;

/// Where the values may be.
pub struct Values<'a> {
    /// Column of the pool.
    pub column: Option<&'a str>,
    /// File with one row per row of the pool, or a table of labels.
    pub file: Option<&'a Path>,
    /// Picks file, which may have a column of labels.
    pub picks: Option<&'a Path>,
}

impl Values<'_> {
    /// Returns one row of values per row of the pool, with NaN for rows without values; none if there are no values.
    pub fn read(&self, pool: &Pool, label_column: Option<&str>) -> Result<Option<Vec<f64>>> {
        if let Some(path) = self.file {
            return values_of_rows(&label_table(path)?, Some(pool), pool.rows(), label_column).context("--values");
        }
        if let Some(values) = self.column.and_then(|column| pool.numbers(column)) {
            return Ok(Some(values.to_vec()));
        }
        if let Some(labels) = pool.labels() {
            return Ok(label_values(pool.path(), labels)?);
        }
        let Some(path) = self.picks else { return Ok(None) };
        // Labels that are all equal say nothing about the noise.
        let labels = row_labels(&label_table(path)?, Some(pool), pool.rows(), label_column)?;
        let labels = labels.filter(|labels| classes_of(labels).len() > 1);
        Ok(labels.map_or(Ok(None), |labels| label_values(path, &labels))?)
    }
}
