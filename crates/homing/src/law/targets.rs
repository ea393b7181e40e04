//! The targets and their variances under a law.

use std::sync::Arc;

use super::{Functional, Law, Variance, WhitenedColumns, lower_variance};
use crate::base::range::LEAST_VAR;

/// The targets of a round, and their variances given all observations.
#[derive(Clone)]
pub(crate) struct Targets {
    pub points: Arc<[f64]>,
    pub dim: usize,
    pub vars: Vec<Variance>,
    pub columns: WhitenedColumns,
    /// Weight of each target in Σ_a f_a / σ_a: 1 for a sum of correlations.
    pub weight: f64,
    /// Number of targets that have had their turn, for a rule that serves one target after the other.
    pub turns: usize,
}

impl Targets {
    pub fn new(points: Vec<f64>, dim: usize, data: &mut Law<'_>) -> Self {
        let vars = points.chunks_exact(dim).map(|a| Variance::fresh(data.var(a))).collect();
        Self { points: points.into(), dim, vars, columns: WhitenedColumns::default(), weight: 1.0, turns: 0 }
    }

    /// Returns the same targets under another law.
    pub fn given(&self, data: &mut Law<'_>) -> Self {
        Self::new(self.points.to_vec(), self.dim, data)
    }

    pub fn iter(&self) -> impl Iterator<Item = &[f64]> {
        self.points.chunks_exact(self.dim)
    }

    /// Returns the target whose turn it is.
    pub fn whose_turn(&self) -> &[f64] {
        let a = self.turns % self.vars.len();
        &self.points[a * self.dim..(a + 1) * self.dim]
    }

    /// Returns the covariances with a functional of `data`.
    pub fn covs(&mut self, data: &Law<'_>, functional: &Functional) -> Vec<f64> {
        let mut covs = vec![0.0; self.vars.len()];
        data.scan(functional, &self.points, &mut self.columns, &mut covs);
        covs
    }

    /// Returns the functional Σ_a c_a f_a under `data`.
    pub fn weighted(&mut self, data: &Law<'_>, coefficients: &[f64]) -> Functional {
        data.functional(coefficients, &self.points, &mut self.columns)
    }

    /// Updates the variances for an observation with these covariances and total variance p. `data` is the law after it.
    pub fn observe(&mut self, covs: &[f64], total: f64, data: &mut Law<'_>) {
        for (i, c) in covs.iter().enumerate() {
            let var = &mut self.vars[i];
            lower_variance(var, *c, total);
            if var.is_lost() {
                *var = Variance::fresh(data.var(&self.points[i * self.dim..(i + 1) * self.dim]));
            }
        }
    }

    /// Returns the terms of Σ_a f_a / σ_a, with the weight of each. A target whose value is already known has coefficient
    /// zero.
    pub fn standardised(&self) -> impl Iterator<Item = (f64, &[f64])> {
        let coefficient = |var: &Variance| if var.value > LEAST_VAR { self.weight / var.value.sqrt() } else { 0.0 };
        self.vars.iter().map(coefficient).zip(self.iter())
    }

    pub fn total_var(&self) -> f64 {
        self.vars.iter().map(|var| var.value).sum()
    }
}
