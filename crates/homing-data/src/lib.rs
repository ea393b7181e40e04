//! Labelled examples from files: images, tables, embeddings.

mod inputs;

pub use inputs::Inputs;
