//! Reads a pool from several files, whose rows are numbered across the files.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, StringArray};
use arrow_schema::Field;

use crate::expand::{Listing, ending, refuse_repeated};
use crate::mapped::map;
use crate::matrix::Matrix;
use crate::message::{display_path, listed};
use crate::pool::{Contents, FORMAT_BYTES, RowColumns};
use crate::row_values::ValueReader;
use crate::store::{Access, Store};
use crate::{Error, Format, Pool, ReadOptions, Result, arrow};

/// Name of the column with the file of each row, which every pool of several files has unless its tables do.
const FILE_COLUMN: &str = "file";

/// Names of the columns that say where a row of a pool in several files is.
pub(crate) const PLACE_COLUMNS: [&str; 2] = [FILE_COLUMN, "row"];

/// Files of a pool, in the order of their rows.
///
/// ```
/// use homing_pool::{Pool, ReadOptions};
///
/// let folder = tempfile::tempdir()?;
/// let paths = ["a.csv", "b.csv"].map(|name| folder.path().join(name));
/// std::fs::write(&paths[0], "x,y\n0.5,1\n2,3\n")?;
/// std::fs::write(&paths[1], "x,y\n4,5.5\n")?;
///
/// let pool = Pool::open_many(&paths, &ReadOptions::default())?;
/// let files = pool.files().expect("there are two");
/// assert_eq!((files.len(), files.place(2)), (2, (paths[1].as_path(), 0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PoolFiles {
    files: Vec<PathBuf>,
    /// First row of each file, followed by the number of all rows.
    starts: Vec<usize>,
    left_out: Vec<String>,
}

impl PoolFiles {
    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are no files, which is never the case.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns each file with its rows, which are numbered across the files.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Path, Range<usize>)> {
        let rows = self.starts.windows(2).map(|window| window[0]..window[1]);
        self.files.iter().map(PathBuf::as_path).zip(rows)
    }

    /// Returns the file that holds a row, and the row's number in that file.
    ///
    /// # Panics
    /// If the pool has fewer rows.
    pub fn place(&self, row: usize) -> (&Path, usize) {
        let file = self.starts.partition_point(|&start| start <= row) - 1;
        (&self.files[file], row - self.starts[file])
    }

    /// Returns the short name of a file: its path within the folder that holds all files.
    fn short_name(&self, path: &Path) -> String {
        let folder =
            self.files[0].ancestors().skip(1).find(|folder| self.files.iter().all(|file| file.starts_with(folder)));
        display_path(folder.and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path))
    }

    /// Returns a column that says where rows are: the paths of their files, or their numbers there.
    pub(crate) fn column(&self, name: &str, rows: &[usize]) -> (Field, ArrayRef) {
        let places = rows.iter().map(|&row| self.place(row));
        let array: ArrayRef = match name {
            FILE_COLUMN => Arc::new(places.map(|(path, _)| Some(path.to_string_lossy())).collect::<StringArray>()),
            _ => Arc::new(places.map(|(_, row)| Some(row as i64)).collect::<Int64Array>()),
        };
        (Field::new(name, array.data_type().clone(), false), array)
    }

    /// Returns the names of files and folders that lie in the same folder and were not read.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }
}

/// Reads the files of a pool called `path`.
pub(crate) fn read(path: &Path, listing: Listing, options: &ReadOptions) -> Result<(Format, Contents, PoolFiles)> {
    let Listing { files, left_out } = listing;
    refuse_repeated(&files)?;
    let format = common_format(path, &files)?;
    if !format.is_used_in_place() && options.access == Access::Read {
        return Err(Error::NotByPosition { path: path.to_owned() });
    }
    let (contents, rows) =
        if format.is_for_shards() { appended(path, &files, options)? } else { joined(path, format, &files, options)? };
    let mut starts = vec![0];
    starts.extend(rows.into_iter().scan(0, |sum, rows| {
        *sum += rows;
        Some(*sum)
    }));
    Ok((format, contents, PoolFiles { files, starts, left_out }))
}

/// Returns the format of the first file. All must have the same, except that Arrow and Parquet may be mixed, because both are
/// decoded into the same table.
fn common_format(path: &Path, files: &[PathBuf]) -> Result<Format> {
    let mut format = None;
    for file in files {
        if file.is_dir() {
            return Err(Error::Directory { path: file.clone() });
        }
        let found = Format::of_file(file)?;
        let first = *format.get_or_insert(found);
        if first != found && !(first.is_for_shards() && found.is_for_shards()) {
            let endings: BTreeSet<String> = files.iter().map(|file| format!(".{}", ending(file))).collect();
            return Err(Error::MixedFormats { path: path.to_owned(), endings: endings.into_iter().collect() });
        }
    }
    format.ok_or_else(|| Error::NoRows { path: path.to_owned() })
}

/// Reads files whose rows are decoded into one table. Returns its contents and the number of rows of each file.
fn appended(path: &Path, files: &[PathBuf], options: &ReadOptions) -> Result<(Contents, Vec<usize>)> {
    let (mut table, mut counts) = (None, Vec::new());
    for file in files {
        let (format, bytes) = (Format::of(file)?, map(file)?);
        format.check(file, &bytes)?;
        let reader = format.reader();
        let rows = (reader.count)(file, &Store::Memory(bytes.clone()), options)?;
        // Writers give the columns of a table without rows other types.
        if rows > 0 {
            let append = reader.shard.expect("the format has shards");
            append(file, &bytes, options, &mut table)?;
        }
        counts.push(rows);
    }
    Ok((arrow::finish(path, table)?, counts))
}

/// Reads files one by one, and joins their rows without a copy. Returns the contents and the number of rows of each file.
fn joined(path: &Path, format: Format, files: &[PathBuf], options: &ReadOptions) -> Result<(Contents, Vec<usize>)> {
    let access = if format.is_used_in_place() { options.access.of(total(files)) } else { Access::Map };
    let (mut all, mut counts): (Option<JoinedContents>, Vec<usize>) = (None, Vec::new());
    for file in files {
        let store = if format.is_used_in_place() {
            Store::open_among(files.len(), file, access)?
        } else {
            Store::Memory(map(file)?)
        };
        format.check(file, &store.first_bytes(FORMAT_BYTES)?)?;
        let contents = match (format.reader().pool)(file, &store, options) {
            Err(Error::NoRows { .. }) => {
                counts.push(0);
                continue;
            }
            contents => contents?,
        };
        counts.push(contents.embeddings.rows());
        match &mut all {
            None => all = Some(JoinedContents::new(contents)),
            Some(all) => all.push(file, format, contents)?,
        }
    }
    let all = all.ok_or_else(|| Error::NoRows { path: path.to_owned() })?;
    Ok((all.finish(), counts))
}

/// Returns the number of bytes of all files. A file that cannot be examined is refused later.
fn total(files: &[PathBuf]) -> u64 {
    files.iter().filter_map(|file| fs::metadata(file).ok()).map(|found| found.len()).fold(0, u64::saturating_add)
}

/// Contents of several files.
struct JoinedContents {
    /// Contents of the first file, with the columns of all files. Its matrices are the first parts below.
    first: Contents,
    embeddings: Vec<Matrix>,
    probabilities: Vec<Matrix>,
}

impl JoinedContents {
    fn new(first: Contents) -> Self {
        Self { first, embeddings: Vec::new(), probabilities: Vec::new() }
    }

    /// Adds the contents of the file at `path`, which must be like those before it.
    fn push(&mut self, path: &Path, format: Format, next: Contents) -> Result<()> {
        let first = &mut self.first;
        let differs = |detail: String| Err(Error::ShardMismatch { path: path.to_owned(), detail });
        if first.side_by_side != next.side_by_side {
            let columns = |names: &[String]| match names {
                [] => "an array without names of columns".to_owned(),
                names => listed("the columns ", names, ""),
            };
            let (theirs, its) = (columns(&first.side_by_side), columns(&next.side_by_side));
            return differs(format!("its embedding consists of {its}, but theirs of {theirs}"));
        }
        if let Some(detail) = unlike(&first.embeddings, &next.embeddings, "values") {
            return differs(detail);
        }
        let (ours, theirs) = (&mut first.columns, next.columns);
        for (name, ours, theirs) in [
            ("ids", ours.ids.is_some(), theirs.ids.is_some()),
            ("groups", ours.groups.is_some(), theirs.groups.is_some()),
            ("labels", ours.labels.is_some(), theirs.labels.is_some()),
        ] {
            if ours != theirs {
                return differs(format!("it has {}{name}", if theirs { "" } else { "no " }));
            }
        }
        if let (Some(ours), Some(theirs)) = (&ours.probabilities, &theirs.probabilities)
            && let Some(detail) = unlike(ours, theirs, "class probabilities")
        {
            return differs(detail);
        }
        first.table.join(next.table, format == Format::Jsonl).or_else(differs)?;
        ours.extend(theirs, &mut self.probabilities);
        self.embeddings.push(next.embeddings);
        Ok(())
    }

    fn finish(self) -> Contents {
        let Self { mut first, embeddings, probabilities } = self;
        first.embeddings = first.embeddings.followed_by(embeddings);
        first.columns.probabilities = first.columns.probabilities.map(|first| first.followed_by(probabilities));
        first
    }
}

/// Says how the rows of `next` differ from those of `first`, if they do.
fn unlike(first: &Matrix, next: &Matrix, what: &str) -> Option<String> {
    let (dim, float) = (first.dim(), first.float());
    if next.dim() != dim {
        return Some(format!("its rows have {} {what} but theirs have {dim}", next.dim()));
    }
    (next.float() != float).then(|| format!("its {what} are {} but theirs are {}", next.float().name(), float.name()))
}

impl RowColumns {
    /// Appends the columns of further rows, which has the same columns.
    fn extend(&mut self, next: Self, probabilities: &mut Vec<Matrix>) {
        let texts = [(&mut self.ids, next.ids), (&mut self.groups, next.groups), (&mut self.labels, next.labels)];
        for (ours, theirs) in texts {
            ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| ours.extend(theirs));
        }
        self.numbers.iter_mut().zip(next.numbers).for_each(|((_, ours), (_, theirs))| ours.extend(theirs));
        probabilities.extend(next.probabilities);
    }
}

impl Pool {
    /// Reads files of one format as one pool. Its rows are numbered across the files, in the order of `paths`.
    ///
    /// [`expand`](crate::expand) finds the files of a folder, a pattern or a list. Files may be without rows, but at least one
    /// must have some.
    pub fn open_many(paths: &[PathBuf], options: &ReadOptions) -> Result<Self> {
        let [first, ..] = paths else { return Err(Error::NoRows { path: "a list without files".into() }) };
        if let [only] = paths {
            return Self::open(only, options);
        }
        let name = first.with_file_name(format!("{} and {} more files", name_of(first), paths.len() - 1));
        Self::open_listing(&name, Listing { files: paths.to_vec(), left_out: Vec::new() }, options)
    }

    pub(crate) fn open_listing(path: &Path, listing: Listing, options: &ReadOptions) -> Result<Self> {
        let (format, contents, files) = read(path, listing, options)?;
        Ok(Self {
            path: path.to_owned(),
            files: Some(files),
            format,
            cost: options.cost.clone(),
            contents: Box::new(contents),
        })
    }

    /// Returns the files of the pool, if it was read from a folder, a pattern or a list.
    pub fn files(&self) -> Option<&PoolFiles> {
        self.files.as_ref()
    }

    /// Names a row by its file and its number in that file, if the pool has several files.
    pub fn place(&self, row: usize) -> Option<String> {
        let (path, row) = self.files.as_ref().filter(|files| files.len() > 1)?.place(row);
        Some(format!("row {row} of {}", display_path(path)))
    }
}

impl Pool {
    /// Returns the name of a row's file within the folder of all files, and its number there, such as `part-2.npy:17`, if the
    /// pool has several files.
    pub fn short_place(&self, row: usize) -> Option<String> {
        let files = self.files.as_ref().filter(|files| files.len() > 1)?;
        let (path, row) = files.place(row);
        Some(format!("{}:{row}", files.short_name(path)))
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Reads values of some columns and rows of all files.
pub(crate) fn read_values(files: &PoolFiles, reader: &mut ValueReader) -> Result<()> {
    for (path, rows) in files.iter() {
        let format = Format::of(path)?;
        reader.read_file(path, rows, |reader| (format.reader().values)(path, &map(path)?, reader))?;
    }
    Ok(())
}

/// Returns the number of rows of the file at `path`. Except in text tables, only its header, footer or messages are read.
///
/// ```
/// use homing_pool::{ReadOptions, count_rows};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("pool.csv");
/// std::fs::write(&path, "x,y\n0.5,1\n2,3\n")?;
/// assert_eq!(count_rows(&path, &ReadOptions::default())?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn count_rows(path: &Path, options: &ReadOptions) -> Result<usize> {
    let format = Format::of_file(path)?;
    let store = if format.is_used_in_place() { Store::open(path, Access::Read)? } else { Store::Memory(map(path)?) };
    format.check(path, &store.first_bytes(FORMAT_BYTES)?)?;
    (format.reader().count)(path, &store, options)
}

/// Counts the rows of a file by reading it.
pub(crate) fn count_by_reading(path: &Path, store: &Store, options: &ReadOptions) -> Result<usize> {
    match (Format::of(path)?.reader().pool)(path, store, options) {
        Ok(contents) => Ok(contents.embeddings.rows()),
        Err(Error::NoRows { .. }) => Ok(0),
        Err(error) => Err(error),
    }
}
