//! Keeps the variances of the targets given the observations, one observation at a time.
//!
//! Observation i with noise ρ² has the whitened column w_i(x) = Cov(f_x, f_xᵢ | D_<i) / √(Var(f_xᵢ | D_<i) + ρ²), so that Var(f_x | D)
//! = k(x, x) − Σ w_i(x)². The columns at the observed points form the Cholesky factor of K_XX + ρ²I, and an observation costs the
//! square of the number of those before it.
//!
//! With the linear kernel, old observations are therefore settled: ρ²I + Σ xxᵀ = LLᵀ over them, and x̃ = ρL⁻¹x are coordinates in
//! which Cov(f_x, f_y | settled) = x̃ᵀỹ. In these coordinates the later observations are treated as if they were the first. So an
//! observation costs no more than the square of the dimension, however many there are.

use std::collections::HashSet;

use faer::{MatRef, Side};
use homing::Kernel;

/// Least number of observations that are settled at a time. It is the dimension if that is larger.
const SETTLED_AT_ONCE: usize = 64;

/// Number of observations that are named for each target.
const NAMED: usize = 3;

/// The targets' variances given some observations, which can be extended and taken back.
pub(crate) struct TargetLaw {
    dim: usize,
    noise_var: f64,
    targets: Vec<f64>,
    /// Prior variance of each target.
    priors: Vec<f64>,
    /// Observed rows, the settled ones first.
    rows: Vec<usize>,
    settled: Settled,
    /// Later observations, in the coordinates that the settled ones leave.
    recent: Recent,
    /// Observations that removed most of each target's variance when they came, among the settled ones.
    best: Vec<Vec<Removal>>,
}

/// Variance of a target that an observation removed when it came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Removal {
    pub row: usize,
    pub removed: f64,
}

/// Observations of which only their sum is kept.
#[derive(Default)]
struct Settled {
    count: usize,
    /// Σ xxᵀ, dim × dim; empty if there are none.
    moments: Vec<f64>,
    /// L by rows; empty if there are none.
    factor: Vec<f64>,
}

/// Observations one after the other.
struct Recent {
    /// Points of the targets.
    targets: Vec<f64>,
    /// Variance of each target before these observations.
    starts: Vec<f64>,
    points: Vec<f64>,
    /// Row i holds w_0..w_i at observation i, of which the last is √(Var + ρ²).
    factor: Vec<Vec<f64>>,
    /// w_0, w_1, … of each target.
    whitened: Vec<Vec<f64>>,
}

/// Returns the sum of the products, in an order that a processor adds quickly.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (whole_a, whole_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = whole_a.remainder().iter().zip(whole_b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in whole_a.zip(whole_b) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    rest + sums.iter().sum::<f64>()
}

impl Recent {
    fn new(kernel: &dyn Kernel, targets: Vec<f64>, dim: usize) -> Self {
        let starts: Vec<f64> = targets.chunks_exact(dim).map(|target| kernel.var(target)).collect();
        let whitened = vec![Vec::new(); starts.len()];
        Self { targets, starts, points: Vec::new(), factor: Vec::new(), whitened }
    }

    fn truncate(&mut self, count: usize, dim: usize) {
        self.factor.truncate(count);
        self.points.truncate(count * dim);
        self.whitened.iter_mut().for_each(|whitened| whitened.truncate(count));
    }

    /// Conditions on a point, and returns the variance that each target loses.
    fn observe(&mut self, kernel: &dyn Kernel, x: &[f64], noise_var: f64) -> Vec<f64> {
        let mut column: Vec<f64> = Vec::with_capacity(self.factor.len() + 1);
        for (row, point) in self.factor.iter().zip(self.points.chunks_exact(x.len())) {
            let (last, before) = row.split_last().expect("a row holds its own deviation");
            column.push((kernel.eval(point, x) - dot(before, &column)) / last);
        }
        // Rounding must not make the total variance smaller than the noise.
        let total = ((kernel.var(x) - dot(&column, &column)).max(0.0) + noise_var).sqrt();
        let mut removed = Vec::with_capacity(self.starts.len());
        for (target, whitened) in self.targets.chunks_exact(x.len()).zip(&mut self.whitened) {
            let new = (kernel.eval(target, x) - dot(whitened, &column)) / total;
            removed.push(new * new);
            whitened.push(new);
        }
        column.push(total);
        self.factor.push(column);
        self.points.extend_from_slice(x);
        removed
    }
}

impl Settled {
    /// Returns what is settled after further points, if ρ²I + Σ xxᵀ has a Cholesky factor in f64.
    fn with(&self, points: &[f64], dim: usize, noise_var: f64) -> Option<Self> {
        let count = points.len() / dim;
        let x = MatRef::from_row_major_slice(points, count, dim);
        let mut sum = x.transpose() * x;
        if self.count > 0 {
            sum += MatRef::from_row_major_slice(&self.moments, dim, dim);
        }
        let entries = |of: &faer::Mat<f64>| (0..dim * dim).map(|at| of[(at / dim, at % dim)]).collect::<Vec<f64>>();
        let moments = entries(&sum);
        (0..dim).for_each(|at| sum[(at, at)] += noise_var);
        let factor = entries(&sum.llt(Side::Lower).ok()?.L().to_owned());
        Some(Self { count: self.count + count, moments, factor })
    }

    /// Returns ρL⁻¹x.
    fn coordinates(&self, x: &[f64], noise_var: f64) -> Vec<f64> {
        if self.count == 0 {
            return x.to_vec();
        }
        let mut out: Vec<f64> = Vec::with_capacity(x.len());
        for (row, &value) in self.factor.chunks_exact(x.len()).zip(x) {
            let at = out.len();
            out.push((noise_var.sqrt() * value - dot(&row[..at], &out)) / row[at]);
        }
        out
    }
}

impl TargetLaw {
    pub fn new(kernel: &dyn Kernel, targets: Vec<f64>, dim: usize, noise_var: f64) -> Self {
        let recent = Recent::new(kernel, targets.clone(), dim);
        let priors = recent.starts.clone();
        let best = vec![Vec::new(); priors.len()];
        Self { dim, noise_var, targets, priors, rows: Vec::new(), settled: Settled::default(), recent, best }
    }

    /// Makes `rows` the observed rows, in an order of its own; `read` returns the points of some rows.
    pub fn observe_exactly(&mut self, kernel: &dyn Kernel, rows: &[usize], read: impl Fn(&[usize]) -> Vec<f64>) {
        let wanted: HashSet<usize> = rows.iter().copied().collect();
        let shared = self.rows.iter().take_while(|row| wanted.contains(row)).count();
        if shared < self.settled.count {
            // What is settled cannot be taken back, so everything is observed anew.
            *self = Self::new(kernel, std::mem::take(&mut self.targets), self.dim, self.noise_var);
        } else {
            self.truncate(shared);
        }
        let known: HashSet<usize> = self.rows.iter().copied().collect();
        let missing: Vec<usize> = rows.iter().copied().filter(|row| !known.contains(row)).collect();
        let at_once = self.dim.max(SETTLED_AT_ONCE);
        for part in missing.chunks(at_once) {
            let points = read(part);
            for (&row, point) in part.iter().zip(points.chunks_exact(self.dim)) {
                self.observe(kernel, row, point);
            }
            if kernel.is_linear() && self.recent.factor.len() > 2 * at_once {
                self.settle(kernel, self.recent.factor.len() - at_once, &read);
            }
        }
    }

    /// Settles the oldest `count` recent observations, unless the noise is too small for that.
    fn settle(&mut self, kernel: &dyn Kernel, count: usize, read: impl Fn(&[usize]) -> Vec<f64>) {
        let later = self.rows[self.settled.count + count..].to_vec();
        let points = read(&self.rows[self.settled.count..self.settled.count + count]);
        let Some(settled) = self.settled.with(&points, self.dim, self.noise_var) else { return };
        self.best = (0..self.priors.len()).map(|target| self.best_of(target, count)).collect();
        self.settled = settled;
        self.rows.truncate(self.settled.count);
        let seen = |x: &[f64]| self.settled.coordinates(x, self.noise_var);
        let targets = self.targets.chunks_exact(self.dim).flat_map(seen).collect();
        self.recent = Recent::new(kernel, targets, self.dim);
        for (&row, point) in later.iter().zip(read(&later).chunks_exact(self.dim)) {
            self.observe(kernel, row, point);
        }
    }

    /// Takes back all observations after the first `count`, which must not be fewer than the settled ones.
    pub fn truncate(&mut self, count: usize) {
        self.rows.truncate(count);
        self.recent.truncate(count - self.settled.count, self.dim);
    }

    /// Returns the number of observations.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Conditions on a row, and returns the variance that each target loses.
    pub fn observe(&mut self, kernel: &dyn Kernel, row: usize, x: &[f64]) -> Vec<f64> {
        self.rows.push(row);
        let x = self.settled.coordinates(x, self.noise_var);
        self.recent.observe(kernel, &x, self.noise_var)
    }

    /// Returns the variance of each target before any observation.
    pub fn priors(&self) -> &[f64] {
        &self.priors
    }

    /// Returns the variance of each target.
    pub fn vars(&self) -> Vec<f64> {
        let var = |(start, whitened): (&f64, &Vec<f64>)| (start - dot(whitened, whitened)).max(0.0);
        self.recent.starts.iter().zip(&self.recent.whitened).map(var).collect()
    }

    /// Returns the observations that removed most of a target's variance when they came, largest first.
    pub fn served_by(&self, target: usize) -> Vec<Removal> {
        self.best_of(target, self.recent.factor.len())
    }

    /// The same among the settled and the first `count` recent observations.
    fn best_of(&self, target: usize, count: usize) -> Vec<Removal> {
        let recent = self.rows[self.settled.count..].iter().zip(&self.recent.whitened[target]).take(count);
        let mut all = self.best[target].clone();
        all.extend(recent.map(|(&row, w)| Removal { row, removed: w * w }).filter(|one| one.removed > 0.0));
        all.sort_by(|a, b| b.removed.total_cmp(&a.removed));
        all.truncate(NAMED);
        all
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

    /// Returns the variances of the targets after observing some points, by one dense posterior.
    fn dense(kernel: &dyn Kernel, targets: &[f64], observed: &[f64], noise_var: f64) -> Vec<f64> {
        let count = observed.len() / 2;
        if count == 0 {
            return targets.chunks_exact(2).map(|target| kernel.var(target)).collect();
        }
        let points = Embeddings::new(observed, 2).unwrap().into();
        let posterior = Posterior::new(kernel, points, &vec![0.0; count], &vec![noise_var; count]).unwrap();
        targets.chunks_exact(2).map(|target| posterior.var(target)).collect()
    }

    #[test]
    fn the_variances_are_those_of_the_posterior_after_any_changes() {
        let points = [0.9, 0.1, -0.4, 0.3, 0.7, 0.7, 0.2, -0.6, 0.5, 0.45];
        let targets = vec![1.0, 0.2, 0.1, 0.9];
        let at =
            |rows: &[usize]| rows.iter().flat_map(|&row| points[2 * row..2 * row + 2].to_vec()).collect::<Vec<_>>();
        let gaussian = Gaussian::new(0.8).unwrap();
        for kernel in [&Linear as &dyn Kernel, &gaussian] {
            let mut law = TargetLaw::new(kernel, targets.clone(), 2, 0.05);
            for rows in [&[0, 1][..], &[1, 0, 4, 2], &[0, 3], &[], &[2, 1]] {
                law.observe_exactly(kernel, rows, at);
                assert_eq!(law.len(), rows.len());
                for (expected, var) in dense(kernel, &targets, &at(rows), 0.05).iter().zip(law.vars()) {
                    assert!((expected - var).abs() < 1e-9, "{rows:?}");
                }
            }
        }
    }

    #[test]
    fn many_observations_cost_little_and_say_the_same() {
        let at = |rows: &[usize]| {
            let point = |&row: &usize| [(row as f64 * 0.7).sin(), (row as f64 * 1.3).cos() - 0.2];
            rows.iter().flat_map(point).collect::<Vec<f64>>()
        };
        let targets = vec![1.0, 0.2, 0.1, 0.9];
        for noise_var in [3.0, 1e-4] {
            let mut law = TargetLaw::new(&Linear, targets.clone(), 2, noise_var);
            for count in [150, 151, 400, 395, 900, 40] {
                let rows: Vec<usize> = (0..count).collect();
                law.observe_exactly(&Linear, &rows, at);
                assert!(law.recent.factor.len() <= 3 * SETTLED_AT_ONCE);
                for (expected, var) in dense(&Linear, &targets, &at(&rows), noise_var).iter().zip(law.vars()) {
                    assert!((expected - var).abs() < 1e-9 * expected, "{count}: {expected} {var}");
                }
            }
        }
    }

    #[test]
    fn the_observations_that_removed_most_are_remembered() {
        let at = |rows: &[usize]| {
            let size = |row: usize| if row == 7 { 3.0 } else { 0.1 };
            rows.iter().flat_map(|&row| [size(row), 0.0]).collect::<Vec<f64>>()
        };
        let mut law = TargetLaw::new(&Linear, vec![1.0, 0.0, 0.0, 1.0], 2, 1.0);
        for count in [20, 300] {
            law.observe_exactly(&Linear, &(0..count).collect::<Vec<_>>(), at);
            assert_eq!(law.served_by(0)[0].row, 7);
            assert!(law.served_by(1).is_empty());
        }
    }

    #[test]
    fn what_an_observation_removes_is_the_variance_that_disappears() {
        let mut law = TargetLaw::new(&Linear, vec![1.0, 0.0, 0.0, 2.0], 2, 1.0);
        let before = law.vars();
        let all_removed = law.observe(&Linear, 7, &[0.0, 1.0]);
        for ((before, after), removed) in before.iter().zip(law.vars()).zip(all_removed) {
            assert!((before - after - removed).abs() < 1e-12);
        }
        assert!((law.vars()[1] - 2.0).abs() < 1e-12 && law.vars()[0] == 1.0);
        assert_eq!(law.cosines(&Linear, &[0.0, 3.0]), [0.0, 1.0]);
    }
}
