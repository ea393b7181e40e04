//! The examples of a run: their ids, their embeddings, and what a person sees of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use homing::{Embeddings, Kernel, Noise, Task};
use homing_data::{Inputs, StoredImage};
use homing_pool::{Pool, RawTable};

use crate::{Error, Result};

/// Largest image file that is shown, in bytes.
const LARGEST_IMAGE: u64 = 64 << 20;

/// Side in pixels for which a single image is opened; a thumbnail is no larger than the image.
const THUMBNAIL: usize = 96;

/// Embeddings, one row per example.
#[derive(Debug)]
pub enum Rows {
    /// Embeddings of a file.
    Pool(Box<Pool>),
    /// Numbers in memory, row by row.
    Numbers {
        /// The numbers.
        values: Vec<f32>,
        /// How many of them one row has.
        dim: usize,
    },
}

impl Rows {
    /// Returns the embeddings.
    pub fn embeddings(&self) -> Result<Embeddings<'_>> {
        Ok(match self {
            Self::Pool(pool) => pool.embeddings(),
            Self::Numbers { values, dim } => Embeddings::new(&values[..], *dim)?,
        })
    }
}

/// What a person sees of the examples.
#[derive(Debug)]
pub enum Contents {
    /// Texts.
    Texts(Vec<String>),
    /// Images of a data set, whose files must lie in the folder `root`.
    Images {
        /// The images.
        inputs: Inputs,
        /// The folder or archive that the user named.
        root: PathBuf,
    },
    /// Image files with paths relative to the folder `root`.
    Files {
        /// The folder.
        root: PathBuf,
        /// Path of each example's image.
        names: Vec<String>,
    },
    /// The examples have only ids.
    Nothing,
}

/// The content of one example, as a person sees it.
#[derive(Debug, PartialEq, Eq)]
pub enum Shown {
    /// A text.
    Text(String),
    /// An image file.
    Image {
        /// Contents of the file.
        bytes: Bytes,
        /// Its media type.
        media_type: &'static str,
    },
    /// Nothing.
    Nothing,
}

/// Why an image is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotShown {
    /// It lies outside the folder that the user named.
    Outside,
    /// It is missing, too large, or not an image.
    Unreadable,
}

impl Contents {
    /// Returns `text`, `image` or `none`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Texts(_) => "text",
            Self::Images { .. } | Self::Files { .. } => "image",
            Self::Nothing => "none",
        }
    }

    /// Returns the text of a row, if the contents are texts.
    pub fn text(&self, row: usize) -> Option<&str> {
        match self {
            Self::Texts(texts) => texts.get(row).map(String::as_str),
            _ => None,
        }
    }

    /// Returns the path of a row's image as the user's files have it.
    pub fn path(&self, row: usize) -> Option<&str> {
        match self {
            Self::Files { names, .. } => names.get(row).map(String::as_str),
            _ => None,
        }
    }

    /// Returns what a person sees of a row.
    pub fn show(&self, row: usize) -> Result<Shown, NotShown> {
        match self {
            Self::Texts(texts) => texts.get(row).map(|text| Shown::Text(text.clone())).ok_or(NotShown::Unreadable),
            Self::Images { inputs, root } => match inputs.stored_image(row).map_err(|_| NotShown::Unreadable)? {
                StoredImage::Bytes(bytes) => image(bytes),
                StoredImage::File(path) => image_file(&path, root),
            },
            Self::Files { root, names } => {
                let name = names.get(row).ok_or(NotShown::Unreadable)?;
                image_file(&root.join(name), root)
            }
            Self::Nothing => Ok(Shown::Nothing),
        }
    }

    /// Returns a small PNG of a row that [`Contents::show`] shows.
    pub(crate) fn thumbnail(&self, row: usize) -> Option<Vec<u8>> {
        self.show(row).ok()?;
        match self {
            Self::Images { inputs, .. } => inputs.thumbnail(row).ok(),
            Self::Files { root, names } => {
                Inputs::image_files([root.join(&names[row])], THUMBNAIL).ok()?.thumbnail(0).ok()
            }
            Self::Texts(_) | Self::Nothing => None,
        }
    }
}

/// Reads an image file that lies in `root` after all links are resolved.
fn image_file(path: &Path, root: &Path) -> Result<Shown, NotShown> {
    let real = path.canonicalize().map_err(|_| NotShown::Unreadable)?;
    let root = root.canonicalize().map_err(|_| NotShown::Unreadable)?;
    if !real.starts_with(&root) {
        return Err(NotShown::Outside);
    }
    let found = real.metadata().map_err(|_| NotShown::Unreadable)?;
    if !found.is_file() || found.len() > LARGEST_IMAGE {
        return Err(NotShown::Unreadable);
    }
    image(std::fs::read(&real).map_err(|_| NotShown::Unreadable)?.into())
}

fn image(bytes: Bytes) -> Result<Shown, NotShown> {
    let media_type = match &bytes[..] {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        _ => return Err(NotShown::Unreadable),
    };
    Ok(Shown::Image { bytes, media_type })
}

/// Examples with their embeddings and contents.
#[derive(Debug)]
pub struct Examples {
    /// Id of each example.
    pub ids: Vec<String>,
    /// Embedding of each example.
    pub rows: Rows,
    /// What a person sees.
    pub contents: Contents,
    /// Table with further columns, if they are not in the file of the embeddings.
    pub table: Option<RawTable>,
    /// Names of columns that do not describe the examples, such as the labels that are known already.
    pub hidden: Vec<String>,
}

impl Examples {
    /// Creates examples without further columns.
    pub fn new(ids: Vec<String>, rows: Rows, contents: Contents) -> Self {
        Self { ids, rows, contents, table: None, hidden: Vec::new() }
    }
}

/// The data of a run.
pub struct LabelData {
    /// Name of the pool for people.
    pub name: String,
    /// Examples to choose from.
    pub pool: Examples,
    /// Examples of the task.
    pub targets: Option<Examples>,
    /// Covariance function.
    pub kernel: Box<dyn Kernel>,
    /// Noise ρ.
    pub noise: Noise,
    /// Mean that is subtracted from all embeddings, if they are centred.
    pub mean: Option<Vec<f64>>,
    /// Whether all embeddings are scaled to unit length.
    pub is_normalized: bool,
    /// Row of each id.
    row_of: HashMap<String, usize>,
}

impl LabelData {
    /// Creates the data and refuses ids that two rows share.
    pub fn new(name: String, pool: Examples, targets: Option<Examples>, kernel: Box<dyn Kernel>) -> Result<Self> {
        let mut row_of = HashMap::with_capacity(pool.ids.len());
        for (second, id) in pool.ids.iter().enumerate() {
            if let Some(first) = row_of.insert(id.clone(), second) {
                return Err(Error::SharedId { id: id.clone(), first, second });
            }
        }
        pool.rows.embeddings()?.check_finite("pool")?;
        Ok(Self { name, pool, targets, kernel, noise: Noise::default(), mean: None, is_normalized: false, row_of })
    }

    /// Subtracts the pool's mean from all embeddings.
    pub fn centered(mut self) -> Result<Self> {
        self.mean = Some(self.pool.rows.embeddings()?.mean());
        Ok(self)
    }

    /// Sets whether all embeddings are scaled to unit length, after their mean is subtracted.
    pub fn normalized(self, is_normalized: bool) -> Self {
        Self { is_normalized, ..self }
    }

    /// Sets the noise ρ.
    pub fn noise(self, noise: Noise) -> Self {
        Self { noise, ..self }
    }

    /// Returns the row with an id.
    pub fn row_of(&self, id: &str) -> Option<usize> {
        self.row_of.get(id).copied()
    }

    /// Returns the number of rows of the pool.
    pub fn rows(&self) -> usize {
        self.pool.ids.len()
    }

    /// Returns the embeddings of the pool.
    pub fn embeddings(&self) -> Result<Embeddings<'_>> {
        self.seen(&self.pool)
    }

    /// Returns the embeddings of the targets.
    pub fn target_embeddings(&self) -> Result<Option<Embeddings<'_>>> {
        self.targets.as_ref().map(|targets| self.seen(targets)).transpose()
    }

    fn seen<'a>(&'a self, examples: &'a Examples) -> Result<Embeddings<'a>> {
        let embeddings = examples.rows.embeddings()?;
        let embeddings = match &self.mean {
            Some(mean) if mean.len() == embeddings.dim() => embeddings.centered(mean),
            Some(mean) => {
                let (got, pool) = (embeddings.dim(), mean.len());
                return Err(homing::Error::Dimension { what: "targets", got, pool }.into());
            }
            None => embeddings,
        };
        Ok(if self.is_normalized { embeddings.normalized() } else { embeddings })
    }

    /// Returns the task of choosing among the pool.
    pub fn task(&self) -> Result<Task<'_>> {
        let task = Task::undirected(self.embeddings()?).kernel(&*self.kernel);
        Ok(task.targets(self.target_embeddings()?.map(homing::Points::from)))
    }

    /// Returns a hash of the ids and of some embeddings, by which a run recognises its data.
    pub fn fingerprint(&self) -> Result<String> {
        const SAMPLE: usize = 64;
        let mut hash = blake3::Hasher::new();
        for id in &self.pool.ids {
            hash.update(&(id.len() as u64).to_le_bytes());
            hash.update(id.as_bytes());
        }
        let embeddings = self.pool.rows.embeddings()?;
        let rows = embeddings.rows();
        for at in 0..rows.min(SAMPLE) {
            for value in embeddings.row(at * rows / rows.min(SAMPLE)) {
                hash.update(&value.to_le_bytes());
            }
        }
        embeddings.check_read()?;
        Ok(hash.finalize().to_hex()[..16].to_owned())
    }
}
