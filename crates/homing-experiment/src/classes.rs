//! How many picks of each class the runs of an experiment made.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use homing_pool::write_beside;
use serde::{Deserialize, Serialize};

use crate::cells::GridCell;
use crate::error::Result;
use crate::table::{records, unreadable};

/// File of the picks of a run.
const PICKS: &str = "picks.csv";

/// A row of the `picks.csv` that `homing finetune` writes.
#[derive(Deserialize)]
struct PickRecord {
    label: String,
}

/// A row of the table: the picks of one class in one cell.
#[derive(Debug, Serialize)]
struct ClassRow {
    line: String,
    value: String,
    seed: u64,
    /// Name of the class; empty for picks without a label.
    class: String,
    picks: usize,
}

/// Table of the picks per class after the last round, one row per series, seed and class.
pub struct ClassTable(Vec<ClassRow>);

impl ClassTable {
    /// Collects the picks of cells from the folders of their runs.
    pub fn collect<'a>(cells: impl IntoIterator<Item = (&'a GridCell, &'a Path)>) -> Result<Self> {
        let mut rows = Vec::new();
        for (cell, folder) in cells {
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            for pick in records::<PickRecord>(&folder.join(PICKS))? {
                *counts.entry(pick.label).or_default() += 1;
            }
            let (line, value) = (&cell.series.line, &cell.series.value);
            let row =
                |(class, picks)| ClassRow { line: line.clone(), value: value.clone(), seed: cell.seed, class, picks };
            rows.extend(counts.into_iter().map(row));
        }
        Ok(Self(rows))
    }

    /// Writes the table as CSV.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for row in &self.0 {
            writer.serialize(row).map_err(|error| unreadable(path, &error))?;
        }
        let bytes = writer.into_inner().expect("writing to memory succeeds");
        Ok(write_beside(path, |file| file.write_all(&bytes))?)
    }
}
