//! Results as a tidy table: a row for every series, seed and round.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use homing_pool::{read_file, write_beside};
use serde::{Deserialize, Serialize};

use super::check::MOST_ROUNDS;
use super::plan::{Figure, Series, When};
use super::run::Place;
use crate::finetune::mean_and_error;

/// Bytes that a table may have: a thousand million for ten million rounds.
const MOST_BYTES: u64 = 1 << 30;

/// One round of one cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    pub line: String,
    pub value: String,
    pub seed: u64,
    pub round: usize,
    pub picks: usize,
    pub accuracy: Option<f64>,
    pub task_share: Option<f64>,
    pub choosing_seconds: Option<f64>,
    pub learning_seconds: Option<f64>,
}

/// What `homing finetune` writes of a round.
#[derive(Deserialize)]
struct Found {
    rule: String,
    seed: u64,
    round: usize,
    picks: usize,
    accuracy: Option<f64>,
    task_share: Option<f64>,
}

/// How long a round took.
#[derive(Deserialize)]
struct Times {
    round: usize,
    choosing: f64,
    learning: f64,
}

pub struct Tidy(pub Vec<Row>);

impl Tidy {
    pub fn collect<'a>(places: impl IntoIterator<Item = &'a Place<'a>>) -> Result<Self> {
        let mut rows = Vec::new();
        for place in places {
            let (cell, folder, results) = (place.cell, &place.folder, place.results());
            let found: Vec<Found> = records(&results)?;
            let Some(rule) = found.first().map(|found| &found.rule) else {
                bail!("{} is empty; remove that folder and run the experiment again", results.display());
            };
            if found.iter().any(|found| found.rule != *rule || found.seed != cell.seed) {
                bail!(
                    "{} has more than {rule} with seed {}; remove that folder and run the experiment again",
                    results.display(),
                    cell.seed
                );
            }
            let times: Vec<Times> =
                records(&folder.join(format!("{rule}-{}/times.csv", cell.seed))).unwrap_or_default();
            let times: BTreeMap<usize, Times> = times.into_iter().map(|times| (times.round, times)).collect();
            let first = rows.len();
            rows.extend(found.into_iter().map(|found| Row {
                line: cell.series.line.clone(),
                value: cell.series.value.clone(),
                seed: cell.seed,
                round: found.round,
                picks: found.picks,
                accuracy: found.accuracy.map(rounded),
                task_share: found.task_share.map(rounded),
                choosing_seconds: times.get(&found.round).map(|times| times.choosing),
                learning_seconds: times.get(&found.round).map(|times| times.learning),
            }));
            for (round, row) in (1..).zip(&rows[first..]) {
                let elsewhere = (row.round != round).then_some("its rounds do not follow each other from the first");
                if let Some(why) = row.fault().or(elsewhere) {
                    bail!(
                        "{} was not written by a run: {why}; remove that folder and run the experiment again",
                        results.display()
                    );
                }
            }
        }
        Ok(Self(rows))
    }

    pub fn read(path: &Path) -> Result<Self> {
        if !path.exists() {
            bail!("{} is not there; `homing experiment run` makes it", path.display());
        }
        let rows: Vec<Row> = records(path)?;
        let mut seen = BTreeSet::new();
        for (number, row) in rows.iter().enumerate() {
            let repeated = !seen.insert((&row.line, &row.value, row.seed, row.round));
            if let Some(why) = row.fault().or(repeated.then_some("an earlier row is about the same round")) {
                bail!(
                    "row {number} of {} is not one of an experiment: {why}; `homing experiment run` makes the table anew",
                    path.display()
                );
            }
        }
        Ok(Self(rows))
    }

    pub fn write(&self, path: &Path) -> Result<()> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for row in &self.0 {
            writer.serialize(row)?;
        }
        let bytes = writer.into_inner()?;
        Ok(write_beside(path, |file| file.write_all(&bytes))?)
    }

    fn of<'a>(&'a self, series: &'a Series) -> impl Iterator<Item = &'a Row> {
        self.0.iter().filter(|row| row.line == series.line && row.value == series.value)
    }

    /// Picks so far, mean and standard error over the seeds, round by round.
    pub fn curve(&self, series: &Series, figure: Figure) -> Vec<(f64, f64, f64)> {
        let mut rounds: BTreeMap<usize, (usize, Vec<f64>)> = BTreeMap::new();
        for row in self.of(series) {
            let entry = rounds.entry(row.round).or_insert((row.picks, Vec::new()));
            entry.1.extend(row.figure(figure));
        }
        let point = |(picks, values): (usize, Vec<f64>)| {
            let (mean, error) = mean_and_error(&values)?;
            Some((picks as f64, mean, error))
        };
        rounds.into_values().filter_map(point).collect()
    }

    /// One figure a seed.
    pub fn by_seed(&self, series: &Series, figure: Figure, when: When) -> BTreeMap<u64, f64> {
        let last = self.of(series).map(|row| row.round).max().unwrap_or(0);
        let wanted = |round: usize| match when {
            When::Early => round <= last.div_ceil(5),
            When::Mean => true,
            When::End => round == last,
        };
        let mut seeds: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for row in self.of(series).filter(|row| wanted(row.round)) {
            seeds.entry(row.seed).or_default().extend(row.figure(figure));
        }
        let mean = |(seed, values): (u64, Vec<f64>)| Some((seed, mean_and_error(&values)?.0));
        seeds.into_iter().filter_map(mean).collect()
    }

    pub fn mean(&self, series: &Series, figure: Figure, when: When) -> Option<(f64, f64)> {
        mean_and_error(&self.by_seed(series, figure, when).into_values().collect::<Vec<_>>())
    }

    /// Mean seconds a round, of choosing and of learning.
    pub fn times(&self, series: &Series) -> Option<(f64, f64)> {
        let mean = |of: fn(&Row) -> Option<f64>| {
            mean_and_error(&self.of(series).filter_map(of).collect::<Vec<_>>()).map(|(mean, _)| mean)
        };
        Some((mean(|row| row.choosing_seconds)?, mean(|row| row.learning_seconds)?))
    }

    pub fn rounds(&self) -> usize {
        self.0.iter().map(|row| row.round).max().unwrap_or(0)
    }

    pub fn seeds(&self) -> usize {
        self.0.iter().map(|row| row.seed).collect::<std::collections::BTreeSet<_>>().len()
    }
}

impl Row {
    /// Why no experiment has written it.
    fn fault(&self) -> Option<&'static str> {
        let is_share = |x: f64| (0.0..=1.0).contains(&x);
        let is_time = |x: f64| x.is_finite() && x >= 0.0;
        match () {
            () if !(1..=MOST_ROUNDS as usize).contains(&self.round) => Some("its round is out of range"),
            () if ![self.accuracy, self.task_share].into_iter().flatten().all(is_share) => {
                Some("its accuracy or share is not between 0 and 1")
            }
            () if ![self.choosing_seconds, self.learning_seconds].into_iter().flatten().all(is_time) => {
                Some("its seconds are no length of time")
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

/// To six digits: more than a share of a few thousand examples has.
fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

fn records<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Vec<T>> {
    let context = || format!("{} cannot be read as results", path.display());
    let bytes = read_file(path, MOST_BYTES).with_context(context)?;
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    reader.deserialize().collect::<Result<_, _>>().with_context(context)
}
