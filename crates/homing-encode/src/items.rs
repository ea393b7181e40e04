//! Texts and images that are embedded and shown to people.

use std::path::{Path, PathBuf};

use homing_data::{Inputs, OpenOptions, RgbPixels, is_image_name};
use homing_pool::{Error as PoolError, Format, PATH_NAMES, Pool, RawTable, ReadOptions, expand, read_column};

use image::RgbImage;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::{FilterType, resize};

use crate::{Error, ItemKind, Result};

/// Texts or images, in the order of the rows of a pool.
#[derive(Clone, Debug)]
pub enum Items {
    /// Texts. A row without a text has an empty one.
    Texts(Vec<String>),
    /// Images.
    Images(Inputs),
}

impl Items {
    /// Returns the number of items.
    pub fn len(&self) -> usize {
        match self {
            Items::Texts(texts) => texts.len(),
            Items::Images(images) => images.len(),
        }
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the kind of the items.
    pub fn kind(&self) -> ItemKind {
        match self {
            Items::Texts(_) => ItemKind::Texts,
            Items::Images(_) => ItemKind::Images,
        }
    }
}

impl Items {
    /// Returns a hash of the item in a row, which is equal for equal items only.
    pub(crate) fn content(&self, row: usize) -> Result<[u8; 32]> {
        match self {
            Items::Texts(texts) => Ok(*blake3::hash(texts[row].as_bytes()).as_bytes()),
            Items::Images(images) => Ok(images.content(row)?),
        }
    }

    /// Returns the image of a row as a small JPEG file; `None` if the items are texts.
    pub fn thumbnail(&self, row: usize) -> Option<Result<Vec<u8>>> {
        let Items::Images(images) = self else { return None };
        Some(images.rgb(row).map(jpeg).map_err(Error::from))
    }
}

/// Longest side of a thumbnail, in pixels.
const THUMBNAIL: u32 = 112;

/// Quality of a thumbnail, up to 100.
const QUALITY: u8 = 80;

fn jpeg(RgbPixels { width, height, pixels }: RgbPixels) -> Vec<u8> {
    let image =
        RgbImage::from_raw(width as u32, height as u32, pixels).expect("an image has as many pixels as it says");
    let longest = image.width().max(image.height());
    let scaled = |side: u32| (u64::from(side) * u64::from(THUMBNAIL) / u64::from(longest)).max(1) as u32;
    let small = if longest > THUMBNAIL {
        resize(&image, scaled(image.width()), scaled(image.height()), FilterType::Triangle)
    } else {
        image
    };
    let mut file = Vec::new();
    let encoded = JpegEncoder::new_with_quality(&mut file, QUALITY).encode_image(&small);
    encoded.expect("writing to memory does not fail");
    file
}

/// Size for which data sets of images are opened. Encoders read the images as they are stored and resize them on their own.
const SIZE: usize = 224;

/// Extension of files with one text per line.
const LINES: &str = "txt";

/// Whether these files hold texts or images, by their extensions, so that they cannot hold embeddings.
pub(crate) fn has_no_embeddings(path: &Path) -> bool {
    let files = if path.is_dir() { Vec::new() } else { expand(path).unwrap_or_default() };
    !files.is_empty() && files.iter().all(|file| is_lines(file) || (file.is_file() && Format::of(file).is_err()))
}

/// Whether the file at `path` has one text per line.
fn is_lines(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(LINES))
}

/// Number of columns of numbers beside texts from which they count as embeddings, whatever their names are.
const FEWEST_NUMBERS: usize = 8;

/// Whether the columns of numbers of a table, which have these names, are facts about its texts, such as stars or prices, and not
/// embeddings: if the column `text` holds texts and not paths, there are fewer than 8, and none has the name of a coordinate, which
/// is one letter (`x`) or ends with a digit (`e0`).
///
/// ```
/// use homing_encode::are_facts;
///
/// assert!(are_facts("review", &["stars", "price"]) && !are_facts("url", &["stars", "price"]));
/// assert!(!are_facts("text", &["x", "y"]) && !are_facts("text", &["e0", "e1"]) && !are_facts("text", &["price"; 8]));
/// ```
pub fn are_facts<N: AsRef<str>>(text: &str, numbers: &[N]) -> bool {
    let is_coordinate = |name: &str| name.chars().count() == 1 || name.ends_with(|last: char| last.is_ascii_digit());
    !PATH_NAMES.contains(&text.to_lowercase().as_str())
        && (1..FEWEST_NUMBERS).contains(&numbers.len())
        && !numbers.iter().any(|name| is_coordinate(name.as_ref()))
}

/// Whether a table has texts, and its columns of numbers are no embeddings of them.
pub(crate) fn are_rather_texts(pool: &Pool) -> bool {
    pool.text_column().is_some_and(|text| are_facts(text, pool.side_by_side()))
}

/// Whether the file or folder at `path` holds texts or images instead of embeddings.
pub fn holds_items(path: &Path, options: &ReadOptions) -> bool {
    let is_pool = |path: &Path| match Pool::open(path, options) {
        Ok(pool) => !are_rather_texts(&pool),
        Err(error) => !matches!(error, PoolError::NoEmbedding { .. } | PoolError::NoShards { .. }),
    };
    (has_no_embeddings(path) || !is_pool(path)) && open(path, options).is_ok()
}

/// Opens the texts or images at `path`, with the columns that belong to them.
///
/// These are lines of `.txt` files, the texts of tables, the images whose paths a table lists, a folder or an archive of images,
/// single images, or a data set of images such as MNIST or CIFAR.
pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<(RawTable, Items)> {
    let files = if path.is_dir() { Vec::new() } else { expand(path)? };
    if let Some(missing) = files.iter().find(|file| !file.exists()) {
        return Err(PoolError::NotFound { path: missing.clone() }.into());
    }
    if has_no_embeddings(path) {
        if named(options).is_some() {
            return Err(no_column(path, options));
        }
        return match &files[..] {
            files if files.iter().all(|file| is_lines(file)) => lines(path, files),
            files if files.iter().all(|file| is_image_name(&file.to_string_lossy())) => image_files(path, files),
            [_] => images(path),
            _ => Err(Error::NoTexts { path: path.to_owned(), names: Vec::new() }),
        };
    }
    match RawTable::open(path, options) {
        Ok(table) => of_table(path, table),
        Err(PoolError::NoShards { .. }) if named(options).is_some() => Err(no_column(path, options)),
        Err(PoolError::NoShards { .. }) => images(path),
        Err(error) => Err(error.into()),
    }
}

/// Returns the name of a requested column, which only a table can have.
fn named(options: &ReadOptions) -> Option<&String> {
    let group = options.group.as_ref().filter(|_| !options.optional);
    [group, options.cost.as_ref(), options.probabilities.as_ref()].into_iter().flatten().chain(&options.numbers).next()
}

fn no_column(path: &Path, options: &ReadOptions) -> Error {
    let name = named(options).map_or_else(String::new, |name| format!("column '{name}'"));
    PoolError::NoColumns { path: path.to_owned(), name }.into()
}

fn lines(path: &Path, files: &[PathBuf]) -> Result<(RawTable, Items)> {
    let mut texts = Vec::new();
    for file in files {
        let mut lines = read_column(file, None)?;
        while lines.last().is_some_and(|text| text.trim().is_empty()) {
            lines.pop();
        }
        texts.extend(lines);
    }
    let table = RawTable::in_memory(path, vec![("text".to_owned(), texts.clone())], Some(0), None, None)?;
    Ok((table, Items::Texts(texts)))
}

fn image_files(path: &Path, files: &[PathBuf]) -> Result<(RawTable, Items)> {
    // Images of one folder are known by their names, and others by their paths.
    let folder = files[0].parent().filter(|folder| files.iter().all(|file| file.parent() == Some(folder)));
    let name = |file: &PathBuf| {
        folder.and_then(|folder| file.strip_prefix(folder).ok()).unwrap_or(file).to_string_lossy().into_owned()
    };
    let names: Vec<String> = files.iter().map(name).collect();
    let images = Inputs::image_files(files.iter().cloned(), SIZE)?;
    let table = RawTable::in_memory(path, vec![("path".to_owned(), names.clone())], Some(0), Some(names), None)?;
    Ok((table, Items::Images(images)))
}

/// Opens a data set of images. If it is split, only the part for training is opened.
fn images(path: &Path) -> Result<(RawTable, Items)> {
    let data = homing_data::open(path, &OpenOptions { size: Some(SIZE), ..OpenOptions::default() })?.train;
    if !data.inputs.are_images() {
        return Err(Error::NoTexts { path: path.to_owned(), names: Vec::new() });
    }
    let mut columns = Vec::new();
    if data.inputs.are_files() {
        columns.push(("path".to_owned(), data.ids.clone()));
    }
    let label = |label: &Option<u32>| label.map_or_else(String::new, |label| data.classes[label as usize].clone());
    let labels: Vec<String> = data.labels.iter().map(label).collect();
    let labelled = labels.iter().any(|label| !label.is_empty());
    if labelled || columns.is_empty() {
        columns.push(("label".to_owned(), labels.clone()));
    }
    let labels = labelled.then_some(labels);
    let text = data.inputs.are_files().then_some(0);
    let table = RawTable::in_memory(path, columns, text, Some(data.ids), labels)?;
    Ok((table, Items::Images(data.inputs)))
}

fn of_table(path: &Path, table: RawTable) -> Result<(RawTable, Items)> {
    let Some(column) = table.text_column().map(str::to_owned) else {
        return Err(Error::NoTexts { path: path.to_owned(), names: table.columns() });
    };
    let texts = table.column(&column)?;
    let is_path = PATH_NAMES.contains(&column.to_lowercase().as_str()) || texts.iter().all(|text| is_image_name(text));
    if is_path && texts.iter().all(|text| is_image_name(text)) {
        let beside = |(row, text): (usize, &String)| {
            let file = if path.is_dir() { path } else { table.file(row) };
            file.parent().unwrap_or(Path::new("")).join(text)
        };
        let paths: Vec<PathBuf> = texts.iter().enumerate().map(beside).collect();
        if let Some((row, missing)) = paths.iter().enumerate().find(|(_, path)| !path.is_file()) {
            return Err(Error::NoImage { path: path.to_owned(), row, image: missing.clone() });
        }
        return Ok((table, Items::Images(Inputs::image_files(paths, SIZE)?)));
    }
    Ok((table, Items::Texts(texts)))
}
