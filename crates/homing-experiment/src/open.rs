//! Opens built-in experiments and TOML files.

use std::path::Path;

use homing_pool::read_file;

use crate::check;
use crate::error::{Error, Fault, Result};
use crate::experiment::Experiment;
use crate::shared::SharedSettings;

/// Limit on the bytes of a file; the longest built-in one has about three thousand.
const MOST_BYTES: u64 = 1 << 20;

macro_rules! built_in {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../experiments/", $name, ".toml")))
    };
}

/// Names and TOML texts of the built-in experiments.
const BUILT_IN: &[(&str, &str)] = &[
    built_in!("mnist-main"),
    built_in!("cifar-main"),
    built_in!("batch-selection"),
    built_in!("mnist-embeddings"),
    built_in!("cifar-embeddings"),
    built_in!("uncertainty"),
    built_in!("mnist-undirected"),
    built_in!("cifar-undirected"),
    built_in!("mnist-imbalanced-pool"),
    built_in!("cifar-imbalanced-pool"),
    built_in!("mnist-imbalanced-targets"),
    built_in!("cifar-imbalanced-targets"),
    built_in!("candidates"),
    built_in!("mnist-candidates"),
    built_in!("targets-per-round"),
    built_in!("target-count"),
    built_in!("noise"),
    built_in!("ratio"),
    built_in!("conditioning"),
    built_in!("mnist-conditioning"),
    built_in!("authors-mnist-main"),
    built_in!("authors-cifar-main"),
    built_in!("authors-noise"),
    built_in!("authors-head"),
    built_in!("head-ablation"),
    built_in!("head-batch-size"),
    built_in!("mnist-ablation"),
    built_in!("cifar-ablation"),
    built_in!("mnist-gradients"),
    built_in!("cifar-gradients"),
    built_in!("batch-gradients"),
    built_in!("mnist-undirected-carried"),
    built_in!("cifar-undirected-carried"),
    built_in!("mnist-targets-per-round"),
    built_in!("batch-size"),
    built_in!("pool-size"),
    built_in!("noise-share"),
    built_in!("ratio-top-b"),
    built_in!("targets-conditioned"),
    built_in!("nearest-candidates"),
    built_in!("explanatory-targets"),
    built_in!("digits-conditioning"),
    built_in!("digits-ablation"),
    built_in!("digits-quick"),
];

/// Returns the names of the built-in experiments.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// Returns the names and TOML texts of the built-in experiments.
pub fn sources() -> &'static [(&'static str, &'static str)] {
    BUILT_IN
}

impl Experiment {
    /// Opens a built-in experiment or a TOML file.
    pub fn open(name: &str) -> Result<Self> {
        if let Some((name, text)) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name) {
            return Self::parse(name, &format!("{name}.toml"), text);
        }
        let path = Path::new(name);
        if path.extension().is_none_or(|extension| extension != "toml") {
            return Err(Error::Unknown { name: name.into() });
        }
        let bytes = read_file(path, MOST_BYTES)?;
        let text =
            std::str::from_utf8(&bytes).map_err(|_| Fault::new("it is not UTF-8", "save it as UTF-8").of(name))?;
        Self::parse(&path.file_stem().unwrap_or_default().to_string_lossy(), name, text)
    }

    /// Parses an experiment. Messages call the text `file`.
    pub fn parse(name: &str, file: &str, text: &str) -> Result<Self> {
        let refused = |error: toml::de::Error| {
            let before = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = text.as_bytes()[..before].split(|byte| *byte == b'\n').count();
            let problem = check::printable(error.message());
            Fault::new(problem, "correct that line").of(&format!("{file}, line {line}"))
        };
        let read: Self = toml::from_str(text).map_err(refused)?;
        let mut experiment = Self { name: name.into(), file: file.into(), ..read };
        let shared = experiment.like.take().map(|like| SharedSettings::named(&like)).transpose();
        let finish = |shared: Option<SharedSettings>| {
            shared.into_iter().for_each(|shared| experiment.extend(shared));
            check::check(&experiment)?;
            Ok(experiment)
        };
        shared.and_then(finish).map_err(|fault: Fault| fault.of(file))
    }

    /// Adds shared settings that the file does not set itself.
    fn extend(&mut self, shared: SharedSettings) {
        if self.data.is_empty() {
            self.data = shared.data;
        }
        if self.seeds == 0 {
            self.seeds = shared.seeds;
        }
        self.notes.splice(0..0, shared.notes);
        let own = std::mem::replace(&mut self.arguments, shared.arguments);
        self.arguments.extend(own);
        self.quick.get_or_insert(shared.quick);
    }
}
