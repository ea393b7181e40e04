//! Estimating the noise from labels or values, by marginal likelihood.

use faer::Side;

use crate::base::algebra::matrix;
use crate::base::random::sample_rows;
use crate::{Error, Kernel, Points, Result};

/// Largest number of rows used, because the cost is cubic.
const MOST_ROWS: usize = 1024;

/// Range in which the noise is searched, as shares of the mean prior variance.
const SHARES: [f64; 2] = [1e-8, 1e4];

/// Number of values of ln ρ² that are tried before the best one is refined.
const GRID: usize = 121;

/// Number of rows with values below which the noise is not advised, since it may be wrong by orders of magnitude.
pub const FEWEST_VALUES: usize = 20;

/// The noise that values at some rows suggest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseFit {
    /// Noise variance ρ² in the units of the kernel, as a selection needs it.
    pub noise_var: f64,
    /// Scale s²: the kernel times s² is the covariance of the values, in the square of their own units.
    pub scale: f64,
    /// Log-likelihood ln p(values) at that noise.
    pub ln_likelihood: f64,
    /// Number of rows used: all, or a sample.
    pub rows: usize,
    /// Whether the best noise was the largest or smallest one tried. The values then show no signal, or no noise.
    pub is_at_edge: bool,
}

/// Estimates the noise: maximises ln p(Y | X) over ρ² and s², where each column of values is N(0, s²(K + ρ²I)) (Appendix
/// B.2).
///
/// `values` has one number per row and column: one column for a regression, one per class (1 or 0) for labels. Columns are
/// centred first. Rows whose values are all NaN have no label yet and are skipped. If more than 1,024 rows are left, a random
/// sample of 1,024 is used.
///
/// ```
/// use homing::diagnose::fit_noise;
/// use homing::{Embeddings, Linear};
///
/// let pool: Vec<f64> = (0..40).map(|i| f64::from(i) - 20.0).collect();
/// let values: Vec<f64> = (0..40).map(|i| 0.5 * (f64::from(i) - 20.0) + f64::from(i).sin()).collect(); // a line with noise
/// let fit = fit_noise(&Linear, Embeddings::new(&pool, 1)?.into(), &values, 0)?;
/// assert!(!fit.is_at_edge && fit.noise_var > 0.0);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn fit_noise(kernel: &dyn Kernel, points: Points<'_>, values: &[f64], seed: u64) -> Result<NoiseFit> {
    let rows = points.rows();
    if values.is_empty() || !values.len().is_multiple_of(rows) {
        return Err(Error::Length { what: "values", got: values.len(), expected: rows });
    }
    let columns = values.len() / rows;
    let of_row = |row: &usize| &values[row * columns..(row + 1) * columns];
    let known: Vec<usize> = (0..rows).filter(|row| !of_row(row).iter().all(|value| value.is_nan())).collect();
    if let Some(&row) = known.iter().find(|row| !of_row(row).iter().all(|value| value.is_finite())) {
        return Err(Error::NotFinite { what: "values", row });
    }
    if known.is_empty() {
        return Err(Error::NotFinite { what: "values", row: 0 });
    }
    let chosen: Vec<usize> = sample_rows(known.len(), MOST_ROWS, seed).into_iter().map(|at| known[at]).collect();
    let spectrum =
        Spectrum::new(kernel, &points.gather(&chosen), points.dim(), |i, c| values[chosen[i] * columns + c], columns)?;
    let [low, high] = SHARES.map(|share| (share * spectrum.mean_var()).ln());
    let step = (high - low) / (GRID - 1) as f64;
    let best = (0..GRID)
        .map(|i| low + step * i as f64)
        .max_by(|a, b| spectrum.ln_likelihood(a.exp()).total_cmp(&spectrum.ln_likelihood(b.exp())))
        .expect("the grid is not empty");
    let is_at_edge = best <= low + 0.5 * step || best >= high - 0.5 * step;
    let noise_var = golden(|ln| spectrum.ln_likelihood(ln.exp()), best - step, best + step).exp();
    Ok(NoiseFit {
        noise_var,
        scale: spectrum.scale(noise_var),
        ln_likelihood: spectrum.ln_likelihood(noise_var),
        rows: chosen.len(),
        is_at_edge,
    })
}

/// Eigenvalues of K, and the squared coordinates of the centred values along its eigenvectors, summed over columns.
struct Spectrum {
    eigenvalues: Vec<f64>,
    squares: Vec<f64>,
    columns: f64,
}

impl Spectrum {
    fn new(
        kernel: &dyn Kernel,
        points: &[f64],
        dim: usize,
        value: impl Fn(usize, usize) -> f64,
        columns: usize,
    ) -> Result<Self> {
        let rows = points.len() / dim;
        let at = |i: usize| &points[i * dim..(i + 1) * dim];
        let covariance = matrix(rows, rows, |i, j| kernel.eval(at(i), at(j)));
        let mut centred = matrix(rows, columns, &value);
        for c in 0..columns {
            let mean = (0..rows).map(|i| centred[(i, c)]).sum::<f64>() / rows as f64;
            (0..rows).for_each(|i| centred[(i, c)] -= mean);
        }
        let cells = || (0..rows).flat_map(|i| (0..columns).map(move |c| (i, c)));
        let largest = cells().map(|(i, c)| value(i, c).abs()).fold(0.0, f64::max);
        if cells().all(|at| centred[at].abs() <= 1e-12 * largest) {
            return Err(Error::NoVariation { what: "values", value: "equal" });
        }
        let eigen = covariance.self_adjoint_eigen(Side::Lower).expect("a finite symmetric matrix has eigenvalues");
        let eigenvalues: Vec<f64> = (0..rows).map(|i| eigen.S()[i].max(0.0)).collect();
        if eigenvalues.iter().sum::<f64>() == 0.0 {
            return Err(Error::NoVariation { what: "rows with values", value: "zero" });
        }
        let along = eigen.U().transpose() * &centred;
        let squares = (0..rows).map(|i| (0..columns).map(|c| along[(i, c)].powi(2)).sum()).collect();
        Ok(Self { eigenvalues, squares, columns: columns as f64 })
    }

    fn rows(&self) -> f64 {
        self.eigenvalues.len() as f64
    }

    fn mean_var(&self) -> f64 {
        self.eigenvalues.iter().sum::<f64>() / self.rows()
    }

    /// Returns the best s² for a given ρ²: the mean of yᵀ(K + ρ²I)⁻¹y.
    fn scale(&self, noise_var: f64) -> f64 {
        let sum: f64 = self.eigenvalues.iter().zip(&self.squares).map(|(value, sq)| sq / (value + noise_var)).sum();
        sum / (self.rows() * self.columns)
    }

    fn ln_likelihood(&self, noise_var: f64) -> f64 {
        let scale = self.scale(noise_var);
        let ln_det: f64 = self.eigenvalues.iter().map(|value| (value + noise_var).ln()).sum();
        let ln_scale = (std::f64::consts::TAU * scale).ln() + 1.0;
        -0.5 * self.columns * (self.rows() * ln_scale + ln_det)
    }
}

/// Finds the maximum of a function with a single maximum between two points, by golden-section search.
fn golden(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let share = 0.5 * (5f64.sqrt() - 1.0);
    for _ in 0..60 {
        let (a, b) = (high - share * (high - low), low + share * (high - low));
        if f(a) < f(b) { low = a } else { high = b }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Embeddings, Linear};

    #[test]
    fn values_that_are_all_equal_say_nothing() {
        let rows = [1.0, 2.0, 3.0];
        let points: Points<'_> = Embeddings::new(&rows[..], 1).unwrap().into();
        assert!(fit_noise(&Linear, points, &[0.1; 3], 0).unwrap_err().to_string().contains("all equal"));
        assert!(matches!(fit_noise(&Linear, points, &[1.0; 2], 0), Err(Error::Length { .. })));
        let unknown = [1.0, f64::NAN, 2.0];
        assert_eq!(fit_noise(&Linear, points, &unknown, 0).unwrap().rows, 2, "a row without a value is skipped");
        let bad = [1.0, f64::INFINITY, 2.0];
        assert_eq!(fit_noise(&Linear, points, &bad, 0), Err(Error::NotFinite { what: "values", row: 1 }));
    }

    #[test]
    fn the_maximum_of_a_parabola() {
        assert!((golden(|x| -(x - 0.3).powi(2), -1.0, 2.0) - 0.3).abs() < 1e-8);
    }
}
