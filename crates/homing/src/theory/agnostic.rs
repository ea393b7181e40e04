//! The agnostic setting: a fixed function in the kernel's Hilbert space instead of a random one (Section 3.2, Appendix
//! D.4).

use crate::{Error, Result};

fn check_probability(delta: f64) -> Result<()> {
    if delta > 0.0 && delta < 1.0 {
        return Ok(());
    }
    Err(Error::Setting { name: "δ", value: delta, expected: "it must lie between 0 and 1" })
}

pub(crate) fn not_negative(name: &'static str, value: f64) -> Result<()> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(Error::Setting { name, value, expected: "it must be a finite number and not negative" })
}

/// Width β_n(δ) = ‖f*‖_k + ρ·√(2(γ_n + 1 + ln(1/δ))) of the confidence band, as in Theorem 3.2 and Lemma D.11.
///
/// The lemma states that |f*(x) − μ_n(x)| ≤ β_n(δ)·σ_n(x) for all x and n, jointly with probability 1 − δ. Its source
/// (Chowdhury and Gopalan, 2017) regularises the posterior by about 1, not by ρ². With the posterior of Appendix B.2, the
/// statement holds for ρ ≥ 1. For ρ < 1 the band is too narrow, and [`calibrated_width`] is the width that holds for every
/// ρ.
///
/// ```
/// use homing::theory::confidence_width;
///
/// let (norm, noise_std, capacity, delta) = (1.0, 1.0, 2.0, 0.1);
/// let width = confidence_width(norm, noise_std, capacity, delta)?;
/// assert!((width - (1.0 + (2.0 * (2.0 + 1.0 + 10f64.ln())).sqrt())).abs() < 1e-12);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn confidence_width(norm: f64, noise_std: f64, capacity: f64, delta: f64) -> Result<f64> {
    check_probability(delta)?;
    not_negative("the norm of f*", norm)?;
    not_negative("the noise", noise_std)?;
    not_negative("the information capacity", capacity)?;
    Ok(norm + noise_std * (2.0 * (capacity + 1.0 - delta.ln())).sqrt())
}

/// Width ‖f*‖_k + √(2(γ_n + ln(1/δ))) of a confidence band that holds for every ρ.
///
/// Divide the observations by ρ(x): the noise is then 1-sub-Gaussian, the posterior is ridge regression with regulariser 1,
/// and the self-normalised bound of Abbasi-Yadkori (2013) contains ½ ln|I + P⁻¹K| ≤ γ_n instead of its determinant.
///
/// ```
/// use homing::theory::{calibrated_width, confidence_width};
///
/// // For ρ = 0.1 the paper's band is too narrow.
/// assert!(calibrated_width(1.0, 2.0, 0.1)? > confidence_width(1.0, 0.1, 2.0, 0.1)?);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn calibrated_width(norm: f64, capacity: f64, delta: f64) -> Result<f64> {
    check_probability(delta)?;
    not_negative("the norm of f*", norm)?;
    not_negative("the information capacity", capacity)?;
    Ok(norm + (2.0 * (capacity - delta.ln())).sqrt())
}

/// Upper bound β_n(δ)·(η_S(x) + ν(n)) of |f*(x) − μ_n(x)| for a target x, in or outside S (Theorem 3.2).
///
/// `irreducible_var` is η²_S(x), and `reducible_var` is ν²(n), an upper bound of σ²_n(x) − η²_S(x), such as
/// [`reducible_bound`](super::reducible_bound) of Theorem 3.1. The bound holds where that one does, with the probability of the
/// band of this width.
///
/// ```
/// use homing::theory::generalization_bound;
///
/// assert_eq!(generalization_bound(2.0, 0.25, 0.09)?, 2.0 * (0.5 + 0.3));
/// # Ok::<(), homing::Error>(())
/// ```
pub fn generalization_bound(width: f64, irreducible_var: f64, reducible_var: f64) -> Result<f64> {
    not_negative("the width of the band", width)?;
    not_negative("the irreducible variance", irreducible_var)?;
    not_negative("the reducible variance", reducible_var)?;
    Ok(width * (irreducible_var.sqrt() + reducible_var.sqrt()))
}

/// Confidence interval [μ − β·σ, μ + β·σ] of f*(x), by Lemma D.11.
///
/// ```
/// assert_eq!(homing::theory::confidence_interval(1.0, 0.5, 2.0), [0.0, 2.0]);
/// ```
pub fn confidence_interval(mean: f64, std: f64, width: f64) -> [f64; 2] {
    [mean - width * std, mean + width * std]
}
