//! Everything that can be wrong with a file.

use std::io;
use std::path::{Path, PathBuf};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a file was refused. Each message is one sentence: the file, what is wrong, the remedy.
///
/// Rows are counted from 0, a header line not among them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a variant's fields are those of its message")]
pub enum Error {
    /// A file that must be in memory as a whole.
    #[error("{} does not fit into the memory that may be used; convert it to .npy or .safetensors, which are read block by block", .path.display())]
    TooLarge { path: PathBuf },
    /// A mapping that was asked for and cannot be had.
    #[error("{} is larger than the address space that may be used; let it be read by position, with `--pool-access read`", .path.display())]
    Unmapped { path: PathBuf },
    /// A format whose rows have no fixed place.
    #[error("{} cannot be read by position, since its format is decoded into memory; convert it to .npy or .safetensors", .path.display())]
    NotByPosition { path: PathBuf },
    /// Rows that are scattered over the file.
    #[error("{} is stored column by column, so its rows cannot be read by position; save it row by row, as numpy.ascontiguousarray makes it", .path.display())]
    ColumnMajor { path: PathBuf },
    /// No such file.
    #[error("{} does not exist; check the path", .path.display())]
    NotFound { path: PathBuf },
    /// The file may not be read.
    #[error("{} may not be read: permission denied; change its permissions", .path.display())]
    Denied { path: PathBuf },
    /// Reading failed below us.
    #[error("{} cannot be read: {source}; check the disk and try again", .path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A file is needed here.
    #[error("{} is a directory; name a file in it", .path.display())]
    Directory { path: PathBuf },
    /// A directory that is no dataset.
    #[error("{} is a directory without .arrow or .parquet files{}; name a file, or a dataset directory written by save_to_disk()", .path.display(), listed(" (it holds the directories ", .directories, ")"))]
    NoShards { path: PathBuf, directories: Vec<String> },
    /// A pipe, a device or a socket.
    #[error("{} is not a regular file; save it to one first", .path.display())]
    NotRegular { path: PathBuf },
    /// A dataset whose rows are not its tables' rows.
    #[error("{} is a dataset with an indices mapping, so its files hold other rows than it shows; call flatten_indices() before save_to_disk()", .path.display())]
    IndicesMapping { path: PathBuf },
    /// Zero bytes.
    #[error("{} is empty (0 bytes); write it again", .path.display())]
    EmptyFile { path: PathBuf },
    /// An extension without a reader.
    #[error("{} has no extension that can be read; use one of {known}", .path.display())]
    UnknownExtension { path: PathBuf, known: &'static str },
    /// Another format's content.
    #[error("{} is not {expected}: {found}; give it the extension of its format, or export it again", .path.display())]
    Foreign { path: PathBuf, expected: &'static str, found: String },
    /// Fewer bytes than the header promises.
    #[error("{} is cut short: its header calls for {expected} bytes but it has {found}; copy or write it again", .path.display())]
    Truncated { path: PathBuf, expected: u64, found: u64 },
    /// The format's own rules are broken.
    #[error("{} is not a valid {format} file: {detail}; write it again", .path.display())]
    Malformed { path: PathBuf, format: &'static str, detail: String },
    /// A compression that this build cannot undo.
    #[error("{} is compressed by {codec}, which cannot be read here; write it with zstd or snappy", .path.display())]
    Compression { path: PathBuf, codec: String },
    /// A table or an array without rows.
    #[error("{} has no rows; it needs at least one", .path.display())]
    NoRows { path: PathBuf },
    /// Rows without values.
    #[error("{} has rows without values; each needs at least one", .path.display())]
    NoValues { path: PathBuf },
    /// An array of another rank.
    #[error("{} holds an array of shape {shape}; embeddings need two dimensions, rows by values", .path.display())]
    NotTwoDimensional { path: PathBuf, shape: String },
    /// Numbers of another kind.
    #[error("{} holds embeddings of unsupported type {dtype}; convert to float32", .path.display())]
    Dtype { path: PathBuf, dtype: String },
    /// A row of another length.
    #[error("row {row} of {} has {found} values but the rows before it have {expected}; make all rows equally long", .path.display())]
    Ragged { path: PathBuf, row: usize, found: usize, expected: usize },
    /// A cell that should be a number.
    #[error("row {row} of {} has {value} in column {column}, which is not a number; correct it, or name the columns to read", .path.display())]
    NotANumber { path: PathBuf, row: usize, column: String, value: String },
    /// A cell that should have a value.
    #[error("row {row} of {} has no value in column {column}; remove or fill that row", .path.display())]
    Null { path: PathBuf, row: usize, column: String },
    /// A line that cannot be read.
    #[error("row {row} of {} cannot be read: {detail}; correct that line", .path.display())]
    BadRow { path: PathBuf, row: usize, detail: String },
    /// No column of the name asked for.
    #[error("{} has no column {name}; it has {}", .path.display(), listed("", .names, ""))]
    NoColumn { path: PathBuf, name: String, names: Vec<String> },
    /// Columns that embeddings are to be made of.
    #[error("{} lacks {}, which the pool's embedding is made of; give it the same columns, or name the pool's columns that have another use (--label-column, --cost-column, --group-column)", .path.display(), listed("", .names, ""))]
    Lacking { path: PathBuf, names: Vec<String> },
    /// Columns asked of a bare array.
    #[error("{} holds one array and no columns, so there is no {name}; use .npz, .safetensors or .parquet for named columns", .path.display())]
    NoColumns { path: PathBuf, name: String },
    /// A column that cannot serve.
    #[error("column {name} of {} is {kind}, but {expected}; name another column", .path.display())]
    WrongColumn { path: PathBuf, name: String, kind: String, expected: &'static str },
    /// Nothing that could be embeddings.
    #[error("{} has no column of embeddings (lists of floats, all equally long); its columns are {}; name one with `--embedding NAME`", .path.display(), listed("", .names, ""))]
    NoEmbedding { path: PathBuf, names: Vec<String> },
    /// Several things that could be embeddings.
    #[error("{} has several columns that could be the embeddings: {}; name one with `--embedding NAME`", .path.display(), listed("", .candidates, ""))]
    AmbiguousEmbedding { path: PathBuf, candidates: Vec<String> },
    /// A column of another length than the embeddings.
    #[error("column {name} of {} has {found} values for {rows} rows; give one a row", .path.display())]
    ColumnLength { path: PathBuf, name: String, found: usize, rows: usize },
    /// Shards that do not fit together.
    #[error("{} does not match the shards before it: {detail}; write all shards with one schema", .path.display())]
    ShardMismatch { path: PathBuf, detail: String },
    /// Ids asked of a pool that has none.
    #[error("{} has no ids to look rows up by; name its id column with `--id-column NAME`, or list row indices", .path.display())]
    NoIds { path: PathBuf },
    /// An id twice.
    #[error("id {id} stands in rows {first} and {second} of {}; make the ids unique", .path.display())]
    DuplicateId { path: PathBuf, id: String, first: usize, second: usize },
    /// An id that the pool lacks.
    #[error("id {id} is not in {}; check that both files come from the same pool", .path.display())]
    UnknownId { path: PathBuf, id: String },
    /// Something in place of a row index.
    #[error("row {row} of {} is {value}, but a row index is a whole number from 0; correct it", .path.display())]
    NotAnIndex { path: PathBuf, row: usize, value: String },
    /// Nothing that names rows.
    #[error("{} does not name rows: {found}; give picks, row indices, ids, or embeddings", .path.display())]
    NotRows { path: PathBuf, found: String },
    /// An extension without a writer.
    #[error("{} has no extension that can be written; use .csv, .jsonl, .parquet or .npy", .path.display())]
    UnknownOutput { path: PathBuf },
    /// A destination that cannot be written.
    #[error("{} cannot be written: {reason}; choose another place, or change its permissions", .path.display())]
    Write { path: PathBuf, reason: String },
    /// A row that was picked more than once, for a format with one line per row of the pool.
    #[error("{} cannot be written: row {row} was picked twice, but .parquet has one line for each row of the pool; use .csv, .jsonl or .npy", .path.display())]
    PickedTwice { path: PathBuf, row: usize },
    /// An output that is read as well.
    #[error("{} is read and would be written over; choose another output", .path.display())]
    OverInput { path: PathBuf },
    /// An output inside a folder that is read.
    #[error("{} lies in {}, which is read; choose an output elsewhere", .path.display(), .folder.display())]
    InsideInput { path: PathBuf, folder: PathBuf },
    /// Two outputs in one file.
    #[error("{first} and {second} both name {}; choose two files", .path.display())]
    SameOutput { path: PathBuf, first: &'static str, second: &'static str },
    /// A file that is larger than anything of its kind.
    #[error("{} has {found} bytes, but at most {most} are read; check that it is the right file", .path.display())]
    TooLong { path: PathBuf, found: u64, most: u64 },
    /// A pick that is no row of the pool.
    #[error("{} cannot be written: row {row} was picked of a pool of {rows} rows; pass the pool that was selected from", .path.display())]
    PickBeyondPool { path: PathBuf, row: usize, rows: usize },
}

impl Error {
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
        Error::Write { path: path.to_owned(), reason: source.to_string() }
    }

    pub(crate) fn malformed(path: &Path, format: &'static str, detail: &(impl ToString + ?Sized)) -> Self {
        let detail = one_line(&detail.to_string()).trim_end_matches(['.', ';', ':', ' ']).to_owned();
        Error::Malformed { path: path.to_owned(), format, detail }
    }
}

/// `text` in one line of bounded length, for a message.
pub(crate) fn one_line(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut words = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
        if words.len() > 4 * LONGEST {
            break;
        }
    }
    match words.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

/// `text` in quotes and in one line.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", one_line(text))
}

fn listed(before: &str, names: &[String], after: &str) -> String {
    const MOST: usize = 20;
    if names.is_empty() {
        return if after.is_empty() { format!("{before}none") } else { String::new() };
    }
    let shown = names.iter().take(MOST).map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(MOST);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{before}{shown}{rest}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_is_one_line_of_bounded_length() {
        assert_eq!(one_line("a\n  b\tc\u{7}"), "a b c");
        assert_eq!(one_line(&"é".repeat(500)).chars().count(), 121);
    }

    #[test]
    fn names_are_listed_up_to_a_point() {
        let names: Vec<String> = (0..23).map(|i| i.to_string()).collect();
        assert!(listed("", &names, "").ends_with("'19' and 3 more"));
        assert_eq!(listed("", &[], ""), "none");
        assert_eq!(listed(" (", &[], ")"), "");
    }
}
