//! Copies of pool rows.

use std::ops::Range;

use pulp::Arch;
use rayon::prelude::*;

use crate::base::algebra::dot;
use crate::{Embeddings, Points, Result};

/// Rows that one thread processes at a time.
const SHARE: usize = 64;

/// Copies of rows, row-major, in the narrowest format that holds them exactly.
#[derive(Clone)]
pub(crate) enum RowCopies {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

impl RowCopies {
    /// Copies the given rows of the pool.
    pub fn gather(pool: Points<'_>, rows: &[usize]) -> Self {
        match pool {
            Points::Embeddings(pool) if pool.fits_f32() => {
                let mut points = vec![0.0; rows.len() * pool.dim()];
                pool.gather_f32(rows, &mut points);
                RowCopies::Single(points)
            }
            pool => RowCopies::Double(pool.gather(rows)),
        }
    }

    /// Returns the copies at some positions, row-major.
    pub fn read(&self, places: Range<usize>, dim: usize) -> Vec<f64> {
        let range = places.start * dim..places.end * dim;
        match self {
            RowCopies::Single(points) => points[range].iter().map(|&x| f64::from(x)).collect(),
            RowCopies::Double(points) => points[range].to_vec(),
        }
    }

    /// Returns whether the copies at two positions hold the same numbers.
    pub fn are_equal(&self, a: usize, b: usize, dim: usize) -> bool {
        let (a, b) = (a * dim..(a + 1) * dim, b * dim..(b + 1) * dim);
        match self {
            RowCopies::Single(points) => points[a] == points[b],
            RowCopies::Double(points) => points[a] == points[b],
        }
    }

    /// Views the copies as embeddings.
    pub fn view(&self, dim: usize) -> Result<Embeddings<'_>> {
        match self {
            RowCopies::Single(points) => Embeddings::new(&points[..], dim),
            RowCopies::Double(points) => Embeddings::new(&points[..], dim),
        }
    }

    /// Copies the rows at the given positions.
    pub fn select(&self, places: &[usize], dim: usize) -> Self {
        fn rows<T: Copy>(from: &[T], places: &[usize], dim: usize) -> Vec<T> {
            places.iter().flat_map(|&at| &from[at * dim..(at + 1) * dim]).copied().collect()
        }
        match self {
            RowCopies::Single(points) => RowCopies::Single(rows(points, places, dim)),
            RowCopies::Double(points) => RowCopies::Double(rows(points, places, dim)),
        }
    }

    pub fn append(&mut self, other: Self) {
        match (self, other) {
            (RowCopies::Single(points), RowCopies::Single(others)) => points.extend(others),
            (RowCopies::Double(points), RowCopies::Double(others)) => points.extend(others),
            _ => unreachable!("all rows of one pool have the same format"),
        }
    }

    pub fn truncate(&mut self, len: usize) {
        match self {
            RowCopies::Single(points) => points.truncate(len),
            RowCopies::Double(points) => points.truncate(len),
        }
    }

    /// Computes the inner products of every row with one or two vectors, and calls `f` with them, in parallel.
    pub fn products<T: Send>(
        &self,
        weights: (&[f64], Option<&[f64]>),
        numbers: &mut [T],
        f: impl Fn(f64, f64, &mut T) + Sync,
    ) {
        fn run<V: Copy + Into<f64> + Sync, T: Send>(
            points: &[V],
            (first, second): (&[f64], Option<&[f64]>),
            numbers: &mut [T],
            f: impl Fn(f64, f64, &mut T) + Sync,
        ) {
            let dim = first.len();
            points.par_chunks(SHARE * dim).zip(numbers.par_chunks_mut(SHARE)).for_each(|(points, numbers)| {
                Arch::new().dispatch(
                    #[inline(always)]
                    || {
                        for (x, number) in points.chunks_exact(dim).zip(numbers) {
                            let other = if let Some(second) = second { dot(x, second) } else { 0.0 };
                            f(dot(x, first), other, number);
                        }
                    },
                );
            });
        }
        match self {
            RowCopies::Single(points) => run(points, weights, numbers, f),
            RowCopies::Double(points) => run(points, weights, numbers, f),
        }
    }
}
