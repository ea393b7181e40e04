//! Labels and values that a file gives to rows of a pool.

use std::path::Path;

use crate::chooser::LABEL_NAMES;
use crate::{Error, NumberTable, Pool, RawTable, ReadOptions, Result, RowList};

/// Maximum number of values that labels may turn into, one per row and class.
const MOST_VALUES: usize = 100_000_000;

/// Returns the labels in a table that lists rows by index or id, in the column `label_column` or in one with a usual name; `None` if
/// the file is no such table.
///
/// ```
/// use homing_pool::listed_labels;
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("picks.csv");
/// std::fs::write(&path, "index,label\n7,cat\n2,\n")?;
/// assert_eq!(listed_labels(&path, None)?.unwrap(), ["cat", ""]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn listed_labels(path: &Path, label_column: Option<&str>) -> Result<Option<Vec<String>>> {
    let Ok(table) = RawTable::open(path, &ReadOptions::default()) else { return Ok(None) };
    let names = table.columns();
    let find =
        |usual: &[&str]| usual.iter().find_map(|usual| names.iter().find(|name| name.eq_ignore_ascii_case(usual)));
    let label = match label_column {
        Some(name) => names.iter().find(|found| *found == name).or_else(|| find(&LABEL_NAMES)),
        None => find(&LABEL_NAMES),
    };
    let lists_rows = table.has_ids() || find(&["index"]).is_some();
    label.filter(|_| lists_rows).map(|label| table.column(label)).transpose()
}

/// Returns the labels that such a table gives to the rows of a pool with so many rows, and empty labels for all others; `None` if the
/// file is no such table. Only a `pool` that is a file has ids.
pub fn row_labels(
    path: &Path,
    pool: Option<&Pool>,
    rows: usize,
    label_column: Option<&str>,
) -> Result<Option<Vec<String>>> {
    let Some(listed) = listed_labels(path, label_column)? else { return Ok(None) };
    let mut labels = vec![String::new(); rows];
    for (row, label) in RowList::open(path)?.rows_of(pool)?.unwrap_or_default().into_iter().zip(listed) {
        let place = labels.get_mut(row).ok_or_else(|| Error::RowOutside { path: path.to_owned(), row, rows })?;
        *place = label;
    }
    Ok(Some(labels))
}

/// Returns those of the rows, which the file at `path` lists, to which it gives a label; all of them if it gives none to any.
pub fn labelled_rows(path: &Path, rows: Vec<usize>) -> Result<Vec<usize>> {
    let labels = listed_labels(path, None)?.filter(|labels| labels.len() == rows.len());
    let Some(labels) = labels else { return Ok(rows) };
    let has_label = |(_, label): &(&usize, &String)| !label.trim().is_empty();
    let labelled: Vec<usize> = rows.iter().zip(&labels).filter(has_label).map(|(&row, _)| row).collect();
    Ok(if labelled.is_empty() { rows } else { labelled })
}

/// Returns the values in a file from which a noise can be estimated: those of its labels ([`label_values`]) if it is a table of
/// labels, and otherwise its numbers, one row per row of the pool. The arguments are those of [`row_labels`].
pub fn values_of_rows(
    path: &Path,
    pool: Option<&Pool>,
    rows: usize,
    label_column: Option<&str>,
) -> Result<Option<Vec<f64>>> {
    if let Some(labels) = row_labels(path, pool, rows, label_column)? {
        return label_values(path, &labels);
    }
    let table = NumberTable::open(path)?;
    if table.rows != rows {
        return Err(Error::ValueCount { path: path.to_owned(), values: table.rows, rows });
    }
    Ok(Some(table.numbers))
}

/// Returns the classes that labels name, sorted; blank labels name none.
pub fn classes_of(labels: &[String]) -> Vec<&String> {
    let mut classes: Vec<&String> = labels.iter().filter(|label| !label.trim().is_empty()).collect();
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// Returns labels as numbers from which a noise can be estimated: one per row and class, 1 for the row's class and 0 for all others,
/// and NaN for rows without a label. Returns `None` if no row has a label. `path` is where the labels came from, for messages.
///
/// ```
/// use homing_pool::label_values;
///
/// let labels = ["cat", "dog", ""].map(str::to_owned);
/// let values = label_values("labels.csv".as_ref(), &labels)?.unwrap();
/// assert_eq!(values[..4], [1.0, 0.0, 0.0, 1.0]);
/// assert!(values[4].is_nan() && values[5].is_nan());
/// # Ok::<(), homing_pool::Error>(())
/// ```
pub fn label_values(path: &Path, labels: &[String]) -> Result<Option<Vec<f64>>> {
    let classes = classes_of(labels);
    if classes.is_empty() {
        return Ok(None);
    }
    if classes.len().saturating_mul(labels.len()) > MOST_VALUES {
        return Err(Error::ManyLabels { path: path.to_owned(), classes: classes.len() });
    }
    let one_hot = |label: &String| {
        let class = classes.binary_search(&label).ok();
        (0..classes.len()).map(move |c| class.map_or(f64::NAN, |class| f64::from(u8::from(c == class))))
    };
    Ok(Some(labels.iter().flat_map(one_hot).collect()))
}
