//! Opens pools and targets from files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use homing_data::OpenOptions as DataOptions;
use homing_pool::{Format, Pool, RawTable, ReadOptions, TEXT_NAMES, expand, read_column};

use crate::data::{Contents, Examples, Rows};
use crate::{Error, Result};

/// Size in pixels for which data sets of images are opened. The page shows images as they are stored, whatever this size is.
const SIDE: usize = 16;

/// Usual names of columns of ids.
const ID_NAMES: [&str; 4] = ["id", "ids", "_id", "uid"];

/// How to open examples.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// File of embeddings, if those of the examples are not among their own columns.
    pub embeddings: Option<PathBuf>,
    /// Folder of images, for a table whose column of paths is relative to it, or whose ids are the names of images.
    pub images: Option<PathBuf>,
    /// Column of paths of images.
    pub image_column: Option<String>,
    /// How a table is read.
    pub read: ReadOptions,
}

/// Examples, and the labels that they have already.
#[derive(Debug)]
pub struct Opened {
    /// The examples.
    pub examples: Examples,
    /// Labels that the examples have already, one per row; empty if there are none.
    pub labels: Vec<Option<String>>,
}

/// Opens the examples at `path`: a table, a file of embeddings, a folder or an archive of images, or lines of text.
///
/// All but the first two need [`OpenOptions::embeddings`].
pub fn open_examples(path: &Path, options: &OpenOptions) -> Result<Opened> {
    let Some(embeddings) = &options.embeddings else {
        return examples_of(Pool::open(path, &options.read.clone().blank_labels(true))?, None, options);
    };
    let is_images = if path.is_dir() {
        !is_folder_of_shards(path)
    } else {
        expand(path)?.iter().all(|file| Format::of(file).is_err() && !is_lines(file))
    };
    if is_images { open_images(path, embeddings, options) } else { open_beside(path, embeddings, options) }
}

fn is_lines(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("txt"))
}

fn is_folder_of_shards(path: &Path) -> bool {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| Format::of(&path).is_ok_and(Format::is_for_shards))
}

fn open_images(path: &Path, embeddings: &Path, options: &OpenOptions) -> Result<Opened> {
    let data = homing_data::open(path, &DataOptions { size: Some(SIDE), ..DataOptions::default() })?.train;
    let (labels, classes) = (&data.labels, &data.classes);
    let labels = labels.iter().map(|label| label.map(|label| classes[label as usize].clone())).collect();
    let rows = embeddings_of(embeddings, &data.ids, "images", &options.read)?;
    let contents = Contents::Images { inputs: data.inputs, root: path.to_owned() };
    Ok(Opened { examples: Examples::new(data.ids, rows, contents), labels })
}

/// Returns the examples of a pool that is open already. `shown` are the texts or images from which it was made. Without them,
/// columns of the pool are shown.
pub fn examples_of(pool: Pool, shown: Option<Contents>, options: &OpenOptions) -> Result<Opened> {
    let ids = pool.ids().map_or_else(|| numbered(pool.rows()), <[String]>::to_vec);
    let labels = pool.labels().unwrap_or_default().iter();
    let labels = labels.map(|label| Some(label.clone()).filter(|label| !label.trim().is_empty())).collect();
    let all: Vec<usize> = (0..pool.rows()).collect();
    let column = |name: &str| -> Result<Vec<String>> {
        let values = pool.values(&[name.to_owned()], &all)?;
        Ok(all.iter().map(|&row| values.text(0, row).unwrap_or_default()).collect())
    };
    let contents = match (shown, &options.image_column, &options.images, pool.text_column()) {
        (Some(shown), ..) => shown,
        (None, Some(name), root, _) => {
            let root = root.clone().unwrap_or_else(|| pool.path().parent().unwrap_or(Path::new(".")).to_owned());
            Contents::Files { root, names: column(name)? }
        }
        (None, None, Some(root), _) => Contents::Files { root: root.clone(), names: ids.clone() },
        (None, None, None, Some(name)) => Contents::Texts(column(name)?),
        (None, None, None, None) => Contents::Nothing,
    };
    let mut examples = Examples::new(ids, Rows::Pool(Box::new(pool)), contents);
    examples.hidden = hidden(options);
    Ok(Opened { examples, labels })
}

/// Opens a table or lines of text whose embeddings are in another file.
fn open_beside(path: &Path, embeddings: &Path, options: &OpenOptions) -> Result<Opened> {
    let is_lines = is_lines(path);
    let wanted = options.image_column.as_deref().or(options.read.text.as_deref());
    let shown = match wanted {
        _ if is_lines => read_column(path, None)?,
        Some(name) => read_column(path, Some(name))?,
        None => first_column(path, &TEXT_NAMES)?.ok_or_else(|| Error::NoContents { path: path.to_owned() })?,
    };
    let ids = match &options.read.id {
        _ if is_lines => None,
        Some(name) => Some(read_column(path, Some(name))?),
        None => first_column(path, &ID_NAMES)?,
    };
    let labels = match &options.read.label {
        Some(name) if !is_lines => read_column(path, Some(name))?.into_iter().map(Some).collect(),
        _ => Vec::new(),
    };
    let ids = ids.unwrap_or_else(|| numbered(shown.len()));
    let rows = embeddings_of(embeddings, &ids, "examples", &options.read)?;
    let contents = match &options.image_column {
        Some(_) => {
            let beside = || path.parent().unwrap_or(Path::new(".")).to_owned();
            Contents::Files { root: options.images.clone().unwrap_or_else(beside), names: shown }
        }
        None => Contents::Texts(shown),
    };
    let mut examples = Examples::new(ids, rows, contents);
    if !is_lines {
        // Without it the map has fewer colours.
        examples.table = RawTable::open(path, &options.read).ok();
        examples.hidden = hidden(options);
    }
    Ok(Opened { examples, labels })
}

/// Returns the columns that have a use of their own.
fn hidden(options: &OpenOptions) -> Vec<String> {
    let read = &options.read;
    [&read.id, &read.label, &read.text, &options.image_column].into_iter().flatten().cloned().collect()
}

/// Returns the first column that the file has.
fn first_column(path: &Path, names: &[&str]) -> Result<Option<Vec<String>>> {
    for name in names {
        match read_column(path, Some(name)) {
            Ok(column) => return Ok(Some(column)),
            Err(homing_pool::Error::NoColumn { .. } | homing_pool::Error::NoColumns { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

fn numbered(rows: usize) -> Vec<String> {
    (0..rows).map(|row| row.to_string()).collect()
}

/// Reads the embeddings of the examples with these ids: by id if the file has ids, and otherwise in the same order.
fn embeddings_of(path: &Path, ids: &[String], what: &'static str, read: &ReadOptions) -> Result<Rows> {
    let options = ReadOptions::default().embedding(read.embedding.clone()).access(read.access);
    let pool = Pool::open(path, &options)?;
    let Some(found) = pool.ids() else {
        let (embeddings, examples) = (pool.rows(), ids.len());
        return if embeddings == examples {
            Ok(Rows::Pool(Box::new(pool)))
        } else {
            Err(Error::Count { what, embeddings, examples })
        };
    };
    if found == ids {
        return Ok(Rows::Pool(Box::new(pool)));
    }
    let places: HashMap<&str, usize> = found.iter().enumerate().map(|(row, id)| (id.as_str(), row)).collect();
    let dim = pool.dim();
    let mut values = vec![0.0; ids.len() * dim];
    for (id, out) in ids.iter().zip(values.chunks_exact_mut(dim)) {
        let row = places.get(id.as_str()).copied();
        let row = row.ok_or_else(|| Error::NoEmbeddingOf { id: id.clone(), path: path.to_owned() })?;
        pool.embeddings().values().write_f32(row * dim..(row + 1) * dim, out);
    }
    pool.embeddings().check_read()?;
    Ok(Rows::Numbers { values, dim })
}
