//! A two-dimensional map of embeddings: their first two principal components.

use crate::base::algebra::{axpy, dot, norm_sq};
use crate::{Embeddings, Points};

/// Number of rows from which the components are computed, evenly spread over the pool.
const SAMPLE: usize = 2048;

/// Largest number of values in the sample. It has fewer rows if they are very long.
const NUMBERS: usize = 1 << 26;

/// Number of power iterations. The map is for viewing, so four digits are enough.
const ITERATIONS: usize = 60;

/// Projection onto the plane in which embeddings vary most.
///
/// ```
/// use homing::{Embeddings, Projection};
///
/// let pool = [0.0, 0.0, 0.0, 3.0, 0.0, -3.0]; // spread along the second axis
/// let map = Projection::new(Embeddings::new(&pool, 2)?);
/// assert!((map.apply(&[0.0, 3.0])[0].abs() - 3.0).abs() < 1e-9);
/// assert!(map.explained[0] > 0.99);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Projection {
    mean: Vec<f64>,
    axes: [Vec<f64>; 2],
    /// Share of the sample's variance along each axis.
    pub explained: [f64; 2],
}

impl Projection {
    /// Computes the principal components of a sample of the rows.
    pub fn new(embeddings: Embeddings<'_>) -> Self {
        let (rows, dim) = (embeddings.rows(), embeddings.dim());
        let count = rows.min(SAMPLE).min((NUMBERS / dim).max(64));
        let spread: Vec<usize> = (0..count).map(|i| i * rows / count).collect();
        let mut sample = Points::from(embeddings).gather(&spread);
        let mut mean = vec![0.0; dim];
        for row in sample.chunks_exact(dim) {
            axpy(1.0 / count as f64, row, &mut mean);
        }
        for row in sample.chunks_exact_mut(dim) {
            axpy(-1.0, &mean, row);
        }
        let total = norm_sq(&sample).max(f64::MIN_POSITIVE);
        let (first, size) = principal(&sample, dim, None);
        let (second, next) = principal(&sample, dim, Some(&first));
        Self { mean, axes: [first, second], explained: [size / total, next / total] }
    }

    /// Returns the position of a point in the plane.
    pub fn apply(&self, x: &[f64]) -> [f64; 2] {
        let centered: Vec<f64> = x.iter().zip(&self.mean).map(|(x, m)| x - m).collect();
        [dot(&centered, &self.axes[0]), dot(&centered, &self.axes[1])]
    }
}

/// Returns the direction of largest variation orthogonal to `other`, by power iteration, and the squared length along it.
fn principal(sample: &[f64], dim: usize, other: Option<&[f64]>) -> (Vec<f64>, f64) {
    // A fixed start vector with a different component in each direction.
    let mut axis: Vec<f64> = (0..dim).map(|i| 1.0 + 0.5 * ((i * i) as f64).sin()).collect();
    let mut size = 0.0;
    for _ in 0..ITERATIONS {
        let mut next = vec![0.0; dim];
        for row in sample.chunks_exact(dim) {
            axpy(dot(row, &axis), row, &mut next);
        }
        if let Some(other) = other {
            let c = dot(&next, other);
            axpy(-c, other, &mut next);
        }
        let length = norm_sq(&next).sqrt();
        if length <= f64::MIN_POSITIVE {
            return (vec![0.0; dim], 0.0);
        }
        axis = next.into_iter().map(|x| x / length).collect();
        size = sample.chunks_exact(dim).map(|row| dot(row, &axis).powi(2)).sum();
    }
    (axis, size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_axis_comes_first() {
        let rows: Vec<f64> = (0..50)
            .flat_map(|i| {
                let t = f64::from(i) - 24.5;
                [0.1 * t, 3.0 * t, (f64::from(i) * 2.0).sin()]
            })
            .collect();
        let map = Projection::new(Embeddings::new(&rows[..], 3).unwrap());
        assert!(map.explained[0] > 0.99 && map.explained[1] > 0.0);
        let ends = [map.apply(&rows[..3]), map.apply(&rows[147..])];
        assert!((ends[0][0] - ends[1][0]).abs() > 100.0);
    }

    #[test]
    fn equal_rows_map_to_one_place() {
        let map = Projection::new(Embeddings::new(&[1.0, 2.0, 1.0, 2.0][..], 2).unwrap());
        assert_eq!(map.apply(&[1.0, 2.0]), [0.0, 0.0]);
    }
}
