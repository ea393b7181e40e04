//! The law for any kernel, by an incremental Cholesky factor: one whitened column over the pool per observation.

use std::ops::Range;

use faer::MatRef;

use super::Variance;
use crate::Kernel;
use crate::base::algebra::{axpy, divide_by_triangle, dot, matrix, norm_sq, subtract_product};
use crate::shard::BLOCK;

/// Share of the prior variance below which a variance is rounding.
const NEGLIGIBLE: f64 = 256.0 * f64::EPSILON;

/// Number of columns by which storage grows. Doubling it would leave memory unused.
const ROOM: usize = 8;

/// Law of f given observations at points t₁, t₂, …: Cov(f_x, f_y) = k(x, y) − z_x·z_y with z = L⁻¹k(T, ·) and
/// LLᵀ = K_TT + diag ρ².
///
/// The columns of a block of rows are their z: for each observation, a column with one number per row.
#[derive(Clone)]
pub(crate) struct DualLaw<'a> {
    kernel: &'a dyn Kernel,
    /// Points t₁, t₂, …, row-major.
    points: Vec<f64>,
    steps: Vec<FactorRow>,
    /// The least variance that any point had when it was observed, if the kernel may make it negative.
    least: Option<Variance>,
}

#[derive(Clone)]
struct FactorRow {
    /// z of the point under the law before it was observed: a row of L without its diagonal.
    whitened: Vec<f64>,
    /// √(Var f + ρ²), the diagonal of L.
    std: f64,
}

/// A functional Σ c·f(x), with the data for its covariances under the law that created it.
#[derive(Clone)]
pub(crate) enum DualFunctional {
    /// The point that was observed at this step.
    Observation(usize),
    /// Coefficients, points (row-major), and whitened coordinates.
    Sum { coefficients: Vec<f64>, points: Vec<f64>, whitened: Vec<f64> },
}

impl<'a> DualLaw<'a> {
    pub fn prior(kernel: &'a dyn Kernel) -> Self {
        Self { kernel, points: Vec::new(), steps: Vec::new(), least: None }
    }

    /// Returns the number of observations.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Replaces the observations by those of another law with the same kernel.
    pub fn learn(&mut self, other: DualLaw<'_>) {
        (self.points, self.steps) = (other.points, other.steps);
    }

    /// Drops all observations but the first `steps`.
    pub fn truncate(&mut self, steps: usize) {
        self.points.truncate(self.points_of(0..steps).len());
        self.steps.truncate(steps);
    }

    fn points_of(&self, steps: Range<usize>) -> &[f64] {
        let dim = self.points.len() / self.len().max(1);
        &self.points[steps.start * dim..steps.end * dim]
    }

    fn push(&mut self, point: &[f64], whitened: Vec<f64>, total: f64) {
        self.points.extend_from_slice(point);
        self.steps.push(FactorRow { whitened, std: total.sqrt() });
    }

    pub fn observe_all(&mut self, points: &[f64], noise_vars: &[f64]) {
        let dim = points.len() / noise_vars.len().max(1);
        for (points, noise_vars) in points.chunks(BLOCK * dim.max(1)).zip(noise_vars.chunks(BLOCK)) {
            // The columns of the points over themselves. A row of them is a row of L.
            let (count, mut columns) = (noise_vars.len(), Vec::new());
            self.extend(self.len(), points, count, &mut columns);
            let mut values = vec![0.0; count * count];
            self.kernel.block(points, points, dim, &mut values);
            let priors = self.kernel.vars(points, dim);
            for (i, (x, &noise_var)) in points.chunks_exact(dim).zip(noise_vars).enumerate() {
                let whitened: Vec<f64> = columns.iter().skip(i).step_by(count).copied().collect();
                let prior = priors[i];
                let total = self.total(prior - norm_sq(&whitened), prior, noise_var);
                // Without noise, a point that is already known up to rounding adds nothing.
                if noise_var > 0.0 || total > NEGLIGIBLE * prior {
                    self.push(x, whitened, total);
                    self.append(&values[i * count..(i + 1) * count], count, &mut columns);
                }
            }
        }
    }

    /// Conditions on a noisy observation of f_x. Returns the functional f_x, and Var f_x + ρ² before the observation.
    pub fn observe(&mut self, x: &[f64], noise_var: f64) -> (DualFunctional, f64) {
        let whitened = self.whiten(x);
        let prior = self.kernel.var(x);
        let total = self.total(prior - norm_sq(&whitened), prior, noise_var);
        self.push(x, whitened, total);
        (DualFunctional::Observation(self.len() - 1), total)
    }

    /// Returns Var f + ρ² of a point that is about to be observed with noise. The result is at least the rounding error of
    /// the variance, which would otherwise count as signal and grow from one observation to the next.
    fn total(&mut self, var: f64, prior: f64, noise_var: f64) -> f64 {
        let current = Variance { value: var, scale: prior };
        if self.kernel.may_be_indefinite() && current.is_less(self.least) {
            self.least = Some(current);
        }
        let total = var.max(0.0) + noise_var;
        if noise_var > 0.0 { total.max(NEGLIGIBLE * prior) } else { total }
    }

    /// Returns the least variance that any point had when it was observed, if the kernel may make it negative.
    pub fn least_var(&self) -> Option<Variance> {
        self.least
    }

    fn whiten(&self, x: &[f64]) -> Vec<f64> {
        let mut values = vec![0.0; self.len()];
        if !values.is_empty() {
            self.kernel.block(&self.points, x, x.len(), &mut values);
        }
        let mut z = Vec::with_capacity(self.len());
        for (step, value) in self.steps.iter().zip(values) {
            z.push((value - dot(&step.whitened, &z)) / step.std);
        }
        z
    }

    pub fn var(&self, x: &[f64]) -> f64 {
        (self.kernel.var(x) - norm_sq(&self.whiten(x))).max(0.0)
    }

    /// Returns the functional Σ c·f over points with the given columns.
    pub fn functional(&self, coefficients: &[f64], points: &[f64], columns: &mut Vec<f64>) -> DualFunctional {
        let count = coefficients.len();
        self.extend(self.len(), points, count, columns);
        let whitened = columns.chunks_exact(count).map(|column| dot(column, coefficients)).collect();
        DualFunctional::Sum { coefficients: coefficients.to_vec(), points: points.to_vec(), whitened }
    }

    /// Returns k of every row with the points of some steps, one column per step.
    pub fn values(&self, steps: Range<usize>, rows: &[f64], count: usize) -> Vec<f64> {
        let mut values = vec![0.0; count * steps.len()];
        self.kernel.block(rows, self.points_of(steps), rows.len() / count, &mut values);
        values
    }

    /// Extends a block's columns to the first `steps` observations.
    pub fn extend(&self, steps: usize, rows: &[f64], count: usize, columns: &mut Vec<f64>) {
        let done = columns.len() / count;
        if done < steps {
            self.append(&self.values(done..steps, rows, count), count, columns);
        }
    }

    /// Appends the next columns, given the values of k: (K − Z·Wᵀ)·T⁻ᵀ, where Z are the columns so far and [W, T] the
    /// corresponding rows of L.
    pub fn append(&self, values: &[f64], count: usize, columns: &mut Vec<f64>) {
        let (done, added) = (columns.len() / count, values.len() / count);
        if columns.capacity() < columns.len() + values.len() {
            columns.reserve_exact(values.len().max(ROOM * count));
        }
        columns.extend_from_slice(values);
        let steps = &self.steps[done..done + added];
        let (old, new) = columns.split_at_mut(done * count);
        let weights = matrix(done, added, |i, j| steps[j].whitened[i]);
        subtract_product(old, weights.as_ref(), count, new);
        let entry = |i: usize, j: usize| if i == j { steps[i].std } else { steps[i].whitened[done + j] };
        let triangle = matrix(added, added, |i, j| if i < j { 0.0 } else { entry(i, j) });
        divide_by_triangle(new, triangle.as_ref(), count);
    }

    /// Computes Var f of a block's rows, given the observations that its columns cover.
    pub fn scan_vars(&self, rows: &[f64], columns: &[f64], out: &mut [Variance]) {
        let count = out.len();
        let mut explained = vec![0.0; count];
        for column in columns.chunks_exact(count) {
            explained.iter_mut().zip(column).for_each(|(explained, z)| *explained += z * z);
        }
        for ((prior, explained), out) in self.kernel.vars(rows, rows.len() / count).into_iter().zip(explained).zip(out)
        {
            *out = Variance { value: prior - explained, scale: prior };
        }
    }

    /// Returns the covariances of a block's rows with other points, given the first observations: one column per point.
    /// `whitened` holds the points' whitened coordinates: one column per point, one row per observation.
    pub fn covs(&self, rows: &[f64], columns: &[f64], points: &[f64], whitened: MatRef<'_, f64>) -> Vec<f64> {
        let dim = points.len() / whitened.ncols();
        let count = rows.len() / dim;
        let mut covs = vec![0.0; count * whitened.ncols()];
        self.kernel.block(rows, points, dim, &mut covs);
        subtract_product(columns, whitened, count, &mut covs);
        covs
    }

    pub fn scan(&self, functional: &DualFunctional, rows: &[f64], columns: &mut Vec<f64>, out: &mut [f64]) {
        let count = out.len();
        match functional {
            DualFunctional::Observation(step) => {
                self.extend(step + 1, rows, count, columns);
                let (column, std) = (&columns[step * count..(step + 1) * count], self.steps[*step].std);
                out.iter_mut().zip(column).for_each(|(g, z)| *g = z * std);
            }
            DualFunctional::Sum { coefficients, points, whitened } => {
                self.extend(whitened.len(), rows, count, columns);
                let mut values = vec![0.0; count * coefficients.len()];
                self.kernel.block(rows, points, rows.len() / count, &mut values);
                out.fill(0.0);
                for (c, column) in coefficients.iter().zip(values.chunks_exact(count)) {
                    axpy(*c, column, out);
                }
                let weights = MatRef::from_column_major_slice(whitened, whitened.len(), 1);
                subtract_product(columns, weights, count, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gaussian, Linear, law::linear::LinearLaw};

    #[test]
    fn dual_and_weight_space_are_one_law() {
        let (observed, noise) = ([1.0, 2.0, -0.5, 0.25, 1.5, 1.0], [0.3, 0.0, 0.1]);
        let mut dual = DualLaw::prior(&Linear);
        dual.observe_all(&observed, &noise);
        let mut linear = LinearLaw::prior(2);
        linear.observe_all(&observed, &noise);
        for x in [[0.3, 0.4], [-1.0, 2.0], [5.0, 0.1]] {
            assert!((dual.var(&x) - linear.var(&x).value).abs() < 1e-12);
            let points = [1.0, 1.0, 0.0, 3.0];
            let want = dot(&linear.functional(&[(2.0, &points[..2]), (-1.0, &points[2..])]), &x);
            let functional = dual.functional(&[2.0, -1.0], &points, &mut Vec::new());
            let mut scanned = [0.0];
            dual.scan(&functional, &x, &mut Vec::new(), &mut scanned);
            assert!((scanned[0] - want).abs() < 1e-12);
        }
    }

    /// Rows and observations on a line, more observations than fit into one block.
    #[test]
    fn columns_made_together_are_columns_made_one_by_one() {
        let kernel = Gaussian::new(0.3).unwrap();
        let at = |count: usize, step: f64| (0..count).map(|i| (i as f64 * step).sin()).collect::<Vec<_>>();
        let (rows, observed) = (at(50, 0.7), at(BLOCK + 40, 1.3));
        let noise: Vec<f64> = (0..observed.len()).map(|i| 0.01 + 0.001 * (i % 7) as f64).collect();
        let (mut together, mut single) = (DualLaw::prior(&kernel), DualLaw::prior(&kernel));
        together.observe_all(&observed, &noise);
        let (mut one_by_one, mut at_once) = (Vec::new(), Vec::new());
        for (x, &noise_var) in observed.iter().zip(&noise) {
            single.observe(&[*x], noise_var);
            single.extend(single.len(), &rows, rows.len(), &mut one_by_one);
        }
        together.extend(together.len(), &rows, rows.len(), &mut at_once);
        assert_eq!(one_by_one.len(), at_once.len());
        assert!(one_by_one.iter().zip(&at_once).all(|(a, b)| (a - b).abs() < 1e-10));
        let mut vars = vec![Variance::fresh(0.0); rows.len()];
        together.scan_vars(&rows, &at_once, &mut vars);
        assert!(vars.iter().zip(&rows).all(|(var, x)| (var.value - single.var(&[*x])).abs() < 1e-12));
    }
}
