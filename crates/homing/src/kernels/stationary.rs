//! Kernels of the distance between points (the paper's Table 3): values in (0, 1], 1 at distance zero.

use super::Kernel;
use crate::{Error, Result};

fn euclidean_sq(x: &[f64], other: &[f64]) -> f64 {
    x.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn positive(name: &'static str, value: f64) -> Result<f64> {
    // Its square divides distances.
    if (value * value).is_normal() && value > 0.0 {
        Ok(value)
    } else {
        Err(Error::Setting { name, value, expected: "it must be a positive number" })
    }
}

/// exp(−‖x − x′‖₂² / 2h²).
#[derive(Debug, Clone, Copy)]
pub struct Gaussian {
    length: f64,
}

impl Gaussian {
    /// With length scale h.
    pub fn new(length: f64) -> Result<Self> {
        Ok(Self { length: positive("the length scale", length)? })
    }
}

impl Kernel for Gaussian {
    fn eval(&self, x: &[f64], other: &[f64]) -> f64 {
        (-0.5 * euclidean_sq(x, other) / (self.length * self.length)).exp()
    }
}

/// exp(−‖x − x′‖₁ / h).
#[derive(Debug, Clone, Copy)]
pub struct Laplace {
    length: f64,
}

impl Laplace {
    /// With length scale h.
    pub fn new(length: f64) -> Result<Self> {
        Ok(Self { length: positive("the length scale", length)? })
    }
}

impl Kernel for Laplace {
    fn eval(&self, x: &[f64], other: &[f64]) -> f64 {
        let distance: f64 = x.iter().zip(other).map(|(a, b)| (a - b).abs()).sum();
        (-distance / self.length).exp()
    }
}

/// 2^(1−ν)/Γ(ν) · r^ν · K_ν(r) with r = √(2ν)·‖x − x′‖₂ / h.
#[derive(Debug, Clone, Copy)]
pub struct Matern {
    smoothness: f64,
    length: f64,
}

impl Matern {
    /// With smoothness ν and length scale h. ν = 1/2, 3/2 and 5/2 have closed forms and are faster.
    pub fn new(smoothness: f64, length: f64) -> Result<Self> {
        let smoothness = positive("the smoothness ν", smoothness)?;
        if smoothness > 50.0 {
            let expected = "above 50 it cannot be told from the Gaussian kernel; use that one";
            return Err(Error::Setting { name: "the smoothness ν", value: smoothness, expected });
        }
        Ok(Self { smoothness, length: positive("the length scale", length)? })
    }
}

impl Kernel for Matern {
    fn eval(&self, x: &[f64], other: &[f64]) -> f64 {
        let nu = self.smoothness;
        let r = (2.0 * nu).sqrt() * euclidean_sq(x, other).sqrt() / self.length;
        if r == 0.0 {
            1.0
        } else if nu == 0.5 {
            (-r).exp()
        } else if nu == 1.5 {
            (1.0 + r) * (-r).exp()
        } else if nu == 2.5 {
            (1.0 + r + r * r / 3.0) * (-r).exp()
        } else if r > 600.0 {
            0.0 // K_ν(r) < e^−r would underflow
        } else {
            let (_, k_nu) = puruspe::Inu_Knu(nu, r);
            let ln = (1.0 - nu) * std::f64::consts::LN_2 - libm::lgamma(nu) + nu * r.ln() + k_nu.ln();
            // Near r = 0 the Bessel function overflows where the kernel is 1 to the last digit.
            if ln.is_finite() { ln.exp().min(1.0) } else { 1.0 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_matern_meets_the_closed_forms() {
        for (nu, nearby) in [(0.5, 0.5 + 1e-9), (1.5, 1.5 - 1e-9), (2.5, 2.5 + 1e-9)] {
            for distance in [1e-3, 0.1, 0.7, 2.0, 9.0] {
                let closed = Matern::new(nu, 0.8).unwrap().eval(&[0.0], &[distance]);
                let general = Matern::new(nearby, 0.8).unwrap().eval(&[0.0], &[distance]);
                assert!((closed - general).abs() < 1e-7, "ν = {nu}, r = {distance}: {closed} {general}");
            }
        }
    }

    #[test]
    fn general_matern_meets_scipy() {
        // scipy.special.kv in 2^(1−ν)/Γ(ν) · r^ν · kv(ν, r), r = √(2ν)·d, h = 1.
        for (nu, distance, want) in [
            (0.3, 0.5, 0.498_347_326_364_248_06),
            (1.0, 0.25, 0.894_158_065_910_892_8),
            (3.7, 1.3, 0.383_322_752_961_201),
            (10.0, 2.0, 0.135_933_368_286_168_1),
        ] {
            let got = Matern::new(nu, 1.0).unwrap().eval(&[0.0], &[distance]);
            assert!((got - want).abs() < 1e-9, "ν = {nu}: {got} {want}");
        }
    }

    #[test]
    fn smoothness_runs_from_laplace_to_gaussian() {
        let (x, y) = ([0.3], [1.1]);
        let laplace = Laplace::new(1.0).unwrap().eval(&x, &y);
        let half = Matern::new(0.5, 1.0).unwrap().eval(&x, &y);
        assert!((laplace - half).abs() < 1e-15, "in one dimension ν = 1/2 is the Laplace kernel");
        let gaussian = Gaussian::new(1.0).unwrap().eval(&x, &y);
        let errors: Vec<f64> =
            [5.0, 15.0, 45.0].map(|nu| (Matern::new(nu, 1.0).unwrap().eval(&x, &y) - gaussian).abs()).to_vec();
        assert!(errors[0] > errors[1] && errors[1] > errors[2] && errors[2] < errors[0] / 8.0, "{errors:?}");
    }

    #[test]
    fn a_length_scale_must_be_positive() {
        assert!(Gaussian::new(0.0).is_err());
        assert!(Laplace::new(f64::NAN).is_err());
        assert!(Matern::new(-1.0, 1.0).is_err());
    }
}
