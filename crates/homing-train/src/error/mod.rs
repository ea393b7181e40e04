//! Errors of this crate.

mod examples;

use std::fmt;
use std::path::PathBuf;

use crate::remedy::{NameSet, Parameter, PathParameter, Remedy};
use crate::run::LabelFault;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reason why a call failed. Each message is one sentence that names the problem and the remedy.
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of a variant explains its fields")]
pub enum Error {
    /// A file could not be read or written.
    Io { path: PathBuf, error: std::io::Error },
    /// A file or folder of a run was changed, or is missing.
    Record { path: PathBuf, reason: String },
    /// The run was started by another version of Homing.
    OtherVersion { path: PathBuf, version: String },
    /// The device is not available in this build.
    Device { name: String },
    /// ONNX Runtime could not be loaded, or refused the network.
    Library { path: PathBuf, reason: String },
    /// The weights do not fit the network.
    Weights { reason: String, remedy: Remedy },
    /// A pretrained network was requested without its weights.
    NoWeights { network: String },
    /// The examples do not have the size that the network expects.
    Shape { expected: usize, got: usize },
    /// The images are too small for the network.
    ImageShape { network: &'static str, least: usize, shape: Vec<usize> },
    /// A label is not below the number of classes.
    Label { row: usize, label: u32, classes: usize },
    /// A name is unknown.
    Name { of: NameSet, name: String },
    /// A number is out of its range.
    OutOfRange { parameter: Parameter, value: String },
    /// A path is empty.
    EmptyPath { of: PathParameter },
    /// A path is not valid UTF-8, so the plan of a run cannot store it.
    PathText { path: PathBuf },
    /// Training the network needs too much memory. `bytes` is none if the number overflows.
    NetworkMemory { network: String, shape: Vec<usize>, bytes: Option<u64> },
    /// Gradients of `length` numbers each do not fit into memory. `length` is none if the number overflows.
    GradientMemory { length: Option<usize>, examples: usize, sketched: bool },
    /// The embeddings are infinite or NaN.
    InfiniteEmbeddings,
    /// The weights became infinite or NaN during a lesson.
    InfiniteWeights { round: usize },
    /// A Laplace covariance was combined with embeddings that are not of the last layer.
    LaplaceEmbedding,
    /// A Laplace covariance was combined with conditioning on the same examples.
    LaplaceConditioning,
    /// The pool has no row to choose.
    EmptyPool,
    /// There are no targets, or no images.
    NoExamples { of: &'static str },
    /// Learning until the validation accuracy drops was requested without validation examples.
    NoValidation,
    /// There is no home folder for the cache.
    NoHome,
    /// There are no classes to distinguish.
    NoClasses,
    /// The labels should come from the data, which have none.
    NoLabels,
    /// The shape of the targets differs from that of the pool.
    TargetShape { targets: Vec<usize>, pool: Vec<usize> },
    /// The run has neither targets nor classes.
    NoTask,
    /// The data have no classes, and none were given.
    NoClassNames,
    /// The data do not have this class.
    UnknownClass { name: String, known: String },
    /// A class has an empty name.
    EmptyClass,
    /// The task has only one class.
    OneClass { name: String },
    /// A label file was combined with a sample of the pool.
    SampledPool,
    /// There are too few held-out examples for the number of targets.
    TargetCount { count: usize, most: usize, left: usize },
    /// The examples that are kept for targets are fewer than the targets, or more than there are.
    TargetReserve { reserve: usize, count: usize, most: usize },
    /// The accuracy was to be measured on validation examples, of which there are none.
    NoTests,
    /// Some seeds exceed the largest possible one.
    Seeds { first: u64, count: u64, last: u64 },
    /// The share of a class to leave out is not between 0 and 1.
    Share { class: String, share: f64 },
    /// A person cannot type the name of a class.
    UntypableClass { class: String },
    /// The names of two classes differ only in spaces.
    TwinClasses { name: String },
    /// A label file is invalid; `place` is the file, or a line of it.
    LabelFile { place: String, fault: LabelFault },
    /// A label file has no labels for some picks, which are listed in another file.
    MissingLabels { file: PathBuf, count: usize, list: PathBuf },
    /// The person who labels does not answer any more.
    NoAnswer,
    /// Another process is using the folder.
    Busy { folder: PathBuf },
    /// The folder does not contain a run.
    NoRun { folder: PathBuf },
    /// The path for a run is not a folder.
    NoFolder { path: PathBuf },
    /// The folder already contains a run.
    RunExists { folder: PathBuf },
    /// The folder contains other files.
    FullFolder { folder: PathBuf },
    /// The data or the weights have changed since the run started.
    DataChanged { path: PathBuf },
    /// An error of the core.
    Select(homing::Error),
    /// An error about a data set.
    Data(homing_data::Error),
    /// An error about a pool or a file.
    Pool(homing_pool::Error),
}

impl Error {
    /// Returns a function for `map_err` that adds `path` to an I/O error.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        |error| Self::Io { path, error }
    }

    /// Returns an error about weights that do not fit, with its remedy.
    pub(crate) fn weights(reason: impl Into<String>, remedy: Remedy) -> Self {
        Self::Weights { reason: reason.into(), remedy }
    }

    /// Returns the remedy. Errors of other crates have their own remedies.
    pub fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::Io { .. } => Remedy::CheckPath,
            Self::Record { .. } => Remedy::RestoreRun,
            Self::OtherVersion { .. } => Remedy::ContinueWithThatVersion,
            Self::Device { .. } => Remedy::Device,
            Self::Library { .. } => Remedy::OnnxLibrary,
            Self::Weights { remedy, .. } => *remedy,
            Self::NoWeights { .. } => Remedy::GiveWeights,
            Self::Shape { .. } => Remedy::OtherNetworkOrData,
            Self::ImageShape { .. } => Remedy::LargerImages,
            Self::Label { .. } => Remedy::CorrectLabel,
            Self::Name { of, .. } => Remedy::UseOneOf(*of),
            Self::OutOfRange { parameter, .. } => Remedy::Within(*parameter),
            Self::EmptyPath { of } => Remedy::NamePath(*of),
            Self::PathText { .. } => Remedy::RenamePath,
            Self::NetworkMemory { .. } => Remedy::SmallerImages,
            Self::GradientMemory { sketched: true, .. } => Remedy::SmallerNetwork,
            Self::GradientMemory { sketched: false, .. } => Remedy::SketchGradients,
            Self::InfiniteEmbeddings => Remedy::SmallerNumbers,
            Self::InfiniteWeights { .. } => Remedy::SmallerLearningRate,
            Self::LaplaceEmbedding => Remedy::LastLayerEmbedding,
            Self::LaplaceConditioning => Remedy::NoConditioning,
            Self::EmptyPool => Remedy::LargerPool,
            Self::NoExamples { .. } => Remedy::GiveOne,
            Self::NoValidation => Remedy::GiveValidation,
            Self::NoHome => Remedy::NameCacheFolder,
            Self::NoClasses => Remedy::TwoClasses,
            Self::NoLabels => Remedy::NameLabels,
            Self::TargetShape { .. } => Remedy::SameShape,
            Self::NoTask => Remedy::NameTask,
            Self::NoClassNames => Remedy::NameClasses,
            Self::EmptyClass => Remedy::NameEveryClass,
            Self::UnknownClass { .. } => Remedy::CorrectClass,
            Self::OneClass { .. } => Remedy::MoreClasses,
            Self::SampledPool => Remedy::WholePool,
            Self::TargetCount { .. } => Remedy::OtherTargetCount,
            Self::TargetReserve { .. } => Remedy::OtherTargetReserve,
            Self::NoTests => Remedy::MoreValidation,
            Self::Seeds { .. } => Remedy::SmallerSeed,
            Self::Share { .. } => Remedy::ShareInRange,
            Self::UntypableClass { .. } => Remedy::RenameClassOrLabelInFile,
            Self::TwinClasses { .. } => Remedy::RenameClass,
            Self::LabelFile { fault, .. } => fault.remedy(),
            Self::MissingLabels { .. } => Remedy::AddLabels,
            Self::NoAnswer => Remedy::ResumeLater,
            Self::Busy { .. } => Remedy::WaitForProcess,
            Self::NoRun { .. } => Remedy::NameRun,
            Self::NoFolder { .. } | Self::FullFolder { .. } => Remedy::OtherFolder,
            Self::RunExists { .. } => Remedy::ResumeRun,
            Self::DataChanged { .. } => Remedy::RestoreData,
            Self::Select(_) | Self::Data(_) | Self::Pool(_) => return None,
        })
    }

    /// Returns the problem and the remedy as one sentence; `words` phrases the remedy for an interface such as the command
    /// line. Errors of other crates keep their own messages.
    pub fn phrase(&self, words: impl Fn(Remedy) -> String) -> String {
        let problem = ProblemSentence(self);
        self.remedy().map_or_else(|| problem.to_string(), |remedy| format!("{problem}; {}", words(remedy)))
    }
}

/// Bytes of a gibibyte.
const GIB: f64 = (1 << 30) as f64;

/// The problem without the remedy.
struct ProblemSentence<'a>(&'a Error);

impl fmt::Display for ProblemSentence<'_> {
    #[allow(clippy::too_many_lines, reason = "it is one sentence per variant")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Error::Io { path, error } => write!(f, "{}: {error}", path.display()),
            Error::Record { path, reason } => write!(f, "{}: {reason}", path.display()),
            Error::OtherVersion { path, version } => {
                let ours = env!("CARGO_PKG_VERSION");
                write!(f, "{} was started by version {version} of Homing, but this is version {ours}", path.display())
            }
            Error::Device { name } => write!(f, "there is no device {name:?}"),
            Error::Library { path, reason } => {
                write!(f, "{} cannot be used as ONNX Runtime: {reason}", path.display())
            }
            Error::Weights { reason, .. } => write!(f, "the weights do not fit the network: {reason}"),
            Error::NoWeights { network } => write!(f, "{network} needs its weights"),
            Error::Shape { expected, got } => {
                write!(f, "the network takes examples of {expected} numbers, but these have {got}")
            }
            Error::ImageShape { network, least, shape } => {
                write!(
                    f,
                    "{network} takes images of at least {least} × {least} pixels, but these have the shape {shape:?}"
                )
            }
            Error::Label { row, label, classes } => {
                write!(f, "example {row} has the label {label}, but there are {classes} classes, counted from 0")
            }
            Error::Name { of, name } => write!(f, "there is no {of} {name:?}"),
            Error::OutOfRange { parameter, value } => write!(f, "{parameter} is {value}"),
            Error::EmptyPath { of } => write!(f, "{of} is empty"),
            Error::PathText { path } => {
                write!(f, "{} is not valid UTF-8, so the plan of a run cannot store it", path.display())
            }
            Error::NetworkMemory { network, shape, bytes } => {
                write!(f, "training the network {network} on examples of shape {shape:?} needs ")?;
                match bytes {
                    Some(bytes) => {
                        write!(f, "at least {:.1} GiB of memory, more than is available", *bytes as f64 / GIB)
                    }
                    None => f.write_str("more memory than any machine has"),
                }
            }
            Error::GradientMemory { length, examples, .. } => {
                f.write_str("the gradients")?;
                if let Some(length) = length {
                    write!(f, " of {length} numbers each")?;
                }
                write!(f, " for {examples} examples are too long to fit into memory")
            }
            Error::InfiniteEmbeddings => f.write_str("the network computes embeddings that are not finite"),
            Error::InfiniteWeights { round } => {
                write!(f, "the network diverged in round {round}: its weights are no longer finite")
            }
            Error::LaplaceEmbedding => f.write_str("a Laplace covariance covers only the weights of the last layer"),
            Error::LaplaceConditioning => f.write_str("a Laplace covariance already includes the labelled examples"),
            Error::EmptyPool => f.write_str("no row of the pool is left to choose from"),
            Error::NoExamples { of } => write!(f, "there are no {of}"),
            Error::NoValidation => {
                f.write_str("learning until the validation accuracy drops needs validation examples")
            }
            Error::NoHome => f.write_str("there is no home folder"),
            Error::NoClasses => f.write_str("a network needs classes to distinguish"),
            Error::NoLabels => f.write_str("the data have no labels"),
            Error::TargetShape { targets, pool } => {
                write!(f, "the targets have the shape {targets:?}, but the pool has {pool:?}")
            }
            Error::NoTask => f.write_str("the run has no task"),
            Error::NoClassNames => f.write_str("the data have no labels, and therefore no classes"),
            Error::UnknownClass { name, known } => write!(f, "there is no class {name:?}; the data have {known}"),
            Error::EmptyClass => f.write_str("a class of the task has no name"),
            Error::OneClass { name } => {
                write!(f, "{name:?} is the only class, and a network needs at least two to distinguish")
            }
            Error::SampledPool => f.write_str("a label file covers the whole pool, not a sample of it"),
            Error::TargetCount { count, most, left } => write!(
                f,
                "the number of targets, {count}, is not between 1 and {most}: {left} held-out examples of the task are left for \
                 targets and tests"
            ),
            Error::TargetReserve { reserve, count, most } => write!(
                f,
                "{reserve} held-out examples are to be kept for targets, which is not between the {count} targets and the {most} \
                 examples that can be kept"
            ),
            Error::NoTests => {
                f.write_str("the accuracy is to be measured on the validation examples, but there are none")
            }
            Error::Seeds { first, count, last } => {
                write!(f, "{count} seeds from {first} on exceed the largest seed, {last}")
            }
            Error::Share { class, share } => write!(f, "the share of {class:?} to leave out is {share}"),
            Error::UntypableClass { class } => write!(f, "the class {class:?} cannot be typed"),
            Error::TwinClasses { name } => write!(f, "there are two classes {name:?} that differ only in spaces"),
            Error::LabelFile { place, fault } => write!(f, "{place}: {fault}"),
            Error::MissingLabels { file, count, list } => {
                let picks = if *count == 1 { "1 pick has".to_owned() } else { format!("{count} picks have") };
                write!(f, "{picks} no label in {} and can be labelled in {}", file.display(), list.display())
            }
            Error::NoAnswer => f.write_str("the labelling stopped before all picks had an answer"),
            Error::Busy { folder } => write!(f, "another process is using {}", folder.display()),
            Error::NoRun { folder } => write!(f, "{} does not contain a run that can be resumed", folder.display()),
            Error::NoFolder { path } => write!(f, "{} is not a folder", path.display()),
            Error::RunExists { folder } => write!(f, "{} already contains a run", folder.display()),
            Error::FullFolder { folder } => write!(f, "{} is not empty", folder.display()),
            Error::DataChanged { path } => {
                write!(f, "the data in {} or the weights have changed since the run started", path.display())
            }
            Error::Select(error) => error.fmt(f),
            Error::Data(error) => error.fmt(f),
            Error::Pool(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.phrase(|remedy| remedy.to_string()))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Select(error) => error.source(),
            Self::Data(error) => error.source(),
            Self::Pool(error) => error.source(),
            _ => None,
        }
    }
}

impl From<homing::Error> for Error {
    fn from(error: homing::Error) -> Self {
        Self::Select(error)
    }
}

impl From<homing_data::Error> for Error {
    fn from(error: homing_data::Error) -> Self {
        Self::Data(error)
    }
}

impl From<homing_pool::Error> for Error {
    fn from(error: homing_pool::Error) -> Self {
        Self::Pool(error)
    }
}
