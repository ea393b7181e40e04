//! Remedies for errors, as data that each interface phrases in its own words.

use std::fmt;

use crate::candidates::CANDIDATE_NAMES;
use crate::embed::EMBEDDING_NAMES;
use crate::models::network_names;
use crate::sigma::covariance_names;
use crate::targets::ROUND_TARGET_NAMES;
use crate::{Error, Result};

/// Remedy for an error. `Display` uses the names of the Rust API; the command line has its own words for remedies that name
/// an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the text of a remedy explains it")]
pub enum Remedy {
    CheckPath,
    RestoreRun,
    ContinueWithThatVersion,
    Device,
    OnnxLibrary,
    SaveAsFloats,
    SaveWeightsAgain,
    SaveAsSafetensors,
    MatchWeights,
    WeightsOf {
        network: &'static str,
        /// The library whose names the tensors have.
        naming: Option<&'static str>,
    },
    LearnedWeights,
    WeightsWithClassifier,
    WeightsOfRun,
    GiveWeights,
    OtherNetworkOrData,
    CorrectLabel,
    UseOneOf(NameSet),
    SmallerNumbers,
    SmallerLearningRate,
    SketchGradients,
    SmallerNetwork,
    SmallerImages,
    LargerImages,
    LastLayerEmbedding,
    NoConditioning,
    Within(Parameter),
    LargerPool,
    GiveOne,
    GiveValidation,
    NameCacheFolder,
    TwoClasses,
    NameLabels,
    SameShape,
    NameTask,
    NameClasses,
    NameEveryClass,
    CorrectClass,
    MoreClasses,
    WholePool,
    OtherTargetCount,
    OtherTargetReserve,
    MoreValidation,
    SmallerSeed,
    ShareInRange,
    NamePath(PathParameter),
    RenamePath,
    RenameClass,
    RenameClassOrLabelInFile,
    AddLabels,
    ResumeLater,
    LabelByRow,
    CorrectLine,
    KeepOneLabel,
    OneLabelColumn,
    LabelColumns,
    SaveAsUtf8,
    WaitForProcess,
    NameRun,
    OtherFolder,
    ResumeRun,
    RestoreData,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::UseOneOf(name_set) => return write!(f, "use {}", name_set.names()),
            Self::Within(parameter) => return write!(f, "set {} to {}", parameter.field(), parameter.range()),
            Self::NamePath(PathParameter::Run) => "name a folder",
            Self::NamePath(_) => "name a file",
            Self::WeightsOf { network, naming: None } => return write!(f, "give the weights of {network}"),
            Self::WeightsOf { network, naming: Some(naming) } => {
                return write!(f, "give the weights of {network} as {naming} names them");
            }
            Self::CheckPath => "check the path and its permissions",
            Self::ContinueWithThatVersion => "continue it with that version, or start a run in another folder",
            Self::RestoreRun => "restore the files of the run, or start a run in another folder",
            Self::Device if cfg!(feature = "libtorch") => "use cpu, torch or cuda:0",
            Self::Device => "use cpu, or build with `--features libtorch` for torch and cuda:0",
            Self::OnnxLibrary => "set ORT_DYLIB_PATH to its library, or leave it unset",
            Self::SaveAsFloats => "save the weights as float32",
            Self::SaveWeightsAgain => "save the weights again",
            Self::SaveAsSafetensors => "save the weights as safetensors",
            Self::MatchWeights => "use the network and the data that the weights were trained with",
            Self::LearnedWeights => "open the weights that the run started from, and load these into the last block",
            Self::WeightsWithClassifier => "use `last_block`, which draws one, or give weights that have one",
            Self::WeightsOfRun => "give weights that a run has saved",
            Self::GiveWeights => "give them in `weights`, as a safetensors file",
            Self::OtherNetworkOrData => "choose another network or another data set",
            Self::CorrectLabel => "correct the label",
            Self::SmallerNumbers => "use smaller numbers in the data, a smaller learning rate, or other weights",
            Self::SmallerLearningRate => {
                "start a new run with a smaller learning rate, or with smaller numbers in the data"
            }
            Self::SketchGradients => "use network-gradient:4096, which compresses them",
            Self::SmallerNetwork => "use a smaller network",
            Self::SmallerImages => "use narrower layers, or smaller images",
            Self::LargerImages => "use larger images, or the network linear",
            Self::LastLayerEmbedding => "use it with last-layer, output-gradient or loss-gradient",
            Self::NoConditioning => "set condition to false",
            Self::LargerPool => "use a larger pool, or leave out less of it",
            Self::GiveOne => "give at least one",
            Self::GiveValidation => "give validation examples, or learn for a fixed number of epochs",
            Self::NameCacheFolder => "name a folder for the cache",
            Self::TwoClasses => "give two or more",
            Self::NameLabels => "name the label column, give a label file, or let a person label",
            Self::SameShape => "use the same shape for both",
            Self::NameTask => "give examples of the task as targets, or its classes",
            Self::NameClasses => "give the classes that you will label with as the classes of the task",
            Self::NameEveryClass => "name every class",
            Self::CorrectClass => "correct the name",
            Self::MoreClasses => "name two or more classes for the task, or use data with more classes",
            Self::WholePool => "leave pool_count out, or make the pool itself smaller",
            Self::OtherTargetCount => "choose another target_count, or give targets",
            Self::OtherTargetReserve => "choose another target_reserve, or leave it out",
            Self::MoreValidation => "set valid_count to at least 1, or set test_on_valid to false",
            Self::SmallerSeed => "give a smaller seed",
            Self::ShareInRange => "give a share from 0 to 1",
            Self::RenamePath => "rename it",
            Self::RenameClass => "rename one of them",
            Self::RenameClassOrLabelInFile => "rename it, or give the labels in a file",
            Self::AddLabels => {
                "fill in the column label there, with skip for rows to leave out, and resume the run in the same folder"
            }
            Self::ResumeLater => "resume the run in the same folder, which keeps the answers so far",
            Self::LabelByRow => "label by row number, in a column index instead of id",
            Self::CorrectLine => "correct the line, or remove it",
            Self::KeepOneLabel => "keep one of the two",
            Self::OneLabelColumn => "keep one column id or index, and one column label",
            Self::LabelColumns => "add the missing column",
            Self::SaveAsUtf8 => "save the file as UTF-8",
            Self::WaitForProcess => "wait until it ends, or stop it",
            Self::NameRun => "name the folder of a run",
            Self::OtherFolder => "name another folder",
            Self::ResumeRun => "resume it, or name another folder",
            Self::RestoreData => "restore them, or start a new run",
        };
        f.write_str(words)
    }
}

/// A set of names to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names explain themselves")]
pub enum NameSet {
    Network,
    Embedding,
    Covariance,
    Candidates,
    RoundTargets,
}

impl NameSet {
    /// Returns the names, for a message.
    pub fn names(self) -> String {
        match self {
            Self::Network => network_names(),
            Self::Embedding => EMBEDDING_NAMES.into(),
            Self::Covariance => covariance_names(),
            Self::Candidates => CANDIDATE_NAMES.into(),
            Self::RoundTargets => ROUND_TARGET_NAMES.into(),
        }
    }
}

impl fmt::Display for NameSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network => "network",
            Self::Embedding => "embedding",
            Self::Covariance => "covariance",
            Self::Candidates => "source of candidates",
            Self::RoundTargets => "choice of targets",
        })
    }
}

macro_rules! parameters {
    ($($name:ident $field:literal, $words:literal, $least:literal $($most:literal)?;)*) => {
        /// A numeric setting of a run, with its range.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "the texts explain them")]
        pub enum Parameter { $($name),* }

        impl Parameter {
            /// All parameters.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the name of the field.
            pub fn field(self) -> &'static str {
                match self { $(Self::$name => $field),* }
            }

            /// Returns the smallest allowed number, and the largest if there is one.
            pub fn bounds(self) -> (f64, Option<f64>) {
                match self { $(Self::$name => ($least, [$($most)?].first().copied())),* }
            }
        }

        impl fmt::Display for Parameter {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $words),* })
            }
        }
    };
}

parameters! {
    Rounds "rounds", "the number of rounds", 1.0 1e6;
    PicksPerRound "picks_per_round", "the number of picks per round", 1.0;
    NoiseStd "noise_std", "the noise", 1e-70 1e70;
    NoiseShare "noise_share", "the noise's share of the variance", 1e-30 1e30;
    AdamEpsilon "adam_epsilon", "Adam's epsilon", 1e-30 1.0;
    LearningRate "learning_rate", "the learning rate", 1e-300 1e300;
    Epochs "epochs", "the number of epochs", 0.0 1e6;
    MaxEpochs "max_epochs", "the largest number of epochs", 1.0 1e6;
    Patience "patience", "the patience", 1.0;
    MinibatchSize "minibatch_size", "the number of examples per step", 1.0;
    Size "size", "the size of images", 1.0;
    TargetCount "target_count", "the number of targets", 1.0;
    TargetReserve "target_reserve", "the number of examples that are kept for targets", 1.0;
    PoolCount "pool_count", "the number of rows of the pool", 1.0;
    Seeds "seeds", "the number of seeds", 1.0 1e4;
}

impl Parameter {
    /// Refuses a count that is out of range.
    pub(crate) fn check_count(self, count: u64) -> Result<()> {
        self.check(count as f64, count)
    }

    /// Refuses a number that is out of range; the message shows it as `text`.
    pub(crate) fn check(self, number: f64, text: impl fmt::Display) -> Result<()> {
        let (least, most) = self.bounds();
        if (least..=most.unwrap_or(f64::MAX)).contains(&number) {
            return Ok(());
        }
        Err(Error::OutOfRange { parameter: self, value: text.to_string() })
    }

    /// Returns the range, for a message.
    pub fn range(self) -> String {
        let number = |bound: f64| {
            if (1e-3..1e9).contains(&bound) || bound == 0.0 { bound.to_string() } else { format!("{bound:e}") }
        };
        match self.bounds() {
            (least, Some(most)) => format!("a number from {} to {}", number(least), number(most)),
            (least, None) => format!("at least {}", number(least)),
        }
    }
}

/// A path among the settings of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the texts explain them")]
pub enum PathParameter {
    Data,
    Targets,
    Weights,
    Labels,
    Encoder,
    Run,
}

impl fmt::Display for PathParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Data => "the path of the data",
            Self::Targets => "the path of the targets",
            Self::Weights => "the path of the weights",
            Self::Labels => "the path of the labels",
            Self::Encoder => "the path of the encoder",
            Self::Run => "the path of the run",
        })
    }
}
