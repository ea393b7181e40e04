//! Products of dense matrices, stored row by row. Results do not depend on the number of threads.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par, Side};
use rayon::prelude::*;

/// Number of rows that are multiplied at once.
const BLOCK: usize = 256;

/// Returns a · b for a with `inner` columns and b with `inner` rows and `width` columns.
pub(crate) fn product(a: &[f32], inner: usize, b: &[f32], width: usize) -> Vec<f32> {
    let rows = a.len() / inner.max(1);
    let mut out = vec![0.0; rows * width];
    if inner == 0 || width == 0 {
        return out;
    }
    let right = MatRef::from_row_major_slice(b, inner, width);
    out.par_chunks_mut(BLOCK * width).zip(a.par_chunks(BLOCK * inner)).for_each(|(out, a)| {
        let rows = a.len() / inner;
        let (out, a) =
            (MatMut::from_row_major_slice_mut(out, rows, width), MatRef::from_row_major_slice(a, rows, inner));
        matmul(out, Accum::Replace, a, right, 1.0, Par::Seq);
    });
    out
}

/// Returns aᵀ · a in double precision, for a with `width` columns.
pub(crate) fn gram(a: &[f32], width: usize) -> Vec<f64> {
    let mut sum = vec![0.0; width * width];
    // The partial sums of a group are in memory at the same time, so groups are small.
    for group in a.chunks(16 * BLOCK * width) {
        let parts: Vec<Vec<f64>> = group
            .par_chunks(BLOCK * width)
            .map(|block| {
                let block: Vec<f64> = block.iter().map(|&value| f64::from(value)).collect();
                let rows = MatRef::from_row_major_slice(&block, block.len() / width, width);
                let mut part = vec![0.0; width * width];
                let out = MatMut::from_row_major_slice_mut(&mut part, width, width);
                matmul(out, Accum::Replace, rows.transpose(), rows, 1.0, Par::Seq);
                part
            })
            .collect();
        for part in parts {
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
    }
    sum
}

/// Returns the eigenvalues of a symmetric matrix in descending order, and its eigenvectors as the columns of a matrix.
pub(crate) fn eigen(symmetric: &[f64], width: usize) -> (Vec<f64>, Vec<f64>) {
    let matrix = MatRef::from_row_major_slice(symmetric, width, width);
    // With several threads, the sums of this decomposition would depend on their number.
    let decompose = || matrix.self_adjoint_eigen(Side::Lower).expect("a finite symmetric matrix has eigenvalues");
    let eigen = match homing::thread_pool(Some(1)) {
        Ok(one) => one.install(decompose),
        Err(_) => decompose(),
    };
    let values = eigen.S().column_vector();
    let vectors = eigen.U();
    let order = |rank: usize| width - 1 - rank;
    let values = (0..width).map(|rank| values[order(rank)]).collect();
    (values, (0..width * width).map(|at| vectors[(at / width, order(at % width))]).collect())
}

/// Divides each row by its length, unless all of its numbers are zero.
pub(crate) fn normalize(rows: &mut [f32], width: usize) {
    rows.par_chunks_mut(width.max(1)).for_each(|row| {
        let length = row.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
        if length > 0.0 {
            row.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_eigenvectors_by_hand() {
        assert_eq!(product(&[1.0, 2.0, 3.0, 4.0], 2, &[1.0, 0.0, 1.0, 1.0], 2), [3.0, 2.0, 7.0, 4.0]);
        assert_eq!(gram(&[1.0, 2.0, 3.0, 4.0], 2), [10.0, 14.0, 14.0, 20.0]);
        let (values, vectors) = eigen(&[2.0, 1.0, 1.0, 2.0], 2);
        assert!((values[0] - 3.0).abs() < 1e-12 && (values[1] - 1.0).abs() < 1e-12);
        assert!((vectors[0] - vectors[2]).abs() < 1e-12 && (vectors[1] + vectors[3]).abs() < 1e-12);
        let mut rows = [3.0, 4.0, 0.0, 0.0];
        normalize(&mut rows, 2);
        assert_eq!(rows, [0.6, 0.8, 0.0, 0.0]);
    }
}
