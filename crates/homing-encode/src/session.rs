//! Opens pools and targets, and embeds what has no embeddings.

use std::path::{Path, PathBuf};

use homing_pool::{Error as PoolError, Pool, ReadOptions};

use crate::builtin_images::BuiltInImages;
use crate::builtin_texts::BuiltInTexts;
use crate::cache::{Cache, key};
use crate::{Encoder, Error, ItemKind, Items, Result, items};

/// Which encoder embeds texts and images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EncoderChoice {
    /// No encoder if the pool has embeddings, and a built-in encoder if it has texts or images. Columns of numbers beside texts
    /// are embeddings unless [`are_facts`](crate::are_facts) says otherwise.
    #[default]
    Automatic,
    /// No encoder: the pool must have embeddings.
    None,
    /// A built-in encoder, even if the pool has embeddings.
    BuiltIn,
    /// The model at this path: a folder in the layout of Hugging Face, or an ONNX file.
    Model(PathBuf),
}

impl EncoderChoice {
    /// The name of the built-in encoders.
    pub const BUILT_IN: &'static str = "built-in";

    /// The name for no encoder.
    pub const NONE: &'static str = "none";

    /// Returns the choice that a person typed: nothing, [`EncoderChoice::BUILT_IN`], [`EncoderChoice::NONE`] or a path.
    pub fn named(name: Option<&Path>) -> Self {
        match name {
            None => Self::Automatic,
            Some(name) if name == Path::new(Self::BUILT_IN) => Self::BuiltIn,
            Some(name) if name == Path::new(Self::NONE) => Self::None,
            Some(path) => Self::Model(path.to_owned()),
        }
    }
}

/// A pool, and the texts or images from which it was made.
#[derive(Debug)]
pub struct Opened {
    /// Embeddings with the ids, labels and columns that belong to them.
    pub pool: Pool,
    /// The texts or images that were embedded; `None` if the file held embeddings.
    pub items: Option<Items>,
}

/// How far encoding has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Kind of the items.
    pub kind: ItemKind,
    /// Number of items that are embedded.
    pub done: usize,
    /// Number of all items.
    pub count: usize,
}

/// What the first file of a session holds.
enum State {
    Fresh,
    Embedded,
    Encoding(Box<dyn Encoder>),
}

/// Opens a pool, and then what belongs to it, such as targets, with the same encoder.
pub struct Session {
    choice: EncoderChoice,
    state: State,
    cache: Option<Cache>,
    cached: usize,
    /// Columns of numbers beside the texts of the pool.
    left_out: Vec<String>,
}

/// Number of items that are encoded between two reports of progress. One file of the cache holds as many.
const BLOCK: usize = 256;

impl Session {
    /// Begins a session. A model is read at once, so that a mistake in its path is noticed before data is read.
    pub fn new(choice: EncoderChoice) -> Result<Self> {
        let state = match &choice {
            EncoderChoice::Model(path) => State::Encoding(model(path)?),
            EncoderChoice::None => State::Embedded,
            EncoderChoice::Automatic | EncoderChoice::BuiltIn => State::Fresh,
        };
        Ok(Self { choice, state, cache: None, cached: 0, left_out: Vec::new() })
    }

    /// Sets the cache from which embeddings are taken if a model has computed them before, and to which new ones are added. So
    /// interrupted work is continued. Built-in encoders are fast and use no cache.
    #[must_use]
    pub fn with_cache(mut self, cache: Option<Cache>) -> Self {
        self.cache = cache;
        self
    }

    /// Returns for how many items the cache had the embeddings.
    pub fn cached(&self) -> usize {
        self.cached
    }

    /// Returns the columns of numbers of the pool that are not its embeddings, because they are rather facts about its texts.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Returns the encoder, if a model was chosen or something has been encoded.
    pub fn encoder(&self) -> Option<&dyn Encoder> {
        if let State::Encoding(encoder) = &self.state { Some(&**encoder) } else { None }
    }

    /// Whether the encoder is a built-in one.
    pub fn is_built_in(&self) -> bool {
        self.encoder().is_some() && !matches!(self.choice, EncoderChoice::Model(_))
    }

    /// Opens the file or folder at `path`. A built-in encoder learns from the first file or folder that it embeds.
    pub fn open(&mut self, path: &Path, options: &ReadOptions, progress: &mut dyn FnMut(Progress)) -> Result<Opened> {
        match (&self.state, &self.choice) {
            (State::Embedded, _) => match Pool::open(path, options) {
                Ok(pool) => Ok(Opened { pool, items: None }),
                Err(
                    PoolError::NoEmbedding { .. } | PoolError::UnknownExtension { .. } | PoolError::NoShards { .. },
                ) if self.choice != EncoderChoice::None && items::open(path, options).is_ok() => {
                    Err(Error::Unembedded { path: path.to_owned() })
                }
                Err(error) => Err(error.into()),
            },
            (State::Fresh, EncoderChoice::Automatic) if !items::has_no_embeddings(path) => {
                match Pool::open(path, options) {
                    Ok(pool) if items::are_rather_texts(&pool) => {
                        self.left_out = pool.side_by_side().to_vec();
                        self.encode(path, options, progress)
                    }
                    Ok(pool) => {
                        self.state = State::Embedded;
                        Ok(Opened { pool, items: None })
                    }
                    Err(PoolError::NoEmbedding { .. } | PoolError::NoShards { .. }) => {
                        self.encode(path, options, progress)
                    }
                    Err(error) => Err(error.into()),
                }
            }
            _ => self.encode(path, options, progress),
        }
    }

    fn encode(&mut self, path: &Path, options: &ReadOptions, progress: &mut dyn FnMut(Progress)) -> Result<Opened> {
        let (table, items) = items::open(path, options).map_err(|error| match (error, self.encoder()) {
            (Error::NoTexts { path, .. }, _) if !self.left_out.is_empty() && Pool::open(&path, options).is_ok() => {
                Error::OnlyNumbers { path }
            }
            (Error::NoTexts { path, names }, Some(encoder)) => Error::NoItems { path, names, expected: encoder.kind() },
            (error, _) => error,
        })?;
        let values = self.embed(&items, path, progress)?;
        let dim = self.encoder().map_or(0, Encoder::dim);
        Ok(Opened { pool: table.with_embeddings(values, dim)?, items: Some(items) })
    }

    /// Embeds items that were found at `path`, as [`Encoder::dim`] numbers each. A built-in encoder learns from the first items.
    pub fn embed(&mut self, items: &Items, path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Vec<f32>> {
        if matches!(self.state, State::Fresh) {
            self.state = State::Encoding(match items {
                Items::Texts(texts) => Box::new(BuiltInTexts::new(texts)),
                Items::Images(images) => Box::new(BuiltInImages::new(images)?),
            });
        }
        let State::Encoding(encoder) = &self.state else { unreachable!("it was set above") };
        let (found, expected) = (items.kind(), encoder.kind());
        if found != expected {
            return Err(Error::OtherKind { path: path.to_owned(), found, expected });
        }
        let (kind, count) = (items.kind(), items.len());
        let mut values = Vec::new();
        for start in (0..count).step_by(BLOCK) {
            let rows = start..(start + BLOCK).min(count);
            let key = match &self.cache {
                Some(cache) => key(&**encoder, items, rows.clone())?.map(|key| (cache, key)),
                None => None,
            };
            let found = key.as_ref().and_then(|(cache, key)| cache.find(key, rows.len(), encoder.dim()));
            match (found, key) {
                (Some(found), _) => {
                    self.cached += rows.len();
                    values.extend(found);
                }
                (None, key) => {
                    let block = encoder.encode(items, rows.clone())?;
                    if let Some((cache, key)) = key {
                        cache.keep(&key, &block);
                    }
                    values.extend(block);
                }
            }
            progress(Progress { kind, done: rows.end, count });
        }
        if let Some(cache) = self.cache.as_ref().filter(|_| encoder.fingerprint().is_some()) {
            cache.prune();
        }
        Ok(values)
    }
}

#[cfg(feature = "models")]
fn model(path: &Path) -> Result<Box<dyn Encoder>> {
    crate::model::open(path)
}

#[cfg(not(feature = "models"))]
fn model(path: &Path) -> Result<Box<dyn Encoder>> {
    Err(Error::NoModels { path: path.to_owned() })
}
