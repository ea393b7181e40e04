//! What is done to rows when they are read.

use crate::base::algebra::{norm, norm_sq};

/// What is done to rows, as they are stored, before anything is computed from them.
///
/// ```
/// use homing::shard::Transform;
///
/// let mut rows = [4.0, 4.0, 1.0, 0.0];
/// Transform { offset: Some(&[1.0, 0.0]), to_unit: true }.apply(2, &mut rows);
/// assert_eq!(rows, [0.6, 0.8, 0.0, 0.0]);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Transform<'m> {
    /// What is subtracted from each row, in f64.
    pub offset: Option<&'m [f64]>,
    /// Whether each row is then scaled to unit length. A row of zeros stays one.
    pub to_unit: bool,
}

impl Transform<'_> {
    /// Returns whether rows stay as they are stored.
    pub fn is_identity(&self) -> bool {
        self.offset.is_none() && !self.to_unit
    }

    /// Transforms rows of `dim` numbers, row-major.
    pub fn apply(&self, dim: usize, rows: &mut [f64]) {
        if let Some(offset) = self.offset {
            for row in rows.chunks_exact_mut(dim) {
                row.iter_mut().zip(offset).for_each(|(x, m)| *x -= m);
            }
        }
        if self.to_unit {
            rows.chunks_exact_mut(dim).for_each(scale_to_unit);
        }
    }
}

/// Scales a row to unit length, unless it is zero.
pub(crate) fn scale_to_unit(row: &mut [f64]) {
    let square = norm_sq(row);
    // Squares of other rows may have overflowed or lost digits.
    let norm = if (1e-200..1e200).contains(&square) { square.sqrt() } else { norm(row) };
    if norm > 0.0 && norm.is_finite() {
        row.iter_mut().for_each(|x| *x /= norm);
    }
}
