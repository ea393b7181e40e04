//! Errors about an experiment or its results.

use std::fmt;
use std::path::PathBuf;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reason why a call failed. Each message is one sentence that names the problem and the remedy.
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of a variant explains its fields")]
pub enum Error {
    /// The file of an experiment is not valid.
    File { file: String, problem: String, remedy: Remedy },
    /// The name is neither a built-in experiment nor a TOML file.
    Unknown { name: String },
    /// The results are missing, or no experiment has written them.
    Results { problem: String, remedy: Remedy },
    /// The table of results cannot be read.
    Table { path: PathBuf, reason: String },
    /// The figure cannot be drawn.
    Picture { reason: String },
    /// An error about a file.
    Pool(homing_pool::Error),
}

/// Remedy for an error. `Display` uses the names of the Rust API; the command line has its own words for remedies that name
/// an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// A change of the experiment's file or of its results, phrased in the same way by every interface.
    Write(&'static str),
    /// Pass the option when the experiment is run.
    GiveToRun(&'static str),
    /// Name an argument of a run.
    NameArgument,
    /// Do not request the quick version.
    LeaveQuickOut,
    /// List the experiments.
    ListExperiments,
    /// Name the folder of the data.
    NameDataFolder,
    /// Name the folder of the file.
    NameFileFolder,
    /// Run the experiment, which writes the results.
    RunExperiment,
    /// Run the experiment again, which replaces the results.
    RunAgain,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Write(what) => what,
            Self::GiveToRun(option) => return write!(f, "set {option} when you run the experiment"),
            Self::NameArgument => "name an argument of a run",
            Self::LeaveQuickOut => "run the full experiment, or set fewer seeds and rounds",
            Self::ListExperiments => "use one of `names`, or a TOML file",
            Self::NameDataFolder => "name the folder of the data, or download them",
            Self::NameFileFolder => "put the file there, or name its folder",
            Self::RunExperiment => "run the experiment, which writes it",
            Self::RunAgain => "run the experiment again, which replaces the table",
        })
    }
}

impl Error {
    /// Returns the remedy, if there is one.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::File { remedy, .. } | Self::Results { remedy, .. } => Some(*remedy),
            Self::Unknown { .. } => Some(Remedy::ListExperiments),
            Self::Table { .. } | Self::Picture { .. } | Self::Pool(_) => None,
        }
    }

    /// Returns the problem and the remedy as one sentence; `words` phrases the remedy for an interface such as the command
    /// line.
    pub fn phrase(&self, words: impl Fn(Remedy) -> String) -> String {
        let problem = match self {
            Self::File { file, problem, .. } => format!("{file}: {problem}"),
            Self::Unknown { name } => format!("there is no experiment {name:?}"),
            Self::Results { problem, .. } => problem.clone(),
            Self::Table { path, reason } => format!("{} cannot be read as results: {reason}", path.display()),
            Self::Picture { reason } => format!("the figure cannot be drawn: {reason}"),
            Self::Pool(error) => error.to_string(),
        };
        self.remedy().map_or_else(|| problem.clone(), |remedy| format!("{problem}; {}", words(remedy)))
    }

    /// Returns one error of each variant and of each remedy, for tests that check all of them. A new variant needs a row
    /// here and in `remedy` and `phrase`, which do not compile without it.
    #[doc(hidden)]
    pub fn examples() -> Vec<Self> {
        let text = || "a".to_owned();
        let remedies = [
            Remedy::Write("leave it out"),
            Remedy::GiveToRun("seed"),
            Remedy::NameArgument,
            Remedy::LeaveQuickOut,
            Remedy::NameDataFolder,
            Remedy::NameFileFolder,
        ];
        let mut all: Vec<Self> =
            remedies.map(|remedy| Self::File { file: "mine.toml".into(), problem: text(), remedy }).into();
        all.extend([Remedy::RunExperiment, Remedy::RunAgain].map(|remedy| Self::Results { problem: text(), remedy }));
        all.extend([
            Self::Unknown { name: text() },
            Self::Table { path: "a.csv".into(), reason: text() },
            Self::Picture { reason: text() },
            Self::Pool(homing_pool::Error::NotFound { path: "a.csv".into() }),
        ]);
        all
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.phrase(|remedy| remedy.to_string()))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        if let Self::Pool(error) = self { error.source() } else { None }
    }
}

impl From<homing_pool::Error> for Error {
    fn from(error: homing_pool::Error) -> Self {
        Self::Pool(error)
    }
}

/// A fault of an experiment, before the name of its file is added.
pub(crate) struct Fault {
    pub problem: String,
    pub remedy: Remedy,
}

impl Fault {
    pub fn new(problem: impl Into<String>, write: &'static str) -> Self {
        Self { problem: problem.into(), remedy: Remedy::Write(write) }
    }

    /// Returns an error about a file.
    pub fn of(self, file: &str) -> Error {
        Error::File { file: file.into(), problem: self.problem, remedy: self.remedy }
    }
}
