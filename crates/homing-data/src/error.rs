//! Errors about data sets, and the settings that can remedy them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use homing_pool::{display_path, one_line, rephrase};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reason why a data set was refused. Each message is one sentence with the file, the problem and the remedy.
///
/// Rows are counted from 0. A file in an archive has a path as if the archive were a folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a variant's message explains its fields")]
pub enum Error {
    /// A file cannot be opened, or a table cannot be read.
    #[error("{}", .0.phrase(|remedy| Remedy::Pool(remedy).to_string()))]
    Pool(homing_pool::Error),
    /// A table has values that are not finite.
    #[error("{} cannot be used for training: {source}", display_path(.path))]
    NotFinite { path: PathBuf, source: homing::Error },
    /// The path holds no data set of a known kind.
    #[error("{} is not a data set that can be read; give MNIST's idx files, CIFAR's .bin files, a folder of images (class/name.png, .jpg or .webp), a .tar, .tar.gz or .tar.xz of those, or a table or embeddings file", display_path(.path))]
    Unknown { path: PathBuf },
    /// The folder holds several data sets.
    #[error("{} holds several data sets, with {} and with {}; name one of them, or move them to separate folders", display_path(.path), display_path(.first), display_path(.second))]
    Several { path: PathBuf, first: PathBuf, second: PathBuf },
    /// A folder or a file cannot be read.
    #[error("{} cannot be read: {source}; check the path and its permissions", display_path(.path))]
    Folder { path: PathBuf, source: io::Error },
    /// Two paths lead to the same folder.
    #[error("{} and {} are the same folder, so its files would count twice, perhaps under two classes; remove one of the links", display_path(.first), display_path(.path))]
    FolderTwice { path: PathBuf, first: PathBuf },
    /// Two paths lead to the same image.
    #[error("{} and {} are the same file, so it would count twice, perhaps under two classes; remove one of the links", display_path(.first), display_path(.path))]
    FileTwice { path: PathBuf, first: PathBuf },
    /// Two files of an archive have the same name.
    #[error("{} holds {name} twice, so it is unclear which of the two counts; create it again with only one of them", display_path(.path))]
    PackedTwice { path: PathBuf, name: String },
    /// The file has fewer bytes than it should have.
    #[error("{} is cut short: it should have {expected} bytes but has {found}; download or copy it again", display_path(.path))]
    Truncated { path: PathBuf, expected: u64, found: u64 },
    /// The file violates the rules of its format.
    #[error("{} is not a valid {format} file: {detail}; download or write it again", display_path(.path))]
    Malformed { path: PathBuf, format: &'static str, detail: String },
    /// The unpacked file would take too much memory.
    #[error("{} takes more than {limit} bytes of memory to unpack; unpack it first, and name the folder or file", display_path(.path))]
    TooLarge { path: PathBuf, limit: u64 },
    /// An image in an archive is a link to another file.
    #[error("{} holds {name} as a link, but links in archives are not followed; unpack it and name the folder", display_path(.path))]
    PackedLink { path: PathBuf, name: String },
    /// The examples would take too much memory.
    #[error("{} holds {examples} examples, which do not fit into the memory that may be used; divide it, or allow more memory", display_path(.path))]
    TooMany { path: PathBuf, examples: usize },
    /// The images have no labels.
    #[error("{} has no labels next to it; add {}", display_path(.path), display_path(.wanted))]
    NoLabels { path: PathBuf, wanted: PathBuf },
    /// The number of labels differs from the number of examples.
    #[error("{} holds {labels} labels for {examples} examples; give one for each", display_path(.path))]
    LabelCount { path: PathBuf, labels: usize, examples: usize },
    /// A label is not the number of a class.
    #[error("row {row} of {} has the label {label}, but there are {classes} classes, counted from 0; correct it, or download it again", display_path(.path))]
    LabelBeyond { path: PathBuf, row: usize, label: u32, classes: usize },
    /// A class occurs only in the test set.
    #[error("{} has the class '{class}', which the training set lacks; add examples of it there, or remove it", display_path(.path))]
    UnknownClass { path: PathBuf, class: String },
    /// An image cannot be decoded.
    #[error("{} cannot be read as an image: {detail}; replace or remove it", display_path(.path))]
    Image { path: PathBuf, detail: String },
    /// The images have different sizes.
    #[error("{} has {found} pixels but {} has {expected}; {}", display_path(.path), display_path(.first), Remedy::Resize)]
    Sizes { path: PathBuf, found: ImageSize, first: PathBuf, expected: ImageSize },
    /// The test examples have another shape than the training examples.
    #[error("{} holds examples of shape {found:?} but the training set has shape {expected:?}; use files of one data set, or {}", display_path(.path), Remedy::Resize)]
    Shapes { path: PathBuf, found: Vec<usize>, expected: Vec<usize> },
    /// An option for tables was given for images.
    #[error("{} holds images, which have no {option}; leave it out", display_path(.path))]
    NotATable { path: PathBuf, option: &'static str },
    /// One file of labels was given for two tables.
    #[error("{} holds a training and a test table, which cannot share one file of labels; put the labels into the tables, or name one of them", display_path(.path))]
    SharedLabels { path: PathBuf },
    /// An option for images was given for a table.
    #[error("{} holds rows of numbers, which have no size in pixels; leave the size out", display_path(.path))]
    NoSize { path: PathBuf },
    /// The requested image size is out of range.
    #[error("images cannot be resized to {size} pixels; give a size from 1 to {most}")]
    BadSize { size: usize, most: usize },
    /// Pixels were requested from examples that are not images.
    #[error("examples of shape {shape:?} are not images with one or three channels; give a data set of images")]
    NotImages { shape: Vec<usize> },
    /// The row is beyond the last example.
    #[error("there is no row {row} among {rows} examples; rows are counted from 0")]
    NoRow { row: usize, rows: usize },
    /// The data set is not one that can be downloaded.
    #[error("the data set '{name}' cannot be downloaded; choose {known}")]
    UnknownSet { name: String, known: String },
    /// No address returned the file.
    #[error("{file} could not be downloaded ({}); check the network, or download it elsewhere and put it into {}", .failures.join("; "), display_path(.folder))]
    Unreachable { file: String, failures: Vec<String>, folder: PathBuf },
    /// The downloaded file has the wrong checksum.
    #[error(
        "{file} from {url} has the SHA-256 {found} instead of {expected}, so it was discarded; try again later, or check for a proxy that changes downloads"
    )]
    Checksum { file: String, url: String, expected: String, found: String },
    /// The caller stopped the download.
    #[error("the download of {file} was stopped; start it again to continue where it stopped")]
    Stopped { file: String },
    /// The output cannot be written.
    #[error("{} cannot be written: {source}; choose another place, or free some space", display_path(.path))]
    Write { path: PathBuf, source: io::Error },
}

/// Width and height of an image, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageSize(pub usize, pub usize);

impl fmt::Display for ImageSize {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} × {}", self.0, self.1)
    }
}

/// A setting that remedies an [`Error`].
///
/// `Display` uses the names in Rust; [`Error::phrase`] replaces them with the names of another interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// A remedy for an error about a table or embeddings.
    Pool(homing_pool::Remedy),
    /// Give one size to which all images are resized.
    Resize,
}

impl fmt::Display for Remedy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A data set is opened with `OpenOptions`, not `ReadOptions`.
            Remedy::Pool(homing_pool::Remedy::ReadByPosition) => out.write_str("work on a copy of it"),
            Remedy::Pool(homing_pool::Remedy::NameEmbedding) => out.write_str("name one in `OpenOptions::embedding`"),
            Remedy::Pool(homing_pool::Remedy::NameUse) => {
                out.write_str("name it in `OpenOptions::label_column` if it holds the labels")
            }
            Remedy::Pool(remedy) => remedy.fmt(out),
            Remedy::Resize => out.write_str("set `OpenOptions::size` to resize all images to one size"),
        }
    }
}

impl From<homing_pool::Error> for Error {
    fn from(error: homing_pool::Error) -> Self {
        Error::Pool(error)
    }
}

impl Error {
    /// Returns the setting that remedies the error; the message ends with it. `None` if the remedy is not a setting.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Error::Pool(error) => error.remedy().map(Remedy::Pool),
            Error::Sizes { .. } | Error::Shapes { .. } => Some(Remedy::Resize),
            _ => None,
        }
    }

    /// Returns the message with its remedy in the words of another interface.
    pub fn phrase(&self, words: impl Fn(Remedy) -> String) -> String {
        match self {
            Error::Pool(error) => error.phrase(|remedy| words(Remedy::Pool(remedy))),
            error => rephrase(error.to_string(), error.remedy(), words),
        }
    }

    /// Returns one error of each kind.
    #[doc(hidden)]
    pub fn examples() -> Vec<Self> {
        let path = || PathBuf::from("images");
        let failed = || io::Error::other("the disk failed");
        let mut examples = homing_pool::one_of_each! {
            Pool { 0: homing_pool::Error::NotFound { path: path() } }
            NotFinite { path: path(), source: homing::Error::Interrupted }
            Unknown { path: path() }
            Several { path: path(), first: path(), second: path() }
            Folder { path: path(), source: failed() }
            FolderTwice { path: path(), first: path() }
            FileTwice { path: path(), first: path() }
            PackedTwice { path: path(), name: "one.png".to_owned() }
            Truncated { path: path(), expected: 200, found: 100 }
            Malformed { path: path(), format: "idx", detail: "its parts contradict each other".to_owned() }
            TooLarge { path: path(), limit: 100 }
            PackedLink { path: path(), name: "one.png".to_owned() }
            TooMany { path: path(), examples: 9 }
            NoLabels { path: path(), wanted: "labels".into() }
            LabelCount { path: path(), labels: 3, examples: 9 }
            LabelBeyond { path: path(), row: 3, label: 7, classes: 5 }
            UnknownClass { path: path(), class: "cat".to_owned() }
            Image { path: path(), detail: "it is cut short".to_owned() }
            Sizes { path: path(), found: ImageSize(3, 4), first: path(), expected: ImageSize(4, 4) }
            Shapes { path: path(), found: vec![1, 3, 4], expected: vec![1, 4, 4] }
            NotATable { path: path(), option: "column of labels" }
            SharedLabels { path: path() }
            NoSize { path: path() }
            BadSize { size: 0, most: 100 }
            NotImages { shape: vec![7] }
            NoRow { row: 9, rows: 3 }
            UnknownSet { name: "one".to_owned(), known: "mnist".to_owned() }
            Unreachable { file: "one".to_owned(), failures: vec!["no answer".to_owned()], folder: path() }
            Checksum {
                file: "one".to_owned(),
                url: "https://example.org/one".to_owned(),
                expected: "aa".to_owned(),
                found: "bb".to_owned(),
            }
            Stopped { file: "one".to_owned() }
            Write { path: path(), source: failed() }
        };
        examples.extend(homing_pool::Error::examples().into_iter().map(Error::Pool));
        examples
    }

    pub(crate) fn malformed(path: &Path, format: &'static str, detail: &(impl ToString + ?Sized)) -> Self {
        Error::Malformed { path: path.to_owned(), format, detail: clause(detail) }
    }

    pub(crate) fn image(path: &Path, detail: &(impl ToString + ?Sized)) -> Self {
        Error::Image { path: path.to_owned(), detail: clause(detail) }
    }
}

/// Turns the message of another crate into a part of a sentence.
fn clause(detail: &(impl ToString + ?Sized)) -> String {
    one_line(&detail.to_string()).trim_end_matches(['.', ';', ':', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_one_sentence_that_a_rust_user_can_follow() {
        for error in Error::examples() {
            let message = error.to_string();
            assert!(!message.contains("--") && !message.contains('\n'), "{message}");
            assert_eq!(error.phrase(|remedy| remedy.to_string()), message);
            if error.remedy().is_some() {
                assert!(error.phrase(|_| "REMEDY".to_owned()).ends_with("REMEDY"), "{message}");
            }
        }
    }
}
