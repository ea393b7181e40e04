//! Appendix D.5: the facts on which the proofs are based.

use proptest::prelude::*;
use rand::RngExt;

use super::dense::eigen;
use crate::oracle::{Matrix, rng, uniform_rows};

proptest! {
    #![proptest_config(crate::oracle::cases(128))]

    /// Lemma D.12: A ⪯ n·diag A for a positive definite A.
    #[test]
    fn a_covariance_is_below_n_times_its_diagonal(seed in any::<u64>(), n in 1usize..8) {
        let mut rng = rng(seed);
        let root = uniform_rows(&mut rng, n, n);
        let a: Matrix = root.iter().map(|x| root.iter().map(|y| x.iter().zip(y).map(|(a, b)| a * b).sum()).collect()).collect();
        let gap: Matrix = (0..n)
            .map(|i| (0..n).map(|j| if i == j { n as f64 * a[i][i] } else { 0.0 } - a[i][j]).collect())
            .collect();
        prop_assert!(eigen(&gap).0.into_iter().all(|value| value > -1e-10));
    }

    /// Lemma D.13 (Eq. 17 and 18): M′·ln(b/a) ≤ b − a ≤ M·ln(b/a) for M′ ≤ a ≤ b ≤ M.
    #[test]
    fn a_difference_is_bounded_by_a_logarithm(seed in any::<u64>()) {
        let mut rng = rng(seed);
        let mut ends: Vec<f64> = (0..4).map(|_| 10f64.powf(rng.random_range(-6.0..3.0))).collect();
        ends.sort_by(f64::total_cmp);
        let [least, a, b, most] = ends[..] else { unreachable!() };
        let log = (b / a).ln();
        prop_assert!(b - a <= most * log * (1.0 + 1e-12));
        prop_assert!(b - a >= least * log * (1.0 - 1e-12));
    }
}
