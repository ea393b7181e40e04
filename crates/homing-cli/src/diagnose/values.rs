//! Values from which the noise is estimated: numbers or labels, of the pool or of some of its rows.

use std::path::Path;

use anyhow::{Context, Result, bail};
use homing_pool::{NumberTable, Pool, classes_of, label_values, row_labels};

use crate::terminal::grouped;

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
        let labels_in = |path| row_labels(path, Some(pool), pool.rows(), label_column);
        if let Some(path) = self.file {
            return match labels_in(path)? {
                Some(labels) => Ok(label_values(path, &labels)?),
                None => numbers_of_file(path, pool.rows()).map(Some),
            };
        }
        if let Some(values) = self.column.and_then(|column| pool.numbers(column)) {
            return Ok(Some(values.to_vec()));
        }
        if let Some(labels) = pool.labels() {
            return Ok(label_values(pool.path(), labels)?);
        }
        let Some(path) = self.picks else { return Ok(None) };
        // Labels that are all equal say nothing about the noise.
        let labels = labels_in(path)?.filter(|labels| classes_of(labels).len() > 1);
        Ok(labels.map_or(Ok(None), |labels| label_values(path, &labels))?)
    }
}

/// Reads the numbers of a file with one row per row of the pool.
fn numbers_of_file(path: &Path, rows: usize) -> Result<Vec<f64>> {
    let values = NumberTable::open(path).context("--values")?;
    if values.rows != rows {
        let (got, path) = (grouped(values.rows), path.display());
        bail!(
            "{path} has {got} rows of values but the pool has {} rows; give one row of values per row, or labels in a table with \
             the columns index (or id) and label",
            grouped(rows)
        );
    }
    Ok(values.numbers)
}
