//! Errors about a run folder, its inputs or a request.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reason why a run cannot be opened. Each message is one sentence that names the problem and the remedy.
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of a variant explains its fields")]
pub enum Error {
    /// Another process has the run open.
    Locked { run: PathBuf },
    /// The run belongs to other data.
    OtherData { run: PathBuf, what: &'static str, found: String, expected: String },
    /// The folder exists, but it is not a run.
    NotARun { run: PathBuf },
    /// A line of the event file contradicts the lines before it or is not valid.
    BrokenLog { path: PathBuf, line: u64, reason: String },
    /// A file of the run cannot be read or written.
    Io { path: PathBuf, action: &'static str, source: io::Error },
    /// Two rows have the same id, so a label for it would be ambiguous.
    SharedId { id: String, first: usize, second: usize },
    /// There are not as many embeddings as examples.
    Count { what: &'static str, embeddings: usize, examples: usize },
    /// An id of the examples has no embedding.
    NoEmbeddingOf { id: String, path: PathBuf },
    /// A table has neither texts nor images to show.
    NoContents { path: PathBuf },
    /// A simulated run cannot continue.
    Simulation { reason: String },
    /// An error about a selection.
    Core(homing::Error),
    /// An error about a data set.
    Data(homing_data::Error),
    /// An error about a file.
    Pool(homing_pool::Error),
}

/// Remedy for an error. `Display` uses the names of the Rust API; the command line has its own words for remedies that name
/// an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// End the other process.
    EndOther,
    /// Choose another folder for the run.
    OtherRun,
    /// Correct the file by hand.
    Correct,
    /// Give embeddings.
    GiveEmbeddings,
    /// Name the column of texts.
    NameText,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EndOther => "end that process first",
            Self::OtherRun => "choose another folder for this run",
            Self::Correct => "correct the file",
            Self::GiveEmbeddings => "give a file of embeddings with one row per example",
            Self::NameText => "name the column",
        })
    }
}

impl Error {
    /// Returns a function that adds the path and the action to an error of the system.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, action, source }
    }

    /// Returns the remedy, if there is one.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Locked { .. } => Some(Remedy::EndOther),
            Self::OtherData { .. } | Self::NotARun { .. } => Some(Remedy::OtherRun),
            Self::BrokenLog { .. } | Self::SharedId { .. } => Some(Remedy::Correct),
            Self::Count { .. } | Self::NoEmbeddingOf { .. } => Some(Remedy::GiveEmbeddings),
            Self::NoContents { .. } => Some(Remedy::NameText),
            Self::Simulation { .. } | Self::Io { .. } | Self::Core(_) | Self::Data(_) | Self::Pool(_) => None,
        }
    }

    /// Returns the problem and the remedy as one sentence; `words` phrases the remedy for an interface such as the command
    /// line.
    pub fn phrase(&self, words: impl Fn(Remedy) -> String) -> String {
        let problem = match self {
            Self::Locked { run } => format!("another process has the run {} open", run.display()),
            Self::OtherData { run, what, found, expected } => {
                format!("the run {} was started with {what} {expected}, not {found}", run.display())
            }
            Self::NotARun { run } => format!("{} exists, but it is not a labelling run", run.display()),
            Self::BrokenLog { path, line, reason } => {
                format!("{}, line {line}, is not a valid event: {reason}", path.display())
            }
            Self::Io { path, action, source } => format!("{} cannot be {action}: {source}", path.display()),
            Self::SharedId { id, first, second } => format!("the rows {first} and {second} share the id {id:?}"),
            Self::Count { what, embeddings, examples } => {
                format!("there are {embeddings} embeddings for {examples} {what}")
            }
            Self::NoContents { path } => format!("{} has no column of texts with a usual name", path.display()),
            Self::Simulation { reason } => format!("the next example cannot be chosen: {reason}"),
            Self::NoEmbeddingOf { id, path } => format!("{} has no embedding with the id {id:?}", path.display()),
            Self::Core(error) => error.to_string(),
            Self::Data(error) => error.to_string(),
            Self::Pool(error) => error.to_string(),
        };
        self.remedy().map_or_else(|| problem.clone(), |remedy| format!("{problem}; {}", words(remedy)))
    }

    /// Returns one error of each variant, for tests that check all of them.
    #[doc(hidden)]
    pub fn examples() -> Vec<Self> {
        let (path, text) = (|| PathBuf::from("a"), || "a".to_owned());
        vec![
            Self::Locked { run: path() },
            Self::OtherData { run: path(), what: "the pool", found: text(), expected: text() },
            Self::NotARun { run: path() },
            Self::BrokenLog { path: path(), line: 1, reason: text() },
            Self::Io { path: path(), action: "read", source: io::ErrorKind::NotFound.into() },
            Self::SharedId { id: text(), first: 0, second: 1 },
            Self::Count { what: "images", embeddings: 1, examples: 2 },
            Self::NoContents { path: path() },
            Self::Simulation { reason: text() },
            Self::NoEmbeddingOf { id: text(), path: path() },
            Self::Core(homing::Error::NothingToPick),
            Self::Pool(homing_pool::Error::NotFound { path: path() }),
        ]
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
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<homing::Error> for Error {
    fn from(error: homing::Error) -> Self {
        Self::Core(error)
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

/// Reason why a request is refused. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of a variant explains its fields")]
pub enum Refusal {
    /// No row has this id.
    UnknownId { id: String },
    /// No ids were given.
    NoIds,
    /// The run has no such class.
    UnknownClass { label: String, classes: Vec<String> },
    /// The name is empty, too long or has control characters.
    BadName { what: &'static str, name: String },
    /// The annotator has nothing to undo or redo.
    Nothing { what: &'static str },
    /// The event could not be written to the disk.
    NotWritten { reason: String },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownId { id } => write!(f, "there is no example with the id {id:?}"),
            Self::NoIds => write!(f, "no example is named; give its id"),
            Self::UnknownClass { label, classes } => {
                write!(f, "there is no class {label:?}; the classes are {}", classes.join(", "))
            }
            Self::BadName { what, name } => {
                write!(
                    f,
                    "{name:?} is not a {what}: it must have 1 to 100 characters, none of them a control character"
                )
            }
            Self::Nothing { what } => write!(f, "there is nothing to {what}"),
            Self::NotWritten { reason } => {
                write!(f, "the answer was not saved, because {reason}; make room on the disk and start again")
            }
        }
    }
}

impl std::error::Error for Refusal {}
