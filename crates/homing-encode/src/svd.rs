//! The largest singular vectors of a sparse matrix, by subspace iteration from a random start (Halko et al., 2011).

use rayon::prelude::*;

use crate::dense::{eigen, gram, product};

/// Sparse row: columns in ascending order, with their values.
pub(crate) type SparseRow = Vec<(u32, f32)>;

/// Number of directions in addition to those that are requested. They make the requested ones more accurate.
const SPARE: usize = 16;

/// Number of iterations after the first, each of which multiplies by the matrix and its transpose.
const PASSES: usize = 2;

/// Number of columns that one task computes.
const STRIPE: usize = 16;

/// Returns the right singular vectors of the largest singular values as the columns of a matrix with `columns` rows, and their
/// number, which is at most `count` and at most the rank of the matrix.
pub(crate) fn right_singular_vectors(rows: &[SparseRow], columns: usize, count: usize) -> (Vec<f32>, usize) {
    let width = (count + SPARE).min(rows.len()).min(columns);
    if width == 0 {
        return (Vec::new(), 0);
    }
    let start: Vec<f32> = (0..columns * width).map(|at| if random(at as u64) & 1 == 0 { 1.0 } else { -1.0 }).collect();
    let mut left = times(rows, &start, width);
    drop(start);
    let mut width = orthonormalize(&mut left, width);
    let mut right = transposed_times(rows, columns, &left, width);
    for _ in 0..PASSES {
        width = orthonormalize(&mut right, width);
        left = times(rows, &right, width);
        width = orthonormalize(&mut left, width);
        right = transposed_times(rows, columns, &left, width);
    }
    // right = Xᵀ Q, so its left singular vectors are the right singular vectors of X.
    let kept = orthonormalize(&mut right, width);
    let count = count.min(kept);
    (right.chunks_exact(kept.max(1)).flat_map(|row| &row[..count]).copied().collect(), count)
}

/// Returns the rows times a dense matrix with `width` columns.
pub(crate) fn times(rows: &[SparseRow], dense: &[f32], width: usize) -> Vec<f32> {
    let mut out = vec![0.0; rows.len() * width];
    if width > 0 {
        out.par_chunks_mut(width).zip(rows).for_each(|(out, row)| {
            for &(column, value) in row {
                let dense = &dense[column as usize * width..][..width];
                out.iter_mut().zip(dense).for_each(|(out, dense)| *out += value * dense);
            }
        });
    }
    out
}

/// Returns the transposed sparse matrix times a dense matrix with `width` columns.
fn transposed_times(rows: &[SparseRow], columns: usize, dense: &[f32], width: usize) -> Vec<f32> {
    let stripes: Vec<Vec<f32>> = (0..width.div_ceil(STRIPE))
        .into_par_iter()
        .map(|stripe| {
            let (start, end) = (stripe * STRIPE, (stripe * STRIPE + STRIPE).min(width));
            let wide = end - start;
            let mut out = vec![0.0; columns * wide];
            for (row, dense) in rows.iter().zip(dense.chunks_exact(width)) {
                for &(column, value) in row {
                    let out = &mut out[column as usize * wide..][..wide];
                    out.iter_mut().zip(&dense[start..end]).for_each(|(out, dense)| *out += value * dense);
                }
            }
            out
        })
        .collect();
    let mut out = vec![0.0; columns * width];
    if width > 0 {
        out.par_chunks_mut(width).enumerate().for_each(|(row, out)| {
            for (out, stripe) in out.chunks_mut(STRIPE).zip(&stripes) {
                out.copy_from_slice(&stripe[row * out.len()..][..out.len()]);
            }
        });
    }
    out
}

/// Replaces the columns by orthonormal columns that span the same space, in descending order of their singular values, and
/// returns how many there are.
fn orthonormalize(matrix: &mut Vec<f32>, width: usize) -> usize {
    /// Singular values below this share of the largest are lost in the rounding of single precision.
    const LEAST: f64 = 1e-5;
    let (values, vectors) = eigen(&gram(matrix, width), width);
    let least = (LEAST * LEAST * values.first().copied().unwrap_or(0.0)).max(f64::MIN_POSITIVE);
    let kept = values.iter().take_while(|&&value| value > least).count();
    let mut turn = vec![0.0; width * kept];
    for (to, from) in turn.chunks_exact_mut(kept.max(1)).zip(vectors.chunks_exact(width)) {
        for (rank, to) in to.iter_mut().enumerate() {
            *to = (from[rank] / values[rank].sqrt()) as f32;
        }
    }
    *matrix = product(matrix, width, &turn, kept);
    kept
}

/// Returns random bits that depend on the number only (SplitMix64).
fn random(number: u64) -> u64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits ^ (bits >> 31)) >> 17
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix of rank 3 with known right singular vectors: three groups of rows with disjoint columns.
    #[test]
    fn known_singular_vectors_are_found() {
        let row = |group: u32, scale: f32| vec![(2 * group, scale), (2 * group + 1, scale)];
        let rows: Vec<SparseRow> = (0..30).map(|i| row(i % 3, [9.0, 4.0, 1.0][i as usize % 3])).collect();
        let (vectors, count) = right_singular_vectors(&rows, 6, 5);
        assert_eq!(count, 3, "the rank is 3");
        for (rank, expected) in [0, 1, 2].into_iter().enumerate() {
            let column: Vec<f32> = vectors.chunks_exact(count).map(|row| row[rank]).collect();
            for (at, value) in column.iter().enumerate() {
                let wanted = if at / 2 == expected { 0.5_f32.sqrt() } else { 0.0 };
                assert!((value.abs() - wanted).abs() < 1e-4, "{rank}: {column:?}");
            }
        }
    }

    #[test]
    fn sparse_products_equal_dense_ones() {
        let rows: Vec<SparseRow> = vec![vec![(0, 1.0), (2, 2.0)], vec![], vec![(1, -1.0)]];
        let dense = [1.0, 0.0, 0.0, 3.0, 5.0, 1.0];
        assert_eq!(times(&rows, &dense, 2), [11.0, 2.0, 0.0, 0.0, 0.0, -3.0]);
        assert_eq!(transposed_times(&rows, 3, &dense, 2), [1.0, 0.0, -5.0, -1.0, 2.0, 0.0]);
    }
}
