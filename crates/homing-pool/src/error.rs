//! Errors about files, and the settings that can remedy them.

mod examples;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::message::{before, bytes, display_path, listed, nearest, one_line};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reason why a file was refused. Each message is one sentence with the file, the problem and the remedy.
///
/// Rows are counted from 0 and do not include a header line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a variant's message explains its fields")]
pub enum Error {
    /// The file must be in memory as a whole, and it is too large for that.
    #[error("{} does not fit into the memory that may be used; convert it to .npy or .safetensors, which are read block by block", display_path(.path))]
    TooLarge { path: PathBuf },
    /// The decoded file would not fit into memory.
    #[error("{} needs at least {} of memory when it is decoded, but only {} may be used; convert it to .npy or .safetensors, which are read block by block, or allow more memory", display_path(.path), bytes(*.needed), bytes(*.allowed))]
    NotEnoughMemory { path: PathBuf, needed: u64, allowed: u64 },
    /// The file cannot be mapped, although mapping was requested.
    #[error("{} is larger than the address space that may be used; {}", display_path(.path), Remedy::ReadByPosition)]
    Unmapped { path: PathBuf },
    /// The rows of this format have no fixed position.
    #[error("{} cannot be read by position, because its format is decoded into memory; convert it to .npy or .safetensors", display_path(.path))]
    NotByPosition { path: PathBuf },
    /// The values of a row are scattered over the file.
    #[error("{} is stored column by column, so its rows cannot be read by position; save it row by row, for example after numpy.ascontiguousarray", display_path(.path))]
    ColumnMajor { path: PathBuf },
    /// The file does not exist.
    #[error("{} does not exist; check the path", display_path(.path))]
    NotFound { path: PathBuf },
    /// The permissions of the file forbid reading it.
    #[error("{} may not be read: permission denied; change its permissions", display_path(.path))]
    Denied { path: PathBuf },
    /// The operating system failed to read the file.
    #[error("{} cannot be read: {source}; check the disk and try again", display_path(.path))]
    Read { path: PathBuf, source: io::Error },
    /// The path is a folder, but a file is needed.
    #[error("{} is a folder; name a file in it", display_path(.path))]
    Directory { path: PathBuf },
    /// The folder holds no files of embeddings, or also others.
    #[error("{} is a folder, but not one of embeddings alone{}; name a file, a pattern such as 'shards/*.npy', or a folder that save_to_disk() wrote", display_path(.path), listed(" (it holds ", .found, ")"))]
    NoShards { path: PathBuf, found: Vec<String> },
    /// The folder holds a data set that is split into training and test data.
    #[error("{} holds training data ({}) and test data ({}); name the files of one, for example by a pattern such as 'data/train*'", display_path(.path), display_path(.train.as_ref()), display_path(.test.as_ref()))]
    SplitFolder { path: PathBuf, train: String, test: String },
    /// The files of a pool have several formats.
    #[error("{} stands for files of several formats ({}); name those of one, for example by a pattern such as 'shards/*.npy'", display_path(.path), .endings.join(", "))]
    MixedFormats { path: PathBuf, endings: Vec<String> },
    /// No file matches a pattern.
    #[error("no file matches {}; check the pattern", display_path(.path))]
    NoMatch { path: PathBuf },
    /// A pattern is malformed.
    #[error("{} is not a pattern that can be read: {detail}; write a character of patterns in a name as [*], [?] or [[]", display_path(.path))]
    BadPattern { path: PathBuf, detail: String },
    /// A list names no files.
    #[error("{} lists no files; write one path per line", display_path(.path))]
    EmptyList { path: PathBuf },
    /// Two paths of a pool name the same file.
    #[error("{} is named twice among the files of the pool; name each file once", display_path(.path))]
    NamedTwice { path: PathBuf },
    /// The path is a pipe, a device or a socket.
    #[error("{} is not a regular file; save it to one first", display_path(.path))]
    NotRegular { path: PathBuf },
    /// The dataset has an indices mapping, so its rows differ from those of its tables.
    #[error("{} is a dataset with an indices mapping, so its files hold other rows than the dataset does; call flatten_indices() before save_to_disk()", display_path(.path))]
    IndicesMapping { path: PathBuf },
    /// The file has no bytes.
    #[error("{} is empty (0 bytes); write it again", display_path(.path))]
    EmptyFile { path: PathBuf },
    /// No reader exists for the extension.
    #[error("{} has no extension that can be read; use one of {known}", display_path(.path))]
    UnknownExtension { path: PathBuf, known: String },
    /// The content belongs to another format than the extension says.
    #[error("{} is not {expected}: {found}; give it the extension of its format, or export it again", display_path(.path))]
    Foreign { path: PathBuf, expected: &'static str, found: String },
    /// The file became shorter while it was mapped.
    #[error("{} was cut short while it was read: it had {had} bytes and now has {has}; do not change files while they are read, or {}", display_path(.path), Remedy::ReadByPosition)]
    CutShort { path: PathBuf, had: u64, has: u64 },
    /// A mapping can no longer be read.
    #[error("a mapped file can no longer be read, one of {}; check the disk, or {}", listed("", .names, ""), Remedy::ReadByPosition)]
    MappingLost { names: Vec<String> },
    /// The file has fewer bytes than its header requires.
    #[error("{} is cut short: its header requires {expected} bytes but it has {found}; copy or write it again", display_path(.path))]
    Truncated { path: PathBuf, expected: u64, found: u64 },
    /// The file violates the rules of its format.
    #[error("{} is not a valid {format} file: {detail}; write it again", display_path(.path))]
    Malformed { path: PathBuf, format: &'static str, detail: String },
    /// This build cannot decompress the file.
    #[error("{} is compressed with {codec}, which this build cannot read; write it with zstd or snappy", display_path(.path))]
    Compression { path: PathBuf, codec: String },
    /// The table or array has no rows.
    #[error("{} has no rows; it needs at least one", display_path(.path))]
    NoRows { path: PathBuf },
    /// The rows have no values.
    #[error("{} has rows without values; each row needs at least one", display_path(.path))]
    NoValues { path: PathBuf },
    /// The array does not have two dimensions.
    #[error("{} holds an array of shape {shape}; embeddings need two dimensions, rows by values", display_path(.path))]
    NotTwoDimensional { path: PathBuf, shape: String },
    /// The numbers have an unsupported type.
    #[error("{} holds embeddings of unsupported type {dtype}; convert to float32", display_path(.path))]
    Dtype { path: PathBuf, dtype: String },
    /// A row has another length than the rows before it.
    #[error("row {row} of {} has {found} values but {} {expected}; make all rows equally long", display_path(.path), before(*.row))]
    Ragged { path: PathBuf, row: usize, found: usize, expected: usize },
    /// A cell should be a number but is not.
    #[error("row {row} of {} has {value} in column {column}, which is not a number; correct it, or name the columns to read", display_path(.path))]
    NotANumber { path: PathBuf, row: usize, column: String, value: String },
    /// The numbers have a decimal comma.
    #[error("column {column} of {} holds numbers with a decimal comma; write them with a point, such as 0.5", display_path(.path))]
    DecimalComma { path: PathBuf, column: String },
    /// The first line may be a header or a row.
    #[error("the first line of {}, {first}, may be names of its columns or a row of numbers; give the columns other names, or write whole numbers as 1.0", display_path(.path))]
    UnclearHeader { path: PathBuf, first: String },
    /// A quote is never closed and would swallow the lines below it.
    #[error("line {line} of {} opens a quote that is never closed, so the lines below it would become part of one text; close it, or double the quotes within a text", display_path(.path))]
    OpenQuote { path: PathBuf, line: usize },
    /// A column has both numbers and other values.
    #[error("row {row} of {} has {value} in column {column}, {detail}, so the column would be left out of the embedding; correct it, remove the column, or {}", display_path(.path), Remedy::NameUse)]
    MixedColumn { path: PathBuf, row: usize, column: String, value: String, detail: &'static str },
    /// A cell should have a value but has none.
    #[error("row {row} of {} has no value in column {column}; remove or fill that row", display_path(.path))]
    Null { path: PathBuf, row: usize, column: String },
    /// A line cannot be read.
    #[error("row {row} of {} cannot be read: {detail}; correct that line", display_path(.path))]
    BadRow { path: PathBuf, row: usize, detail: String },
    /// No column has the requested name.
    #[error("{} has no column {name}{}; it has {}", display_path(.path), nearest(.name, .names), listed("", .names, ""))]
    NoColumn { path: PathBuf, name: String, names: Vec<String> },
    /// Columns were to be copied to the picks from a file that has no names of columns.
    #[error("{} has no named columns that the picks could carry; use a pool in .parquet, .csv or .jsonl, or {}", display_path(.path), Remedy::CopyNoColumns)]
    NothingToCopy { path: PathBuf },
    /// The file was changed while the pool was in use.
    #[error("{} has other rows or columns than when it was first read; do not change it during the selection, and select again", display_path(.path))]
    Changed { path: PathBuf },
    /// Two columns have the same name.
    #[error("{} has two columns called {name} (columns {} and {}), so the name is ambiguous; rename one of them", display_path(.path), .first + 1, .second + 1)]
    DuplicateColumn { path: PathBuf, name: String, first: usize, second: usize },
    /// The file lacks columns that the embedding is made of.
    #[error("{} lacks {}, which the pool's embedding includes; give it the same columns, or {}", display_path(.path), listed("", .names, ""), Remedy::NameOtherUses)]
    Lacking { path: PathBuf, names: Vec<String> },
    /// A column was requested from a file that holds a bare array.
    #[error("{} holds one array and no columns, so there is no {name}; use .npz, .safetensors or .parquet for named columns", display_path(.path))]
    NoColumns { path: PathBuf, name: String },
    /// The column has the wrong type for its use.
    #[error("column {name} of {} is {kind}, but {expected}; convert it, or name another column", display_path(.path))]
    WrongColumn { path: PathBuf, name: String, kind: String, expected: &'static str },
    /// No column could be the embeddings.
    #[error("{} has no column of embeddings (lists of floats, all equally long); its columns are {}; {}", display_path(.path), listed("", .names, ""), Remedy::NameEmbedding)]
    NoEmbedding { path: PathBuf, names: Vec<String> },
    /// Several columns could be the embeddings.
    #[error("{} has several columns that could be the embeddings: {}; {}", display_path(.path), listed("", .candidates, ""), Remedy::NameEmbedding)]
    AmbiguousEmbedding { path: PathBuf, candidates: Vec<String> },
    /// A column has another length than the embeddings.
    #[error("column {name} of {} has {found} values for {rows} rows; give one value per row", display_path(.path))]
    ColumnLength { path: PathBuf, name: String, found: usize, rows: usize },
    /// A file has other columns or numbers than the files before it.
    #[error("{} does not match the files before it: {detail}; write all files of a pool with the same columns and types", display_path(.path))]
    ShardMismatch { path: PathBuf, detail: String },
    /// The dataset lists a shard that does not exist.
    #[error("{} does not exist, but {} lists it; copy the whole dataset, or write it again with save_to_disk()", display_path(.path), display_path(.list))]
    MissingShard { path: PathBuf, list: PathBuf },
    /// The names of the other shards imply a shard that does not exist.
    #[error("{} lacks the shard {missing}: it has {found} of {count}; copy the whole dataset, or rename the files without the number of shards", display_path(.path))]
    ShardGap { path: PathBuf, missing: String, found: usize, count: u64 },
    /// Rows were looked up by id in a pool without ids.
    #[error("{} has no ids to look up rows by; list row indices, or {}", display_path(.path), Remedy::NameIds)]
    NoIds { path: PathBuf },
    /// Two rows have the same id.
    #[error("id {id} occurs in rows {first} and {second} of {}; make the ids unique", display_path(.path))]
    DuplicateId { path: PathBuf, id: String, first: usize, second: usize },
    /// Two rows of different files, or of one file among several, have the same id.
    #[error("id {id} occurs in {first} and in {second}; make the ids unique")]
    DuplicateIdInFiles { id: String, first: String, second: String },
    /// No row of the pool has the id.
    #[error("id {id} is not in {}; check that both files come from the same pool", display_path(.path))]
    UnknownId { path: PathBuf, id: String },
    /// A value should be a row index but is not.
    #[error("row {row} of {} is {value}, but a row index is a whole number from 0; correct it", display_path(.path))]
    NotAnIndex { path: PathBuf, row: usize, value: String },
    /// A list names a file that does not exist.
    #[error("{} names {}, which does not exist; correct the list", display_path(.path), display_path(.missing))]
    NotListed { path: PathBuf, missing: PathBuf },
    /// A listed row is beyond the end of the pool.
    #[error("{} lists row {row}, but the pool has {rows} rows, counted from 0; list rows of this pool", display_path(.path))]
    RowOutside { path: PathBuf, row: usize, rows: usize },
    /// There are not as many rows of values as rows of the pool.
    #[error("{} has {values} rows of values but the pool has {rows} rows; give one row of values per row, or labels in a table with the columns index (or id) and label", display_path(.path))]
    ValueCount { path: PathBuf, values: usize, rows: usize },
    /// There are too many classes to estimate the noise from.
    #[error("{} has {classes} different labels, too many to estimate the noise from; name no column of labels", display_path(.path))]
    ManyLabels { path: PathBuf, classes: usize },
    /// The numbers may be row indices or ids.
    #[error("{} lists numbers that may be row indices or ids of {} ({detail}); use a .csv or .txt file whose first line is `index` or `id`", display_path(.path), display_path(.pool))]
    UnclearRows { path: PathBuf, pool: PathBuf, detail: String },
    /// The file does not name rows.
    #[error("{} does not name rows: {found}; give picks, row indices, ids, or embeddings", display_path(.path))]
    NotRows { path: PathBuf, found: String },
    /// No writer exists for the extension.
    #[error("{} has no extension that can be written; use .csv, .jsonl, .parquet or .npy", display_path(.path))]
    UnknownOutput { path: PathBuf },
    /// No writer of pools exists for the extension.
    #[error("{} has no extension that a pool can be written to; use .parquet, or .npy for the embeddings only", display_path(.path))]
    UnknownPoolOutput { path: PathBuf },
    /// The output cannot be written.
    #[error("{} cannot be written: {reason}; choose another place, or change its permissions", display_path(.path))]
    Write { path: PathBuf, reason: String },
    /// The folder of an output does not exist.
    #[error("{} cannot be written: its folder does not exist; create the folder", display_path(.path))]
    NoFolder { path: PathBuf },
    /// A row was picked more than once, but the format has one line per row of the pool.
    #[error("{} cannot be written: row {row} was picked twice, but .parquet has one line per row of the pool; use .csv, .jsonl or .npy", display_path(.path))]
    PickedTwice { path: PathBuf, row: usize },
    /// An output is also an input.
    #[error("{} is an input and would be overwritten; choose another output", display_path(.path))]
    OverInput { path: PathBuf },
    /// The folder of a run holds something that no run has made.
    #[error("{} is not a regular file but a link, a pipe or a device, and runs write only to files in their own folder; remove it", display_path(.path))]
    NotOurs { path: PathBuf },
    /// An output lies inside a folder that is an input.
    #[error("{} lies in {}, which is an input; choose an output elsewhere", display_path(.path), display_path(.folder))]
    InsideInput { path: PathBuf, folder: PathBuf },
    /// Two outputs name the same file.
    #[error("{first} and {second} both name {}; choose two files", display_path(.path))]
    SameOutput { path: PathBuf, first: &'static str, second: &'static str },
    /// The file is larger than any file of its kind should be.
    #[error("{} has {found} bytes, but at most {most} are read; check that it is the right file", display_path(.path))]
    TooLong { path: PathBuf, found: u64, most: u64 },
    /// A pick is not a row of the pool.
    #[error("{} cannot be written: row {row} was picked, but the pool has {rows} rows; pass the pool that the picks came from", display_path(.path))]
    PickBeyondPool { path: PathBuf, row: usize, rows: usize },
}

/// A setting that remedies an [`Error`].
///
/// Rust, the command line and Python have different names for the same setting. `Display` uses the names in Rust;
/// [`Error::phrase`] replaces them with the names of another interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Read the file by position, one block of rows at a time.
    ReadByPosition,
    /// Name the column of embeddings.
    NameEmbedding,
    /// Name the column of ids.
    NameIds,
    /// Say what the column in the message is for: ids, groups, labels or costs.
    NameUse,
    /// Say which columns of the pool do not belong to its embedding: those of ids, groups, labels or costs.
    NameOtherUses,
    /// Copy no columns of the pool to the picks.
    CopyNoColumns,
}

impl fmt::Display for Remedy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Remedy::ReadByPosition => "set `ReadOptions::access` to `Access::Read`",
            Remedy::NameEmbedding => "name one in `ReadOptions::embedding`",
            Remedy::NameIds => "name the column of ids in `ReadOptions::id`",
            Remedy::NameUse => "say in `ReadOptions` what it is for (`id`, `group`, `label` or `cost`)",
            Remedy::CopyNoColumns => "choose `ColumnChoice::Usual`",
            Remedy::NameOtherUses => {
                "name the pool's columns that have another use in its `ReadOptions` (`id`, `group`, `label` or `cost`)"
            }
        })
    }
}

impl Error {
    /// Returns the setting that remedies the error; the message ends with it. `None` if the remedy is not a setting.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Error::Unmapped { .. } | Error::CutShort { .. } | Error::MappingLost { .. } => Some(Remedy::ReadByPosition),
            Error::NoEmbedding { .. } | Error::AmbiguousEmbedding { .. } => Some(Remedy::NameEmbedding),
            Error::NoIds { .. } => Some(Remedy::NameIds),
            Error::MixedColumn { .. } => Some(Remedy::NameUse),
            Error::Lacking { .. } => Some(Remedy::NameOtherUses),
            Error::NothingToCopy { .. } => Some(Remedy::CopyNoColumns),
            _ => None,
        }
    }

    /// Returns the message with its remedy in the words of another interface.
    ///
    /// ```
    /// use homing_pool::{Error, Remedy};
    ///
    /// let error = Error::NoIds { path: "pool.npy".into() };
    /// assert_eq!(error.remedy(), Some(Remedy::NameIds));
    /// let sentence = error.phrase(|_| "name its id column with `--id-column NAME`".to_owned());
    /// assert!(sentence.starts_with("pool.npy has no ids") && sentence.ends_with("`--id-column NAME`"));
    /// ```
    pub fn phrase(&self, words: impl Fn(Remedy) -> String) -> String {
        rephrase(self.to_string(), self.remedy(), words)
    }

    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Error::NotFound { path },
            io::ErrorKind::PermissionDenied => Error::Denied { path },
            io::ErrorKind::IsADirectory => Error::Directory { path },
            _ => Error::Read { path, source },
        }
    }

    pub(crate) fn write(path: &Path, source: &io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Error::NoFolder { path },
            _ => Error::Write { path, reason: source.to_string() },
        }
    }

    pub(crate) fn malformed(path: &Path, format: &'static str, detail: &(impl ToString + ?Sized)) -> Self {
        let detail = one_line(&detail.to_string()).trim_end_matches(['.', ';', ':', ' ']).to_owned();
        Error::Malformed { path: path.to_owned(), format, detail }
    }
}

/// Replaces the remedy at the end of `sentence` with other words.
#[doc(hidden)]
pub fn rephrase<R: fmt::Display + Copy>(sentence: String, remedy: Option<R>, words: impl Fn(R) -> String) -> String {
    match remedy {
        Some(remedy) => {
            let problem = sentence.strip_suffix(&remedy.to_string()).expect("a message ends with its remedy");
            format!("{problem}{}", words(remedy))
        }
        None => sentence,
    }
}
