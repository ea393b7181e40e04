//! Copies of rows, kept apart from the pool.

use pulp::Arch;
use rayon::prelude::*;

use crate::algebra::dot;
use crate::{Embeddings, Points, Result};

/// Rows that one thread takes at a time.
const SHARE: usize = 256;

/// Copies of rows, one after the other, in the narrower format that holds them exactly.
#[derive(Clone)]
pub(crate) enum Copies {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

impl Copies {
    /// Of some rows.
    pub fn gather(pool: Points<'_>, rows: &[usize]) -> Self {
        match pool {
            Points::Embeddings(pool) if pool.fits_f32() => {
                let mut points = vec![0.0; rows.len() * pool.dim()];
                pool.gather_f32(rows, &mut points);
                Copies::Single(points)
            }
            pool => Copies::Double(pool.gather(rows)),
        }
    }

    /// The copies as rows of their own.
    pub fn view(&self, dim: usize) -> Result<Embeddings<'_>> {
        match self {
            Copies::Single(points) => Embeddings::new(&points[..], dim),
            Copies::Double(points) => Embeddings::new(&points[..], dim),
        }
    }

    /// Some rows of it, by their places.
    pub fn select(&self, places: &[usize], dim: usize) -> Self {
        fn rows<T: Copy>(from: &[T], places: &[usize], dim: usize) -> Vec<T> {
            places.iter().flat_map(|&at| &from[at * dim..(at + 1) * dim]).copied().collect()
        }
        match self {
            Copies::Single(points) => Copies::Single(rows(points, places, dim)),
            Copies::Double(points) => Copies::Double(rows(points, places, dim)),
        }
    }

    pub fn append(&mut self, other: Self) {
        match (self, other) {
            (Copies::Single(points), Copies::Single(others)) => points.extend(others),
            (Copies::Double(points), Copies::Double(others)) => points.extend(others),
            _ => unreachable!("one pool has one format"),
        }
    }

    pub fn truncate(&mut self, len: usize) {
        match self {
            Copies::Single(points) => points.truncate(len),
            Copies::Double(points) => points.truncate(len),
        }
    }

    /// Calls `f` with the products of every row with one or two functionals, in parallel.
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
                Arch::new().dispatch(|| {
                    for (x, number) in points.chunks_exact(dim).zip(numbers) {
                        f(dot(x, first), second.map_or(0.0, |second| dot(x, second)), number);
                    }
                });
            });
        }
        match self {
            Copies::Single(points) => run(points, weights, numbers, f),
            Copies::Double(points) => run(points, weights, numbers, f),
        }
    }
}
