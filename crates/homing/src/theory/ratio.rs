//! The ratio of the information in rows separately and together, its bounds, and its guarantee (Definition C.1, Theorem
//! C.2).

use faer::Mat;

use super::chain::Chain;
use super::model::Model;
use crate::law::moments::gain;
use crate::{Error, Result};

/// Information in nats below which there is none: the definition sets 0/0 = 1.
pub(crate) const NOTHING: f64 = 1e-12;

/// Returns the information in nats below which it may be rounding. Variances are accurate to a share of their original
/// values, and count in units of ρ². The result exceeds [`NOTHING`] if ρ² is less than a hundredth of the mean variance.
pub(crate) fn doubtful(model: &Model<'_>) -> f64 {
    let noise = model.task().noise_vars.into_iter().flatten().copied().fold(model.noise_var(), f64::min);
    NOTHING.max(1e-14 * model.mean_var() / noise)
}

/// Bounds of κ_n(k): `lower` ≤ κ ≤ `upper`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Lower bound: no pair (B, X) has a smaller ratio.
    pub lower: f64,
    /// Upper bound: some pair has this ratio.
    pub upper: f64,
}

impl Ratio {
    /// Returns whether both bounds equal κ.
    pub fn is_exact(&self) -> bool {
        self.lower == self.upper
    }

    pub(super) fn min(self, other: Self) -> Self {
        Self { lower: self.lower.min(other.lower), upper: self.upper.min(other.upper) }
    }

    /// Returns the share of the information in the best batch of its size that the batch is guaranteed to have (Theorem
    /// C.2).
    pub fn guarantee(&self) -> f64 {
        guarantee(self.lower)
    }
}

/// Returns the guarantee 1 − e^−κ (Theorem C.2).
///
/// ```
/// assert!((homing::theory::guarantee(1.0) - 0.632).abs() < 1e-3); // 1 − 1/e for a submodular objective
/// ```
pub fn guarantee(ratio: f64) -> f64 {
    -(-ratio).exp_m1()
}

/// Returns the rows of a batch without duplicates, because B′ is a set.
pub(crate) fn distinct(model: &Model<'_>, batch: &[usize]) -> Result<Vec<usize>> {
    let rows = model.task().pool.rows();
    if let Some(&row) = batch.iter().find(|&&row| row >= rows) {
        return Err(Error::NoSuchRow { what: "batch", row, rows });
    }
    let mut seen = std::collections::HashSet::new();
    Ok(batch.iter().copied().filter(|&row| seen.insert(row)).collect())
}

/// Returns one if the ratio is less than one only by rounding.
pub(crate) fn snap_to_one(ratio: f64) -> f64 {
    if ratio > 1.0 - NOTHING { 1.0 } else { ratio }
}

/// Returns Σ Δ(x | B) / Δ(X | B). A denominator of at most `nothing` counts as zero.
pub(crate) fn ratio(alone: f64, together: f64, nothing: f64) -> f64 {
    if together <= nothing { 1.0 } else { alone / together }
}

/// The law given D and the law given D and f_A, with the same observations added to both.
pub(crate) struct ChainPair<'c> {
    data: Chain<'c>,
    joint: Chain<'c>,
}

impl<'c> ChainPair<'c> {
    pub fn new(data: &'c Mat<f64>, joint: &'c Mat<f64>, given: impl Iterator<Item = (usize, f64)>) -> Self {
        let mut pair = Self { data: Chain::new(data.as_ref()), joint: Chain::new(joint.as_ref()) };
        given.for_each(|(x, noise_var)| {
            pair.push(x, noise_var);
        });
        pair
    }

    /// Returns Δ(x | observations so far).
    pub fn gain(&mut self, x: usize, noise_var: f64) -> f64 {
        gain(self.data.var(x), self.joint.var(x), noise_var)
    }

    /// Observes x. Returns Δ(x | observations before).
    pub fn push(&mut self, x: usize, noise_var: f64) -> f64 {
        gain(self.data.push(x, noise_var), self.joint.push(x, noise_var), noise_var)
    }

    pub fn pop(&mut self) {
        self.data.pop();
        self.joint.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guarantee_of_a_submodular_batch_is_the_known_one() {
        assert!((guarantee(1.0) - (1.0 - 1.0 / std::f64::consts::E)).abs() < 1e-15);
        assert_eq!(guarantee(0.0), 0.0);
        assert_eq!(ratio(0.0, 0.0, 0.0), 1.0);
    }
}
