//! Functions in a kernel's Hilbert space, and how often the confidence band contains them (Assumptions D.9 and D.10).

use faer::Mat;
use rand::RngExt;
use rand_distr::StandardNormal;

use super::agnostic::not_negative;
use crate::base::algebra::matrix;
use crate::base::random::{Stream, generator};
use crate::{Error, Kernel, Points, Result};

/// A function f*(x) = Σ αᵢ k(cᵢ, x) in the kernel's Hilbert space, with ‖f*‖²_k = αᵀKα (Assumption D.9).
///
/// ```
/// use homing::theory::RkhsFunction;
/// use homing::{Embeddings, Gaussian};
///
/// let (kernel, centres) = (Gaussian::new(1.0)?, [0.0, 2.0]);
/// let function = RkhsFunction::new(&kernel, Embeddings::new(&centres, 1)?.into(), &[1.0, 0.0])?;
/// assert_eq!((function.eval(&[0.0]), function.norm()), (1.0, 1.0));
/// # Ok::<(), homing::Error>(())
/// ```
pub struct RkhsFunction<'k> {
    kernel: &'k dyn Kernel,
    centres: Vec<f64>,
    dim: usize,
    weights: Vec<f64>,
}

impl<'k> RkhsFunction<'k> {
    /// Creates the function with these centres and weights.
    pub fn new(kernel: &'k dyn Kernel, centres: Points<'_>, weights: &[f64]) -> Result<Self> {
        if weights.len() != centres.rows() {
            return Err(Error::Length { what: "weights", got: weights.len(), expected: centres.rows() });
        }
        if let Some(row) = weights.iter().position(|weight| !weight.is_finite()) {
            return Err(Error::NotFinite { what: "weights", row });
        }
        centres.check_finite("centres")?;
        Ok(Self { kernel, centres: centres.to_vec(), dim: centres.dim(), weights: weights.to_vec() })
    }

    /// Creates a function with random weights, scaled to the given norm. It is zero if all centres are zero.
    pub fn random(kernel: &'k dyn Kernel, centres: Points<'_>, norm: f64, seed: u64) -> Result<Self> {
        not_negative("the norm of f*", norm)?;
        let mut rng = generator(seed, Stream::Estimate);
        let weights: Vec<f64> = (0..centres.rows()).map(|_| rng.random_range(-1.0..1.0)).collect();
        let mut function = Self::new(kernel, centres, &weights)?;
        let now = function.norm();
        let factor = if now > 0.0 { norm / now } else { 0.0 };
        function.weights.iter_mut().for_each(|weight| *weight *= factor);
        Ok(function)
    }

    /// Returns f*(x).
    pub fn eval(&self, x: &[f64]) -> f64 {
        self.centres.chunks_exact(self.dim).zip(&self.weights).map(|(c, w)| w * self.kernel.eval(c, x)).sum()
    }

    /// Returns the norm ‖f*‖_k.
    pub fn norm(&self) -> f64 {
        let quadratic: f64 =
            self.centres.chunks_exact(self.dim).zip(&self.weights).map(|(c, w)| w * self.eval(c)).sum();
        quadratic.max(0.0).sqrt()
    }
}

/// A simulation of Lemma D.11: functions in the Hilbert space that are observed at a fixed list of points.
///
/// ```
/// use homing::theory::Simulation;
/// use homing::{Embeddings, Gaussian};
///
/// let (kernel, domain) = (Gaussian::new(1.0)?, [0.0, 1.0, 2.0]);
/// let simulation = Simulation {
///     kernel: &kernel,
///     domain: Embeddings::new(&domain, 1)?.into(),
///     picks: &[1],
///     noise_std: 0.1,
///     norm: 1.0,
///     trials: 20,
///     seed: 0,
/// };
/// let (wide, narrow) = (vec![100.0; 2], vec![0.0; 2]); // one width before the pick, one after it
/// assert_eq!(simulation.coverage(&[wide, narrow])?, [1.0, 0.0]);
/// # Ok::<(), homing::Error>(())
/// ```
pub struct Simulation<'s> {
    /// Kernel k.
    pub kernel: &'s dyn Kernel,
    /// Domain X, on which the band is checked, and whose points are the centres of the functions.
    pub domain: Points<'s>,
    /// Rows of the domain that are observed, in order.
    pub picks: &'s [usize],
    /// Noise ρ. The noise is uniform on [−ρ, ρ] or Gaussian, both ρ-sub-Gaussian (Assumption D.10).
    pub noise_std: f64,
    /// Norm ‖f*‖_k of the functions.
    pub norm: f64,
    /// Number of functions to draw.
    pub trials: usize,
    /// Seed for the functions and the noise.
    pub seed: u64,
}

impl Simulation<'_> {
    /// Returns the share of functions with |f*(x) − μ_n(x)| ≤ `widths[n]`·σ_n(x) jointly for all x in the domain and all n,
    /// for each list of widths (one width for n = 0, 1, …, |picks|). Half of the functions are observed with Gaussian
    /// noise.
    pub fn coverage(&self, widths: &[Vec<f64>]) -> Result<Vec<f64>> {
        not_negative("the noise", self.noise_std)?;
        let rows = self.domain.rows();
        if let Some(&row) = self.picks.iter().find(|&&row| row >= rows) {
            return Err(Error::NoSuchRow { what: "picks", row, rows });
        }
        for list in widths {
            if list.len() != self.picks.len() + 1 {
                return Err(Error::Length { what: "widths", got: list.len(), expected: self.picks.len() + 1 });
            }
        }
        let steps = self.steps();
        let covered: Vec<Vec<bool>> = (0..self.trials)
            .map(|trial| self.trial(trial, &steps).map(|ratios| widths.iter().map(|w| within(&ratios, w)).collect()))
            .collect::<Result<_>>()?;
        let share = |i: usize| covered.iter().filter(|covered| covered[i]).count() as f64 / self.trials.max(1) as f64;
        Ok((0..widths.len()).map(share).collect())
    }

    /// Returns σ_n over the domain for each n, and the gain K_n[·, j] / p by which each pick changes the mean.
    fn steps(&self) -> Vec<(Vec<f64>, Option<Vec<f64>>)> {
        let (points, dim) = (self.domain.to_vec(), self.domain.dim());
        let at = |i: usize| &points[i * dim..(i + 1) * dim];
        let rows = self.domain.rows();
        let mut cov = matrix(rows, rows, |i, j| self.kernel.eval(at(i), at(j)));
        let stds = |cov: &Mat<f64>| (0..rows).map(|i| cov[(i, i)].max(0.0).sqrt()).collect::<Vec<_>>();
        let mut steps = Vec::with_capacity(self.picks.len() + 1);
        for &j in self.picks {
            let total = cov[(j, j)] + self.noise_std * self.noise_std;
            let column: Vec<f64> = (0..rows).map(|i| cov[(i, j)]).collect();
            steps.push((stds(&cov), Some(column.iter().map(|c| c / total).collect())));
            for a in 0..rows {
                for b in 0..rows {
                    cov[(a, b)] -= column[a] * column[b] / total;
                }
            }
        }
        steps.push((stds(&cov), None));
        steps
    }

    /// Returns the largest |f*(x) − μ_n(x)| / σ_n(x) over the domain for one function, for each n.
    fn trial(&self, trial: usize, steps: &[(Vec<f64>, Option<Vec<f64>>)]) -> Result<Vec<f64>> {
        let seed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(trial as u64);
        let function = RkhsFunction::random(self.kernel, self.domain, self.norm, seed)?;
        let (points, dim) = (self.domain.to_vec(), self.domain.dim());
        let truth: Vec<f64> = points.chunks_exact(dim).map(|x| function.eval(x)).collect();
        let mut rng = generator(seed, Stream::Pick(0));
        let mut mean = vec![0.0; truth.len()];
        let mut ratios = Vec::with_capacity(steps.len());
        for (n, (stds, gain)) in steps.iter().enumerate() {
            let error = |((f, m), s): ((&f64, &f64), &f64)| {
                let miss = (f - m).abs();
                // Values that are known exactly are predicted exactly, up to rounding.
                if miss <= 1e-9 * self.norm { 0.0 } else { miss / s }
            };
            ratios.push(truth.iter().zip(&mean).zip(stds).map(error).fold(0.0, f64::max));
            if let Some(gain) = gain {
                let j = self.picks[n];
                let noise: f64 =
                    if trial.is_multiple_of(2) { rng.sample(StandardNormal) } else { rng.random_range(-1.0..1.0) };
                let surprise = truth[j] + self.noise_std * noise - mean[j];
                mean.iter_mut().zip(gain).for_each(|(mean, gain)| *mean += gain * surprise);
            }
        }
        Ok(ratios)
    }
}

fn within(ratios: &[f64], widths: &[f64]) -> bool {
    ratios.iter().zip(widths).all(|(ratio, width)| ratio <= width)
}
