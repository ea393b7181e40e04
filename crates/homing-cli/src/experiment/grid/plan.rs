//! The TOML file of an experiment: lines to compare, what they have in common, and what the paper says of them.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use homing_pool::read_file;
use serde::Deserialize;
use toml::{Table, Value};

use super::check;
use super::setting::Setting;

/// Bytes that a file may have: the longest of ours has three thousand.
const MOST_BYTES: u64 = 1 << 20;

macro_rules! own {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../../experiments/", $name, ".toml")))
    };
}

/// The experiments that the binary carries.
pub(super) const OWN: [(&str, &str); 22] = [
    own!("mnist-main"),
    own!("cifar-main"),
    own!("batch-selection"),
    own!("mnist-embeddings"),
    own!("cifar-embeddings"),
    own!("uncertainty"),
    own!("mnist-undirected"),
    own!("cifar-undirected"),
    own!("mnist-imbalanced-pool"),
    own!("cifar-imbalanced-pool"),
    own!("mnist-imbalanced-targets"),
    own!("cifar-imbalanced-targets"),
    own!("candidates"),
    own!("mnist-candidates"),
    own!("targets-a-round"),
    own!("target-count"),
    own!("noise"),
    own!("ratio"),
    own!("conditioning"),
    own!("mnist-conditioning"),
    own!("digits-conditioning"),
    own!("digits-quick"),
];

/// One figure or table.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Plan {
    #[serde(skip)]
    pub name: String,
    /// What messages call it.
    #[serde(skip)]
    pub file: String,
    pub title: String,
    /// Where the paper has it; empty where it is not the paper's.
    #[serde(default)]
    pub paper: String,
    /// A setting of ours to begin with.
    like: Option<String>,
    /// Names that the data may have in the folder of data; the first that is there is taken.
    #[serde(default)]
    pub data: Vec<String>,
    #[serde(default)]
    pub seeds: u64,
    /// What differs from the paper.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Of `homing finetune`, for every line.
    #[serde(default)]
    pub arguments: Table,
    /// What is different with --quick.
    pub quick: Option<Quick>,
    pub lines: Vec<Line>,
    #[serde(default)]
    pub claims: Vec<Claim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    pub seeds: Option<u64>,
    #[serde(default)]
    pub arguments: Table,
}

/// A line of a figure or a row of a table.
#[derive(Deserialize)]
pub struct Line {
    pub name: String,
    /// The paper's accuracy after the last round and its standard error, in percent, one for each series.
    #[serde(default)]
    pub paper: Vec<[f64; 2]>,
    /// Of `homing finetune`, for this line. A list makes a series of each of its values.
    #[serde(flatten)]
    pub arguments: Table,
}

/// What the paper says, so that it can be tested.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub says: String,
    /// A series that is higher than `lower`, or lower by less than `within`.
    pub higher: Option<String>,
    /// Series that are lower; of several, more than half.
    #[serde(default)]
    pub lower: Vec<String>,
    /// Two series that differ by at most `within`.
    pub same: Option<[String; 2]>,
    /// Of a share.
    #[serde(default)]
    pub within: f64,
    /// So many times the lower.
    #[serde(default = "once")]
    pub times: f64,
    #[serde(default)]
    pub of: Figure,
    #[serde(default)]
    pub when: When,
}

impl Claim {
    /// The figure that it is about.
    pub fn about(&self) -> &'static str {
        match (self.of, self.when) {
            (Figure::Accuracy, When::Early) => "early accuracy",
            (Figure::Accuracy, When::Mean) => "mean accuracy",
            (Figure::Accuracy, When::End) => "accuracy at the end",
            (Figure::TaskShare, When::Early) => "early picks from the task",
            (Figure::TaskShare, When::Mean) => "mean share of the task",
            (Figure::TaskShare, When::End) => "picks from the task",
        }
    }
}

fn once() -> f64 {
    1.0
}

#[derive(Deserialize, Clone, Copy, Default, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    #[default]
    Accuracy,
    TaskShare,
}

#[derive(Deserialize, Clone, Copy, Default)]
#[serde(rename_all = "kebab-case")]
pub enum When {
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
pub struct Series {
    pub line: String,
    /// Empty where the line has one series.
    pub value: String,
}

impl Series {
    pub fn label(&self) -> String {
        if self.value.is_empty() { self.line.clone() } else { format!("{}, {}", self.line, self.value) }
    }
}

/// Names of the experiments that the binary carries.
pub fn names() -> impl Iterator<Item = &'static str> {
    OWN.into_iter().map(|(name, _)| name)
}

impl Plan {
    /// One that the binary carries, or a file.
    pub fn open(name: &str) -> Result<Self> {
        if let Some((name, text)) = OWN.into_iter().find(|(own, _)| *own == name) {
            return Self::parse(name, &format!("{name}.toml"), text);
        }
        let path = Path::new(name);
        if path.extension().is_none_or(|extension| extension != "toml") {
            bail!("there is no experiment {name:?}; `homing experiment list` names them, and a TOML file may be given");
        }
        let bytes = read_file(path, MOST_BYTES)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| anyhow!("{name} is not UTF-8; save it as that"))?;
        Self::parse(&path.file_stem().unwrap_or_default().to_string_lossy(), name, text)
    }

    /// `file` is what messages call the text.
    pub(super) fn parse(name: &str, file: &str, text: &str) -> Result<Self> {
        let refused = |error: toml::de::Error| {
            let before = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = text.as_bytes()[..before].split(|byte| *byte == b'\n').count();
            anyhow!("{file}, line {line}: {}; correct that line", check::printable(error.message()))
        };
        let read: Self = toml::from_str(text).map_err(refused)?;
        let mut plan = Self { name: name.into(), file: file.into(), ..read };
        let known = plan.like.take().map(|like| Setting::named(&like)).transpose();
        let finish = |setting: Option<Setting>| {
            setting.into_iter().for_each(|setting| plan.begin_with(setting));
            check::check(&plan)?;
            Ok(plan)
        };
        known.and_then(finish).with_context(|| file.to_owned())
    }

    /// Takes what the file does not say itself.
    fn begin_with(&mut self, setting: Setting) {
        if self.data.is_empty() {
            self.data = setting.data;
        }
        if self.seeds == 0 {
            self.seeds = setting.seeds;
        }
        self.notes.splice(0..0, setting.notes);
        let own = std::mem::replace(&mut self.arguments, setting.arguments);
        self.arguments.extend(own);
        self.quick.get_or_insert(setting.quick);
    }

    /// The version of minutes.
    pub fn quick(mut self) -> Result<Self> {
        let Some(quick) = self.quick.take() else {
            bail!("{} has no quick version; leave --quick out, or give --seeds and --rounds", self.file);
        };
        self.name.push_str("-quick");
        self.notes.insert(0, "The quick version: fewer rounds, seeds and images.".into());
        self.seeds = quick.seeds.unwrap_or(self.seeds);
        self.arguments.extend(quick.arguments);
        Ok(self)
    }

    /// What it is, and where the paper has it.
    pub fn caption(&self) -> String {
        if self.paper.is_empty() { self.title.clone() } else { format!("{} ({} of the paper)", self.title, self.paper) }
    }

    /// Other seeds and rounds than the file's.
    pub fn with(mut self, seeds: Option<u64>, rounds: Option<u64>) -> Self {
        self.seeds = seeds.unwrap_or(self.seeds);
        if let Some(rounds) = rounds {
            self.arguments.insert("rounds".into(), Value::Integer(rounds as i64));
        }
        self
    }

    /// The most that a series has.
    pub fn rounds(&self) -> usize {
        let own = self.lines.iter().flat_map(Line::series).filter_map(|(_, own)| rounds_of(&own));
        own.chain(rounds_of(&self.arguments)).max().unwrap_or(0)
    }

    pub fn series(&self) -> Vec<Series> {
        self.lines.iter().flat_map(Line::series).map(|(series, _)| series).collect()
    }

    /// What varies within lines, where anything does.
    pub fn varies(&self) -> Option<&str> {
        self.lines.iter().flat_map(Line::varied).map(|(name, _)| name.as_str()).next()
    }

    /// The paper's figure for a series.
    pub fn paper_of(&self, series: &Series) -> Option<[f64; 2]> {
        let line = self.lines.iter().find(|line| line.name == series.line)?;
        let at = line.series().iter().position(|(own, _)| own == series)?;
        line.paper.get(at).copied()
    }
}

impl Line {
    /// Its series, each with the arguments that are the line's own.
    pub fn series(&self) -> Vec<(Series, Table)> {
        let of = |varied: Option<(&String, &Value)>| {
            let value = varied.map_or_else(String::new, |(_, value)| shown(value));
            let mut arguments = self.arguments.clone();
            arguments.extend(varied.map(|(name, value)| (name.clone(), value.clone())));
            (Series { line: self.name.clone(), value }, arguments)
        };
        match self.varied().next() {
            Some((name, values)) => values.iter().map(|value| of(Some((name, value)))).collect(),
            None => vec![of(None)],
        }
    }

    pub fn varied(&self) -> impl Iterator<Item = (&String, &Vec<Value>)> {
        self.arguments.iter().filter_map(|(name, value)| Some((name, value.as_array()?)))
    }
}

/// The rounds that arguments ask for.
pub fn rounds_of(arguments: &Table) -> Option<usize> {
    arguments.get("rounds").and_then(Value::as_integer).and_then(|rounds| usize::try_from(rounds).ok())
}

/// A value as the command line has it.
pub fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
