//! Description of a fine-tuning run.

use std::ops::Range;
use std::path::{Path, PathBuf};

use homing_data::OpenOptions;
use serde::{Deserialize, Serialize};

use crate::algorithm::{ChoosingSettings, LearningSettings, Settings};
use crate::candidates::Candidates;
use crate::embed::EmbeddingKind;
use crate::labels::LabelSource;
use crate::learner::{AdamSettings, LessonEnd};
use crate::models::NetworkName;
use crate::remedy::{Parameter, PathParameter};
use crate::sigma::Sigma;
use crate::strategy::NamedStrategy;
use crate::targets::RoundTargets;
use crate::{Error, Result};

use super::{RunData, label_file};

/// Everything that a run depends on: data, task, how to choose, how to learn, and seeds. It is stored in `plan.json`.
///
/// ```
/// use homing_train::RunSpec;
///
/// let mut spec = RunSpec::new("pool.csv");
/// spec.task.classes = Some(vec!["cat".into(), "dog".into()]);
/// spec.choosing.rounds = 10;
/// spec.check()?;
/// spec.choosing.rounds = 0;
/// let message = spec.check().unwrap_err().to_string();
/// assert_eq!(message, "the number of rounds is 0; set rounds to a number from 1 to 1000000");
/// # Ok::<(), homing_train::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// The data set, and how to read it.
    pub data: DataSpec,
    /// What the network learns, and the examples outside the pool.
    pub task: TaskSpec,
    /// The main rule.
    pub rule: NamedStrategy,
    /// Rules to compare with, each in its own loop.
    pub against: Vec<NamedStrategy>,
    /// How each round chooses.
    pub choosing: ChoosingSettings,
    /// Source of the labels.
    pub labels: LabelSource,
    /// The network.
    pub network: NetworkSpec,
    /// How each round learns.
    pub learning: LearningSettings,
    /// The first seed.
    pub seed: u64,
    /// Number of seeds; the run is repeated with each of them.
    pub seeds: u64,
}

/// A data set, and how to read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataSpec {
    /// File or folder of the data set.
    pub path: PathBuf,
    /// Side length in pixels to which the images of a folder are resized.
    pub size: Option<usize>,
    /// Column or tensor of the labels.
    pub label_column: Option<String>,
    /// Column or tensor of the embeddings.
    pub embedding_column: Option<String>,
    /// Encoder that turns texts or images into the inputs of the network; none if the data are used as they are.
    pub encoder: Option<PathBuf>,
    /// Column of the texts for the encoder.
    pub text_column: Option<String>,
}

/// The task of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSpec {
    /// Examples of the task; their labels are not used.
    pub targets: Option<PathBuf>,
    /// Classes that the network learns to distinguish; if none, all classes of the data.
    pub classes: Option<Vec<String>>,
    /// Number of targets to draw from held-out examples if `targets` is none; by default 30, or a third of fewer than 90
    /// examples.
    pub target_count: Option<usize>,
    /// Number of held-out examples that are kept for targets and never tested; by default, the number of targets. Runs with
    /// different numbers of targets and the same reserve are tested on the same examples.
    pub target_reserve: Option<usize>,
    /// Maximum number of validation examples; they are at most half of the held-out examples of the task.
    pub valid_count: usize,
    /// Maximum number of test examples.
    pub test_count: usize,
    /// Whether the accuracy is measured on the validation examples, which also decide the best epoch, instead of on others.
    /// It is then too high; the paper's authors measure so.
    pub test_on_valid: bool,
    /// Maximum number of rows of the pool; a larger pool is sampled, in the same way for every seed.
    pub pool_count: Option<usize>,
    /// Classes to thin out in the pool, with the share of each to leave out.
    pub thin_pool: Vec<(String, f64)>,
    /// Classes to thin out in the examples that targets are drawn from, with the share of each to leave out.
    pub thin_targets: Vec<(String, f64)>,
}

/// The network of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkSpec {
    /// Name of the network; if none, the default for the data.
    pub name: Option<NetworkName>,
    /// Safetensors file of the weights that the network starts from.
    pub weights: Option<PathBuf>,
    /// Adam's learning rate; if none, the default of the network.
    pub learning_rate: Option<f64>,
    /// Device that the network runs on.
    pub device: String,
}

/// Upper bound of the seeds, which are 32-bit numbers.
const SEEDS_END: u64 = 1 << 32;

impl RunSpec {
    /// Describes a run over the data at `path` with the defaults of `homing finetune`. Targets or classes must still be set.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let name = |name: &str| name.parse().expect("the name is in the table of strategies");
        Self {
            data: DataSpec {
                path: path.into(),
                size: None,
                label_column: None,
                embedding_column: None,
                encoder: None,
                text_column: None,
            },
            task: TaskSpec {
                targets: None,
                classes: None,
                target_count: None,
                target_reserve: None,
                valid_count: 500,
                test_count: 2000,
                test_on_valid: false,
                pool_count: None,
                thin_pool: Vec::new(),
                thin_targets: Vec::new(),
            },
            rule: name("itl"),
            against: vec![name("random")],
            choosing: ChoosingSettings {
                rounds: 30,
                picks_per_round: 1,
                random_start: 0,
                repeat: false,
                candidates: Candidates::Sample(1000),
                targets_per_round: RoundTargets::All,
                embedding: EmbeddingKind::LastLayer,
                sigma: Sigma::Identity,
                noise_std: None,
                noise_share: None,
                condition: true,
            },
            labels: LabelSource::Data,
            network: NetworkSpec { name: None, weights: None, learning_rate: None, device: "cpu".into() },
            learning: LearningSettings {
                until: LessonEnd::ValidationDrops { patience: 20, max_epochs: 100 },
                warm_start: false,
                minibatch_size: 64,
                full_minibatches: false,
                unweighted_loss: false,
                keep_last_best: false,
                skip_idle_rounds: false,
                keep_optimizer: false,
                adam_epsilon: AdamSettings::EPSILON,
            },
            seed: 0,
            seeds: 1,
        }
    }

    /// Refuses settings that are out of range, whatever the data are.
    pub fn check(&self) -> Result<()> {
        let (choosing, learning, task) = (&self.choosing, &self.learning, &self.task);
        for (of, path) in self.named_paths() {
            if path.as_os_str().is_empty() {
                return Err(Error::EmptyPath { of });
            }
        }
        let lesson = match learning.until {
            LessonEnd::Epochs(count) => [(Parameter::Epochs, Some(count)), (Parameter::Patience, None)],
            LessonEnd::ValidationDrops { patience, max_epochs } => {
                [(Parameter::MaxEpochs, Some(max_epochs)), (Parameter::Patience, Some(patience))]
            }
        };
        let counts = [
            (Parameter::Size, self.data.size),
            (Parameter::TargetCount, task.target_count),
            (Parameter::TargetReserve, task.target_reserve),
            (Parameter::PoolCount, task.pool_count),
            (Parameter::Rounds, Some(choosing.rounds)),
            (Parameter::PicksPerRound, Some(choosing.picks_per_round)),
            (Parameter::MinibatchSize, Some(learning.minibatch_size)),
        ];
        for (parameter, count) in counts.into_iter().chain(lesson) {
            count.map_or(Ok(()), |count| parameter.check_count(count as u64))?;
        }
        Parameter::Seeds.check_count(self.seeds)?;
        if self.seed.checked_add(self.seeds).is_none_or(|end| end > SEEDS_END) {
            return Err(Error::Seeds { first: self.seed, count: self.seeds, last: SEEDS_END - 1 });
        }
        for (class, share) in task.thin_pool.iter().chain(&task.thin_targets) {
            if !(0.0..=1.0).contains(share) {
                return Err(Error::Share { class: class.clone(), share: *share });
            }
        }
        if task.classes.iter().flatten().any(String::is_empty) {
            return Err(Error::EmptyClass);
        }
        Ok(())
    }

    /// Refuses settings that do not fit the data, before anything is written.
    pub fn check_with(&self, data: &RunData) -> Result<()> {
        for seed in self.each_seed() {
            let split = data.split(self, seed)?;
            for rule in self.rules() {
                self.settings(data, rule, seed).check(&split.problem())?;
            }
        }
        data.learner(self).map(drop)
    }

    /// Returns the same description with absolute paths.
    pub fn rooted(mut self) -> Result<Self> {
        let labels = self.label_path().map(Path::to_owned);
        let root = |path: &mut PathBuf| -> Result<()> {
            // A table of labels may be written later.
            if path.exists() || labels.as_ref() == Some(path) {
                *path = std::path::absolute(&*path).map_err(Error::io(&*path))?;
            }
            path.to_str().map(drop).ok_or_else(|| Error::PathText { path: path.clone() })
        };
        self.paths_mut().into_iter().flatten().try_for_each(root)?;
        Ok(self)
    }

    /// Returns the rules to run, each once, the main rule first.
    pub fn rules(&self) -> Vec<&NamedStrategy> {
        let mut rules = vec![&self.rule];
        for rule in &self.against {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        rules
    }

    /// Returns the seeds.
    pub fn each_seed(&self) -> Range<u64> {
        self.seed..self.seed.saturating_add(self.seeds)
    }

    /// Returns the settings of the loop for one rule and seed.
    pub fn settings(&self, data: &RunData, rule: &NamedStrategy, seed: u64) -> Settings {
        Settings {
            rule: rule.clone(),
            choosing: self.choosing.clone(),
            learning: self.learning,
            learning_rate: self.network.learning_rate.unwrap_or(data.network.entry().learning_rate),
            seed,
        }
    }

    /// Returns how to open the data set: a file with one label per row is read together with it.
    pub fn open_options(&self) -> Result<OpenOptions> {
        self.data.options(self.label_path())
    }

    /// Returns the file that gives the labels, if there is one.
    fn label_path(&self) -> Option<&Path> {
        if let LabelSource::File(path) = &self.labels { Some(path) } else { None }
    }

    /// Returns the files and folders that the run reads and that exist.
    pub fn reads(&self) -> impl Iterator<Item = &Path> {
        self.named_paths().into_iter().map(|(_, path)| path).filter(|path| path.exists())
    }

    /// Returns a hash of everything that the results depend on: the settings, the contents of the files (but not their
    /// paths), and the version of this crate. `hashes` are those of [`RunData::fingerprint`].
    pub fn key(&self, data: &RunData, hashes: &[String]) -> String {
        let mut spec = self.clone();
        spec.paths_mut().into_iter().flatten().for_each(|path| *path = PathBuf::new());
        let text = format!("{spec:?}\n{hashes:?}\n{:?}\n{}", data.label_hash(), env!("CARGO_PKG_VERSION"));
        blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
    }

    fn named_paths(&self) -> Vec<(PathParameter, &Path)> {
        let paths = [
            (PathParameter::Data, Some(&*self.data.path)),
            (PathParameter::Targets, self.task.targets.as_deref()),
            (PathParameter::Encoder, self.data.encoder.as_deref()),
            (PathParameter::Weights, self.network.weights.as_deref()),
            (PathParameter::Labels, self.label_path()),
        ];
        paths.into_iter().filter_map(|(of, path)| Some((of, path?))).collect()
    }

    fn paths_mut(&mut self) -> [Option<&mut PathBuf>; 5] {
        let labels = if let LabelSource::File(path) = &mut self.labels { Some(path) } else { None };
        let DataSpec { path, encoder, .. } = &mut self.data;
        [Some(path), encoder.as_mut(), self.task.targets.as_mut(), self.network.weights.as_mut(), labels]
    }
}

impl DataSpec {
    /// Returns how to open the data set. `labels` is a file with one label per row, or a table that the run reads by itself.
    pub fn options(&self, labels: Option<&Path>) -> Result<OpenOptions> {
        let is_list = |path: &&Path| label_file::is_table(path, self.label_column.as_deref()).map(|is_table| !is_table);
        let is_list = labels.as_ref().map(is_list).transpose()?.unwrap_or(false);
        Ok(OpenOptions {
            size: self.size,
            label_column: self.label_column.clone(),
            embedding: self.embedding_column.clone(),
            labels: labels.filter(|_| is_list).map(Path::to_owned),
        })
    }
}
