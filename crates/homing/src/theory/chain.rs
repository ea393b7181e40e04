//! Conditional variances along a growing list of observations, by the Cholesky factor of their covariance.

use faer::MatRef;

/// Observations of points with covariance K, and the remaining variances of the others: the rows of L with LLᵀ = K_BB +
/// diag ρ².
#[derive(Clone)]
pub(crate) struct Chain<'c> {
    cov: MatRef<'c, f64>,
    members: Vec<usize>,
    /// The rows of L, concatenated; row i has i + 1 entries.
    factor: Vec<f64>,
    whitened: Vec<f64>,
}

impl<'c> Chain<'c> {
    /// Creates a chain without observations, for points with covariance `cov`.
    pub fn new(cov: MatRef<'c, f64>) -> Self {
        Self { cov, members: Vec::new(), factor: Vec::new(), whitened: Vec::new() }
    }

    /// Returns Var(f_x | y_B).
    pub fn var(&mut self, x: usize) -> f64 {
        self.whiten(x);
        self.left(x)
    }

    fn left(&self, x: usize) -> f64 {
        (self.cov[(x, x)] - self.whitened.iter().map(|z| z * z).sum::<f64>()).max(0.0)
    }

    /// Computes L⁻¹ K_Bx.
    fn whiten(&mut self, x: usize) {
        self.whitened.clear();
        let mut row = 0;
        for (i, &member) in self.members.iter().enumerate() {
            let explained: f64 = self.factor[row..row + i].iter().zip(&self.whitened).map(|(l, z)| l * z).sum();
            self.whitened.push((self.cov[(x, member)] - explained) / self.factor[row + i]);
            row += i + 1;
        }
    }

    /// Observes x with noise ρ². Returns Var(f_x | y_B) before the observation.
    pub fn push(&mut self, x: usize, noise_var: f64) -> f64 {
        let var = self.var(x);
        self.factor.extend_from_slice(&self.whitened);
        self.factor.push((var + noise_var).sqrt());
        self.members.push(x);
        var
    }

    /// Observes x with noise ρ². Returns its row of L: the part left of the diagonal, and the diagonal.
    pub fn push_row(&mut self, x: usize, noise_var: f64) -> (Vec<f64>, f64) {
        let std = (self.push(x, noise_var) + noise_var).sqrt();
        (self.whitened.clone(), std)
    }

    /// Removes the last observation.
    pub fn pop(&mut self) {
        self.members.pop().expect("there is an observation to remove");
        self.factor.truncate(self.factor.len() - self.members.len() - 1);
    }
}

/// Counts the increasing lists of at most `most` of `rows` rows, including the empty one. With `repeat`, a row may occur
/// more than once. Stops counting beyond 10¹⁸, which is more than can be enumerated.
pub(crate) fn count_lists(rows: usize, most: usize, repeat: bool) -> f64 {
    let mut sum = 1.0;
    let mut lists = 1.0;
    for size in 1..=most {
        let choices = if repeat { rows + size - 1 } else { (rows + 1).saturating_sub(size) };
        lists *= choices as f64 / size as f64;
        sum += lists;
        if lists == 0.0 || sum > 1e18 {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::mat;

    #[test]
    fn two_observations_by_hand() {
        let cov = mat![[2.0, 1.0], [1.0, 1.0]];
        let mut chain = Chain::new(cov.as_ref());
        assert_eq!(chain.push(0, 1.0), 2.0);
        // 1 − 1²/3.
        assert!((chain.var(1) - 2.0 / 3.0).abs() < 1e-15);
        // A second observation of the first point: 2 − 4/3 = 2/3, then 1/(1/2 + 2) = 2/5.
        assert!((chain.push(0, 1.0) - 2.0 / 3.0).abs() < 1e-15);
        assert!((chain.var(0) - 0.4).abs() < 1e-15);
        chain.pop();
        assert!((chain.var(0) - 2.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn lists_are_counted() {
        assert_eq!(count_lists(4, 2, false), 11.0);
        assert_eq!(count_lists(3, 2, true), 10.0);
        assert_eq!(count_lists(2, 5, false), 4.0);
        assert!(count_lists(2, usize::MAX, false) == 4.0 && count_lists(3, usize::MAX, true) > 1e18);
    }
}
