//! Kernels: the covariance k(x, x′) of the function's values at two points.

mod named;
mod precomputed;
mod product;
mod scaled;
mod separate;
mod stationary;

pub use named::kernel_named;
pub use precomputed::Precomputed;
pub use product::Product;
pub use scaled::Scaled;
pub use stationary::{Gaussian, Laplace, Matern};

use faer::Mat;
use faer::linalg::solvers::LltError;

use crate::algebra::{dot, inner_products};
use crate::{Embeddings, Error, Result};

/// A positive semi-definite function of two points.
pub trait Kernel: Send + Sync {
    /// k(x, x′).
    fn eval(&self, x: &[f64], other: &[f64]) -> f64;

    /// k(x, x): the prior variance at a point.
    fn var(&self, x: &[f64]) -> f64 {
        self.eval(x, x)
    }

    /// k(x, x) of every row, row after row: the values of [`Kernel::var`] up to rounding.
    fn vars(&self, rows: &[f64], dim: usize) -> Vec<f64> {
        rows.chunks_exact(dim).map(|x| self.var(x)).collect()
    }

    /// k of every row with every point, both row after row: `out` has a column of values a point.
    ///
    /// The values are those of [`Kernel::eval`] up to rounding; a kernel that is made of inner products has them from a
    /// matrix product.
    fn block(&self, rows: &[f64], points: &[f64], dim: usize, out: &mut [f64]) {
        let count = rows.len() / dim;
        for (i, x) in rows.chunks_exact(dim).enumerate() {
            for (j, point) in points.chunks_exact(dim).enumerate() {
                out[j * count + i] = self.eval(x, point);
            }
        }
    }

    /// Whether k(x, x′) = xᵀx′. The engine then works in weight space, with one number a row
    /// in place of one a row and pick.
    fn is_linear(&self) -> bool {
        false
    }

    /// Whether it may fail to be positive semi-definite, as a matrix that somebody else made may. Variances that come out
    /// negative are refused then.
    fn may_be_indefinite(&self) -> bool {
        false
    }

    /// Whether x is a point that the kernel is about; what was expected where it is none.
    fn check_point(&self, _x: &[f64]) -> std::result::Result<(), &'static str> {
        Ok(())
    }

    /// Refuses a kernel that reads numbers from elsewhere, when such a read has failed.
    fn check_read(&self) -> Result<()> {
        Ok(())
    }
}

/// k(x, x′) = xᵀx′: the last-layer kernel of a network with weight prior Σ = I.
///
/// Another Σ is folded into the embeddings once, by [`fold_covariance`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Linear;

impl Kernel for Linear {
    fn eval(&self, x: &[f64], other: &[f64]) -> f64 {
        dot(x, other)
    }

    fn block(&self, rows: &[f64], points: &[f64], dim: usize, out: &mut [f64]) {
        inner_products(rows, points, dim, 0..dim, out);
    }

    fn is_linear(&self) -> bool {
        true
    }
}

/// Rewrites φ as Lᵀφ with Σ = LLᵀ, so that the linear kernel of the result is φᵀΣφ′.
///
/// `covariance` is Σ, dim × dim, row after row. The result has as many rows as `embeddings`.
pub fn fold_covariance(embeddings: Embeddings<'_>, covariance: &[f64]) -> Result<Vec<f64>> {
    let dim = embeddings.dim();
    if dim.checked_mul(dim) != Some(covariance.len()) {
        return Err(Error::Length { what: "entries of Σ", got: covariance.len(), expected: dim.saturating_mul(dim) });
    }
    if let Some(at) = covariance.iter().position(|entry| !entry.is_finite()) {
        return Err(Error::NotFinite { what: "covariance Σ", row: at / dim });
    }
    let sigma = Mat::from_fn(dim, dim, |i, j| covariance[i * dim + j]);
    let factor = sigma.llt(faer::Side::Lower).map_err(|LltError::NonPositivePivot { index }| {
        Error::NotPositiveDefinite { what: "covariance Σ", pivot: index }
    })?;
    let root = factor.L();
    let blocks = embeddings.map_blocks(|_, block| {
        let rows = faer::MatRef::from_row_major_slice(block, block.len() / dim, dim);
        let folded = rows * root;
        (0..folded.nrows()).flat_map(|i| (0..dim).map(move |j| (i, j))).map(|(i, j)| folded[(i, j)]).collect::<Vec<_>>()
    });
    embeddings.check_read()?;
    Ok(blocks.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folded_covariance_is_the_kernel_with_that_covariance() {
        let rows = [1.0, 2.0, -0.5, 3.0];
        let sigma = [2.0, 0.3, 0.3, 0.5];
        let view = Embeddings::new(&rows[..], 2).unwrap();
        let folded = fold_covariance(view, &sigma).unwrap();
        let want = |a: &[f64], b: &[f64]| a[0] * (2.0 * b[0] + 0.3 * b[1]) + a[1] * (0.3 * b[0] + 0.5 * b[1]);
        for (i, j) in [(0, 0), (0, 1), (1, 1)] {
            let got = Linear.eval(&folded[2 * i..2 * i + 2], &folded[2 * j..2 * j + 2]);
            let want = want(&rows[2 * i..2 * i + 2], &rows[2 * j..2 * j + 2]);
            assert!((got - want).abs() < 1e-14);
        }
    }

    #[test]
    fn a_matrix_that_is_no_covariance_is_refused() {
        let view = Embeddings::new(&[1.0, 2.0][..], 2).unwrap();
        assert!(fold_covariance(view, &[1.0, 2.0, 2.0, 1.0]).is_err());
    }
}
