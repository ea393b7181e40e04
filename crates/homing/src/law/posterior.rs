//! The Gaussian-process posterior for given observations (Appendix B.2).

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

use crate::base::algebra::matrix;
use crate::{Error, Kernel, Points, Result};

/// Gaussian-process posterior GP(μ_n, k_n) after observing y at points X with noise P = diag ρ².
///
/// μ_n(x) = k_xX (K_XX + P)⁻¹ y, k_n(x, x′) = k(x, x′) − k_xX (K_XX + P)⁻¹ k_Xx′ and σ²_n(x) = k_n(x, x). The prior mean is
/// zero.
///
/// ```
/// use homing::{Embeddings, Gaussian, Posterior};
///
/// let observed = [0.0, 1.0]; // two points on a line
/// let kernel = Gaussian::new(0.5)?;
/// let posterior = Posterior::new(&kernel, Embeddings::new(&observed, 1)?.into(), &[1.0, -1.0], &[0.01, 0.01])?;
/// assert!((posterior.mean(&[0.0]) - 1.0).abs() < 0.05);
/// assert!(posterior.var(&[0.0]) < 0.01 && posterior.var(&[9.0]) > 0.99);
/// # Ok::<(), homing::Error>(())
/// ```
pub struct Posterior<'a> {
    kernel: &'a dyn Kernel,
    points: Vec<f64>,
    dim: usize,
    factor: faer::linalg::solvers::Llt<f64>,
    /// (K_XX + P)⁻¹ y.
    weights: Mat<f64>,
}

impl<'a> Posterior<'a> {
    /// Conditions on the values `y` at `points`, each with its noise variance.
    pub fn new(kernel: &'a dyn Kernel, points: Points<'_>, y: &[f64], noise_vars: &[f64]) -> Result<Self> {
        let (n, dim) = (points.rows(), points.dim());
        for (what, got) in [("values", y.len()), ("noise variances", noise_vars.len())] {
            if got != n {
                return Err(Error::Length { what, got, expected: n });
            }
        }
        if let Some(row) = noise_vars.iter().position(|noise| !(noise.is_finite() && *noise >= 0.0)) {
            let expected = "a noise variance must not be negative";
            return Err(Error::BadValue { what: "noise variances", row, value: noise_vars[row], expected });
        }
        points.check_finite("observed points")?;
        if let Some(row) = y.iter().position(|y| !y.is_finite()) {
            return Err(Error::NotFinite { what: "observed values", row });
        }
        let points = points.to_vec();
        let at = |i: usize| &points[i * dim..(i + 1) * dim];
        let covariance = matrix(n, n, |i, j| kernel.eval(at(i), at(j)) + if i == j { noise_vars[i] } else { 0.0 });
        let factor = covariance.llt(Side::Lower).map_err(|error| match error {
            faer::linalg::solvers::LltError::NonPositivePivot { index } => {
                Error::NotPositiveDefinite { what: "covariance of the observations", pivot: index }
            }
        })?;
        let weights = factor.solve(matrix(n, 1, |i, _| y[i]));
        Ok(Self { kernel, points, dim, factor, weights })
    }

    /// Returns k(X, x).
    fn cross(&self, x: &[f64]) -> Mat<f64> {
        let values: Vec<f64> = self.points.chunks_exact(self.dim).map(|p| self.kernel.eval(p, x)).collect();
        matrix(values.len(), 1, |i, _| values[i])
    }

    /// Returns the mean μ_n(x).
    pub fn mean(&self, x: &[f64]) -> f64 {
        (self.cross(x).transpose() * &self.weights)[(0, 0)]
    }

    /// Returns the covariance k_n(x, x′).
    pub fn cov(&self, x: &[f64], other: &[f64]) -> f64 {
        let solved = self.factor.solve(self.cross(other));
        self.kernel.eval(x, other) - (self.cross(x).transpose() * solved)[(0, 0)]
    }

    /// Returns the variance σ²_n(x).
    pub fn var(&self, x: &[f64]) -> f64 {
        self.cov(x, x).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Embeddings, Gaussian, Linear};

    #[test]
    fn one_observation_by_hand() {
        // y = 3 at x = 2 with ρ² = 1, k = xx′: μ(x) = x·6/5, σ²(x) = x²/5.
        let at = [2.0];
        let points = Embeddings::new(&at[..], 1).unwrap().into();
        let posterior = Posterior::new(&Linear, points, &[3.0], &[1.0]).unwrap();
        assert!((posterior.mean(&[1.0]) - 1.2).abs() < 1e-14);
        assert!((posterior.var(&[3.0]) - 1.8).abs() < 1e-14);
        assert!((posterior.cov(&[1.0], &[2.0]) - 0.4).abs() < 1e-14);
    }

    #[test]
    fn far_from_data_the_prior_comes_back() {
        let kernel = Gaussian::new(0.5).unwrap();
        let at = [0.0, 1.0];
        let points = Embeddings::new(&at[..], 1).unwrap().into();
        let posterior = Posterior::new(&kernel, points, &[1.0, -1.0], &[0.01, 0.01]).unwrap();
        assert!(posterior.mean(&[50.0]).abs() < 1e-12 && (posterior.var(&[50.0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_same_point_twice_without_noise_is_refused() {
        let at = [1.0, 1.0];
        let points = Embeddings::new(&at[..], 1).unwrap().into();
        assert!(matches!(
            Posterior::new(&Linear, points, &[1.0, 1.0], &[0.0, 0.0]),
            Err(Error::NotPositiveDefinite { .. })
        ));
    }
}
