//! Opens pools and targets, and embeds what has no embeddings.

use std::path::{Path, PathBuf};

use homing_pool::{Error as PoolError, Pool, ReadOptions};

use crate::builtin_images::BuiltInImages;
use crate::builtin_texts::BuiltInTexts;
use crate::{Encoder, Error, ItemKind, Items, Result, items};

/// Which encoder embeds texts and images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EncoderChoice {
    /// None if the pool has embeddings, and a built-in encoder if it has texts or images.
    #[default]
    Found,
    /// A built-in encoder, even if the pool has embeddings.
    BuiltIn,
    /// The model at this path: a folder in the layout of Hugging Face.
    Model(PathBuf),
}

impl EncoderChoice {
    /// The name of the built-in encoders.
    pub const BUILT_IN: &'static str = "built-in";

    /// Returns the choice that a person typed: nothing, [`EncoderChoice::BUILT_IN`] or a path.
    pub fn named(name: Option<&Path>) -> Self {
        match name {
            None => Self::Found,
            Some(name) if name == Path::new(Self::BUILT_IN) => Self::BuiltIn,
            Some(path) => Self::Model(path.to_owned()),
        }
    }
}

/// A pool, and the items that it was made of.
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

/// What the first file of a session turned out to hold.
enum State {
    Fresh,
    Embedded,
    Encoding(Box<dyn Encoder>),
}

/// Opens a pool, and then what belongs to it, such as targets, with the same encoder.
pub struct Session {
    choice: EncoderChoice,
    state: State,
}

/// Number of items that are encoded between two reports of progress.
const BLOCK: usize = 1024;

impl Session {
    /// Begins a session. A model is read at once, so that a mistake in its path is noticed before data is read.
    pub fn new(choice: EncoderChoice) -> Result<Self> {
        let state = match &choice {
            EncoderChoice::Model(path) => State::Encoding(model(path)?),
            EncoderChoice::Found | EncoderChoice::BuiltIn => State::Fresh,
        };
        Ok(Self { choice, state })
    }

    /// Returns the encoder, once something was encoded or if a model was chosen.
    pub fn encoder(&self) -> Option<&dyn Encoder> {
        if let State::Encoding(encoder) = &self.state { Some(&**encoder) } else { None }
    }

    /// Whether the encoder is a built-in one.
    pub fn is_built_in(&self) -> bool {
        self.encoder().is_some() && !matches!(self.choice, EncoderChoice::Model(_))
    }

    /// Opens the file or folder at `path`. A built-in encoder learns from the first that it embeds.
    pub fn open(&mut self, path: &Path, options: &ReadOptions, progress: &mut dyn FnMut(Progress)) -> Result<Opened> {
        match (&self.state, &self.choice) {
            (State::Embedded, _) => match Pool::open(path, options) {
                Ok(pool) => Ok(Opened { pool, items: None }),
                Err(
                    PoolError::NoEmbedding { .. } | PoolError::UnknownExtension { .. } | PoolError::NoShards { .. },
                ) if items::open(path, options).is_ok() => Err(Error::Unembedded { path: path.to_owned() }),
                Err(error) => Err(error.into()),
            },
            (State::Fresh, EncoderChoice::Found) if !items::has_no_embeddings(path) => {
                match Pool::open(path, options) {
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
        let (table, items) = items::open(path, options)?;
        if matches!(self.state, State::Fresh) {
            self.state = State::Encoding(match &items {
                Items::Texts(texts) => Box::new(BuiltInTexts::new(texts)),
                Items::Images(images) => Box::new(BuiltInImages::new(images)?),
            });
        }
        let State::Encoding(encoder) = &self.state else { unreachable!("it was set above") };
        let (found, expected) = (items.kind(), encoder.kind());
        if found != expected {
            return Err(Error::OtherKind { path: path.to_owned(), found, expected });
        }
        let values = encode(&**encoder, &items, progress)?;
        let pool = table.with_embeddings(values, encoder.dim())?;
        Ok(Opened { pool, items: Some(items) })
    }
}

fn encode(encoder: &dyn Encoder, items: &Items, progress: &mut dyn FnMut(Progress)) -> Result<Vec<f32>> {
    let (kind, count) = (items.kind(), items.len());
    let mut values = Vec::new();
    for start in (0..count).step_by(BLOCK) {
        let end = (start + BLOCK).min(count);
        values.extend(encoder.encode(items, start..end)?);
        progress(Progress { kind, done: end, count });
    }
    Ok(values)
}

#[cfg(feature = "models")]
fn model(path: &Path) -> Result<Box<dyn Encoder>> {
    crate::model::open(path)
}

#[cfg(not(feature = "models"))]
fn model(path: &Path) -> Result<Box<dyn Encoder>> {
    Err(Error::NoModels { path: path.to_owned() })
}
