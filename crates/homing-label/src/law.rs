//! Variances of the targets given the observations, updated one observation at a time.
//!
//! Observation i with ρ² has the whitened column w_i(x) = Cov(f_x, f_xᵢ | D_<i) / √(Var(f_xᵢ | D_<i) + ρ²), so that Var(f_x | D)
//! = k(x, x) − Σ w_i(x)². The columns at the observed points form the Cholesky factor of K_XX + ρ²I.

use homing::Kernel;

/// The targets' variances given some observations, which can be extended and taken back.
pub(crate) struct TargetLaw {
    dim: usize,
    noise_var: f64,
    targets: Vec<f64>,
    /// Prior variance of each target.
    priors: Vec<f64>,
    /// Observed points, one after the other.
    points: Vec<f64>,
    /// Rows of the observed points, to find out what has changed.
    rows: Vec<usize>,
    /// Row i holds w_0..w_i at observation i, of which the last is √(Var + ρ²).
    factor: Vec<Vec<f64>>,
    /// w_0, w_1, … of each target.
    whitened: Vec<Vec<f64>>,
}

/// How an observation would change the targets.
pub(crate) struct Effect {
    /// Variance that each target would lose.
    pub removed: Vec<f64>,
}

impl TargetLaw {
    pub fn new(kernel: &dyn Kernel, targets: Vec<f64>, dim: usize, noise_var: f64) -> Self {
        let priors: Vec<f64> = targets.chunks_exact(dim).map(|target| kernel.var(target)).collect();
        let whitened = vec![Vec::new(); priors.len()];
        Self { dim, noise_var, targets, priors, points: Vec::new(), rows: Vec::new(), factor: Vec::new(), whitened }
    }

    /// Makes `rows` the observed rows; `read` returns the points of some rows.
    pub fn observe_exactly(&mut self, kernel: &dyn Kernel, rows: &[usize], read: impl FnOnce(&[usize]) -> Vec<f64>) {
        let shared = self.rows.iter().zip(rows).take_while(|(a, b)| a == b).count();
        self.truncate(shared);
        let new = &rows[shared..];
        if !new.is_empty() {
            let points = read(new);
            for (&row, point) in new.iter().zip(points.chunks_exact(self.dim)) {
                self.observe(kernel, row, point);
            }
        }
    }

    /// Takes back all observations after the first `count`.
    pub fn truncate(&mut self, count: usize) {
        self.rows.truncate(count);
        self.factor.truncate(count);
        self.points.truncate(count * self.dim);
        self.whitened.iter_mut().for_each(|whitened| whitened.truncate(count));
    }

    /// Returns the number of observations.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Conditions on a row, and returns how that changed the targets.
    pub fn observe(&mut self, kernel: &dyn Kernel, row: usize, x: &[f64]) -> Effect {
        let mut column = self.whiten(kernel, x);
        let var = kernel.var(x) - column.iter().map(|w| w * w).sum::<f64>();
        // Rounding must not make the total variance smaller than the noise.
        let total = (var.max(0.0) + self.noise_var).sqrt();
        let mut removed = Vec::with_capacity(self.priors.len());
        for (target, whitened) in self.targets.chunks_exact(self.dim).zip(&mut self.whitened) {
            let shared: f64 = whitened.iter().zip(&column).map(|(a, b)| a * b).sum();
            let new = (kernel.eval(target, x) - shared) / total;
            removed.push(new * new);
            whitened.push(new);
        }
        column.push(total);
        self.factor.push(column);
        self.points.extend_from_slice(x);
        self.rows.push(row);
        Effect { removed }
    }

    /// Returns the whitened covariances of a point with all observations.
    fn whiten(&self, kernel: &dyn Kernel, x: &[f64]) -> Vec<f64> {
        let mut column: Vec<f64> = Vec::with_capacity(self.factor.len() + 1);
        for (row, point) in self.factor.iter().zip(self.points.chunks_exact(self.dim)) {
            let shared: f64 = row.iter().zip(&column).map(|(a, b)| a * b).sum();
            column.push((kernel.eval(point, x) - shared) / row[column.len()]);
        }
        column
    }

    /// Returns the variance of each target before any observation.
    pub fn priors(&self) -> &[f64] {
        &self.priors
    }

    /// Returns the variance of each target.
    pub fn vars(&self) -> Vec<f64> {
        let var = |(prior, whitened): (&f64, &Vec<f64>)| (prior - whitened.iter().map(|w| w * w).sum::<f64>()).max(0.0);
        self.priors.iter().zip(&self.whitened).map(var).collect()
    }

    /// Returns the cosine of a point with each target, before any observation.
    pub fn cosines(&self, kernel: &dyn Kernel, x: &[f64]) -> Vec<f64> {
        let own = kernel.var(x);
        let targets = self.targets.chunks_exact(self.dim).zip(&self.priors);
        targets.map(|(target, prior)| kernel.eval(target, x) / (own * prior).sqrt().max(f64::MIN_POSITIVE)).collect()
    }
}

#[cfg(test)]
mod tests {
    use homing::{Embeddings, Gaussian, Linear, Posterior};

    use super::*;

    #[test]
    fn the_variances_are_those_of_the_posterior_after_any_changes() {
        let points = [0.9, 0.1, -0.4, 0.3, 0.7, 0.7, 0.2, -0.6, 0.5, 0.45];
        let targets = vec![1.0, 0.2, 0.1, 0.9];
        let at =
            |rows: &[usize]| rows.iter().flat_map(|&row| points[2 * row..2 * row + 2].to_vec()).collect::<Vec<_>>();
        let gaussian = Gaussian::new(0.8).unwrap();
        for kernel in [&Linear as &dyn Kernel, &gaussian] {
            let mut law = TargetLaw::new(kernel, targets.clone(), 2, 0.05);
            for rows in [&[0, 1][..], &[0, 1, 4, 2], &[0, 3], &[], &[2, 2, 1]] {
                law.observe_exactly(kernel, rows, at);
                let observed = at(rows);
                let posterior = Posterior::new(
                    kernel,
                    Embeddings::new(if rows.is_empty() { &targets[..] } else { &observed[..] }, 2).unwrap().into(),
                    &vec![0.0; rows.len().max(usize::from(rows.is_empty()) * 2)],
                    &vec![if rows.is_empty() { 1e12 } else { 0.05 }; rows.len().max(usize::from(rows.is_empty()) * 2)],
                )
                .unwrap();
                for (target, var) in targets.chunks_exact(2).zip(law.vars()) {
                    assert!((posterior.var(target) - var).abs() < 1e-9, "{rows:?}");
                }
            }
        }
    }

    #[test]
    fn an_effect_is_the_variance_that_disappears() {
        let mut law = TargetLaw::new(&Linear, vec![1.0, 0.0, 0.0, 2.0], 2, 1.0);
        let before = law.vars();
        let effect = law.observe(&Linear, 7, &[0.0, 1.0]);
        for ((before, after), removed) in before.iter().zip(law.vars()).zip(effect.removed) {
            assert!((before - after - removed).abs() < 1e-12);
        }
        assert!((law.vars()[1] - 2.0).abs() < 1e-12 && law.vars()[0] == 1.0);
        assert_eq!(law.cosines(&Linear, &[0.0, 3.0]), [0.0, 1.0]);
    }
}
