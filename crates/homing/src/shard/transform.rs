//! What is done to rows when they are read.

use crate::base::algebra::{norm, norm_sq, norm_sq_single};

/// Share of the offset's length below which the rest of a row is too short for f32.
const SHORT: f64 = 1.0 / 8.0;

/// Squared lengths of rows that f32 can scale.
const SINGLE: std::ops::Range<f64> = 1e-20..1e20;

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
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                for row in rows.chunks_exact_mut(dim) {
                    if let Some(offset) = self.offset {
                        for (x, m) in row.iter_mut().zip(offset) {
                            *x -= m;
                        }
                    }
                    if self.to_unit {
                        scale_to_unit(row);
                    }
                }
            },
        );
    }

    /// Transforms rows of `dim` numbers in f32, which is several times faster. Each is off by at most
    /// [`Transform::single_ulps`] · 2⁻²⁴ of its length, except those that are returned: f32 would lose too many of their
    /// digits, so they must be transformed in f64.
    pub(crate) fn apply_single(&self, dim: usize, rows: &mut [f32]) -> Vec<usize> {
        let offset: Option<Vec<f32>> = self.offset.map(|offset| offset.iter().map(|&m| m as f32).collect());
        let short = self.offset.map_or(0.0, |offset| SHORT * SHORT * norm_sq(offset));
        let mut poor = Vec::new();
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                for (i, row) in rows.chunks_exact_mut(dim).enumerate() {
                    if let Some(offset) = &offset {
                        for (x, m) in row.iter_mut().zip(offset) {
                            *x -= m;
                        }
                    }
                    let square = norm_sq_single(row);
                    if !SINGLE.contains(&f64::from(square)) || f64::from(square) < short {
                        poor.push(i);
                    } else if self.to_unit {
                        let inverse = square.sqrt().recip();
                        for x in row {
                            *x *= inverse;
                        }
                    }
                }
            },
        );
        poor
    }

    /// Returns the error of a row of `dim` numbers that was transformed in f32, in units of 2⁻²⁴ of its length.
    ///
    /// With y = x − μ, the roundings of x, μ and y are at most |x| + |μ| + |y| ≤ 2|y| + 2|μ|, where |μ| is at most eight times
    /// |y| (18). The sum of the squares of y has sixteen lanes; its error, halved by the root, and the roundings of the root,
    /// its inverse and the scaled row change the length (dim/32 + 6).
    pub(crate) fn single_ulps(&self, dim: usize) -> usize {
        if self.is_identity() { 0 } else { 24 + dim.div_ceil(32) }
    }
}

/// Scales a row to unit length, unless it is zero.
#[allow(clippy::inline_always)] // part of loops that are compiled for the vectors of this machine
#[inline(always)]
pub(crate) fn scale_to_unit(row: &mut [f64]) {
    let square = norm_sq(row);
    // Squares of other rows may have overflowed or lost digits.
    let norm = if (1e-200..1e200).contains(&square) { square.sqrt() } else { norm(row) };
    if norm > 0.0 && norm.is_finite() {
        for x in row {
            *x /= norm;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::base::random::{Stream, generator};

    #[test]
    fn rows_in_f32_are_within_their_bound_or_named() {
        let mut rng = generator(3, Stream::Pick(0));
        let mut named = 0;
        for (dim, size) in
            [(1, 1.0), (7, 1.0), (100, 0.01), (100, 0.2), (513, 0.15), (512, 1e-12), (40, 1e12), (9, 0.0)]
        {
            let mut number = |size: f64| size * rng.random_range(-1.0..1.0);
            let offset: Vec<f64> = (0..dim).map(|_| number(1.0)).collect();
            let stored: Vec<f64> = (0..20 * dim).map(|i| offset[i % dim] + number(size)).collect();
            for offset in [None, Some(&offset[..])] {
                for to_unit in [false, true] {
                    let transform = Transform { offset, to_unit };
                    let (mut exact, mut single) =
                        (stored.clone(), stored.iter().map(|&x| x as f32).collect::<Vec<_>>());
                    transform.apply(dim, &mut exact);
                    let poor = transform.apply_single(dim, &mut single);
                    named += poor.len();
                    for (i, (row, rounded)) in exact.chunks_exact(dim).zip(single.chunks_exact(dim)).enumerate() {
                        let off: Vec<f64> = row.iter().zip(rounded).map(|(x, &y)| x - f64::from(y)).collect();
                        let most = (transform.single_ulps(dim).max(1) as f64) * 0.5f64.powi(24) * norm(row);
                        assert!(poor.contains(&i) || norm(&off) <= most, "{dim} {size} {}: {}", norm(&off), most);
                    }
                }
            }
        }
        assert!((1..1280).contains(&named), "{named} rows");
    }
}
