//! The rows of a pool that one process holds.

use std::ops::Range;

use crate::Embeddings;
use crate::shard::BLOCK;

/// Rows of a pool that one process holds.
///
/// ```
/// use homing::remote::PoolPart;
/// use homing::Embeddings;
///
/// let values = [1.0f32, 0.0, 0.9, 0.1];
/// let part = PoolPart { rows: Embeddings::new(&values, 2)?, probabilities: None, first: 1000 };
/// assert_eq!(part.rows.rows(), 2); // rows 1000 and 1001 of the pool
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct PoolPart<'a> {
    /// The rows as they are stored.
    pub rows: Embeddings<'a>,
    /// Their class probabilities.
    pub probabilities: Option<Embeddings<'a>>,
    /// The number of the first row in the pool.
    pub first: usize,
}

impl<'a> PoolPart<'a> {
    /// Returns the numbers of the rows in the pool.
    pub(super) fn range(&self) -> Range<usize> {
        self.first..self.first + self.rows.rows()
    }

    /// Returns those of some rows of the pool that are here, by their numbers here.
    pub(super) fn own(&self, rows: &[usize]) -> Vec<usize> {
        let range = self.range();
        rows.iter().filter(|row| range.contains(row)).map(|row| row - self.first).collect()
    }

    /// Returns the rows with a transform.
    pub(super) fn view<'b>(&self, offset: Option<&'b [f64]>, to_unit: bool) -> Embeddings<'b>
    where
        'a: 'b,
    {
        let view: Embeddings<'b> = self.rows;
        let view = offset.map_or(view, |offset| view.centered(offset));
        if to_unit { view.normalized() } else { view }
    }

    /// Returns the rows before the first whole block of the pool, those of whole blocks, and those after the last.
    pub(super) fn edges(&self) -> [Range<usize>; 3] {
        let Range { start, end } = self.range();
        let head = start.next_multiple_of(BLOCK).min(end);
        let tail = (end - end % BLOCK).max(head);
        [start..head, head..tail, tail..end].map(|range| range.start - start..range.end - start)
    }
}
