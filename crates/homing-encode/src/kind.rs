//! The kinds of items.

use std::fmt;

/// Kind of items that an encoder can embed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// Texts.
    Texts,
    /// Images.
    Images,
}

impl fmt::Display for ItemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ItemKind::Texts => "texts",
            ItemKind::Images => "images",
        })
    }
}
