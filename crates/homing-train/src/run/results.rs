//! Results of a run, round by round, and their means over the seeds.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use homing_data::Dataset;
use homing_pool::write_beside;

use crate::algorithm::{LabelledPick, RoundRecord};
use crate::statistics::{CurvePoint, Observation, learning_curve};
use crate::{Error, Result};

use super::DataSplit;

/// Share of the picks so far that belong to the task.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskShare {
    hits: usize,
    known: usize,
}

impl TaskShare {
    /// Counts the picks of finished rounds.
    pub fn new(rounds: &[RoundRecord], split: &DataSplit<'_>) -> Self {
        let mut share = Self::default();
        rounds.iter().for_each(|round| share.count(round, split));
        share
    }

    /// Counts the picks of one more round.
    pub fn count(&mut self, round: &RoundRecord, split: &DataSplit<'_>) {
        for in_task in round.picks.iter().filter_map(|pick| split.in_task(pick.row)) {
            self.known += 1;
            self.hits += usize::from(in_task);
        }
    }

    /// Returns the share, or none if it is not known for any pick whether it belongs to the task.
    pub fn value(self) -> Option<f64> {
        (self.known > 0).then(|| self.hits as f64 / self.known as f64)
    }
}

/// Result of one round of one rule and seed.
#[derive(Clone, Debug)]
pub struct RoundResult {
    /// The seed.
    pub seed: u64,
    /// Number of the round, counted from 1.
    pub round: usize,
    /// Number of picks so far.
    pub picks: usize,
    /// Share of the picks so far that belong to the task.
    pub task_share: Option<f64>,
    /// Accuracy on the test examples.
    pub accuracy: Option<f64>,
    /// Information about the targets in the picks of the round, in nats.
    pub information: f64,
    /// Mean of k(x, x) over the candidates of the round.
    pub mean_var: Option<f64>,
    /// The picks of this round, with their labels.
    pub labelled: Vec<LabelledPick>,
}

/// Results of all rounds, rule by rule.
#[derive(Clone, Debug)]
pub struct RunResults {
    /// Names of the rules and their rounds, the main rule first.
    pub rules: Vec<(String, Vec<RoundResult>)>,
    /// Number of rows that could be chosen.
    pub pool: usize,
    /// Number of test examples.
    pub tests: usize,
}

impl RunResults {
    pub(super) fn new(rules: impl IntoIterator<Item = String>) -> Self {
        Self { rules: rules.into_iter().map(|rule| (rule, Vec::new())).collect(), pool: 0, tests: 0 }
    }

    pub(super) fn add(&mut self, rule: &str, seed: u64, rounds: &[RoundRecord], split: &DataSplit<'_>) {
        (self.pool, self.tests) = (split.open.len(), split.tests());
        let (_, list) =
            self.rules.iter_mut().find(|(name, _)| name == rule).expect("every rule of the run has an entry");
        let (mut share, mut picks) = (TaskShare::default(), 0);
        for round in rounds {
            share.count(round, split);
            // Other rows have taken the place of those that were skipped.
            picks += round.picks.iter().filter(|pick| pick.label.is_some()).count();
            list.push(RoundResult {
                seed,
                round: round.round,
                picks,
                task_share: share.value(),
                accuracy: round.accuracy,
                information: round.picks.last().map_or(0.0, |pick| pick.information),
                mean_var: round.mean_var,
                labelled: round.picks.clone(),
            });
        }
    }

    /// Returns the mean and standard error of a measurement over the seeds, for each number of picks.
    pub fn curve(rounds: &[RoundResult], measurement: impl Fn(&RoundResult) -> Option<f64>) -> Vec<CurvePoint> {
        learning_curve(rounds.iter().map(|result| Observation {
            round: result.round,
            picks: result.picks,
            value: measurement(result),
        }))
    }

    /// Writes `results.csv`.
    pub fn write(&self, path: &Path) -> Result<()> {
        let number = |x: Option<f64>| x.map_or_else(String::new, |x| x.to_string());
        write_beside(path, |file| {
            writeln!(file, "rule,seed,round,picks,accuracy,task_share,information,mean_var")?;
            for (rule, rounds) in &self.rules {
                for result in rounds {
                    let (accuracy, share) = (number(result.accuracy), number(result.task_share));
                    let RoundResult { seed, round, picks, information, .. } = result;
                    let mean_var = number(result.mean_var);
                    writeln!(file, "{rule},{seed},{round},{picks},{accuracy},{share},{information},{mean_var}")?;
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Writes `picks.csv`: all picks in order. `information` is that of the picks of the round so far, in nats.
    pub fn write_picks(&self, path: &Path, data: &Dataset) -> Result<()> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let failed = |error: csv::Error| Error::io(path)(error.into());
        let header = ["rule", "seed", "round", "rank", "index", "id", "label", "score", "information"];
        writer.write_record(header).map_err(failed)?;
        for (rule, rounds) in &self.rules {
            for result in rounds {
                for (at, pick) in result.labelled.iter().enumerate() {
                    let label = pick.label.map_or("", |label| &data.classes[label as usize]);
                    let (seed, round, rank) = (result.seed.to_string(), result.round.to_string(), at + 1);
                    let (rank, index, id) = (rank.to_string(), pick.row.to_string(), &data.ids[pick.row]);
                    let (score, information) = (pick.score.to_string(), pick.information.to_string());
                    let record = [rule, &seed, &round, &rank, &index, id, label, &score, &information];
                    writer.write_record(record).map_err(failed)?;
                }
            }
        }
        let bytes = writer.into_inner().expect("writing to memory succeeds");
        Ok(write_beside(path, |file| file.write_all(&bytes))?)
    }

    /// Returns the number of seeds.
    pub fn seeds(&self) -> usize {
        self.rules[0].1.iter().map(|result| result.seed).collect::<BTreeSet<u64>>().len()
    }

    /// Returns the path of the network of the main rule.
    pub fn network(&self, folder: &Path) -> PathBuf {
        let (rule, rounds) = &self.rules[0];
        let seed = rounds.first().map_or(0, |result| result.seed);
        super::network_path(folder, rule, seed)
    }
}
