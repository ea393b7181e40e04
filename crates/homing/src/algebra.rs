//! The few vector operations that the rest is made of.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};

/// x·y, summed in eight fixed lanes: the same bits on every machine, and wherever a row stands.
#[inline(always)]
pub(crate) fn dot<T: Copy + Into<f64>>(x: &[T], y: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (x_lanes, x_rest) = x.as_chunks::<LANES>();
    let (y_lanes, y_rest) = y[..x.len()].as_chunks::<LANES>();
    for (a, b) in x_lanes.iter().zip(y_lanes) {
        for lane in 0..LANES {
            sums[lane] += a[lane].into() * b[lane];
        }
    }
    for (lane, (&a, b)) in x_rest.iter().zip(y_rest).enumerate() {
        sums[lane] += a.into() * b;
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}

/// ‖x‖².
pub(crate) fn norm_sq(x: &[f64]) -> f64 {
    dot(x, x)
}

/// y += a·x.
pub(crate) fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// rows (n × d, row after row) times the columns of `basis` (d × r): n × r.
pub(crate) fn project(rows: &[f64], basis: MatRef<'_, f64>) -> Mat<f64> {
    let dim = basis.nrows();
    let rows = MatRef::from_row_major_slice(rows, rows.len() / dim, dim);
    let mut out = Mat::zeros(rows.nrows(), basis.ncols());
    matmul(out.as_mut(), Accum::Replace, rows, basis, 1.0, Par::Seq);
    out
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
    fn project_is_a_matrix_product() {
        let basis = Mat::from_fn(2, 3, |i, j| (i * 3 + j) as f64);
        let out = project(&[1.0, 10.0, 2.0, 0.0], basis.as_ref());
        assert_eq!((out[(0, 0)], out[(0, 2)], out[(1, 1)]), (30.0, 52.0, 2.0));
    }
}
