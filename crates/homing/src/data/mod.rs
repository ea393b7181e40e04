//! Rows as they are stored, and as the computations see them.

pub(crate) mod copies;
pub(crate) mod embeddings;
pub(crate) mod joined;
pub(crate) mod points;
pub(crate) mod preparation;
pub(crate) mod source;
