//! Numbers that are read by position rather than lying in memory.

use std::fmt::Debug;
use std::ops::Range;

/// A matrix, row after row, of which only the parts that are asked for come into memory: a file larger than it, say.
///
/// A read cannot fail on the spot. One that does leaves zeros, and from then on [`RowSource::failure`] says why; what was
/// computed from it is refused by [`select`](crate::select()) and [`explain`](crate::explain()), or by
/// [`Embeddings::check_read`](crate::Embeddings::check_read).
pub trait RowSource: Debug + Sync {
    /// How many numbers.
    fn count(&self) -> usize;

    /// Whether f32 holds every number exactly.
    fn fits_f32(&self) -> bool;

    /// Writes the numbers from `start` on to `out`, until it is full.
    fn read_f64(&self, start: usize, out: &mut [f64]);

    /// The same, rounded to f32.
    fn read_f32(&self, start: usize, out: &mut [f32]);

    /// Told of numbers that are about to be read, apart from others; may begin to fetch them.
    fn announce(&self, _range: Range<usize>) {}

    /// Why the first failed read failed, in one sentence with the remedy.
    fn failure(&self) -> Option<String>;
}
