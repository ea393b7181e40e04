//! Basic vector and matrix operations.

use std::hint::black_box;
use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::traits::ComplexField;
use faer::traits::math_utils::zero;
use faer::{Accum, Mat, MatMut, MatRef, Par};

/// Width to which faer pads columns: that of the widest vector registers.
const VECTOR_BYTES: usize = 64;

/// Inner product x·y.
#[allow(clippy::inline_always)] // part of loops that are compiled for the vectors of this machine
#[inline(always)]
pub(crate) fn dot<T: Copy + Into<f64>>(x: &[T], y: &[f64]) -> f64 {
    sum(x, y, |a, b| a * b)
}

/// Σᵢ term(xᵢ, yᵢ), summed in eight fixed lanes, so the result has the same bits on every machine and at every row
/// position.
#[allow(clippy::inline_always)]
#[inline(always)]
pub(crate) fn sum<T: Copy + Into<f64>>(x: &[T], y: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (x_lanes, x_rest) = x.as_chunks::<LANES>();
    let (y_lanes, y_rest) = y[..x.len()].as_chunks::<LANES>();
    for (a, b) in x_lanes.iter().zip(y_lanes) {
        for lane in 0..LANES {
            sums[lane] += term(a[lane].into(), b[lane]);
        }
    }
    for (lane, (&a, &b)) in x_rest.iter().zip(y_rest).enumerate() {
        sums[lane] += term(a.into(), b);
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}

/// Squared norm ‖x‖².
#[allow(clippy::inline_always)] // as for `dot`
#[inline(always)]
pub(crate) fn norm_sq(x: &[f64]) -> f64 {
    dot(x, x)
}

/// Squared norm ‖x‖² in f32, summed in sixteen lanes: off by at most (dim/16 + 6) · 2⁻²⁴ of itself.
#[allow(clippy::inline_always)] // as for `dot`
#[inline(always)]
pub(crate) fn norm_sq_single(x: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0; LANES];
    let (lanes, rest) = x.as_chunks::<LANES>();
    for x in lanes {
        for lane in 0..LANES {
            sums[lane] += x[lane] * x[lane];
        }
    }
    for (lane, x) in rest.iter().enumerate() {
        sums[lane] += x * x;
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    sums[0]
}

/// Computes ‖x‖ without overflow or underflow of its square.
pub(crate) fn norm(x: &[f64]) -> f64 {
    let most = x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if most == 0.0 || !most.is_finite() {
        return most;
    }
    most * norm_sq(&x.iter().map(|x| x / most).collect::<Vec<_>>()).sqrt()
}

/// y += a·x.
#[allow(clippy::inline_always)] // as for `dot`
#[inline(always)]
pub(crate) fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// Matrix with the given entries, and zeros in its padding.
///
/// faer pads each column to whole vectors and leaves the padding uninitialised. Its products read whole vectors, and a
/// subnormal number that happens to lie in the padding costs over a hundred cycles each time.
#[expect(clippy::disallowed_methods, reason = "this is the place that initialises the padding")]
pub(crate) fn matrix<T: ComplexField>(rows: usize, columns: usize, mut entry: impl FnMut(usize, usize) -> T) -> Mat<T> {
    let lanes = (VECTOR_BYTES / size_of::<T>()).max(1);
    let padded = |i, j| if i < rows { entry(i, j) } else { zero() };
    let mut matrix = Mat::from_fn(rows.next_multiple_of(lanes), columns, padded);
    matrix.truncate(rows, columns);
    matrix
}

/// Matrix of zeros, including its padding.
pub(crate) fn zeros<T: ComplexField>(rows: usize, columns: usize) -> Mat<T> {
    matrix(rows, columns, |_, _| zero())
}

/// out = factor · left · right, or out += that product. Runs on this thread only.
pub(crate) fn product<T: ComplexField>(
    out: MatMut<'_, T>,
    accumulate: Accum,
    left: MatRef<'_, T>,
    right: MatRef<'_, T>,
    factor: T,
) {
    matmul(out, accumulate, left, right, factor, Par::Seq);
    clear_registers();
}

/// Clears the upper halves of the AVX registers.
///
/// faer's kernels leave them in use, which slows down scalar code by a factor of twenty (an exp takes 121 ns instead of 5).
/// Code that is compiled for AVX clears them when it returns, so one of faer's norms is called here.
fn clear_registers() {
    black_box(MatRef::from_column_major_slice(&[0.0f64; 16], 16, 1).norm_max());
}

/// Product of `rows` (n × d, row-major) with the columns of `basis` (d × r): n × r.
pub(crate) fn project(rows: &[f64], basis: MatRef<'_, f64>) -> Mat<f64> {
    let dim = basis.nrows();
    let rows = MatRef::from_row_major_slice(rows, rows.len() / dim, dim);
    let mut out = zeros(rows.nrows(), basis.ncols());
    product(out.as_mut(), Accum::Replace, rows, basis, 1.0);
    out
}

/// Inner product of every row with every point (both row-major) over a range of coordinates. `out` has one column per
/// point.
pub(crate) fn inner_products(rows: &[f64], points: &[f64], dim: usize, over: Range<usize>, out: &mut [f64]) {
    let (count, width) = (rows.len() / dim, over.len());
    let rows = MatRef::from_row_major_slice(rows, count, dim).subcols(over.start, width);
    let points = MatRef::from_row_major_slice(points, points.len() / dim, dim).subcols(over.start, width);
    let out = MatMut::from_column_major_slice_mut(out, count, points.nrows());
    product(out, Accum::Replace, rows, points.transpose(), 1.0);
}

/// out −= columns · weights. `out` and `columns` are column-major, with `count` numbers per column.
pub(crate) fn subtract_product(columns: &[f64], weights: MatRef<'_, f64>, count: usize, out: &mut [f64]) {
    if weights.nrows() > 0 {
        let columns = MatRef::from_column_major_slice(&columns[..weights.nrows() * count], count, weights.nrows());
        let out = MatMut::from_column_major_slice_mut(out, count, weights.ncols());
        product(out, Accum::Add, columns, weights, -1.0);
    }
}

/// columns ← columns · L⁻ᵀ for a lower triangle L. `columns` is column-major, with `count` numbers per column.
pub(crate) fn divide_by_triangle(columns: &mut [f64], lower: MatRef<'_, f64>, count: usize) {
    let columns = MatMut::from_column_major_slice_mut(columns, count, lower.nrows());
    solve_lower_triangular_in_place(lower, columns.transpose_mut(), Par::Seq);
    clear_registers();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_is_the_sum_of_products_for_any_length() {
        for n in 0..40 {
            let x: Vec<f64> = (0..n).map(f64::from).collect();
            let y: Vec<f64> = (0..n).map(|i| f64::from(i % 5) - 2.0).collect();
            let want: f64 = x.iter().zip(&y).map(|(a, b)| a * b).sum();
            assert_eq!(dot(&x, &y), want, "small integers are exact");
        }
    }

    #[test]
    fn a_norm_whose_square_overflows_or_underflows() {
        assert!((norm(&[3e200, -4e200]) / 5e200 - 1.0).abs() < 1e-15);
        assert!((norm(&[3e-200, 4e-200]) / 5e-200 - 1.0).abs() < 1e-15);
        assert_eq!(norm(&[0.0, 0.0]), 0.0);
    }

    #[test]
    fn project_is_a_matrix_product() {
        let basis = Mat::from_fn(2, 3, |i, j| (i * 3 + j) as f64);
        let out = project(&[1.0, 10.0, 2.0, 0.0], basis.as_ref());
        assert_eq!((out[(0, 0)], out[(0, 2)], out[(1, 1)]), (30.0, 52.0, 2.0));
    }

    #[test]
    fn products_of_rows_and_columns_by_hand() {
        let (rows, points) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.0, 2.0, 0.0, 1.0, 1.0]);
        let mut out = [0.0; 4];
        inner_products(&rows, &points, 3, 1..3, &mut out);
        assert_eq!(out, [6.0, 12.0, 5.0, 11.0]);
        let weights = Mat::from_fn(1, 2, |_, j| [10.0, 1.0][j]);
        subtract_product(&[1.0, 0.5, 7.0, 7.0], weights.as_ref(), 2, &mut out);
        assert_eq!(out, [-4.0, 7.0, 4.0, 10.5]);
    }
}
