//! What came out of a run: figures round by round, and their means over seeds.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use comfy_table::Table;
use homing_data::Dataset;
use homing_pool::write_beside;
use homing_train::Round;

use super::setup::Split;
use crate::terminal::{grouped, plain_table};

/// Picks so far, and how many of them are of the task.
#[derive(Clone, Copy, Default)]
pub struct Share {
    hits: usize,
    known: usize,
}

impl Share {
    pub fn new(rounds: &[Round], split: &Split<'_>) -> Self {
        let mut share = Self::default();
        rounds.iter().for_each(|round| share.count(round, split));
        share
    }

    pub fn count(&mut self, round: &Round, split: &Split<'_>) {
        for in_task in round.picks.iter().filter_map(|pick| split.in_task(pick.row)) {
            self.known += 1;
            self.hits += usize::from(in_task);
        }
    }

    fn value(self) -> Option<f64> {
        (self.known > 0).then(|| self.hits as f64 / self.known as f64)
    }

    pub fn percent(self) -> String {
        percent(self.value())
    }
}

/// A round of one rule and seed.
pub struct Row {
    pub seed: u64,
    pub round: usize,
    pub picks: usize,
    pub share: Option<f64>,
    pub accuracy: Option<f64>,
    pub information: f64,
    /// The rows picked in this round.
    pub rows: Vec<usize>,
    /// The class that each was given; none where it was skipped.
    labels: Vec<Option<u32>>,
}

/// Picks so far, mean and standard error.
pub type Curve = Vec<(usize, f64, f64)>;

/// All rounds, rule by rule.
pub struct Results {
    pub rules: Vec<(String, Vec<Row>)>,
    /// Rows that could be chosen.
    pub pool: usize,
    /// Examples that the accuracy is measured on.
    tests: usize,
}

impl Results {
    pub fn new(rules: Vec<String>) -> Self {
        Self { rules: rules.into_iter().map(|rule| (rule, Vec::new())).collect(), pool: 0, tests: 0 }
    }

    pub fn add(&mut self, rule: &str, seed: u64, rounds: &[Round], split: &Split<'_>) {
        (self.pool, self.tests) = (split.open.len(), split.test.rows.len());
        let (_, list) = self.rules.iter_mut().find(|(name, _)| name == rule).expect("a rule of the run");
        let (mut share, mut picks) = (Share::default(), 0);
        for round in rounds {
            share.count(round, split);
            picks += round.picks.len();
            list.push(Row {
                seed,
                round: round.round,
                picks,
                share: share.value(),
                accuracy: round.accuracy,
                information: round.picks.last().map_or(0.0, |pick| pick.information),
                rows: round.picks.iter().map(|pick| pick.row).collect(),
                labels: round.picks.iter().map(|pick| pick.label).collect(),
            });
        }
    }

    /// Mean and standard error of a figure over the seeds, for each number of picks.
    pub fn curve(rows: &[Row], figure: impl Fn(&Row) -> Option<f64>) -> Curve {
        let rounds = rows.iter().map(|row| row.round).max().unwrap_or(0);
        let at = |round: usize| {
            let of_round: Vec<&Row> = rows.iter().filter(|row| row.round == round).collect();
            let values: Vec<f64> = of_round.iter().filter_map(|row| figure(row)).collect();
            let (mean, error) = mean_and_error(&values)?;
            Some((of_round[0].picks, mean, error))
        };
        (1..=rounds).filter_map(at).collect()
    }

    pub fn write(&self, path: &Path) -> Result<()> {
        let number = |x: Option<f64>| x.map_or_else(String::new, |x| x.to_string());
        write_beside(path, |file| {
            writeln!(file, "rule,seed,round,picks,accuracy,task_share,information")?;
            for (rule, rows) in &self.rules {
                for row in rows {
                    let (accuracy, share) = (number(row.accuracy), number(row.share));
                    let Row { seed, round, picks, information, .. } = row;
                    writeln!(file, "{rule},{seed},{round},{picks},{accuracy},{share},{information}")?;
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    /// What was picked, in order, by id and class.
    pub fn write_picks(&self, path: &Path, data: &Dataset) -> Result<()> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["rule", "seed", "round", "row", "id", "label"])?;
        for (rule, rows) in &self.rules {
            for row in rows {
                for (&picked, label) in row.rows.iter().zip(&row.labels) {
                    let label = label.map_or("", |label| &data.classes[label as usize]);
                    let (seed, round, at) = (row.seed.to_string(), row.round.to_string(), picked.to_string());
                    writer.write_record([rule, &seed, &round, &at, &data.ids[picked], label])?;
                }
            }
        }
        let bytes = writer.into_inner()?;
        Ok(write_beside(path, |file| file.write_all(&bytes))?)
    }

    /// The last round of each rule, behind a header.
    pub fn cells(&self) -> Vec<Vec<String>> {
        let header = ["rule", "picks", "picks from the task", "accuracy", "mean accuracy of all rounds"];
        let mut cells = vec![header.map(str::to_owned).to_vec()];
        for (rule, rows) in &self.rules {
            let last = |figure: fn(&Row) -> Option<f64>| {
                Self::curve(rows, figure).last().map_or_else(String::new, |&(_, mean, error)| with_error(mean, error))
            };
            let all: Vec<f64> = rows.iter().filter_map(|row| row.accuracy).collect();
            cells.push(vec![
                rule.clone(),
                rows.iter().map(|row| row.picks).max().unwrap_or(0).to_string(),
                last(|row| row.share),
                last(|row| row.accuracy),
                percent(mean_and_error(&all).map(|(mean, _)| mean)),
            ]);
        }
        cells
    }

    pub fn table(&self) -> Table {
        let cells = self.cells();
        let mut table = plain_table();
        table.set_header(&cells[0]);
        table.add_rows(&cells[1..]);
        table
    }

    pub fn seeds(&self) -> usize {
        let seeds: std::collections::BTreeSet<u64> = self.rules[0].1.iter().map(|row| row.seed).collect();
        seeds.len()
    }

    /// What the figures are.
    pub fn note(&self) -> String {
        let seeds = match self.seeds() {
            1 => "One seed".to_owned(),
            seeds => format!("Means over {seeds} seeds, with one standard error"),
        };
        match self.tests {
            0 => format!("{seeds}; no test examples, so no accuracy."),
            1 => format!("{seeds}; accuracy on one test example, which says little."),
            tests => format!("{seeds}; accuracy on {} test examples.", grouped(tests)),
        }
    }

    /// Where the network of the main rule is.
    pub fn network(&self, folder: &Path) -> PathBuf {
        let (rule, rows) = &self.rules[0];
        folder.join(format!("{rule}-{}", rows.first().map_or(0, |row| row.seed))).join("model.safetensors")
    }
}

/// Mean, and the standard error of the mean.
pub fn mean_and_error(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / count)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((mean, if values.len() > 1 { (squares / (count - 1.0) / count).sqrt() } else { 0.0 }))
}

/// A share and its error as people read them.
pub fn with_error(mean: f64, error: f64) -> String {
    if error > 0.0 { format!("{:.1} ± {:.1} %", 100.0 * mean, 100.0 * error) } else { percent(Some(mean)) }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(String::new, |share| format!("{:.1} %", 100.0 * share))
}
