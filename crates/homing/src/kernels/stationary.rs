//! Kernels that depend on the distance between points (the paper's Table 3). Their values lie in (0, 1], with 1 at distance
//! zero.

use super::Kernel;
use crate::base::algebra::{inner_products, norm_sq, sum};
use crate::base::range::{LEAST_SIZE, MOST_SIZE};
use crate::{Error, Result};

/// Largest relative error of values that come from a matrix product.
const SHARE: f64 = 1e-13;

/// Number of points up to which summing differences is faster than a matrix product.
const FEW: usize = 2;

/// Share of ‖x‖² + ‖x′‖² below which squared distances are summed from differences.
const NEAR: f64 = 1e-2;

fn euclidean_sq(x: &[f64], other: &[f64]) -> f64 {
    sum(x, other, |a, b| (a - b) * (a - b))
}

/// Computes ‖x − x′‖₂² of every row with every point as ‖x‖² + ‖x′‖² − 2xᵀx′, one column per point.
///
/// The three terms cancel if a row is near a point. Their rounding error is about √d·ε(‖x‖² + ‖x′‖²) (Higham and Mary
/// 2019). If the kernel does not tolerate four times that (`tolerates` of the squared distance and its error), differences
/// are summed instead.
fn euclidean_sq_block(rows: &[f64], points: &[f64], dim: usize, out: &mut [f64], tolerates: impl Fn(f64, f64) -> bool) {
    let count = rows.len() / dim;
    if points.len() <= FEW * dim {
        for (point, out) in points.chunks_exact(dim).zip(out.chunks_exact_mut(count)) {
            rows.chunks_exact(dim).zip(out).for_each(|(x, out)| *out = euclidean_sq(x, point));
        }
        return;
    }
    inner_products(rows, points, dim, 0..dim, out);
    let norms: Vec<f64> = rows.chunks_exact(dim).map(norm_sq).collect();
    let rounding = 4.0 * (dim as f64).sqrt() * f64::EPSILON;
    for (point, out) in points.chunks_exact(dim).zip(out.chunks_exact_mut(count)) {
        let point_norm = norm_sq(point);
        for (i, (out, norm)) in out.iter_mut().zip(&norms).enumerate() {
            let (whole, product) = (norm + point_norm, *out);
            *out = whole - 2.0 * product;
            if !(*out > NEAR * whole && tolerates(*out, rounding * whole)) {
                *out = euclidean_sq(&rows[i * dim..(i + 1) * dim], point);
            }
        }
    }
}

/// Checks a length scale: its square must be able to divide that of any distance.
fn length_scale(value: f64) -> Result<f64> {
    let expected = match value {
        value if (LEAST_SIZE..=MOST_SIZE).contains(&value) => return Ok(value),
        value if value > 0.0 => "it must lie between 1e-50 and 1e50",
        _ => "it must be a positive number",
    };
    Err(Error::Setting { name: "the length scale", value, expected })
}

/// Gaussian kernel exp(−‖x − x′‖₂² / 2h²).
///
/// ```
/// use homing::{Gaussian, Kernel};
///
/// let kernel = Gaussian::new(2.0)?;
/// assert_eq!(kernel.eval(&[1.0], &[3.0]), (-0.5f64).exp());
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Gaussian {
    length: f64,
}

impl Gaussian {
    /// Creates the kernel with length scale h.
    pub fn new(length: f64) -> Result<Self> {
        Ok(Self { length: length_scale(length)? })
    }
}

impl Gaussian {
    fn at(self, distance_sq: f64) -> f64 {
        (-0.5 * distance_sq / (self.length * self.length)).exp()
    }
}

impl Kernel for Gaussian {
    fn eval(&self, x: &[f64], other: &[f64]) -> f64 {
        self.at(euclidean_sq(x, other))
    }

    fn var(&self, _: &[f64]) -> f64 {
        1.0
    }

    fn block(&self, rows: &[f64], points: &[f64], dim: usize, out: &mut [f64]) {
        // ∂ ln k / ∂d² = −1/2h².
        let most = SHARE * 2.0 * self.length * self.length;
        euclidean_sq_block(rows, points, dim, out, |_, error| error <= most);
        out.iter_mut().for_each(|value| *value = self.at(*value));
    }
}

/// Laplace kernel exp(−‖x − x′‖₁ / h).
///
/// ```
/// use homing::{Kernel, Laplace};
///
/// let kernel = Laplace::new(2.0)?;
/// assert_eq!(kernel.eval(&[1.0, 0.0], &[3.0, 2.0]), (-2.0f64).exp());
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Laplace {
    length: f64,
}

impl Laplace {
    /// Creates the kernel with length scale h.
    pub fn new(length: f64) -> Result<Self> {
        Ok(Self { length: length_scale(length)? })
    }
}

impl Kernel for Laplace {
    fn eval(&self, x: &[f64], other: &[f64]) -> f64 {
        (-sum(x, other, |a, b| (a - b).abs()) / self.length).exp()
    }

    fn var(&self, _: &[f64]) -> f64 {
        1.0
    }
}

/// Matérn kernel 2^(1−ν)/Γ(ν) · r^ν · K_ν(r), where r = √(2ν)·‖x − x′‖₂ / h.
///
/// ```
/// use homing::{Kernel, Laplace, Matern};
///
/// let (rough, smooth) = (Matern::new(0.5, 1.0)?, Matern::new(2.5, 1.0)?);
/// assert!((rough.eval(&[0.0], &[0.3]) - Laplace::new(1.0)?.eval(&[0.0], &[0.3])).abs() < 1e-15);
/// assert!(smooth.eval(&[0.0], &[0.3]) > rough.eval(&[0.0], &[0.3]));
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Matern {
    smoothness: f64,
    length: f64,
}

impl Matern {
    /// Creates the kernel with smoothness ν and length scale h. ν = 1/2, 3/2 and 5/2 have closed forms and are faster.
    pub fn new(smoothness: f64, length: f64) -> Result<Self> {
        let expected = match smoothness {
            nu if (0.01..=50.0).contains(&nu) => None,
            nu if nu > 50.0 => {
                Some("above 50 it is indistinguishable from the Gaussian kernel; use the Gaussian kernel")
            }
            nu if nu > 0.0 => Some("below 0.01 all rows are practically independent of each other; raise it"),
            _ => Some("it must be a positive number"),
        };
        if let Some(expected) = expected {
            return Err(Error::Setting { name: "the smoothness ν", value: smoothness, expected });
        }
        Ok(Self { smoothness, length: length_scale(length)? })
    }
}

impl Matern {
    fn at(self, distance_sq: f64) -> f64 {
        let nu = self.smoothness;
        let r = (2.0 * nu).sqrt() * distance_sq.sqrt() / self.length;
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
            // Near r = 0 the Bessel function overflows, and the kernel is 1 to the last digit.
            if ln.is_finite() { ln.exp().min(1.0) } else { 1.0 }
        }
    }
}

impl Kernel for Matern {
    fn eval(&self, x: &[f64], other: &[f64]) -> f64 {
        self.at(euclidean_sq(x, other))
    }

    fn var(&self, _: &[f64]) -> f64 {
        1.0
    }

    fn block(&self, rows: &[f64], points: &[f64], dim: usize, out: &mut [f64]) {
        let (nu, h) = (self.smoothness, self.length);
        euclidean_sq_block(rows, points, dim, out, |distance_sq, error| {
            // |∂ ln k / ∂r| = K_{ν−1}(r)/K_ν(r) is at most r/2(ν − 1) for ν > 1, and at most 1 for ν ≥ ½.
            let smooth = nu >= 1.5 && error * nu / (2.0 * (nu - 1.0)) <= SHARE * h * h;
            let steep = nu >= 0.5 && error * (2.0 * nu).sqrt() <= SHARE * 2.0 * h * distance_sq.sqrt();
            smooth || steep || error <= SHARE * distance_sq
        });
        out.iter_mut().for_each(|value| *value = self.at(*value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_matern_agrees_with_the_closed_forms() {
        for (nu, nearby) in [(0.5, 0.5 + 1e-9), (1.5, 1.5 - 1e-9), (2.5, 2.5 + 1e-9)] {
            for distance in [1e-3, 0.1, 0.7, 2.0, 9.0] {
                let closed = Matern::new(nu, 0.8).unwrap().eval(&[0.0], &[distance]);
                let general = Matern::new(nearby, 0.8).unwrap().eval(&[0.0], &[distance]);
                assert!((closed - general).abs() < 1e-7, "ν = {nu}, r = {distance}: {closed} {general}");
            }
        }
    }

    #[test]
    fn general_matern_agrees_with_scipy() {
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
