//! Tests of networks, their embeddings and the loop.

mod authors;
mod embeddings;
#[path = "../files/mod.rs"]
mod files;
mod learning;
mod rounds;
mod world;
