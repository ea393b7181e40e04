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

use faer::linalg::solvers::LltError;

use crate::base::algebra::{dot, inner_products, matrix, norm_sq};
use crate::{Embeddings, Error, Result};

/// A positive semi-definite function of two points.
///
/// An implementation guarantees the following:
/// - [`eval`](Kernel::eval) is symmetric, and the matrix of its values at any points has no negative eigenvalue. A kernel
///   that cannot guarantee the latter returns true from [`may_be_indefinite`](Kernel::may_be_indefinite). Negative
///   variances are then refused with an error.
/// - [`var`](Kernel::var), [`vars`](Kernel::vars) and [`block`](Kernel::block) return the values of `eval` up to rounding.
///   They exist only for speed: passes over the pool spend their time in `block`.
/// - [`is_linear`](Kernel::is_linear) is true for xᵀx′ and for no other kernel: the engines then never call `eval`.
///
/// ```
/// use homing::{Embeddings, Kernel, Plan, Task, select};
///
/// /// k(x, x′) = (1 + xᵀx′)²: the covariance of quadratic functions.
/// struct Quadratic;
///
/// impl Kernel for Quadratic {
///     fn eval(&self, x: &[f64], other: &[f64]) -> f64 {
///         let product: f64 = x.iter().zip(other).map(|(a, b)| a * b).sum();
///         (1.0 + product).powi(2)
///     }
/// }
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let selection = select(&task.kernel(&Quadratic), &Plan::default().count(2))?;
/// assert_eq!(selection.rows(), [1, 2]);
/// # Ok::<(), homing::Error>(())
/// ```
pub trait Kernel: Send + Sync {
    /// Returns k(x, x′).
    fn eval(&self, x: &[f64], other: &[f64]) -> f64;

    /// Returns the prior variance k(x, x) at a point.
    fn var(&self, x: &[f64]) -> f64 {
        self.eval(x, x)
    }

    /// Returns the prior variances of all rows (row-major): the values of [`Kernel::var`] up to rounding.
    fn vars(&self, rows: &[f64], dim: usize) -> Vec<f64> {
        rows.chunks_exact(dim).map(|x| self.var(x)).collect()
    }

    /// Computes k of every row with every point, both row-major. `out` has one column per point.
    ///
    /// The values are those of [`Kernel::eval`] up to rounding. A kernel that is a function of inner products can compute
    /// them with a matrix product.
    fn block(&self, rows: &[f64], points: &[f64], dim: usize, out: &mut [f64]) {
        let count = rows.len() / dim;
        for (i, x) in rows.chunks_exact(dim).enumerate() {
            for (j, point) in points.chunks_exact(dim).enumerate() {
                out[j * count + i] = self.eval(x, point);
            }
        }
    }

    /// Returns whether k(x, x′) = xᵀx′. The engine then works in weight space, with one number per row instead of one per
    /// row and pick.
    fn is_linear(&self) -> bool {
        false
    }

    /// Returns whether the kernel may fail to be positive semi-definite, for example because it is a given matrix. Negative
    /// variances are then refused with an error.
    fn may_be_indefinite(&self) -> bool {
        false
    }

    /// Checks that x is a valid point for this kernel. The error says what was expected.
    fn check_point(&self, _x: &[f64]) -> std::result::Result<(), &'static str> {
        Ok(())
    }

    /// Returns an error if the kernel reads numbers from elsewhere and such a read has failed.
    fn check_read(&self) -> Result<()> {
        Ok(())
    }
}

/// The linear kernel k(x, x′) = xᵀx′: the last-layer kernel of a network with weight prior Σ = I.
///
/// To use another Σ, fold it into the embeddings once with [`fold_covariance`].
///
/// ```
/// use homing::{Kernel, Linear};
///
/// assert_eq!(Linear.eval(&[1.0, 2.0], &[3.0, 0.5]), 4.0);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Linear;

impl Kernel for Linear {
    fn eval(&self, x: &[f64], other: &[f64]) -> f64 {
        dot(x, other)
    }

    fn vars(&self, rows: &[f64], dim: usize) -> Vec<f64> {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                let mut vars = Vec::with_capacity(rows.len() / dim);
                for x in rows.chunks_exact(dim) {
                    vars.push(norm_sq(x));
                }
                vars
            },
        )
    }

    fn block(&self, rows: &[f64], points: &[f64], dim: usize, out: &mut [f64]) {
        inner_products(rows, points, dim, 0..dim, out);
    }

    fn is_linear(&self) -> bool {
        true
    }
}

/// Rewrites φ as Lᵀφ, where Σ = LLᵀ. The linear kernel of the result is φᵀΣφ′.
///
/// `covariance` is Σ, dim × dim, row-major. The result has as many rows as `embeddings`.
///
/// ```
/// use homing::{Embeddings, Kernel, Linear, fold_covariance};
///
/// let rows = [1.0, 2.0, -0.5, 3.0];
/// let sigma = [4.0, 0.0, 0.0, 1.0]; // the first weight varies twice as much
/// let folded = fold_covariance(Embeddings::new(&rows, 2)?, &sigma)?;
/// assert_eq!(Linear.eval(&folded[..2], &folded[2..]), 4.0 * 1.0 * -0.5 + 2.0 * 3.0);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn fold_covariance(embeddings: Embeddings<'_>, covariance: &[f64]) -> Result<Vec<f64>> {
    let dim = embeddings.dim();
    if dim.checked_mul(dim) != Some(covariance.len()) {
        return Err(Error::Length { what: "entries of Σ", got: covariance.len(), expected: dim.saturating_mul(dim) });
    }
    if let Some(at) = covariance.iter().position(|entry| !entry.is_finite()) {
        return Err(Error::NotFinite { what: "covariance Σ", row: at / dim });
    }
    let sigma = matrix(dim, dim, |i, j| covariance[i * dim + j]);
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
