//! The agnostic setting: a fixed function of the kernel's Hilbert space in place of a random one (Section 3.2, Appendix D.4).

use crate::{Error, Result};

fn in_unit(delta: f64) -> Result<()> {
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

/// β_n(δ) = ‖f*‖_k + ρ·√(2(γ_n + 1 + ln(1/δ))), as Theorem 3.2 and Lemma D.11 state it.
///
/// The lemma then has |f*(x) − μ_n(x)| ≤ β_n(δ)·σ_n(x) for all x and n, jointly with probability 1 − δ. Its source
/// (Chowdhury and Gopalan, 2017) regularises the posterior by about 1, not by ρ². With the posterior of Appendix B.2 the
/// statement holds for ρ ≥ 1; for ρ < 1 it is too narrow, and [`calibrated_width`] is the width that holds for every ρ.
pub fn confidence_width(norm: f64, noise_std: f64, capacity: f64, delta: f64) -> Result<f64> {
    in_unit(delta)?;
    not_negative("the norm of f*", norm)?;
    not_negative("the noise", noise_std)?;
    not_negative("the information capacity", capacity)?;
    Ok(norm + noise_std * (2.0 * (capacity + 1.0 - delta.ln())).sqrt())
}

/// ‖f*‖_k + √(2(γ_n + ln(1/δ))): the width for which the band holds whatever ρ is.
///
/// Divide observations by ρ(x): the noise is then 1-sub-Gaussian, the posterior is ridge regression with regulariser 1, and
/// the self-normalised bound of Abbasi-Yadkori (2013) has ½ ln|I + P⁻¹K| ≤ γ_n in place of its determinant.
pub fn calibrated_width(norm: f64, capacity: f64, delta: f64) -> Result<f64> {
    in_unit(delta)?;
    not_negative("the norm of f*", norm)?;
    not_negative("the information capacity", capacity)?;
    Ok(norm + (2.0 * (capacity - delta.ln())).sqrt())
}

/// [μ − β·σ, μ + β·σ]: where f*(x) lies, by Lemma D.11.
pub fn confidence_interval(mean: f64, std: f64, width: f64) -> [f64; 2] {
    [mean - width * std, mean + width * std]
}
