//! The Gaussian law of f given what has been observed, without any matrix over the pool.
//!
//! Every rule needs, for each candidate x, covariances of f_x with a few linear functionals of f: the pick just made,
//! or a weighted sum of the targets. A law makes such functionals and scans the pool with them. For the linear kernel a
//! functional is a vector of weights; for any other kernel it is a combination of kernel columns.

mod dual;
mod linear;

use faer::Mat;

use crate::Kernel;
use dual::DualFunctional;
pub(crate) use dual::DualLaw;
pub(crate) use linear::{LinearLaw, condense};

/// A variance below this share of the value it was computed from by subtraction has lost the digits that decide:
/// 16 ulp of that value are then 10⁻⁶ of what is left.
pub(crate) const LOST: f64 = 16.0 * f64::EPSILON / 1e-6;

/// A variance known by subtraction: its value, and the larger value that it came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variance {
    pub value: f64,
    pub scale: f64,
}

impl Variance {
    /// Computed without subtraction.
    pub fn fresh(value: f64) -> Self {
        Self { value, scale: value }
    }

    /// Whether rounding may have eaten what is left.
    pub fn is_lost(self) -> bool {
        self.value < LOST * self.scale
    }

    /// Whether it is the smaller of two, or no number.
    pub fn is_less(self, than: Option<Self>) -> bool {
        than.is_none_or(|than| self.value.is_nan() || self.value < than.value)
    }

    /// Whether it is negative by more than rounding and the noise explain, or no number: no covariance matrix makes it that.
    pub fn is_negative(self, noise_var: f64) -> bool {
        self.value.is_nan() || self.value < -(0.5 * noise_var + 1e-6 * self.scale)
    }
}

/// The law of f given observations.
#[derive(Clone)]
pub(crate) enum Law<'a> {
    Linear(LinearLaw),
    Dual(DualLaw<'a>),
}

/// f ↦ Σ cᵢ f(xᵢ), and what it takes to know its covariance with any point under the law that made it.
#[derive(Clone)]
pub(crate) enum Functional {
    Linear(Vec<f64>),
    Dual(DualFunctional),
}

/// Points, as it takes to sum the squared covariances of any point with them under the law that made it: R with RRᵀ = ΣΨᵀΨΣ,
/// at most one column a dimension, or the points with their whitened coordinates.
pub(crate) enum Root {
    Linear(Vec<Vec<f64>>),
    Dual(Vec<f64>, Mat<f64>),
}

/// What a scan remembers of a block of pool rows: whitened covariances with everything observed, for the dual law.
#[derive(Clone, Default)]
pub(crate) struct Columns(pub Vec<f64>);

impl<'a> Law<'a> {
    /// Nothing observed.
    pub fn prior(kernel: &'a dyn Kernel, dim: usize) -> Self {
        if kernel.is_linear() { Law::Linear(LinearLaw::prior(dim)) } else { Law::Dual(DualLaw::prior(kernel)) }
    }

    /// Conditions on observations of many points (row after row), each with its noise variance; zero is no noise.
    pub fn observe_all(&mut self, points: &[f64], noise_vars: &[f64]) {
        match self {
            Law::Linear(law) => law.observe_all(points, noise_vars),
            Law::Dual(law) => law.observe_all(points, noise_vars),
        }
    }

    /// The functional Σ c·f(x) over points x, row after row, and the columns of those.
    pub fn functional(&self, coefficients: &[f64], points: &[f64], columns: &mut Columns) -> Functional {
        match self {
            Law::Linear(law) => {
                let points = points.chunks_exact(points.len() / coefficients.len());
                Functional::Linear(law.functional(&coefficients.iter().copied().zip(points).collect::<Vec<_>>()))
            }
            Law::Dual(law) => Functional::Dual(law.functional(coefficients, points, &mut columns.0)),
        }
    }

    /// The functional f_x.
    pub fn itself(&self, x: &[f64]) -> Functional {
        self.functional(&[1.0], x, &mut Columns::default())
    }

    /// Var f_x, recomputed where subtraction has lost it.
    pub fn var(&mut self, x: &[f64]) -> f64 {
        match self {
            Law::Linear(law) => law.sound_var(x),
            Law::Dual(law) => law.var(x),
        }
    }

    /// The least variance of anything observed, where that is negative as a kernel that is none makes it.
    pub fn least_var(&self, noise_var: f64) -> Option<f64> {
        match self {
            Law::Linear(_) => None,
            Law::Dual(law) => law.least_var().filter(|var| var.is_negative(noise_var)).map(|var| var.value),
        }
    }

    /// Conditions on a noisy observation of f_x; the functional f_x and Var f_x + ρ² as they were before.
    pub fn observe(&mut self, x: &[f64], noise_var: f64) -> (Functional, f64) {
        match self {
            Law::Linear(law) => {
                let total = law.sound_var(x) + noise_var;
                let weights = law.functional(&[(1.0, x)]);
                law.push(x, weights.clone(), noise_var, total);
                (Functional::Linear(weights), total)
            }
            Law::Dual(law) => {
                let (functional, total) = law.observe(x, noise_var);
                (Functional::Dual(functional), total)
            }
        }
    }

    /// Variances of a block of rows, from nothing.
    pub fn scan_vars(&self, rows: &[f64], columns: &mut Columns, out: &mut [Variance]) {
        match self {
            Law::Linear(law) => law.scan_vars(rows, out),
            Law::Dual(law) => {
                law.extend(law.len(), rows, out.len(), &mut columns.0);
                law.scan_vars(rows, &columns.0, out);
            }
        }
    }

    /// Covariances of a block of rows with a functional.
    pub fn scan(&self, functional: &Functional, rows: &[f64], columns: &mut Columns, out: &mut [f64]) {
        match (self, functional) {
            (Law::Linear(law), Functional::Linear(w)) => law.scan(w, rows, out),
            (Law::Dual(law), Functional::Dual(functional)) => law.scan(functional, rows, &mut columns.0, out),
            _ => unreachable!("a functional is used under the law that made it"),
        }
    }

    /// Brings the law into its most accurate form.
    pub fn fold(&mut self) {
        if let Law::Linear(law) = self {
            law.rebase();
        }
    }

    /// What the sums of squared covariances with some points, row after row with these columns, are made of.
    pub fn root_of(&self, points: &[f64], dim: usize, columns: &mut Columns) -> Root {
        match self {
            Law::Linear(law) => Root::Linear(law.root_of(points)),
            Law::Dual(law) => {
                let count = points.len() / dim;
                law.extend(law.len(), points, count, &mut columns.0);
                Root::Dual(points.to_vec(), Mat::from_fn(law.len(), count, |i, j| columns.0[i * count + j]))
            }
        }
    }

    /// Sums of squared covariances of a block of rows with the points of a root.
    pub fn scan_squares(&self, root: &Root, rows: &[f64], columns: &mut Columns, len: usize) -> Vec<Variance> {
        let mut sums = vec![0.0; len];
        let mut add = |covs: &[f64]| sums.iter_mut().zip(covs).for_each(|(sum, c)| *sum += c * c);
        match (self, root) {
            (Law::Linear(law), Root::Linear(root)) => {
                let mut covs = vec![0.0; len];
                for weights in root {
                    law.scan(weights, rows, &mut covs);
                    add(&covs);
                }
            }
            (Law::Dual(law), Root::Dual(points, whitened)) => {
                law.extend(law.len(), rows, len, &mut columns.0);
                law.covs(rows, &columns.0, points, whitened.as_ref()).chunks_exact(len).for_each(add);
            }
            _ => unreachable!("a root is used under the law that made it"),
        }
        sums.into_iter().map(Variance::fresh).collect()
    }
}
