//! Everything that can be wrong with a data set.

use std::io;
use std::path::{Path, PathBuf};

use homing_pool::{one_line, shown};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a data set was refused. Each message is one sentence: the file, what is wrong, the remedy.
///
/// Rows are counted from 0. A file in an archive is named as if the archive were a folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a variant's fields are those of its message")]
pub enum Error {
    /// A file that cannot be opened, or a table that cannot be read.
    #[error(transparent)]
    Pool(#[from] homing_pool::Error),
    /// A table with values that are not finite.
    #[error("{} cannot be learned from: {source}", shown(.path))]
    NotFinite { path: PathBuf, source: homing::Error },
    /// Nothing known.
    #[error("{} is no data set that can be read; give MNIST's idx files, CIFAR's .bin files, a folder of images (class/name.png, .jpg or .webp), a .tar, .tar.gz or .tar.xz of those, or a table or embeddings file", shown(.path))]
    Unknown { path: PathBuf },
    /// Several data sets in one folder.
    #[error("{} holds several data sets, of {} and of {}; name one of them, or keep them in folders of their own", shown(.path), shown(.first), shown(.second))]
    Several { path: PathBuf, first: PathBuf, second: PathBuf },
    /// A folder or a file that cannot be read.
    #[error("{} cannot be read: {source}; check the path and its permissions", shown(.path))]
    Folder { path: PathBuf, source: io::Error },
    /// A folder that is come by in two ways.
    #[error("{} and {} are the same folder, so its files would count twice, perhaps under two classes; remove one of the links", shown(.first), shown(.path))]
    FolderTwice { path: PathBuf, first: PathBuf },
    /// An image that is come by in two ways.
    #[error("{} and {} are the same file, so it would count twice, perhaps under two classes; remove one of the links", shown(.first), shown(.path))]
    FileTwice { path: PathBuf, first: PathBuf },
    /// One name for two files of an archive.
    #[error("{} holds {name} twice, so that it is unclear which of the two counts; write it again with one of them", shown(.path))]
    PackedTwice { path: PathBuf, name: String },
    /// Fewer bytes than there should be.
    #[error("{} is cut short: it should have {expected} bytes but has {found}; download or copy it again", shown(.path))]
    Truncated { path: PathBuf, expected: u64, found: u64 },
    /// The format's own rules are broken.
    #[error("{} is not a valid {format} file: {detail}; download or write it again", shown(.path))]
    Malformed { path: PathBuf, format: &'static str, detail: String },
    /// More than memory should be filled with.
    #[error("{} takes more than {limit} bytes of memory to unpack; unpack it first, and name the folder or file", shown(.path))]
    TooLarge { path: PathBuf, limit: u64 },
    /// An image in an archive that is a link to another file.
    #[error("{} holds {name} as a link, which is not followed in an archive; unpack it and name the folder", shown(.path))]
    PackedLink { path: PathBuf, name: String },
    /// More examples than there is memory for.
    #[error("{} holds {examples} examples, which do not fit into the memory that may be used; divide it, or allow more memory", shown(.path))]
    TooMany { path: PathBuf, examples: usize },
    /// Images without labels.
    #[error("{} has no labels beside it; put {} there", shown(.path), shown(.wanted))]
    NoLabels { path: PathBuf, wanted: PathBuf },
    /// Labels for another number of examples.
    #[error("{} holds {labels} labels for {examples} examples; give one for each", shown(.path))]
    LabelCount { path: PathBuf, labels: usize, examples: usize },
    /// A label without a class.
    #[error("row {row} of {} has the label {label}, but there are {classes} classes, counted from 0; correct it, or download it again", shown(.path))]
    LabelBeyond { path: PathBuf, row: usize, label: u32, classes: usize },
    /// A class that only the test set has.
    #[error("{} has the class '{class}', which the training set lacks; add examples of it there, or remove it", shown(.path))]
    UnknownClass { path: PathBuf, class: String },
    /// An image that cannot be decoded.
    #[error("{} cannot be read as an image: {detail}; replace or remove it", shown(.path))]
    Image { path: PathBuf, detail: String },
    /// Images of several sizes.
    #[error("{} has {found} pixels but {} has {expected}; give one size that all images are resized to", shown(.path), shown(.first))]
    Sizes { path: PathBuf, found: Extent, first: PathBuf, expected: Extent },
    /// Examples of another shape than those before.
    #[error("{} holds examples of shape {found:?} but the training set holds {expected:?}; give one size that all are resized to, or use files of one set", shown(.path))]
    Shapes { path: PathBuf, found: Vec<usize>, expected: Vec<usize> },
    /// An option of tables given for images.
    #[error("{} holds images, which have no {option}; leave it out", shown(.path))]
    NotATable { path: PathBuf, option: &'static str },
    /// An option of images given for a table.
    #[error("{} holds rows of numbers, which have no size in pixels; leave the size out", shown(.path))]
    NoSize { path: PathBuf },
    /// A size of nothing.
    #[error("images cannot be resized to {size} pixels; give a size from 1 to {most}")]
    BadSize { size: usize, most: usize },
    /// Pixels asked of something else.
    #[error("examples of shape {shape:?} are no images of one or three colours; give a data set of images")]
    NotImages { shape: Vec<usize> },
    /// A row beyond the last.
    #[error("there is no row {row} among {rows} examples; rows are counted from 0")]
    NoRow { row: usize, rows: usize },
    /// A data set that cannot be fetched.
    #[error("there is no data set '{name}' to fetch; ask for {known}")]
    UnknownSet { name: String, known: String },
    /// No address that answers.
    #[error("{file} could not be downloaded ({}); check the network, or download it elsewhere and put it into {}", .failures.join("; "), shown(.folder))]
    Unreachable { file: String, failures: Vec<String>, folder: PathBuf },
    /// Something else than what was asked for.
    #[error(
        "what {url} sends for {file} has the SHA-256 {found} in place of {expected}, so it was thrown away; try again later, or check what stands between you and the server"
    )]
    Checksum { file: String, url: String, expected: String, found: String },
    /// A download that its owner stopped.
    #[error("the download of {file} was stopped; ask for it again and it goes on where it was")]
    Stopped { file: String },
    /// A destination that cannot be written.
    #[error("{} cannot be written: {source}; choose another place, or make room there", shown(.path))]
    Write { path: PathBuf, source: io::Error },
}

/// A width and a height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent(pub usize, pub usize);

impl std::fmt::Display for Extent {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} × {}", self.0, self.1)
    }
}

impl Error {
    pub(crate) fn malformed(path: &Path, format: &'static str, detail: &(impl ToString + ?Sized)) -> Self {
        Error::Malformed { path: path.to_owned(), format, detail: clause(detail) }
    }

    pub(crate) fn image(path: &Path, detail: &(impl ToString + ?Sized)) -> Self {
        Error::Image { path: path.to_owned(), detail: clause(detail) }
    }
}

/// What another crate says, as part of a sentence.
fn clause(detail: &(impl ToString + ?Sized)) -> String {
    one_line(&detail.to_string()).trim_end_matches(['.', ';', ':', ' ']).to_owned()
}
