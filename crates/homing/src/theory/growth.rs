//! Growth of γ_n with n (the paper's Table 3), and a bound that holds for every n.
//!
//! Rates are orders of magnitude: γ_n stays below them up to a constant that depends on the domain, the length scale and
//! the noise, and for Õ also up to further logarithms. They show how fast the guarantee improves, not its value.

/// Rate of the linear kernel: d·ln n.
///
/// ```
/// assert!((homing::theory::linear_growth(100.0, 3) - 3.0 * 100f64.ln()).abs() < 1e-9);
/// ```
pub fn linear_growth(n: f64, dim: usize) -> f64 {
    dim as f64 * n.ln()
}

/// Rate of the Gaussian kernel: lnᵈ⁺¹ n.
///
/// ```
/// assert!((homing::theory::gaussian_growth(100.0, 1) - 100f64.ln().powi(2)).abs() < 1e-9);
/// ```
pub fn gaussian_growth(n: f64, dim: usize) -> f64 {
    n.ln().powf(dim as f64 + 1.0)
}

/// Rate of the Laplace kernel, which is the Matérn kernel with ν = ½: n^(d/(1+d)) · ln^(1/(1+d)) n.
///
/// ```
/// assert!((homing::theory::laplace_growth(100.0, 1) - 10.0 * 100f64.ln().sqrt()).abs() < 1e-9);
/// ```
pub fn laplace_growth(n: f64, dim: usize) -> f64 {
    matern_growth(n, dim, 0.5)
}

/// Rate of the Matérn kernel with smoothness ν: n^(d/(2ν+d)) · ln^(2ν/(2ν+d)) n.
///
/// ```
/// assert!((homing::theory::matern_growth(100.0, 1, 0.5) - 10.0 * 100f64.ln().sqrt()).abs() < 1e-9);
/// ```
pub fn matern_growth(n: f64, dim: usize, smoothness: f64) -> f64 {
    let (d, two_nu) = (dim as f64, 2.0 * smoothness);
    n.powf(d / (two_nu + d)) * n.ln().powf(two_nu / (two_nu + d))
}

/// Upper bound r/2 · ln(1 + n·s/r) of γ_n for a kernel of rank r, if k(x, x)/ρ²(x) ≤ s everywhere.
///
/// I + K_XX/ρ² has at most r eigenvalues above 1, whose sum is at most r + n·s. Their product is largest if they are equal.
/// The bound also holds for repeated rows. For the linear kernel, r = d, and this is [`linear_growth`] with its constant.
///
/// ```
/// assert!((homing::theory::capacity_by_rank(4, 2, 3.0) - 7f64.ln()).abs() < 1e-9);
/// ```
pub fn capacity_by_rank(n: usize, rank: usize, signal_to_noise: f64) -> f64 {
    let rank = rank.min(n) as f64;
    if rank == 0.0 { 0.0 } else { 0.5 * rank * (n as f64 * signal_to_noise / rank).ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rate_of_the_table() {
        let n = 1e4_f64;
        assert!((linear_growth(n, 3) - 27.631_021_115_928_547).abs() < 1e-9);
        assert!((gaussian_growth(n, 2) - 781.316_579_440_695_1).abs() < 1e-9);
        // d = 1: √n · √ln n.
        assert!((laplace_growth(n, 1) - 100.0 * n.ln().sqrt()).abs() < 1e-9);
        // d = 2, ν = 3/2: n^(2/5) · ln^(3/5) n.
        assert!((matern_growth(n, 2, 1.5) - n.powf(0.4) * n.ln().powf(0.6)).abs() < 1e-9);
    }

    #[test]
    fn every_rate_is_sublinear_and_smoothness_slows_it() {
        for rate in
            [|n| linear_growth(n, 2), |n| gaussian_growth(n, 2), |n| laplace_growth(n, 2), |n| matern_growth(n, 2, 2.5)]
        {
            let shares: Vec<f64> = [1e4, 1e6, 1e8].map(|n: f64| rate(n) / n).to_vec();
            assert!(shares[0] > shares[1] && shares[1] > shares[2], "{shares:?}");
        }
        assert!(matern_growth(1e6, 2, 2.5) < matern_growth(1e6, 2, 1.5));
    }
}
