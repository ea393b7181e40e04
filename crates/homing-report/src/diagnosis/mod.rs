//! Diagnoses as sentences and as a page: what a pool can teach, what the picks have achieved, and what is guaranteed.

mod page;
mod words;

pub use page::render;
pub use words::{Names, checks, facts, guarantee, plain_advice, reach_note, verdict, warnings};
