//! Who says what an example is.

use crate::Result;

/// An answer about one example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Its class, counted from 0.
    Class(u32),
    /// Nobody knows; the example is not asked about again and not learned from.
    Skip,
}

/// Someone who labels.
pub trait Oracle {
    /// What row `row` of the pool is.
    fn label(&mut self, row: usize) -> Result<Answer>;
}

/// Labels that are known for every row, or for some.
pub struct Known<'a>(pub &'a [Option<u32>]);

impl Oracle for Known<'_> {
    fn label(&mut self, row: usize) -> Result<Answer> {
        Ok(self.0[row].map_or(Answer::Skip, Answer::Class))
    }
}
