//! The TOML file of an experiment: lines to compare, what they have in common, and what the paper says of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use toml::{Table, Value};

use super::setting::Setting;

macro_rules! own {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../../experiments/", $name, ".toml")))
    };
}

/// The experiments that the binary carries.
const OWN: [(&str, &str); 22] = [
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
    pub title: String,
    /// Where the paper has it; empty where it is not the paper's.
    #[serde(default)]
    pub paper: String,
    /// A setting of ours to begin with.
    like: Option<String>,
    /// Names that the data may have in the folder of data; the first that is there is taken.
    #[serde(default)]
    data: Vec<String>,
    #[serde(default)]
    pub seeds: u64,
    /// What differs from the paper.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Of `homing finetune`, for every line.
    #[serde(default)]
    arguments: Table,
    /// What is different with --quick.
    quick: Option<Quick>,
    pub lines: Vec<Line>,
    #[serde(default)]
    pub claims: Vec<Claim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    seeds: Option<u64>,
    #[serde(default)]
    arguments: Table,
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
    arguments: Table,
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

/// One series with one seed: a run of `homing finetune`.
pub struct Cell {
    pub series: Series,
    pub seed: u64,
    pub arguments: Vec<String>,
}

/// Names of the experiments that the binary carries.
pub fn names() -> impl Iterator<Item = &'static str> {
    OWN.into_iter().map(|(name, _)| name)
}

impl Plan {
    /// One that the binary carries, or a file.
    pub fn open(name: &str) -> Result<Self> {
        if let Some((name, text)) = OWN.into_iter().find(|(own, _)| *own == name) {
            return Self::parse(name, text);
        }
        let path = Path::new(name);
        if path.extension().is_none_or(|extension| extension != "toml") {
            bail!("there is no experiment {name:?}; `homing experiment list` names them, and a TOML file may be given");
        }
        let text = fs::read_to_string(path).with_context(|| format!("{name} cannot be read"))?;
        Self::parse(&path.file_stem().unwrap_or_default().to_string_lossy(), &text)
    }

    fn parse(name: &str, text: &str) -> Result<Self> {
        let refused = |error: toml::de::Error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            anyhow!("{name}.toml, line {line}: {}", error.message().replace('\n', ", "))
        };
        let mut plan = Self { name: name.into(), ..toml::from_str(text).map_err(refused)? };
        if let Some(like) = plan.like.take() {
            plan.begin_with(Setting::named(&like).with_context(|| format!("{name}.toml cannot be used"))?);
        }
        let missing = [
            (plan.data.is_empty(), "data = [\"FILE\"]"),
            (plan.seeds == 0, "seeds = NUMBER"),
            (plan.rounds() == 0, "rounds = NUMBER among its arguments"),
            (plan.lines.is_empty(), "a line"),
        ];
        if let Some((_, what)) = missing.into_iter().find(|(missing, _)| *missing) {
            bail!("{name}.toml needs {what}");
        }
        let known: Vec<String> = plan.series().iter().map(Series::label).collect();
        for (at, line) in plan.lines.iter().enumerate() {
            if line.varied().count() > 1 {
                bail!("line {:?} has two lists; one argument of a line can vary", line.name);
            }
            if plan.lines[..at].iter().any(|other| other.name == line.name) {
                bail!("two lines are called {:?}; give each a name of its own", line.name);
            }
        }
        for claim in &plan.claims {
            let named = claim.higher.iter().chain(&claim.lower).chain(claim.same.iter().flatten());
            if let Some(unknown) = named.into_iter().find(|name| !known.contains(*name)) {
                let near = known.iter().filter(|label| label.starts_with(&format!("{unknown}, "))).cloned();
                let near = near.collect::<Vec<_>>().join("\" or \"");
                let near = if near.is_empty() { known.join("\", \"") } else { near };
                bail!("the claim {:?} names {unknown:?}, which is no line; name \"{near}\"", claim.says);
            }
            if claim.same.is_some() == claim.higher.is_some() || claim.higher.is_some() == claim.lower.is_empty() {
                bail!("the claim {:?} needs either higher and lower, or same", claim.says);
            }
        }
        Ok(plan)
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
            bail!("{} has no quick version; leave --quick out, or give --seeds and --rounds", self.name);
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

    pub fn rounds(&self) -> usize {
        self.arguments.get("rounds").and_then(Value::as_integer).map_or(0, |rounds| rounds as usize)
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

    /// Every series with every seed from the first on.
    pub fn cells(&self, folder: &Path, first: u64) -> Result<Vec<Cell>> {
        let data = self.data(folder)?;
        let mut cells = Vec::new();
        for (series, own) in self.lines.iter().flat_map(Line::series) {
            let mut arguments = self.arguments.clone();
            arguments.extend(own);
            for seed in first..first + self.seeds {
                let arguments = written(&data, &arguments, folder, seed)?;
                cells.push(Cell { series: series.clone(), seed, arguments });
            }
        }
        Ok(cells)
    }

    fn data(&self, folder: &Path) -> Result<PathBuf> {
        if self.data == ["digits"] {
            return Ok("digits".into());
        }
        let found = self.data.iter().map(|name| folder.join(name)).find(|path| path.exists());
        found.with_context(|| {
            let names = self.data.join(" or ");
            format!(
                "{} has no {names}; name the folder of the data with --data, or see `homing data fetch`",
                folder.display()
            )
        })
    }
}

impl Line {
    /// Its series, each with the arguments that are the line's own.
    fn series(&self) -> Vec<(Series, Table)> {
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

    fn varied(&self) -> impl Iterator<Item = (&String, &Vec<Value>)> {
        self.arguments.iter().filter_map(|(name, value)| Some((name, value.as_array()?)))
    }
}

/// The command line of `homing finetune`.
fn written(data: &Path, arguments: &Table, folder: &Path, seed: u64) -> Result<Vec<String>> {
    let mut words = vec![data.display().to_string(), format!("--seed={seed}"), "--against=none".into()];
    for (name, value) in arguments {
        match value {
            Value::Boolean(true) => words.push(format!("--{name}")),
            Value::Boolean(false) => {}
            Value::String(file) if name == "weights" => {
                let path = folder.join(file);
                if !path.exists() {
                    bail!(
                        "{} has no {file}; put the network's weights there, or name their folder with --data",
                        folder.display()
                    );
                }
                words.push(format!("--weights={}", path.display()));
            }
            value => words.push(format!("--{name}={}", shown(value))),
        }
    }
    Ok(words)
}

/// A value as the command line has it.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
