//! The TOML file of an experiment: lines to compare, their common settings, and the paper's claims about them.

use serde::Deserialize;
use toml::{Table, Value};

use crate::error::{Error, Remedy, Result};

/// An experiment: the content of a TOML file for one figure or table.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Experiment {
    /// Name of the experiment and of its files.
    #[serde(skip)]
    pub name: String,
    /// Name of the TOML file in messages.
    #[serde(skip)]
    pub file: String,
    /// Title of the figure.
    pub title: String,
    /// Figure or table of the paper; empty if the paper has none.
    #[serde(default)]
    pub paper: String,
    /// Whether the claims are ours, because the paper does not make them.
    #[serde(default)]
    pub beyond: bool,
    /// Name of built-in settings that the experiment extends.
    pub(crate) like: Option<String>,
    /// Possible names of the data in the data folder; the first that exists is used.
    #[serde(default)]
    pub data: Vec<String>,
    /// Number of seeds of each series.
    #[serde(default)]
    pub seeds: u64,
    /// Differences from the paper.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Options of `homing finetune` for all lines.
    #[serde(default)]
    pub arguments: Table,
    /// Changes for the quick version.
    pub quick: Option<QuickVersion>,
    /// Lines to compare.
    pub lines: Vec<ExperimentLine>,
    /// Claims of the paper.
    #[serde(default)]
    pub claims: Vec<Claim>,
}

/// Changes for the quick version, which takes minutes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuickVersion {
    /// Number of seeds.
    pub seeds: Option<u64>,
    /// Options of `homing finetune`.
    #[serde(default)]
    pub arguments: Table,
}

/// A line of a figure or a row of a table.
#[derive(Deserialize)]
pub struct ExperimentLine {
    /// Name of the line in the legend.
    pub name: String,
    /// Accuracy in the paper after the last round and its standard error, in percent, for each series.
    #[serde(default)]
    pub paper: Vec<[f64; 2]>,
    /// Options of `homing finetune` for this line. A list makes one series per value.
    #[serde(flatten)]
    pub arguments: Table,
}

/// A claim of the paper, in a form that can be tested.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The claim as a sentence.
    pub says: String,
    /// Series that is higher than `lower`, or lower by less than `within`.
    pub higher: Option<String>,
    /// Series that are lower; if there are several, more than half of them, or each with `every`.
    #[serde(default)]
    pub lower: Vec<String>,
    /// Whether the claim is about every one of several lower series.
    #[serde(default)]
    pub every: bool,
    /// Two series that differ by at most `within`.
    pub same: Option<[String; 2]>,
    /// Two series whose difference is larger than that of the two series in `than`.
    pub gap: Option<[String; 2]>,
    /// The other two series.
    pub than: Option<[String; 2]>,
    /// Margin, as a share.
    #[serde(default)]
    pub within: f64,
    /// Factor by which the lower value is multiplied.
    #[serde(default = "once")]
    pub times: f64,
    /// Measurement that the claim is about.
    #[serde(default)]
    pub of: Figure,
    /// Rounds that the claim is about.
    #[serde(default)]
    pub when: Period,
    /// Whether the claim is ours, because the paper does not make it.
    #[serde(default)]
    pub beyond: bool,
}

impl Claim {
    /// Returns the measurement and the rounds in words.
    pub fn about(&self) -> &'static str {
        match (self.of, self.when) {
            (Figure::Accuracy, Period::Early) => "early accuracy",
            (Figure::Accuracy, Period::Mean) => "mean accuracy",
            (Figure::Accuracy, Period::End) => "accuracy at the end",
            (Figure::TaskShare, Period::Early) => "early picks from the task",
            (Figure::TaskShare, Period::Mean) => "mean share of the task",
            (Figure::TaskShare, Period::End) => "picks from the task",
        }
    }
}

fn once() -> f64 {
    1.0
}

/// Measurement of a run.
#[derive(Deserialize, Clone, Copy, Default, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Accuracy on the test examples.
    #[default]
    Accuracy,
    /// Share of the picks that belong to the task.
    TaskShare,
}

/// Rounds that a measurement is taken from.
#[derive(Deserialize, Clone, Copy, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Period {
    /// The mean over the first fifth of the rounds.
    Early,
    /// The mean over all rounds.
    #[default]
    Mean,
    /// The last round.
    End,
}

/// A line at one of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesName {
    /// The name of the line.
    pub line: String,
    /// Value of the varied argument; empty if the line has only one series.
    pub value: String,
}

impl SeriesName {
    /// Returns the line and the value as text.
    pub fn label(&self) -> String {
        if self.value.is_empty() { self.line.clone() } else { format!("{}, {}", self.line, self.value) }
    }
}

impl Experiment {
    /// Returns the quick version, which takes minutes.
    pub fn quick(mut self) -> Result<Self> {
        let Some(quick) = self.quick.take() else {
            let problem = "it has no quick version".into();
            return Err(Error::File { file: self.file, problem, remedy: Remedy::LeaveQuickOut });
        };
        self.name.push_str("-quick");
        self.notes.insert(0, "This is the quick version, with fewer rounds, seeds and images.".into());
        self.seeds = quick.seeds.unwrap_or(self.seeds);
        self.arguments.extend(quick.arguments);
        Ok(self)
    }

    /// Returns the title and its place in the paper.
    pub fn caption(&self) -> String {
        if self.paper.is_empty() { self.title.clone() } else { format!("{} ({} of the paper)", self.title, self.paper) }
    }

    /// Returns whether the paper makes a claim of the experiment. These claims are the family for [`holm`](crate::holm).
    pub fn is_of_paper(&self, claim: &Claim) -> bool {
        !(self.paper.is_empty() || self.beyond || claim.beyond)
    }

    /// Returns the experiment with other numbers of seeds and rounds.
    pub fn with(mut self, seeds: Option<u64>, rounds: Option<u64>) -> Self {
        self.seeds = seeds.unwrap_or(self.seeds);
        if let Some(rounds) = rounds {
            self.arguments.insert("rounds".into(), Value::Integer(rounds as i64));
        }
        self
    }

    /// Returns the largest number of rounds of a series.
    pub fn rounds(&self) -> usize {
        let own = self.lines.iter().flat_map(ExperimentLine::series).filter_map(|(_, own)| rounds_of(&own));
        own.chain(rounds_of(&self.arguments)).max().unwrap_or(0)
    }

    /// Returns all series, line by line.
    pub fn series(&self) -> Vec<SeriesName> {
        self.lines.iter().flat_map(ExperimentLine::series).map(|(series, _)| series).collect()
    }

    /// Returns the name of the argument that varies within lines, if there is one.
    pub fn varies(&self) -> Option<&str> {
        self.lines.iter().flat_map(ExperimentLine::varied).map(|(name, _)| name.as_str()).next()
    }

    /// Returns the result of the paper for a series: accuracy and standard error, in percent.
    pub fn paper_of(&self, series: &SeriesName) -> Option<[f64; 2]> {
        let line = self.lines.iter().find(|line| line.name == series.line)?;
        let at = line.series().iter().position(|(own, _)| own == series)?;
        line.paper.get(at).copied()
    }
}

impl ExperimentLine {
    /// Returns the series of the line, each with the arguments of the line.
    pub fn series(&self) -> Vec<(SeriesName, Table)> {
        let of = |varied: Option<(&String, &Value)>| {
            let value = varied.map_or_else(String::new, |(_, value)| as_text(value));
            let mut arguments = self.arguments.clone();
            arguments.extend(varied.map(|(name, value)| (name.clone(), value.clone())));
            (SeriesName { line: self.name.clone(), value }, arguments)
        };
        match self.varied().next() {
            Some((name, values)) => values.iter().map(|value| of(Some((name, value)))).collect(),
            None => vec![of(None)],
        }
    }

    /// Returns the arguments that are lists.
    pub fn varied(&self) -> impl Iterator<Item = (&String, &Vec<Value>)> {
        self.arguments.iter().filter_map(|(name, value)| Some((name, value.as_array()?)))
    }
}

/// Returns the number of rounds in arguments.
fn rounds_of(arguments: &Table) -> Option<usize> {
    arguments.get("rounds").and_then(Value::as_integer).and_then(|rounds| usize::try_from(rounds).ok())
}

/// Returns a value as text for the command line.
pub(crate) fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
