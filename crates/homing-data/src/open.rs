//! Opens data sets and detects their kind.

use std::path::Path;

use bytes::Bytes;
use homing_pool::{Format, map};

use crate::dataset::{Data, NamedExamples};
use crate::files::{Listing, unpacked};
use crate::{Error, OpenOptions, Result, cifar, folder, idx, table, tiles};

/// Opens the data set at `path`, which is a file or a folder of files.
///
/// | kind | files |
/// |---|---|
/// | MNIST and similar sets | `train-images-idx3-ubyte` and its labels, optionally with `.gz`; `t10k-…` or `test-…` are the test set |
/// | CIFAR-10 | `data_batch_1.bin` and so on, `test_batch.bin`, names in `batches.meta.txt` |
/// | CIFAR-100, fine labels | `train.bin`, `test.bin`, names in `fine_label_names.txt` |
/// | CIFAR-100 as tiles | `class_00.webp` and so on |
/// | images | `class/name.png`, `.jpg` or `.webp`, optionally in the folders `train` and `test` (or `val`); they are decoded when they are read |
/// | tables and embeddings | a file that [`homing_pool::Pool::open`] reads; in a folder, `train.csv` and `test.csv` in any such format, or shards |
///
/// All kinds except the last may be in a `.tar`, `.tar.gz` or `.tar.xz`. A single idx or CIFAR file is also a data set.
///
/// ```
/// use homing_data::{OpenOptions, open};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("flowers.csv");
/// std::fs::write(&path, "length,width,label\n5.1,3.5,setosa\n6.2,2.9,virginica\n4.9,3.0,\n")?;
/// let train = open(&path, &OpenOptions::default())?.train;
/// assert_eq!(train.classes, ["setosa", "virginica"]);
/// assert_eq!(train.labels, [Some(0), Some(1), None]);
/// assert_eq!(train.inputs.read(&[1])?, [6.2, 2.9]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(path: &Path, options: &OpenOptions) -> Result<Data> {
    if path.is_dir() {
        return open_folder(path, options);
    }
    if Format::of(path).is_ok() {
        return table::open(path, options);
    }
    open_bytes(path, map(path)?, options)
}

/// Reads `bytes` as the contents of a file at `path` that is neither a table nor embeddings.
#[doc(hidden)]
pub fn open_bytes(path: &Path, bytes: Bytes, options: &OpenOptions) -> Result<Data> {
    let bytes = unpacked(path, bytes)?;
    if let Some(listing) = Listing::archive(path, &bytes)? {
        return open_images(&listing, options)?.ok_or_else(|| Error::Unknown { path: path.to_owned() });
    }
    if idx::is_idx(&bytes) {
        return open_idx(path, &bytes, options)?.sized(options.size);
    }
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("bin")) {
        refuse_columns(path, options)?;
        return cifar::open_file(path, &bytes)?.sized(options.size);
    }
    Err(Error::Unknown { path: path.to_owned() })
}

fn open_folder(path: &Path, options: &OpenOptions) -> Result<Data> {
    let listing = Listing::folder(path)?;
    if let Some(data) = open_images(&listing, options)? {
        return Ok(data);
    }
    if let Some(data) = table::open_pair(&listing, options)? {
        return Ok(data);
    }
    let shard = |path: &Path| Format::of(path).is_ok_and(Format::is_for_shards);
    if listing.entries.iter().any(|entry| !entry.name.contains('/') && shard(&entry.path)) {
        return table::open(path, options);
    }
    let packed = |name: &str| [".tar", ".tar.gz", ".tgz", ".tar.xz"].iter().any(|end| name.ends_with(end));
    match &listing.entries.iter().filter(|entry| packed(&entry.name)).collect::<Vec<_>>()[..] {
        [] => Err(Error::Unknown { path: path.to_owned() }),
        [archive] => open(&archive.path, options),
        [first, second, ..] => Err(listing.several(first, second)),
    }
}

/// Opens the data set of images in the listing, if there is one.
fn open_images(listing: &Listing, options: &OpenOptions) -> Result<Option<Data>> {
    let found = [idx::open, cifar::open, tiles::open].iter().find_map(|open| open(listing).transpose());
    let found = found.or_else(|| folder::open(listing, options.size).transpose());
    let Some(data) = found.transpose()? else { return Ok(None) };
    refuse_columns(&listing.root, options)?;
    if options.labels.is_some() {
        return Err(Error::NotATable { path: listing.root.clone(), option: "file of labels" });
    }
    data.sized(options.size).map(Some)
}

/// Opens the images in one idx file, with the requested labels or those in the file next to it.
fn open_idx(path: &Path, bytes: &Bytes, options: &OpenOptions) -> Result<Data> {
    let inputs = idx::images(path, bytes)?;
    let beside = idx::labels_beside(path);
    let labels = match options.labels.as_ref().or(beside.as_ref()) {
        Some(file) => table::labels(file, options.label_column.as_deref(), inputs.len())?,
        None => vec![String::new(); inputs.len()],
    };
    let ids = (0..inputs.len()).map(|row| row.to_string()).collect();
    Data::with_named_classes(path, NamedExamples { inputs, labels, ids, texts: Vec::new() }, None)
}

fn refuse_columns(path: &Path, options: &OpenOptions) -> Result<()> {
    let option = match (&options.label_column, &options.embedding) {
        (Some(_), _) => "column of labels",
        (None, Some(_)) => "column of embeddings",
        (None, None) => return Ok(()),
    };
    Err(Error::NotATable { path: path.to_owned(), option })
}
