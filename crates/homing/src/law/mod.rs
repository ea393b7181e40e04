//! The Gaussian law of f given what has been observed, without any matrix over the pool.
//!
//! Every rule needs, for each candidate x, covariances of f_x with a few linear functionals of f: the pick just made,
//! or a weighted sum of the targets. A law makes such functionals and scans the pool with them. For the linear kernel a
//! functional is a vector of weights; for any other kernel it is a combination of kernel columns.

mod dual;
mod linear;

use crate::Kernel;
use dual::{DualFunctional, DualLaw};
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

/// What a scan remembers of a block of pool rows: whitened covariances with everything observed, for the dual law.
#[derive(Default)]
pub(crate) struct Columns(Vec<f64>);

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

    /// The functional Σ c·f(x) over terms (c, x).
    pub fn functional(&self, terms: &[(f64, &[f64])]) -> Functional {
        match self {
            Law::Linear(law) => Functional::Linear(law.functional(terms)),
            Law::Dual(law) => Functional::Dual(law.functional(terms)),
        }
    }

    /// Cov(f_x, functional).
    pub fn cov(&self, functional: &Functional, x: &[f64]) -> f64 {
        match (self, functional) {
            (Law::Linear(_), Functional::Linear(w)) => crate::algebra::dot(w, x),
            (Law::Dual(law), Functional::Dual(functional)) => law.cov(functional, x),
            _ => unreachable!("a functional is used under the law that made it"),
        }
    }

    /// Var f_x, recomputed where subtraction has lost it.
    pub fn var(&mut self, x: &[f64]) -> f64 {
        match self {
            Law::Linear(law) => {
                let mut var = law.var(x);
                if var.is_lost() && law.rebase() {
                    var = law.var(x);
                }
                var.value.max(0.0)
            }
            Law::Dual(law) => law.var(x),
        }
    }

    /// Conditions on a noisy observation of f_x; the functional f_x and Var f_x + ρ² as they were before.
    pub fn observe(&mut self, x: &[f64], noise_var: f64) -> (Functional, f64) {
        let total = self.var(x) + noise_var;
        let functional = self.functional(&[(1.0, x)]);
        match (&mut *self, &functional) {
            (Law::Linear(law), Functional::Linear(w)) => law.push(x, w.clone(), noise_var, total),
            (Law::Dual(law), Functional::Dual(functional)) => law.push(x, functional, total),
            _ => unreachable!("made two lines above"),
        }
        (functional, total)
    }

    /// Variances of a block of rows, from nothing.
    pub fn scan_vars(&self, rows: &[f64], columns: &mut Columns, out: &mut [Variance]) {
        match self {
            Law::Linear(law) => law.scan_vars(rows, out),
            Law::Dual(law) => law.scan_vars(rows, &mut columns.0, out),
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

    /// Sums of squared covariances of a block of rows with some functionals.
    pub fn scan_squares(
        &self,
        functionals: &[Functional],
        rows: &[f64],
        columns: &mut Columns,
        len: usize,
    ) -> Vec<Variance> {
        let mut sums = vec![Variance { value: 0.0, scale: 0.0 }; len];
        let mut covs = vec![0.0; len];
        for functional in functionals {
            self.scan(functional, rows, columns, &mut covs);
            for (sum, c) in sums.iter_mut().zip(&covs) {
                sum.value += c * c;
                sum.scale = sum.value;
            }
        }
        sums
    }

    /// Functionals whose squared covariances with f_x sum to those of the points: at most one a dimension.
    pub fn root_of(&self, points: &[f64], dim: usize) -> Vec<Functional> {
        match self {
            Law::Linear(law) => law.root_of(points).into_iter().map(Functional::Linear).collect(),
            Law::Dual(_) => points.chunks_exact(dim).map(|x| self.functional(&[(1.0, x)])).collect(),
        }
    }
}
