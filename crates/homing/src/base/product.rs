//! The matrix product in which most of the time of a selection is spent. This is the only module of the crate with `unsafe`
//! code: `gemm` has no safe interface.

use faer::traits::ComplexField;
use faer::traits::math_utils::one;
use faer::{Accum, MatMut, MatRef};

/// Computes out = left · right, or out += left · right, in f32 or f64, on this thread.
///
/// It is fastest if the columns of all three matrices are contiguous, because then neither side is copied. faer's product
/// takes longer if `left` has fewer than 64 rows.
#[allow(unsafe_code, reason = "gemm takes pointers")]
#[allow(clippy::needless_pass_by_value, reason = "the borrow of `out` must be exclusive")]
pub(crate) fn thin_product<T: ComplexField + 'static>(
    out: MatMut<'_, T>,
    accumulate: Accum,
    left: MatRef<'_, T>,
    right: MatRef<'_, T>,
) {
    let (rows, columns, inner) = (out.nrows(), out.ncols(), left.ncols());
    assert_eq!((left.nrows(), right.ncols(), right.nrows()), (rows, columns, inner), "the sizes of a product");
    // SAFETY: each pointer comes with the strides of its matrix, of which gemm touches only entries within the sizes above;
    // faer guarantees that these are valid. `out` is borrowed exclusively, so it overlaps neither factor.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            inner,
            out.as_ptr_mut(),
            out.col_stride(),
            out.row_stride(),
            accumulate == Accum::Add,
            left.as_ptr(),
            left.col_stride(),
            left.row_stride(),
            right.as_ptr(),
            right.col_stride(),
            right.row_stride(),
            one(),
            one(),
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::algebra::{matrix, zeros};

    fn agrees<T: ComplexField + Copy + Into<f64> + 'static>(of: fn(f64) -> T) {
        for (rows, inner, columns) in [(1, 1, 1), (3, 5, 2), (16, 512, 256), (33, 100, 7), (64, 17, 256)] {
            // Small whole numbers, whose sums are exact in any order.
            let entry = |i: usize, j: usize| of(((7 * i + 3 * j) % 11) as f64 - 5.0);
            let (left, right) = (matrix(rows, inner, entry), matrix(inner, columns, |i, j| entry(j, i)));
            let mut out = zeros(rows, columns);
            for times in [1.0, 2.0] {
                let accumulate = if times == 1.0 { Accum::Replace } else { Accum::Add };
                thin_product(out.as_mut(), accumulate, left.as_ref(), right.as_ref());
                for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                    let want: f64 = (0..inner).map(|k| left[(i, k)].into() * right[(k, j)].into()).sum();
                    assert_eq!(out[(i, j)].into(), times * want, "entry ({i}, {j}) of {rows} × {inner} × {columns}");
                }
            }
        }
    }

    #[test]
    fn a_thin_product_is_a_product() {
        agrees::<f32>(|x| x as f32);
        agrees::<f64>(|x| x);
    }

    #[test]
    #[should_panic(expected = "the sizes of a product")]
    fn sizes_that_do_not_fit_are_refused() {
        thin_product(zeros::<f32>(2, 2).as_mut(), Accum::Replace, zeros(2, 3).as_ref(), zeros(2, 2).as_ref());
    }
}
