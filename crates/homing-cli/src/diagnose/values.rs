//! Values from which the noise is estimated: numbers or labels, of the pool or of some of its rows.

use std::path::Path;

use anyhow::{Context, Result, bail};
use homing_pool::{LABEL_NAMES, NumberTable, Pool, RawTable, ReadOptions};

use crate::files::named_rows;
use crate::terminal::grouped;

/// Maximum number of values that labels may turn into, one per row and class.
const MOST_VALUES: usize = 100_000_000;

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
            return match labels_of_table(path, pool, label_column)? {
                Some(labels) => values_of_labels(path, &labels),
                None => numbers_of_file(path, pool.rows()).map(Some),
            };
        }
        if let Some(values) = self.column.and_then(|column| pool.numbers(column)) {
            return Ok(Some(values.to_vec()));
        }
        if let Some(labels) = pool.labels() {
            return values_of_labels(pool.path(), labels);
        }
        let Some(path) = self.picks else { return Ok(None) };
        // Labels that are all equal, or too few, say nothing about the noise.
        let labels = labels_of_table(path, pool, label_column)?.filter(|labels| classes_of(labels).len() > 1);
        labels.map_or(Ok(None), |labels| values_of_labels(path, &labels))
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

/// Returns the labels that a table gives to rows of the pool, and empty labels for all others; none if the file is no table
/// with a column index or id and a column of labels.
fn labels_of_table(path: &Path, pool: &Pool, label_column: Option<&str>) -> Result<Option<Vec<String>>> {
    let Ok(table) = RawTable::open(path, &ReadOptions::default()) else { return Ok(None) };
    let names = table.columns();
    let find =
        |usual: &[&str]| usual.iter().find_map(|usual| names.iter().find(|name| name.eq_ignore_ascii_case(usual)));
    let label = match label_column {
        Some(name) => names.iter().find(|found| *found == name).or_else(|| find(&LABEL_NAMES)),
        None => find(&LABEL_NAMES),
    };
    let names_rows = table.has_ids() || find(&["index"]).is_some();
    let Some(label) = label.filter(|_| names_rows) else { return Ok(None) };
    let mut labels = vec![String::new(); pool.rows()];
    for (row, label) in named_rows(path, pool)?.into_iter().zip(table.column(label)?) {
        labels[row] = label;
    }
    Ok(Some(labels))
}

fn classes_of(labels: &[String]) -> Vec<&String> {
    let mut classes: Vec<&String> = labels.iter().filter(|label| !label.trim().is_empty()).collect();
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// Returns one column per class, with NaN for rows without a label; none if no row has one.
fn values_of_labels(path: &Path, labels: &[String]) -> Result<Option<Vec<f64>>> {
    let classes = classes_of(labels);
    if classes.is_empty() {
        return Ok(None);
    }
    if classes.len().saturating_mul(labels.len()) > MOST_VALUES {
        bail!(
            "{} has {} different labels, too many to estimate the noise from; leave --label-column out",
            path.display(),
            grouped(classes.len())
        );
    }
    let one_hot = |label: &String| {
        let class = classes.binary_search(&label).ok();
        (0..classes.len()).map(move |c| class.map_or(f64::NAN, |class| f64::from(u8::from(c == class))))
    };
    Ok(Some(labels.iter().flat_map(one_hot).collect()))
}
