//! Presents diagnoses as sentences and as a page: what a pool can teach, what the picks have achieved, and what is guaranteed.

mod page;
mod words;

pub use page::render;
pub use words::{
    DEFINITIONS, Names, checks, facts, guarantee, is_warning, plain_advice, prospects, reach_note, verdict, warnings,
};
