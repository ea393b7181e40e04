//! Networks, their embeddings and the loop.

mod embeddings;
mod learning;
mod rounds;
mod world;
