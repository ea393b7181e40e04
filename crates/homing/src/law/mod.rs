//! The Gaussian law of f given the observations, without any matrix over the pool.
//!
//! For each candidate x, a rule needs covariances of f_x with a few linear functionals of f: the latest pick, or a weighted
//! sum of the targets. A law creates such functionals and scans the pool with them. For the linear kernel, a functional is
//! a vector of weights; for any other kernel, it is a combination of kernel columns.

mod dual;
pub(crate) mod irreducible;
mod linear;
pub(crate) mod moments;
pub(crate) mod posterior;
pub(crate) mod targets;

use faer::Mat;

use crate::Kernel;
use crate::base::algebra::matrix;
use dual::DualFunctional;
pub(crate) use dual::DualLaw;
pub(crate) use linear::{LinearLaw, Scanner, condense};

/// Share of its original value below which a variance has lost its significant digits by subtraction: 16 ulp of the
/// original value are then 10⁻⁶ of the remainder.
pub(crate) const LOST: f64 = 16.0 * f64::EPSILON / 1e-6;

/// A variance computed by subtraction: its value, and the larger value that it was computed from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variance {
    pub value: f64,
    pub scale: f64,
}

impl Variance {
    pub const ZERO: Self = Self { value: 0.0, scale: 0.0 };

    /// A variance that was computed without subtraction.
    pub fn fresh(value: f64) -> Self {
        Self { value, scale: value }
    }

    /// Returns whether rounding may have destroyed the digits that are left.
    pub fn is_lost(self) -> bool {
        self.value < LOST * self.scale
    }

    /// Returns whether this is the smaller of the two, or NaN.
    pub fn is_less(self, than: Option<Self>) -> bool {
        than.is_none_or(|than| self.value.is_nan() || self.value < than.value)
    }

    /// Returns whether the value is NaN, or more negative than rounding and the noise explain. No covariance matrix gives
    /// such a value.
    pub fn is_negative(self, noise_var: f64) -> bool {
        self.value.is_nan() || self.value < -(0.5 * noise_var + 1e-6 * self.scale)
    }
}

/// Returns Var(f_x | D) − g²/p, the variance after an observation with covariance g and total variance p. A covariance
/// that is already divided by √p has p = 1.
#[inline]
pub(crate) fn variance_given(var: f64, cov: f64, total: f64) -> f64 {
    var - cov * cov / total
}

/// Updates Var(f_x | D) for an observation with covariance g and total variance p.
#[inline]
pub(crate) fn lower_variance(var: &mut Variance, cov: f64, total: f64) {
    var.value = variance_given(var.value, cov, total);
}

/// The law of f given observations.
#[derive(Clone)]
pub(crate) enum Law<'a> {
    Linear(LinearLaw),
    Dual(DualLaw<'a>),
}

/// A functional f ↦ Σ cᵢ f(xᵢ), with the data for its covariance with any point under the law that created it.
#[derive(Clone)]
pub(crate) enum Functional {
    Linear(Vec<f64>),
    Dual(DualFunctional),
}

/// Data for the sums of squared covariances of any point with a set of points, under the law that created it: R with RRᵀ =
/// ΣΨᵀΨΣ, at most one column per dimension, or the points with their whitened coordinates.
pub(crate) enum CovarianceRoot {
    Linear(Vec<Vec<f64>>),
    Dual(Vec<f64>, Mat<f64>),
}

/// What a scan stores for a block of pool rows: whitened covariances with all observations, for the dual law.
#[derive(Clone, Default)]
pub(crate) struct WhitenedColumns(pub Vec<f64>);

impl<'a> Law<'a> {
    /// Returns the law before any observation.
    pub fn prior(kernel: &'a dyn Kernel, dim: usize) -> Self {
        if kernel.is_linear() { Law::Linear(LinearLaw::prior(dim)) } else { Law::Dual(DualLaw::prior(kernel)) }
    }

    /// Conditions on observations of many points (row-major), each with its noise variance. Zero means no noise.
    pub fn observe_all(&mut self, points: &[f64], noise_vars: &[f64]) {
        match self {
            Law::Linear(law) => law.observe_all(points, noise_vars),
            Law::Dual(law) => law.observe_all(points, noise_vars),
        }
    }

    /// Returns the functional Σ c·f(x) over points x (row-major) with the given columns.
    pub fn functional(&self, coefficients: &[f64], points: &[f64], columns: &mut WhitenedColumns) -> Functional {
        match self {
            Law::Linear(law) => {
                let points = points.chunks_exact(points.len() / coefficients.len());
                Functional::Linear(law.functional(&coefficients.iter().copied().zip(points).collect::<Vec<_>>()))
            }
            Law::Dual(law) => Functional::Dual(law.functional(coefficients, points, &mut columns.0)),
        }
    }

    /// Returns the functional f_x.
    pub fn itself(&self, x: &[f64]) -> Functional {
        self.functional(&[1.0], x, &mut WhitenedColumns::default())
    }

    /// Returns Var f_x, recomputed if subtraction has lost its digits.
    pub fn var(&mut self, x: &[f64]) -> f64 {
        match self {
            Law::Linear(law) => law.sound_var(x),
            Law::Dual(law) => law.var(x),
        }
    }

    /// Returns the least variance of all observed points if it is negative, which shows that the kernel is not positive
    /// semi-definite.
    pub fn least_var(&self, noise_var: f64) -> Option<f64> {
        match self {
            Law::Linear(_) => None,
            Law::Dual(law) => law.least_var().filter(|var| var.is_negative(noise_var)).map(|var| var.value),
        }
    }

    /// Conditions on a noisy observation of f_x. Returns the functional f_x and Var f_x + ρ² before the observation.
    pub fn observe(&mut self, x: &[f64], noise_var: f64) -> (Functional, f64) {
        match self {
            Law::Linear(_) => {
                let (functional, _, total) = self.observe_with_var(x, noise_var);
                (functional, total)
            }
            Law::Dual(law) => {
                let (functional, total) = law.observe(x, noise_var);
                (Functional::Dual(functional), total)
            }
        }
    }

    /// Conditions as [`observe`](Self::observe) does, and returns the functional f_x with Var f_x and Var f_x + ρ² before.
    pub fn observe_with_var(&mut self, x: &[f64], noise_var: f64) -> (Functional, f64, f64) {
        match self {
            Law::Linear(law) => {
                let (mut var, mut weights) = law.var_and_functional(x);
                if var.is_lost() && law.rebase() {
                    (var, weights) = law.var_and_functional(x);
                }
                let var = var.value.max(0.0);
                law.push(x, weights.clone(), noise_var, var + noise_var);
                (Functional::Linear(weights), var, var + noise_var)
            }
            Law::Dual(law) => {
                let var = law.var(x);
                let (functional, total) = law.observe(x, noise_var);
                (Functional::Dual(functional), var, total)
            }
        }
    }

    /// Computes the variances of a block of rows from scratch.
    pub fn scan_vars(&self, rows: &[f64], columns: &mut WhitenedColumns, out: &mut [Variance]) {
        match self {
            Law::Linear(law) => law.scan_vars(rows, out),
            Law::Dual(law) => {
                law.extend(law.len(), rows, out.len(), &mut columns.0);
                law.scan_vars(rows, &columns.0, out);
            }
        }
    }

    /// Computes the covariances of a block of rows with a functional.
    pub fn scan(&self, functional: &Functional, rows: &[f64], columns: &mut WhitenedColumns, out: &mut [f64]) {
        match (self, functional) {
            (Law::Linear(law), Functional::Linear(w)) => law.scan(w, rows, out),
            (Law::Dual(law), Functional::Dual(functional)) => law.scan(functional, rows, &mut columns.0, out),
            _ => unreachable!("a functional is used under the law that created it"),
        }
    }

    /// Brings the law into its most accurate form.
    pub fn fold(&mut self) {
        if let Law::Linear(law) = self {
            law.rebase();
        }
    }

    /// Returns the data for sums of squared covariances with some points (row-major) with the given columns.
    pub fn root_of(&self, points: &[f64], dim: usize, columns: &mut WhitenedColumns) -> CovarianceRoot {
        match self {
            Law::Linear(law) => CovarianceRoot::Linear(law.root_of(points)),
            Law::Dual(law) => {
                let count = points.len() / dim;
                law.extend(law.len(), points, count, &mut columns.0);
                CovarianceRoot::Dual(points.to_vec(), matrix(law.len(), count, |i, j| columns.0[i * count + j]))
            }
        }
    }

    /// Returns the sums of squared covariances of a block of rows with the points of a root.
    pub fn scan_squares(
        &self,
        root: &CovarianceRoot,
        rows: &[f64],
        columns: &mut WhitenedColumns,
        len: usize,
    ) -> Vec<Variance> {
        let mut sums = vec![0.0; len];
        let mut add = |covs: &[f64]| sums.iter_mut().zip(covs).for_each(|(sum, c)| *sum += c * c);
        match (self, root) {
            (Law::Linear(law), CovarianceRoot::Linear(root)) => {
                let mut covs = vec![0.0; len];
                for weights in root {
                    law.scan(weights, rows, &mut covs);
                    add(&covs);
                }
            }
            (Law::Dual(law), CovarianceRoot::Dual(points, whitened)) => {
                law.extend(law.len(), rows, len, &mut columns.0);
                law.covs(rows, &columns.0, points, whitened.as_ref()).chunks_exact(len).for_each(add);
            }
            _ => unreachable!("a root is used under the law that created it"),
        }
        sums.into_iter().map(Variance::fresh).collect()
    }
}
