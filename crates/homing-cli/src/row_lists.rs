//! Files that name rows of a pool: lists, tables of labels, and folders of labelling runs.

use std::path::{Path, PathBuf};

use anyhow::{Error, Result, bail};
use homing_pool::{Error as PoolError, Pool, RowList, labelled_rows};

use crate::terminal::grouped;

/// What is known already: rows of the pool, or points.
#[derive(Default)]
pub struct Observed {
    pub rows: Vec<usize>,
    pub points: Option<Pool>,
    /// Says how many rows were left out because they have no label.
    pub unlabelled: Option<String>,
}

impl Observed {
    /// Reads a list of rows, embeddings, or the folder of a labelling run.
    pub fn open(path: &Path, pool: &Pool) -> Result<Self> {
        match row_list(path, pool)?.in_order_of(pool.side_by_side())? {
            RowList::Embeddings(points) => Ok(Self { points: Some(points), ..Self::default() }),
            list => {
                let listed = rows_of(list, pool, path)?;
                let (count, rows) = (listed.len(), labelled_rows(path, listed)?);
                let unlabelled = (rows.len() < count).then(|| {
                    let (without, all) = (grouped(count - rows.len()), grouped(count));
                    format!("{}: {without} of {all} rows have no label and do not count as observed", path.display())
                });
                Ok(Self { rows, points: None, unlabelled })
            }
        }
    }
}

/// Reads the list of rows at `path`, or the rows that tell something about the task if it is the folder of a labelling run.
fn row_list(path: &Path, pool: &Pool) -> Result<RowList> {
    #[cfg(feature = "label")]
    if homing_label::is_run(path) {
        let ids = homing_label::observed_ids(path)?;
        // A pool without ids is labelled by its row numbers.
        return Ok(match ids.iter().map(|id| id.parse().ok()).collect() {
            Some(rows) if pool.ids().is_none() => RowList::Rows(rows),
            _ => RowList::Ids(ids),
        });
    }
    #[cfg(not(feature = "label"))]
    let _ = pool;
    Ok(RowList::open(path)?)
}

/// Returns the file of labels: the one that was named, or that of the labelling run in the folder that was named.
pub fn label_table(named: &Path) -> Result<PathBuf> {
    #[cfg(feature = "label")]
    if homing_label::is_run(named) {
        return Ok(homing_label::write_label_table(named)?);
    }
    Ok(named.to_owned())
}

/// Returns the rows of a pool that a file names.
pub fn named_rows(path: &Path, pool: &Pool) -> Result<Vec<usize>> {
    rows_of(row_list(path, pool)?, pool, path)
}

/// Returns the rows of a picks file, which must name at least one.
pub fn picked_rows(path: &Path, pool: &Pool) -> Result<Vec<usize>> {
    let rows = named_rows(path, pool)?;
    if rows.is_empty() {
        bail!("{} names no rows; leave --picks out for the whole pool", path.display());
    }
    Ok(rows)
}

fn rows_of(list: RowList, pool: &Pool, path: &Path) -> Result<Vec<usize>> {
    let rows = list.rows_of(Some(pool)).map_err(|error| match error {
        PoolError::UnclearRows { .. } => Error::new(error),
        _ => Error::new(error).context(format!("{} names rows by id", path.display())),
    })?;
    match rows {
        Some(rows) => Ok(rows),
        None => {
            bail!(
                "{} holds embeddings, but this option needs rows of the pool; give their indices or ids",
                path.display()
            )
        }
    }
}
