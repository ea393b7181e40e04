//! Coordinates for few points in many dimensions: as many as there are points.
//!
//! The linear kernel depends on points only through their inner products. Coordinates along any orthonormal basis of the
//! points' span preserve these: the columns of R, if the points are the columns of QR. Computations in weight space then
//! need matrices of the size of the number of points, not of the dimension.

use std::ops::Range;

use faer::Mat;
use rayon::prelude::*;

use crate::base::algebra::{matrix, zeros};
use crate::shard::scale_to_unit;
use crate::task::range::check_points;
use crate::{Embeddings, Points, Result, Task};

/// Dimension up to which d × d matrices are affordable.
const NARROW: usize = 8192;

/// Numbers of points for which coordinates are always computed, and for which they are computed at most. The cost is the
/// square of the number of points, times the dimension.
const FEW: usize = 256;
const MOST: usize = 1024;

/// Number of dimensions that are condensed at a time, and number of such strips whose results are condensed together. Both
/// are fixed, so the coordinates do not depend on the number of threads.
const STRIP: usize = 4096;
const TOGETHER: usize = 16;

/// A task in coordinates along its points' span: the same inner products, in no more dimensions than there are points.
///
/// ```
/// use homing::{Embeddings, SpanCoordinates, Task};
///
/// let wide: Vec<f64> = (0..3 * 10_000).map(|i| f64::from(i).sin()).collect(); // three rows of many numbers
/// let task = Task::undirected(Embeddings::new(&wide, 10_000)?);
/// let span = SpanCoordinates::of(&task)?.expect("few points in many dimensions");
/// let small = span.task(&task);
/// assert_eq!((small.pool.rows(), small.pool.dim()), (3, 3));
/// # Ok::<(), homing::Error>(())
/// ```
pub struct SpanCoordinates {
    /// Pool, targets and observed points, row-major.
    coordinates: Vec<f64>,
    dim: usize,
    pool: usize,
    targets: usize,
}

impl SpanCoordinates {
    /// Computes the coordinates of a task's points. Returns `None` if the kernel is not linear, if there are at most 8,192
    /// dimensions, or if there are more than 1,024 points.
    pub fn of(task: &Task<'_>) -> Result<Option<Self>> {
        if !is_wide(task.pool.rows(), task.pool.dim()) {
            return Ok(None);
        }
        // A NaN or an infinity would spread to every coordinate.
        for (what, points) in
            [("pool", Some(task.pool)), ("targets", task.targets), ("observed points", task.observed_points)]
        {
            points.map_or(Ok(()), |points| check_points(what, points, task.kernel))?;
        }
        Self::up_to(task, MOST)
    }

    /// The same for a task that is already checked. Returns `None` also if the coordinates would cost more than they save
    /// on `count` picks.
    pub(crate) fn for_picks(task: &Task<'_>, count: usize) -> Result<Option<Self>> {
        Self::up_to(task, (4 * count.min(MOST)).clamp(FEW, MOST))
    }

    fn up_to(task: &Task<'_>, most: usize) -> Result<Option<Self>> {
        let given = || [Some(task.pool), task.targets, task.observed_points].into_iter().flatten();
        let points: usize = given().map(|points| points.rows()).sum();
        let dim = task.pool.dim();
        let fits = given().all(|points| points.dim() == dim && matches!(points, Points::Embeddings(_)));
        if !task.kernel.is_linear() || !is_wide(points, dim) || points > most || !fits {
            return Ok(None);
        }
        let all: Vec<(Embeddings<'_>, Vec<usize>)> =
            given().map(|points| (points.embeddings(), (0..points.rows()).collect())).collect();
        let coordinates = coordinates(&all);
        task.check_read()?;
        let (pool, targets) = (task.pool.rows(), task.targets.map_or(0, |targets| targets.rows()));
        Ok(Some(Self { coordinates, dim: points, pool, targets }))
    }

    /// Returns the original task in coordinates.
    pub fn task<'a>(&'a self, task: &Task<'a>) -> Task<'a> {
        let view = |rows: Range<usize>| {
            let values = &self.coordinates[rows.start * self.dim..rows.end * self.dim];
            let rows = Embeddings::new(values, self.dim).expect("there is at least one row, and rows are whole");
            Points::from(rows.watching_as(task.pool.embeddings()))
        };
        let (pool, all) = (self.pool, self.coordinates.len() / self.dim);
        let targets = pool + self.targets;
        Task {
            pool: view(0..pool),
            targets: task.targets.map(|_| view(pool..targets)),
            observed_points: task.observed_points.map(|_| view(targets..all)),
            ..*task
        }
    }
}

/// Returns whether d × d matrices are too large, and matrices over the points are smaller.
pub(crate) fn is_wide(points: usize, dim: usize) -> bool {
    dim > NARROW && points < dim
}

/// Coordinates of some rows along an orthonormal basis of their span, row-major, with one coordinate per row.
pub(crate) fn coordinates(points: &[(Embeddings<'_>, Vec<usize>)]) -> Vec<f64> {
    let dim = points[0].0.dim();
    let count = points.iter().map(|(_, rows)| rows.len()).sum();
    let strips: Vec<Range<usize>> = (0..dim).step_by(STRIP).map(|start| start..dim.min(start + STRIP)).collect();
    let mut condensed = zeros(0, count);
    for strips in strips.chunks(TOGETHER) {
        let parts: Vec<Mat<f64>> = strips.par_iter().map(|strip| triangle(columns(points, strip, count))).collect();
        let mut rows: Vec<(&Mat<f64>, usize)> = Vec::new();
        for part in [&condensed].into_iter().chain(&parts) {
            rows.extend((0..part.nrows()).map(|i| (part, i)));
        }
        condensed = triangle(matrix(rows.len(), count, |i, j| rows[i].0[(rows[i].1, j)]));
    }
    let entry = |i: usize, j: usize| if i < condensed.nrows() { condensed[(i, j)] } else { 0.0 };
    let mut found: Vec<f64> =
        (0..count).flat_map(|j| (0..count).map(move |i| (i, j))).map(|(i, j)| entry(i, j)).collect();
    let is_scaled = points.iter().flat_map(|(embeddings, rows)| rows.iter().map(|_| embeddings.is_normalized()));
    for (point, _) in found.chunks_exact_mut(count).zip(is_scaled).filter(|(_, is_scaled)| *is_scaled) {
        scale_to_unit(point);
    }
    found
}

/// Returns R of the QR decomposition, whose columns have the same inner products.
fn triangle(columns: Mat<f64>) -> Mat<f64> {
    if columns.nrows() <= columns.ncols() { columns } else { columns.qr().thin_R().to_owned() }
}

/// Returns a strip of dimensions of the rows, one column per row.
fn columns(points: &[(Embeddings<'_>, Vec<usize>)], strip: &Range<usize>, count: usize) -> Mat<f64> {
    let mut columns = zeros(strip.len(), count);
    let rows = points.iter().flat_map(|(embeddings, rows)| rows.iter().map(move |&row| (embeddings, row)));
    for (j, (embeddings, row)) in rows.enumerate() {
        embeddings.unscaled().read_part(row, strip.clone(), columns.col_as_slice_mut(j));
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::algebra::dot;

    #[test]
    fn inner_products_are_kept() {
        let (rows, dim) = (9, 3 * STRIP + 17);
        let mut values: Vec<f64> = (0..rows * dim).map(|i| ((i * i) as f64 * 0.37).sin()).collect();
        // A zero row, a copy, and a near-copy.
        values[dim..2 * dim].fill(0.0);
        values.copy_within(0..dim, 2 * dim);
        values.copy_within(0..dim, 3 * dim);
        values[3 * dim + 5] += 1e-9;
        let mean = vec![0.25; dim];
        for embeddings in
            [Embeddings::new(&values[..], dim).unwrap(), Embeddings::new(&values[..], dim).unwrap().centered(&mean)]
                .into_iter()
                .flat_map(|view| [view, view.normalized()])
        {
            let order = vec![4, 0, 1, 2, 3, 8, 7, 6, 5];
            let found = coordinates(&[(embeddings, order.clone())]);
            let at = |i: usize| &found[i * rows..(i + 1) * rows];
            for (i, &a) in order.iter().enumerate() {
                for (j, &b) in order.iter().enumerate() {
                    let want = dot(&embeddings.row(a), &embeddings.row(b));
                    assert!((dot(at(i), at(j)) - want).abs() < 1e-10, "{a} {b}");
                }
            }
            let apart: f64 = at(1).iter().zip(at(4)).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
            let (x, copy) = (embeddings.row(order[1]), embeddings.row(order[4]));
            let want: f64 = x.iter().zip(&copy[..]).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
            assert!((apart / want - 1.0).abs() < 1e-3, "a near-copy stays one: {apart} {want}");
        }
    }
}
