//! The arguments of `homing finetune`, and the run that they describe.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::{Args, FromArgMatches};
use homing_train::models::NetworkName;
use homing_train::{
    AdamSettings, ChoosingSettings, DataSpec, LabelSource, LearningSettings, LessonEnd, NamedStrategy, NetworkSpec,
    RunSpec, Sigma, TaskSpec, models,
};

use crate::refusal;
use crate::row_lists::label_table;

const EXAMPLES: &str = "\
Examples:
  homing finetune digits --task 3,6,9 --picks-per-round 3 --rounds 10 --run run
  homing finetune pool.csv --targets targets.csv --task cat,dog --ask --run run
  homing finetune --resume run";

#[derive(Args)]
#[command(before_help = EXAMPLES, next_help_heading = "Run")]
pub struct Arguments {
    /// Folder for the run: its plan, picks, metrics, networks and report.
    #[arg(long, value_name = "FOLDER", required_unless_present = "resume", conflicts_with = "resume")]
    pub run: Option<PathBuf>,
    /// Continue an interrupted run; all other settings are in its plan.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["RunOptions", "DataOptions", "TaskOptions", "ChoosingOptions", "LearningOptions"])]
    pub resume: Option<PathBuf>,
    /// Print only errors and the result.
    #[arg(long, short)]
    pub quiet: bool,
    /// Key of the experiment's cell that this run computes; a run with another key is refused, and the run ends with its
    /// standard input.
    #[arg(long, value_name = "KEY", hide = true)]
    pub cell: Option<String>,
    #[command(flatten)]
    pub run_options: RunOptions,
}

/// Everything that a run depends on.
#[derive(Args)]
pub struct RunOptions {
    /// Pool: MNIST or CIFAR files, tiles, an image folder, a table, embeddings, or the built-in `digits`.
    #[arg(value_name = "DATA", required_unless_present = "resume", help_heading = None)]
    data: Option<PathBuf>,
    #[command(flatten)]
    open: DataOptions,
    /// Encoder of texts or images, whose embeddings the network learns from: a folder with a model in the layout of Hugging Face,
    /// an .onnx file, or built-in; by default, texts are embedded by the built-in encoder, and images are used as they are.
    #[arg(long, value_name = "MODEL", help_heading = "Data")]
    encoder: Option<PathBuf>,
    /// Column of the texts or of the paths of images; found automatically if it has a usual name, such as text or path.
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    text_column: Option<String>,
    /// Labels of the pool: a file with one label per row, a CSV table with the columns id (or index) and label, or the folder of
    /// a run of `homing label`; the table may be incomplete or not exist yet: the run then lists the picks to label in the file
    /// to-label.csv of its folder, which you fill in before you resume.
    #[arg(long, value_name = "FILE", conflicts_with = "ask", help_heading = "Data")]
    labels: Option<PathBuf>,
    /// Ask a person at the terminal for each label and offer the classes of --task.
    #[arg(long, help_heading = "Data")]
    ask: bool,
    #[command(flatten)]
    task: TaskOptions,
    #[command(flatten)]
    choosing: ChoosingOptions,
    #[command(flatten)]
    learning: LearningOptions,
    /// Seed for all random choices, or the first of several --seeds.
    #[arg(long, default_value_t = 0, help_heading = "Run")]
    seed: u64,
    /// Number of seeds; the whole run is repeated for each, and the report shows means.
    #[arg(long, default_value_t = 1, help_heading = "Run")]
    seeds: u64,
}

/// How data sets are read.
#[derive(Args)]
#[command(next_help_heading = "Data")]
pub struct DataOptions {
    /// Resize the images of a folder to this width and height, in pixels.
    #[arg(long, value_name = "PIXELS")]
    size: Option<usize>,
    /// Column or tensor of the labels.
    #[arg(long, value_name = "NAME")]
    label_column: Option<String>,
    /// Column or tensor of the embeddings.
    #[arg(long, value_name = "NAME")]
    embedding_column: Option<String>,
}

#[derive(Args)]
#[command(next_help_heading = "Task")]
struct TaskOptions {
    /// Examples of the task, in any form that DATA may have; their labels are not used.
    #[arg(long, value_name = "DATA")]
    targets: Option<PathBuf>,
    /// Classes of the task, separated by commas, which the network learns to distinguish.
    #[arg(long, value_name = "CLASSES", value_delimiter = ',', value_parser = trimmed)]
    task: Option<Vec<String>>,
    /// Number of targets to draw from held-out examples of the task if there are no --targets; by default 30, or a third of
    /// the examples if there are fewer than 90.
    #[arg(long, value_name = "COUNT")]
    target_count: Option<usize>,
    /// Number of held-out examples to keep for targets, which are then never tested, so that runs with different --target-count are
    /// tested on the same examples; by default, the number of targets.
    #[arg(long, value_name = "COUNT")]
    target_reserve: Option<usize>,
    /// Maximum number of validation examples; they are at most half of the held-out examples of the task.
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    valid_count: usize,
    /// Maximum number of test examples.
    #[arg(long, value_name = "COUNT", default_value_t = 2000)]
    test_count: usize,
    /// Measure the accuracy on the validation examples, which also decide the best epoch, as the paper's authors do; it is then too
    /// high.
    #[arg(long)]
    test_on_valid: bool,
    /// Maximum number of rows of the pool; a larger pool is sampled at random, in the same way for every seed.
    #[arg(long, value_name = "COUNT")]
    pool_count: Option<usize>,
    /// Share of the examples of some classes to remove from the pool, such as 3:0.8,6:0.8.
    #[arg(long, value_name = "CLASS:SHARE", value_delimiter = ',', value_parser = class_share)]
    thin_pool: Vec<(String, f64)>,
    /// Share of the examples of some classes to remove before targets are drawn.
    #[arg(long, value_name = "CLASS:SHARE", value_delimiter = ',', value_parser = class_share)]
    thin_targets: Vec<(String, f64)>,
}

#[derive(Args)]
#[command(next_help_heading = "Choosing")]
struct ChoosingOptions {
    /// Rule that chooses the rows; `homing rules` lists all rules.
    #[arg(long, default_value = "itl")]
    rule: String,
    /// Rules to compare with, separated by commas, or none; the default is random if the data have the labels, and none with
    /// --labels or --ask, because every rule asks for labels of its own.
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    against: Option<Vec<String>>,
    /// Number of rounds, each of which chooses, labels and fine-tunes.
    #[arg(long, value_name = "N", default_value_t = 30)]
    rounds: usize,
    /// Picks per round.
    #[arg(long, value_name = "N", default_value_t = 1)]
    picks_per_round: usize,
    /// Number of first picks of the run that are made at random, whatever the rule is.
    #[arg(long, value_name = "N", default_value_t = 0)]
    random_start: usize,
    /// Allow a row to be picked again; the network then learns from it as often as it was picked.
    #[arg(long)]
    repeat: bool,
    /// Rows that each round chooses from: all, sample:COUNT or nearest:COUNT; by default sample:1000, and all for the network linear,
    /// whose embeddings are the rows themselves.
    #[arg(long, value_name = "ROWS")]
    candidates: Option<String>,
    /// Targets per round: all, N at random, or the N that explain the others best (max-det:N) or are farthest apart (max-dist:N)
    /// under the current network.
    #[arg(long, value_name = "N", default_value = "all")]
    targets_per_round: String,
    /// Kind of embedding: last-layer, loss-gradient, logit-gradient, output-gradient, network-gradient[:WIDTH] or outputs.
    #[arg(long, value_name = "KIND", default_value = "last-layer")]
    embedding: String,
    /// Covariance Σ of the last layer's weights: identity, laplace-diagonal, laplace-kronecker, laplace-damped or laplace-full.
    #[arg(long, default_value = "identity")]
    sigma: String,
    /// Standard deviation ρ of the observation noise; by default, ρ² is 0.01 × the mean squared norm, and 1 with an encoder, whose
    /// embeddings are centred and scaled to length 1.
    #[arg(long, value_name = "R")]
    noise_std: Option<f64>,
    /// Noise variance ρ² as a share of the mean of k(x, x) over the candidates of each round, which replaces --noise-std.
    #[arg(long, value_name = "SHARE")]
    noise_share: Option<f64>,
    /// Whether to condition on the picks of earlier rounds instead of starting each round from the prior, as the paper does; rules
    /// by distance (max-dist, k-means++, badge) then start from those picks as their centroids; the default is true, except with a
    /// Laplace covariance.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    condition: Option<bool>,
}

#[derive(Args)]
#[command(next_help_heading = "Learning")]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
struct LearningOptions {
    #[arg(long, help = model_help())]
    model: Option<String>,
    /// Weights that the network starts from, a safetensors file.
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Fixed number of epochs per round; by default, learning ends once the validation accuracy stops rising.
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// Epochs without a rise in validation accuracy after which learning ends.
    #[arg(long, value_name = "N", default_value_t = 20)]
    patience: usize,
    /// Maximum number of epochs per round.
    #[arg(long, value_name = "N", default_value_t = 100)]
    max_epochs: usize,
    /// Start each round from the network of the previous round instead of from fresh weights.
    #[arg(long)]
    warm_start: bool,
    /// Keep the last of several equally good epochs instead of the first.
    #[arg(long)]
    keep_last_best: bool,
    /// Leave the network as it is in a round without a pick from the task, instead of learning again from all examples.
    #[arg(long)]
    skip_idle_rounds: bool,
    /// Continue the moments of Adam over rounds instead of starting it anew in each round.
    #[arg(long)]
    keep_optimizer: bool,
    /// Number ε that Adam adds to the root of the second moment; PyTorch has 1e-8.
    #[arg(long, value_name = "E", default_value_t = AdamSettings::EPSILON)]
    adam_epsilon: f64,
    #[arg(long, value_name = "RATE", help = models::learning_rate_help())]
    learning_rate: Option<f64>,
    /// Maximum number of examples per optimiser step.
    #[arg(long, value_name = "N", default_value_t = 64)]
    minibatch_size: usize,
    /// Give every step but the last of an epoch --minibatch-size examples, instead of nearly the same number to all.
    #[arg(long)]
    full_minibatches: bool,
    /// Weight classes by their number of examples instead of equally.
    #[arg(long)]
    unweighted_loss: bool,
    /// Device: cpu, or in builds with libtorch also torch and cuda:0.
    #[arg(long, default_value = "cpu")]
    device: String,
}

fn model_help() -> String {
    let [images, rows] = [&[1, 1, 1][..], &[1]].map(NetworkName::default_for);
    format!("Network: {}; by default {images} for images and {rows} for rows of numbers", models::network_help())
}

#[allow(clippy::unnecessary_wraps, reason = "clap's parsers may fail")]
fn trimmed(text: &str) -> Result<String, String> {
    Ok(text.trim().to_owned())
}

fn class_share(text: &str) -> Result<(String, f64), String> {
    let parts = text.rsplit_once(':').and_then(|(class, share)| Some((class, share.parse::<f64>().ok()?)));
    match parts {
        Some((class, share)) if (0.0..=1.0).contains(&share) => Ok((class.to_owned(), share)),
        _ => Err("write a class and a share between 0 and 1, such as 3:0.8".into()),
    }
}

impl DataOptions {
    /// Whether any of the options is given.
    pub fn any(&self) -> bool {
        self.size.is_some() || self.label_column.is_some() || self.embedding_column.is_some()
    }

    /// Returns the data set at `path` with these options.
    pub fn spec(&self, path: PathBuf) -> DataSpec {
        DataSpec {
            path,
            size: self.size,
            label_column: self.label_column.clone(),
            embedding_column: self.embedding_column.clone(),
            encoder: None,
            text_column: None,
        }
    }
}

impl RunOptions {
    /// Whether the person has said which rows each round chooses from.
    pub fn names_candidates(&self) -> bool {
        self.choosing.candidates.is_some()
    }

    /// Returns the run that was typed, after checking that every setting is in its range.
    pub fn spec(&self) -> Result<RunSpec> {
        let labels = match &self.labels {
            _ if self.ask => LabelSource::Person,
            Some(path) => LabelSource::File(label_table(path)?),
            None => LabelSource::Data,
        };
        let random = || if labels == LabelSource::Data { vec!["random".to_owned()] } else { Vec::new() };
        let against = self.choosing.against.clone().unwrap_or_else(random);
        let against = against.iter().filter(|rule| *rule != "none").map(|rule| rule.parse::<NamedStrategy>());
        let data = self.open.spec(self.data.clone().unwrap_or_default());
        let spec = RunSpec {
            data: DataSpec { encoder: self.encoder.clone(), text_column: self.text_column.clone(), ..data },
            task: self.task.spec(),
            rule: self.choosing.rule.parse()?,
            against: against.collect::<Result<_, _>>()?,
            choosing: self.choosing.settings()?,
            labels,
            network: self.learning.network()?,
            learning: self.learning.settings(),
            seed: self.seed,
            seeds: self.seeds,
        };
        spec.check()?;
        Ok(spec)
    }
}

impl TaskOptions {
    fn spec(&self) -> TaskSpec {
        TaskSpec {
            targets: self.targets.clone(),
            classes: self.task.clone(),
            target_count: self.target_count,
            target_reserve: self.target_reserve,
            valid_count: self.valid_count,
            test_count: self.test_count,
            test_on_valid: self.test_on_valid,
            pool_count: self.pool_count,
            thin_pool: self.thin_pool.clone(),
            thin_targets: self.thin_targets.clone(),
        }
    }
}

impl ChoosingOptions {
    fn settings(&self) -> Result<ChoosingSettings> {
        let sigma = self.sigma.parse()?;
        Ok(ChoosingSettings {
            rounds: self.rounds,
            picks_per_round: self.picks_per_round,
            random_start: self.random_start,
            repeat: self.repeat,
            candidates: match &self.candidates {
                Some(typed) => typed.parse()?,
                None => RunSpec::new("").choosing.candidates,
            },
            targets_per_round: self.targets_per_round.parse()?,
            embedding: self.embedding.parse()?,
            sigma,
            noise_std: self.noise_std,
            noise_share: self.noise_share,
            condition: self.condition.unwrap_or(sigma == Sigma::Identity),
        })
    }
}

impl LearningOptions {
    fn network(&self) -> Result<NetworkSpec> {
        Ok(NetworkSpec {
            name: self.model.as_deref().map(str::parse).transpose()?,
            weights: self.weights.clone(),
            learning_rate: self.learning_rate,
            device: self.device.clone(),
        })
    }

    fn settings(&self) -> LearningSettings {
        let drops = LessonEnd::ValidationDrops { patience: self.patience, max_epochs: self.max_epochs };
        LearningSettings {
            until: self.epochs.map_or(drops, LessonEnd::Epochs),
            warm_start: self.warm_start,
            minibatch_size: self.minibatch_size,
            full_minibatches: self.full_minibatches,
            unweighted_loss: self.unweighted_loss,
            keep_last_best: self.keep_last_best,
            skip_idle_rounds: self.skip_idle_rounds,
            keep_optimizer: self.keep_optimizer,
            adam_epsilon: self.adam_epsilon,
        }
    }
}

/// Returns the run that a command line describes; the line has neither the command nor the folder of the run.
pub fn parse<T: Into<OsString>>(arguments: impl IntoIterator<Item = T>) -> Result<RunSpec> {
    let command = Arguments::augment_args(clap::Command::new("finetune").no_binary_name(true));
    let folder = std::iter::once("--run=-".into());
    let matches = command.try_get_matches_from(folder.chain(arguments.into_iter().map(Into::into)));
    let matches = matches.map_err(|error| anyhow!(refusal::of_arguments(&error)))?;
    Arguments::from_arg_matches(&matches)?.run_options.spec()
}
