//! The numbers of a candidate that a pick changes: how it changes them, and what a rule then reads.
//!
//! An engine in f64 divides by the pick's total variance p and records how large a sum has been, so it notices lost digits
//! ([`lower_variance`], [`lower_squares`]). The pass that verifies a draft multiplies by 1/p in the precision of its block,
//! which compiles to vector instructions ([`variance_after`], [`squares_after`]); its errors are bounded separately. A test
//! checks that the two agree.

use super::real::Real;
use crate::base::range::LEAST_VAR;
use crate::law::Variance;
pub(crate) use crate::law::lower_variance;
use crate::rules::Candidate;

/// Updates q = Σ_a Cov(f_x, f_a | D)² for an observation, which lowers each covariance by g·c_a/p. With h = Σ_a
/// c_a·Cov(f_x, f_a | D) before the observation, the new value is q − 2(g/p)h + (g/p)²‖c‖².
#[inline]
pub(crate) fn lower_squares(sum: &mut Variance, cov: f64, weighted: f64, total: f64, norm_sq: f64) {
    let share = cov / total;
    let (cross, own) = (2.0 * share * weighted, share * share * norm_sq);
    sum.value = sum.value - cross + own;
    sum.scale = sum.scale.max(cross.abs()).max(own);
}

/// The same as [`lower_variance`], with a multiplication by 1/p.
#[inline]
pub(crate) fn variance_after<T: Real>(var: T, cov: T, inverse: T) -> T {
    var - (cov * inverse) * cov
}

/// The same as [`lower_squares`], with a multiplication by 1/p.
#[inline]
pub(crate) fn squares_after<T: Real>(sum: T, cov: T, weighted: T, inverse: T, norm_sq: T) -> T {
    let share = cov * inverse;
    sum + share * (share * norm_sq - T::of(2.0) * weighted)
}

/// Returns the candidate that a rule reads. Numbers that the rule does not want are zero.
#[inline]
pub(crate) fn candidate(var: f64, given_targets: f64, sq_cov: f64, std_cov: f64, noise_var: f64) -> Candidate<'static> {
    let significant = |var: f64| if var > LEAST_VAR { var } else { 0.0 };
    let var = significant(var);
    Candidate {
        var,
        // Conditioning never increases a variance, but rounding may.
        var_given_targets: significant(given_targets).min(var),
        sq_cov: sq_cov.max(0.0),
        std_cov,
        noise_var,
        ..Candidate::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Realistic numbers: a covariance is at most the root of the product of the variances.
    fn cases() -> impl Iterator<Item = [f64; 5]> {
        (1..400).map(|i| {
            let x = |k: f64| (f64::from(i) * k).sin();
            let (var, total) = (1.0 + x(0.7), 1.5 + x(1.3));
            let cov = 0.9 * x(2.1) * (var * total).sqrt();
            [var, cov, total, x(3.7), 0.5 + 0.5 * x(0.3).abs()]
        })
    }

    fn agree<T: Real>(share: f64) {
        for [var, cov, total, weighted, norm_sq] in cases() {
            let of = T::of;
            let mut exact = Variance::fresh(var);
            lower_variance(&mut exact, cov, total);
            let fast = variance_after(of(var), of(cov), of(1.0 / total)).get();
            assert!((exact.value - fast).abs() <= share * var.max(1.0), "{} {fast}", exact.value);
            let mut exact = Variance::fresh(var);
            lower_squares(&mut exact, cov, weighted, total, norm_sq);
            let fast = squares_after(of(var), of(cov), of(weighted), of(1.0 / total), of(norm_sq)).get();
            assert!((exact.value - fast).abs() <= share * exact.scale.max(1.0), "{} {fast}", exact.value);
        }
    }

    #[test]
    fn both_update_formulas_agree() {
        agree::<f64>(1e-15);
        agree::<f32>(1e-6);
    }

    /// The sum of squares over targets that are conditioned one by one.
    #[test]
    fn sums_of_squares_fall_as_their_covariances_do() {
        let (covs, pick_covs, cov, total) = ([0.3, -0.2, 0.7], [0.5, 0.1, -0.4], 0.6, 1.7);
        let after = covs.iter().zip(pick_covs).map(|(x, c): (&f64, f64)| (x - cov * c / total).powi(2)).sum::<f64>();
        let weighted = covs.iter().zip(pick_covs).map(|(x, c)| x * c).sum();
        let mut sum = Variance::fresh(covs.iter().map(|x| x * x).sum());
        lower_squares(&mut sum, cov, weighted, total, pick_covs.iter().map(|c| c * c).sum());
        assert!((sum.value - after).abs() < 1e-15, "{} {after}", sum.value);
    }
}
