//! Eigenvalues and eigenvectors of a covariance.

use crate::base::algebra::matrix;
use faer::{Mat, MatRef, Side};

/// Decomposition Q diag λ Qᵀ.
#[derive(Debug, Clone)]
pub(super) struct Eigen {
    /// Eigenvalues λ, in decreasing order and not negative.
    pub values: Vec<f64>,
    /// Eigenvectors Q, one per column.
    pub vectors: Mat<f64>,
}

impl Eigen {
    /// Decomposes a symmetric matrix that has no negative eigenvalues up to rounding.
    pub fn of(symmetric: MatRef<'_, f64>) -> Self {
        let eigen = symmetric.self_adjoint_eigen(Side::Lower).expect("a finite symmetric matrix has eigenvalues");
        let last = symmetric.nrows() - 1;
        let values = (0..=last).map(|i| eigen.S()[last - i].max(0.0)).collect();
        Self { values, vectors: matrix(last + 1, last + 1, |i, j| eigen.U()[(i, last - j)]) }
    }

    /// Decomposes (1/n) XᵀX for n rows X. If there are fewer rows than columns, the other eigenvalues are exactly zero.
    pub fn of_rows(rows: MatRef<'_, f64>) -> Self {
        let (n, width) = (rows.nrows(), rows.ncols());
        if n >= width {
            return Self::of((rows.transpose() * rows * faer::Scale(1.0 / n as f64)).as_ref());
        }
        // Xᵀ = Q [R; 0], so XᵀX = Q [RRᵀ, 0; 0, 0] Qᵀ: only an n × n matrix remains to be decomposed.
        let qr = rows.transpose().qr();
        let (mut vectors, upper) = (qr.compute_Q(), qr.thin_R().to_owned());
        let Self { mut values, vectors: inner } =
            Self::of((&upper * upper.transpose() * faer::Scale(1.0 / n as f64)).as_ref());
        let rotate = vectors.subcols(0, n) * inner;
        vectors.subcols_mut(0, n).copy_from(&rotate);
        values.resize(width, 0.0);
        Self { values, vectors }
    }

    /// Returns Q diag(scale of each λ).
    pub fn scaled(&self, scale: impl Fn(f64) -> f64) -> Mat<f64> {
        let factors: Vec<f64> = self.values.iter().map(|&value| scale(value)).collect();
        matrix(self.vectors.nrows(), factors.len(), |i, j| self.vectors[(i, j)] * factors[j])
    }

    pub fn trace(&self) -> f64 {
        self.values.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_few_and_many_give_their_second_moments() {
        for (n, width) in [(1, 5), (3, 5), (5, 5), (9, 5)] {
            let rows = Mat::from_fn(n, width, |i, j| (1.7 * (i * width + j * j) as f64).sin());
            let Eigen { values, vectors } = Eigen::of_rows(rows.as_ref());
            let want = rows.transpose() * &rows * faer::Scale(1.0 / n as f64);
            let diagonal = Mat::from_fn(width, width, |i, j| if i == j { values[i] } else { 0.0 });
            assert!((&vectors * diagonal * vectors.transpose() - want).norm_max() < 1e-14);
            assert!((vectors.transpose() * &vectors - Mat::<f64>::identity(width, width)).norm_max() < 1e-14);
            assert!(values.windows(2).all(|pair| pair[0] >= pair[1]) && values[width - 1] >= 0.0);
        }
    }
}
