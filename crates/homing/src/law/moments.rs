//! Variances and covariances of points under a law, and the information in an observation.

use faer::Mat;

use super::{Law, Variance, WhitenedColumns};
use crate::base::algebra::zeros;

/// Information ½ ln( (v + ρ²) / (u + ρ²) ) of an observation, where v = Var(f_x | D) and u = Var(f_x | f_A, D).
pub(crate) fn gain(var: f64, given_targets: f64, noise_var: f64) -> f64 {
    let rest = given_targets.clamp(0.0, var.max(0.0));
    0.5 * ((var.max(0.0) - rest) / (rest + noise_var)).ln_1p()
}

/// Returns the variances of a block of rows.
pub(crate) fn variances(law: &Law<'_>, rows: &[f64], dim: usize) -> Vec<f64> {
    let mut out = vec![Variance::ZERO; rows.len() / dim];
    law.scan_vars(rows, &mut WhitenedColumns::default(), &mut out);
    out.into_iter().map(|var| var.value.max(0.0)).collect()
}

/// Returns the covariances of all pairs of points.
pub(crate) fn covariance(law: &Law<'_>, points: &[f64], dim: usize) -> Mat<f64> {
    let count = points.len() / dim;
    let mut out = zeros(count, count);
    if count == 0 {
        return out;
    }
    let mut column = vec![0.0; count];
    for (j, x) in points.chunks_exact(dim).enumerate() {
        law.scan(&law.itself(x), points, &mut WhitenedColumns::default(), &mut column);
        for i in 0..=j {
            out[(i, j)] = column[i];
            out[(j, i)] = column[i];
        }
    }
    // The law can form a variance from positive parts, but not a covariance of a point with itself.
    for (i, var) in variances(law, points, dim).into_iter().enumerate() {
        out[(i, i)] = var;
    }
    out
}
