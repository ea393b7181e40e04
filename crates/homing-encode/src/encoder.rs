//! The interface of all encoders.

use std::ops::Range;

use crate::{ItemKind, Items, Result};

/// A model that turns items into embeddings.
pub trait Encoder: Send + Sync {
    /// Returns the name of the encoder for people, which may begin a phrase such as "embedded by …".
    fn name(&self) -> String;

    /// Returns the kind of items that it can embed.
    fn kind(&self) -> ItemKind;

    /// Returns how many numbers an embedding has.
    fn dim(&self) -> usize;

    /// Returns a text that is equal only for encoders that compute the same embeddings, or `None` if the embeddings are not worth
    /// keeping on disk.
    fn fingerprint(&self) -> Option<String> {
        None
    }

    /// Embeds the items in `rows`: [`Encoder::dim`] numbers per item. The embedding of an item depends on no other item,
    /// except for rounding.
    fn encode(&self, items: &Items, rows: Range<usize>) -> Result<Vec<f32>>;
}
