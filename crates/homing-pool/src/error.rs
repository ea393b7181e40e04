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
    #[error("{} does not fit into the memory that may be used; convert it to .npy or .safetensors, which are read block by block", shown(.path))]
    TooLarge { path: PathBuf },
    /// A file that decodes to more than fits into memory.
    #[error("{} takes at least {} of memory once it is decoded, but {} may be used for that; convert it to .npy or .safetensors, which are read block by block, or allow more memory", shown(.path), bytes(*.needed), bytes(*.allowed))]
    NoRoom { path: PathBuf, needed: u64, allowed: u64 },
    /// A mapping that was asked for and cannot be had.
    #[error("{} is larger than the address space that may be used; let it be read by position, with `--pool-access read`", shown(.path))]
    Unmapped { path: PathBuf },
    /// A format whose rows have no fixed place.
    #[error("{} cannot be read by position, since its format is decoded into memory; convert it to .npy or .safetensors", shown(.path))]
    NotByPosition { path: PathBuf },
    /// Rows that are scattered over the file.
    #[error("{} is stored column by column, so its rows cannot be read by position; save it row by row, as numpy.ascontiguousarray makes it", shown(.path))]
    ColumnMajor { path: PathBuf },
    /// No such file.
    #[error("{} does not exist; check the path", shown(.path))]
    NotFound { path: PathBuf },
    /// The file may not be read.
    #[error("{} may not be read: permission denied; change its permissions", shown(.path))]
    Denied { path: PathBuf },
    /// Reading failed below us.
    #[error("{} cannot be read: {source}; check the disk and try again", shown(.path))]
    Read { path: PathBuf, source: io::Error },
    /// A file is needed here.
    #[error("{} is a directory; name a file in it", shown(.path))]
    Directory { path: PathBuf },
    /// A directory that is no dataset.
    #[error("{} is a directory without .arrow or .parquet files{}; name a file, or a dataset directory written by save_to_disk()", shown(.path), listed(" (it holds the directories ", .directories, ")"))]
    NoShards { path: PathBuf, directories: Vec<String> },
    /// A pipe, a device or a socket.
    #[error("{} is not a regular file; save it to one first", shown(.path))]
    NotRegular { path: PathBuf },
    /// A dataset whose rows are not its tables' rows.
    #[error("{} is a dataset with an indices mapping, so its files hold other rows than it shows; call flatten_indices() before save_to_disk()", shown(.path))]
    IndicesMapping { path: PathBuf },
    /// Zero bytes.
    #[error("{} is empty (0 bytes); write it again", shown(.path))]
    EmptyFile { path: PathBuf },
    /// An extension without a reader.
    #[error("{} has no extension that can be read; use one of {known}", shown(.path))]
    UnknownExtension { path: PathBuf, known: &'static str },
    /// Another format's content.
    #[error("{} is not {expected}: {found}; give it the extension of its format, or export it again", shown(.path))]
    Foreign { path: PathBuf, expected: &'static str, found: String },
    /// A file that lost its end while it was mapped.
    #[error("{} was cut short while it was read: it had {had} bytes and has {has}; leave files alone while they are read, or let the pool be read by position, with `--pool-access read`", shown(.path))]
    CutShort { path: PathBuf, had: u64, has: u64 },
    /// A mapping that cannot be read any more.
    #[error("a mapped file could not be read any more, one of {}; check the disk, or let the pool be read by position, with `--pool-access read`", listed("", .names, ""))]
    Lost { names: Vec<String> },
    /// Fewer bytes than the header promises.
    #[error("{} is cut short: its header calls for {expected} bytes but it has {found}; copy or write it again", shown(.path))]
    Truncated { path: PathBuf, expected: u64, found: u64 },
    /// The format's own rules are broken.
    #[error("{} is not a valid {format} file: {detail}; write it again", shown(.path))]
    Malformed { path: PathBuf, format: &'static str, detail: String },
    /// A compression that this build cannot undo.
    #[error("{} is compressed by {codec}, which cannot be read here; write it with zstd or snappy", shown(.path))]
    Compression { path: PathBuf, codec: String },
    /// A table or an array without rows.
    #[error("{} has no rows; it needs at least one", shown(.path))]
    NoRows { path: PathBuf },
    /// Rows without values.
    #[error("{} has rows without values; each needs at least one", shown(.path))]
    NoValues { path: PathBuf },
    /// An array of another rank.
    #[error("{} holds an array of shape {shape}; embeddings need two dimensions, rows by values", shown(.path))]
    NotTwoDimensional { path: PathBuf, shape: String },
    /// Numbers of another kind.
    #[error("{} holds embeddings of unsupported type {dtype}; convert to float32", shown(.path))]
    Dtype { path: PathBuf, dtype: String },
    /// A row of another length.
    #[error("row {row} of {} has {found} values but {} {expected}; make all rows equally long", shown(.path), before(*.row))]
    Ragged { path: PathBuf, row: usize, found: usize, expected: usize },
    /// A cell that should be a number.
    #[error("row {row} of {} has {value} in column {column}, which is not a number; correct it, or name the columns to read", shown(.path))]
    NotANumber { path: PathBuf, row: usize, column: String, value: String },
    /// Numbers as some countries write them.
    #[error("column {column} of {} holds numbers with a decimal comma; write them with a point, such as 0.5", shown(.path))]
    DecimalComma { path: PathBuf, column: String },
    /// A first line that may be either.
    #[error("the first line of {}, {first}, may be names of its columns or a row of numbers; give the columns other names, or write whole numbers as 1.0", shown(.path))]
    UnclearHeader { path: PathBuf, first: String },
    /// A quote that swallows what stands below it.
    #[error("line {line} of {} opens a quote that is never closed, so that the lines below it would be part of one text; close it, or write quotes within a text twice", shown(.path))]
    OpenQuote { path: PathBuf, line: usize },
    /// A column that may be numbers.
    #[error("row {row} of {} has {value} in column {column}, {detail}, so that the column would be left out of the embedding; correct it, remove the column, or say what it is for (--id-column, --group-column, --label-column, --cost-column)", shown(.path))]
    MixedColumn { path: PathBuf, row: usize, column: String, value: String, detail: &'static str },
    /// A cell that should have a value.
    #[error("row {row} of {} has no value in column {column}; remove or fill that row", shown(.path))]
    Null { path: PathBuf, row: usize, column: String },
    /// A line that cannot be read.
    #[error("row {row} of {} cannot be read: {detail}; correct that line", shown(.path))]
    BadRow { path: PathBuf, row: usize, detail: String },
    /// No column of the name asked for.
    #[error("{} has no column {name}; it has {}", shown(.path), listed("", .names, ""))]
    NoColumn { path: PathBuf, name: String, names: Vec<String> },
    /// One name for two columns.
    #[error("{} has two columns called {name} (the columns {} and {} of it), so that the name tells neither; rename one of them", shown(.path), .first + 1, .second + 1)]
    DuplicateColumn { path: PathBuf, name: String, first: usize, second: usize },
    /// Columns that embeddings are to be made of.
    #[error("{} lacks {}, which the pool's embedding is made of; give it the same columns, or name the pool's columns that have another use (--label-column, --cost-column, --group-column)", shown(.path), listed("", .names, ""))]
    Lacking { path: PathBuf, names: Vec<String> },
    /// Columns asked of a bare array.
    #[error("{} holds one array and no columns, so there is no {name}; use .npz, .safetensors or .parquet for named columns", shown(.path))]
    NoColumns { path: PathBuf, name: String },
    /// A column that cannot serve.
    #[error("column {name} of {} is {kind}, but {expected}; convert it, or name another column", shown(.path))]
    WrongColumn { path: PathBuf, name: String, kind: String, expected: &'static str },
    /// Nothing that could be embeddings.
    #[error("{} has no column of embeddings (lists of floats, all equally long); its columns are {}; name one with `--embedding NAME`", shown(.path), listed("", .names, ""))]
    NoEmbedding { path: PathBuf, names: Vec<String> },
    /// Several things that could be embeddings.
    #[error("{} has several columns that could be the embeddings: {}; name one with `--embedding NAME`", shown(.path), listed("", .candidates, ""))]
    AmbiguousEmbedding { path: PathBuf, candidates: Vec<String> },
    /// A column of another length than the embeddings.
    #[error("column {name} of {} has {found} values for {rows} rows; give one a row", shown(.path))]
    ColumnLength { path: PathBuf, name: String, found: usize, rows: usize },
    /// Shards that do not fit together.
    #[error("{} does not match the shards before it: {detail}; write all shards with one schema", shown(.path))]
    ShardMismatch { path: PathBuf, detail: String },
    /// A shard that its dataset lists.
    #[error("{} does not exist, but {} lists it; copy the whole dataset, or write it again with save_to_disk()", shown(.path), shown(.list))]
    MissingShard { path: PathBuf, list: PathBuf },
    /// A shard that the names of the others call for.
    #[error("{} lacks the shard {missing}: it has {found} of {count}; copy the whole dataset, or give the files names that do not count them", shown(.path))]
    ShardGap { path: PathBuf, missing: String, found: usize, count: u64 },
    /// Ids asked of a pool that has none.
    #[error("{} has no ids to look rows up by; name its id column with `--id-column NAME`, or list row indices", shown(.path))]
    NoIds { path: PathBuf },
    /// An id twice.
    #[error("id {id} stands in rows {first} and {second} of {}; make the ids unique", shown(.path))]
    DuplicateId { path: PathBuf, id: String, first: usize, second: usize },
    /// An id that the pool lacks.
    #[error("id {id} is not in {}; check that both files come from the same pool", shown(.path))]
    UnknownId { path: PathBuf, id: String },
    /// Something in place of a row index.
    #[error("row {row} of {} is {value}, but a row index is a whole number from 0; correct it", shown(.path))]
    NotAnIndex { path: PathBuf, row: usize, value: String },
    /// Numbers that may be either.
    #[error("{} lists numbers that may be row numbers or ids of {} ({detail}); say which with the word `index` or `id` in a line above them, in a .csv or .txt file", shown(.path), shown(.pool))]
    UnclearRows { path: PathBuf, pool: PathBuf, detail: String },
    /// Nothing that names rows.
    #[error("{} does not name rows: {found}; give picks, row indices, ids, or embeddings", shown(.path))]
    NotRows { path: PathBuf, found: String },
    /// An extension without a writer.
    #[error("{} has no extension that can be written; use .csv, .jsonl, .parquet or .npy", shown(.path))]
    UnknownOutput { path: PathBuf },
    /// A destination that cannot be written.
    #[error("{} cannot be written: {reason}; choose another place, or change its permissions", shown(.path))]
    Write { path: PathBuf, reason: String },
    /// A row that was picked more than once, for a format with one line per row of the pool.
    #[error("{} cannot be written: row {row} was picked twice, but .parquet has one line for each row of the pool; use .csv, .jsonl or .npy", shown(.path))]
    PickedTwice { path: PathBuf, row: usize },
    /// An output that is read as well.
    #[error("{} is read and would be written over; choose another output", shown(.path))]
    OverInput { path: PathBuf },
    /// Something in a run's folder that no run has made.
    #[error("{} is not a regular file but a link, a pipe or a device, and runs write to their own folder alone; remove it", shown(.path))]
    NotOurs { path: PathBuf },
    /// An output inside a folder that is read.
    #[error("{} lies in {}, which is read; choose an output elsewhere", shown(.path), shown(.folder))]
    InsideInput { path: PathBuf, folder: PathBuf },
    /// Two outputs in one file.
    #[error("{first} and {second} both name {}; choose two files", shown(.path))]
    SameOutput { path: PathBuf, first: &'static str, second: &'static str },
    /// A file that is larger than anything of its kind.
    #[error("{} has {found} bytes, but at most {most} are read; check that it is the right file", shown(.path))]
    TooLong { path: PathBuf, found: u64, most: u64 },
    /// A pick that is no row of the pool.
    #[error("{} cannot be written: row {row} was picked of a pool of {rows} rows; pass the pool that was selected from", shown(.path))]
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

/// `path` in one line, for a message: characters that a terminal would obey are spelled out.
pub fn shown(path: &Path) -> String {
    let mut line = String::new();
    for character in path.to_string_lossy().chars() {
        if is_obeyed(character) { line.extend(character.escape_default()) } else { line.push(character) }
    }
    line
}

/// Whether a terminal does something at `character` other than to show it: it moves, colours, or turns the direction of writing.
fn is_obeyed(character: char) -> bool {
    let turns = matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || turns || matches!(character, '\u{2028}' | '\u{2029}')
}

/// `text` in one line of bounded length, for a message, without characters that a terminal would obey.
pub fn one_line(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut words = String::new();
    for word in text.split(|c: char| c.is_whitespace() || is_obeyed(c)).filter(|word| !word.is_empty()) {
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

/// What a row is compared with: the rows before it, or the header before the first.
fn before(row: usize) -> &'static str {
    if row == 0 { "the header before it has" } else { "the rows before it have" }
}

/// A number of bytes, in words.
fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} bytes"),
        10_000..10_000_000 => format!("{} kB", count / 1000),
        10_000_000..10_000_000_000 => format!("{} MB", count / 1_000_000),
        _ => format!("{} GB", count / 1_000_000_000),
    }
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
    fn characters_that_a_terminal_obeys_are_spelled_out_in_paths() {
        let path = Path::new("a\u{1b}[31m\nb\u{202e}ü c.csv");
        assert_eq!(shown(path), "a\\u{1b}[31m\\nb\\u{202e}ü c.csv");
        let message = Error::NotFound { path: path.to_owned() }.to_string();
        assert!(!message.chars().any(is_obeyed), "{message}");
    }

    #[test]
    fn names_are_listed_up_to_a_point() {
        let names: Vec<String> = (0..23).map(|i| i.to_string()).collect();
        assert!(listed("", &names, "").ends_with("'19' and 3 more"));
        assert_eq!(listed("", &[], ""), "none");
        assert_eq!(listed(" (", &[], ")"), "");
    }
}
