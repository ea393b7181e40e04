//! What a pool can teach, how far picks have come, and what is guaranteed: as numbers, in words, and as a page.

mod numbers;
mod page;
mod words;

pub use numbers::{Descent, Diagnosis, Question, Target, descent};
pub use page::render;
pub use words::{Names, checks, facts, guarantee, reach_note, verdict};
