//! The table of results, one row per series, seed and round.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use homing_pool::{read_file, write_beside};
use homing_train::{CurvePoint, Observation, learning_curve, mean_and_error};
use serde::{Deserialize, Serialize};

use crate::cells::GridCell;
use crate::check::MOST_ROUNDS;
use crate::error::{Error, Remedy, Result};
use crate::experiment::{Figure, Period, SeriesName};

/// File of the results of a run.
const RESULTS: &str = "results.csv";

/// Limit on the bytes of a table, enough for ten million rounds.
const MOST_BYTES: u64 = 1 << 30;

/// A row of the table: one round of one cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResultRow {
    /// Name of the line.
    pub line: String,
    /// Value of the varied argument; empty if nothing varies within the line.
    pub value: String,
    /// The seed.
    pub seed: u64,
    /// Number of the round, counted from 1.
    pub round: usize,
    /// Number of picks so far.
    pub picks: usize,
    /// Accuracy on the test examples.
    pub accuracy: Option<f64>,
    /// Share of the picks that belong to the task.
    pub task_share: Option<f64>,
    /// Mean of k(x, x) over the candidates of the round; older tables do not have it.
    #[serde(default)]
    pub mean_var: Option<f64>,
    /// Seconds for choosing.
    pub choosing_seconds: Option<f64>,
    /// Seconds for learning.
    pub learning_seconds: Option<f64>,
}

/// A row of the `results.csv` that `homing finetune` writes.
#[derive(Deserialize)]
struct ResultRecord {
    rule: String,
    seed: u64,
    round: usize,
    picks: usize,
    accuracy: Option<f64>,
    task_share: Option<f64>,
    #[serde(default)]
    mean_var: Option<f64>,
}

/// A row of the `times.csv` that `homing finetune` writes.
#[derive(Deserialize)]
struct TimingRecord {
    round: usize,
    choosing: f64,
    learning: f64,
}

/// Table of the results of an experiment.
pub struct ResultTable(Vec<ResultRow>);

impl ResultTable {
    /// Collects the results of cells from the folders of their runs.
    pub fn collect<'a>(cells: impl IntoIterator<Item = (&'a GridCell, &'a Path)>) -> Result<Self> {
        let mut rows = Vec::new();
        for (cell, folder) in cells {
            rows.extend(rows_of(cell, folder)?);
        }
        Ok(Self(rows))
    }

    /// Reads a table that [`Self::write`] wrote.
    pub fn read(path: &Path) -> Result<Self> {
        if !path.exists() {
            let problem = format!("{} does not exist", path.display());
            return Err(Error::Results { problem, remedy: Remedy::RunExperiment });
        }
        let rows: Vec<ResultRow> = records(path)?;
        let mut seen = BTreeSet::new();
        for (number, row) in rows.iter().enumerate() {
            let repeated = !seen.insert((&row.line, &row.value, row.seed, row.round));
            if let Some(why) = row.fault().or(repeated.then_some("an earlier row is about the same round")) {
                let problem = format!("row {number} of {} does not come from an experiment: {why}", path.display());
                return Err(Error::Results { problem, remedy: Remedy::RunAgain });
            }
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

    fn of<'a>(&'a self, series: &'a SeriesName) -> impl Iterator<Item = &'a ResultRow> {
        self.0.iter().filter(|row| row.line == series.line && row.value == series.value)
    }

    /// Returns the mean and standard error over the seeds, round by round.
    pub fn curve(&self, series: &SeriesName, figure: Figure) -> Vec<CurvePoint> {
        learning_curve(self.of(series).map(|row| Observation {
            round: row.round,
            picks: row.picks,
            value: row.figure(figure),
        }))
    }

    /// Returns one value per seed.
    pub fn by_seed(&self, series: &SeriesName, figure: Figure, when: Period) -> BTreeMap<u64, f64> {
        let last = self.of(series).map(|row| row.round).max().unwrap_or(0);
        let in_period = |round: usize| match when {
            Period::Early => round <= last.div_ceil(5),
            Period::Mean => true,
            Period::End => round == last,
        };
        let mut seeds: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for row in self.of(series).filter(|row| in_period(row.round)) {
            seeds.entry(row.seed).or_default().extend(row.figure(figure));
        }
        let mean = |(seed, values): (u64, Vec<f64>)| Some((seed, mean_and_error(&values)?.0));
        seeds.into_iter().filter_map(mean).collect()
    }

    /// Returns the mean and standard error over the seeds.
    pub fn mean(&self, series: &SeriesName, figure: Figure, when: Period) -> Option<(f64, f64)> {
        mean_and_error(&self.by_seed(series, figure, when).into_values().collect::<Vec<_>>())
    }

    /// Returns the mean of k(x, x) over the candidates of the first round and of the last, averaged over the seeds.
    pub fn mean_vars(&self, series: &SeriesName) -> Option<(f64, f64)> {
        let last = self.of(series).map(|row| row.round).max()?;
        let of_round = |round: usize| {
            let values: Vec<f64> =
                self.of(series).filter(|row| row.round == round).filter_map(|row| row.mean_var).collect();
            mean_and_error(&values).map(|(mean, _)| mean)
        };
        Some((of_round(1)?, of_round(last)?))
    }

    /// Returns the mean seconds per round for choosing and for learning.
    pub fn times(&self, series: &SeriesName) -> Option<(f64, f64)> {
        let mean = |of: fn(&ResultRow) -> Option<f64>| {
            mean_and_error(&self.of(series).filter_map(of).collect::<Vec<_>>()).map(|(mean, _)| mean)
        };
        Some((mean(|row| row.choosing_seconds)?, mean(|row| row.learning_seconds)?))
    }

    /// Returns the number of the last round.
    pub fn rounds(&self) -> usize {
        self.0.iter().map(|row| row.round).max().unwrap_or(0)
    }

    /// Returns the number of seeds.
    pub fn seeds(&self) -> usize {
        self.0.iter().map(|row| row.seed).collect::<BTreeSet<_>>().len()
    }
}

impl ResultRow {
    /// Returns why no experiment can have written this row, or none.
    fn fault(&self) -> Option<&'static str> {
        let is_share = |x: f64| (0.0..=1.0).contains(&x);
        let is_time = |x: f64| x.is_finite() && x >= 0.0;
        match () {
            () if !(1..=MOST_ROUNDS as usize).contains(&self.round) => Some("its round is out of range"),
            () if ![self.accuracy, self.task_share].into_iter().flatten().all(is_share) => {
                Some("its accuracy or share is not between 0 and 1")
            }
            () if self.mean_var.is_some_and(|mean| !(mean.is_finite() && mean >= 0.0)) => {
                Some("its mean variance is not a number from 0 on")
            }
            () if ![self.choosing_seconds, self.learning_seconds].into_iter().flatten().all(is_time) => {
                Some("its seconds are not a duration")
            }
            () => None,
        }
    }

    fn figure(&self, figure: Figure) -> Option<f64> {
        match figure {
            Figure::Accuracy => self.accuracy,
            Figure::TaskShare => self.task_share,
        }
    }
}

/// Rounds a share to six digits, which is exact enough for a few thousand examples.
fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

/// Reads the rounds of one cell.
fn rows_of(cell: &GridCell, folder: &Path) -> Result<Vec<ResultRow>> {
    let path = folder.join(RESULTS);
    let refused = |problem: &str| {
        let remedy = Remedy::Write("remove that folder and run the experiment again");
        Err(Error::Results { problem: format!("{} {problem}", path.display()), remedy })
    };
    let found: Vec<ResultRecord> = records(&path)?;
    let Some(rule) = found.first().map(|found| found.rule.clone()) else { return refused("is empty") };
    if found.iter().any(|found| found.rule != rule || found.seed != cell.seed) {
        return refused(&format!("has rows of other runs than {rule} with seed {}", cell.seed));
    }
    let times: Vec<TimingRecord> = records(&folder.join(format!("{rule}-{}/times.csv", cell.seed))).unwrap_or_default();
    let times: BTreeMap<usize, TimingRecord> = times.into_iter().map(|times| (times.round, times)).collect();
    let row = |found: ResultRecord| ResultRow {
        line: cell.series.line.clone(),
        value: cell.series.value.clone(),
        seed: cell.seed,
        round: found.round,
        picks: found.picks,
        accuracy: found.accuracy.map(rounded),
        task_share: found.task_share.map(rounded),
        mean_var: found.mean_var,
        choosing_seconds: times.get(&found.round).map(|times| times.choosing),
        learning_seconds: times.get(&found.round).map(|times| times.learning),
    };
    let rows: Vec<ResultRow> = found.into_iter().map(row).collect();
    for (round, row) in (1..).zip(&rows) {
        let elsewhere = (row.round != round).then_some("its rounds are not numbered from 1 on");
        if let Some(why) = row.fault().or(elsewhere) {
            return refused(&format!("was not written by a run: {why}"));
        }
    }
    Ok(rows)
}

pub(crate) fn records<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Vec<T>> {
    let bytes = read_file(path, MOST_BYTES)?;
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    reader.deserialize().collect::<Result<_, _>>().map_err(|error| unreadable(path, &error))
}

pub(crate) fn unreadable(path: &Path, error: &csv::Error) -> Error {
    Error::Table { path: path.into(), reason: error.to_string() }
}
