//! The table of the study, one row per scene and setting.

use std::io::Write;
use std::path::Path;

use homing_pool::{read_file, write_beside};
use serde::{Deserialize, Serialize};

use super::BUDGETS;
use super::scene::SceneName;
use super::setting::Setting;
use crate::error::{Error, Result};

/// Limit on the bytes of a table.
const MOST_BYTES: u64 = 1 << 28;

/// The accuracies of a setting in a scene.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyRow {
    /// Name of the data set.
    pub data: String,
    /// Number of numbers per row.
    pub dim: usize,
    /// Number of the draw.
    pub draw: u64,
    /// Number of targets.
    pub targets: usize,
    /// Condition of the pool.
    pub condition: String,
    /// The setting.
    pub setting: String,
    /// Accuracy after 10 picks.
    pub accuracy_10: f64,
    /// Accuracy after 20 picks.
    pub accuracy_20: f64,
    /// Accuracy after 50 picks.
    pub accuracy_50: f64,
    /// Accuracy after 100 picks.
    pub accuracy_100: f64,
}

impl StudyRow {
    /// Creates the row of a setting, with accuracies rounded to four digits.
    pub fn new(scene: &SceneName, dim: usize, setting: &Setting, accuracies: [f64; BUDGETS.len()]) -> Self {
        let [accuracy_10, accuracy_20, accuracy_50, accuracy_100] = accuracies.map(|x| (x * 1e4).round() / 1e4);
        let SceneName { data, draw, targets, condition } = scene.clone();
        let setting = setting.to_string();
        Self { data, dim, draw, targets, condition, setting, accuracy_10, accuracy_20, accuracy_50, accuracy_100 }
    }

    /// Returns the scene.
    pub fn scene(&self) -> SceneName {
        let Self { data, draw, targets, condition, .. } = self.clone();
        SceneName { data, draw, targets, condition }
    }

    /// Returns the accuracies, one per budget.
    pub fn accuracies(&self) -> [f64; BUDGETS.len()] {
        [self.accuracy_10, self.accuracy_20, self.accuracy_50, self.accuracy_100]
    }
}

/// Writes the table as CSV.
pub fn write_study(path: &Path, rows: &[StudyRow]) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).map_err(|error| unreadable(path, &error))?;
    }
    let bytes = writer.into_inner().expect("writing to memory succeeds");
    Ok(write_beside(path, |file| file.write_all(&bytes))?)
}

/// Reads a table that [`write_study`] wrote.
pub fn read_study(path: &Path) -> Result<Vec<StudyRow>> {
    let bytes = read_file(path, MOST_BYTES)?;
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    reader.deserialize().collect::<Result<_, _>>().map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &csv::Error) -> Error {
    Error::Table { path: path.into(), reason: error.to_string() }
}
