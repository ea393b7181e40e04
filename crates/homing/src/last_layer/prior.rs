//! Estimating the prior precision τ by the marginal likelihood.

use super::Mode;
use super::curvature::{Curvature, CurvatureForm};
use crate::{Error, Result};

/// The prior precision that maximises the marginal likelihood of the labels.
///
/// ```
/// use homing::Embeddings;
/// use homing::last_layer::{Approximation, Curvature, LastLayer, Mode};
///
/// let (hidden, p) = ([1.0f32, 0.2, 0.1, 0.9, 0.8, 0.3], [0.7f32, 0.3, 0.4, 0.6, 0.6, 0.4]); // three examples, two classes
/// let layer = LastLayer::new(Embeddings::new(&hidden, 2)?, Embeddings::new(&p, 2)?, true)?;
/// let mode = Mode::new(&layer, Embeddings::new(&[0.5f32, -0.4, -0.2, 0.6, 0.1, -0.1], 2)?, &[0, 1, 0])?;
/// let curvature = Curvature::new(&layer, Approximation::Kronecker)?;
/// let fit = curvature.fit_prior(&mode)?;
/// assert!(fit.ln_evidence >= curvature.ln_evidence(&mode, 2.0 * fit.precision));
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriorFit {
    /// Prior precision τ.
    pub precision: f64,
    /// Logarithm of the marginal likelihood at τ.
    pub ln_evidence: f64,
    /// γ = Σ λ/(λ + τ): the number of weights that the examples determine.
    pub determined: f64,
}

impl Curvature {
    /// Returns ln |H + τI|.
    pub fn ln_det(&self, prior_precision: f64) -> f64 {
        self.sum(prior_precision, |lambda, tau| (lambda + tau).ln())
    }

    /// Returns γ(τ) = Σ λ/(λ + τ) over the eigenvalues of H: the number of weights minus d ln |H + τI| / d ln τ.
    pub fn determined(&self, prior_precision: f64) -> f64 {
        let sum = self.sum(prior_precision, |lambda, tau| lambda / (lambda + tau));
        // Each of the two factors contains √τ.
        if matches!(self.form, CurvatureForm::Damped(_)) { 0.5 * sum } else { sum }
    }

    /// Sums `f` over the eigenvalues of H. For the damped form, sums it over each factor with its own damping, once per
    /// eigenvalue of the other factor.
    fn sum(&self, tau: f64, f: impl Fn(f64, f64) -> f64) -> f64 {
        let over = |values: &[f64], tau: f64| values.iter().map(|&value| f(value, tau)).sum::<f64>();
        match &self.form {
            CurvatureForm::Diagonal(table) => (0..table.ncols()).map(|j| over(table.col_as_slice(j), tau)).sum(),
            CurvatureForm::Full(eigen) => over(&eigen.values, tau),
            CurvatureForm::Kronecker(factors) => {
                let (outputs, inputs) = (&factors.outputs.values, &factors.inputs.values);
                let nonzero = inputs.iter().take_while(|&&value| value > 0.0).count();
                let products = inputs[..nonzero].iter().flat_map(|a| outputs.iter().map(move |g| a * g));
                let zeros = (inputs.len() - nonzero) * outputs.len();
                products.map(|value| f(value, tau)).sum::<f64>() + zeros as f64 * f(0.0, tau)
            }
            CurvatureForm::Damped(factors) => {
                let (of_outputs, of_inputs) = factors.damping(tau);
                self.width as f64 * over(&factors.outputs.values, of_outputs)
                    + self.classes as f64 * over(&factors.inputs.values, of_inputs)
            }
        }
    }

    /// Returns the logarithm of the marginal likelihood of the labels: ln p(y | W*) − ½τ‖W*‖² + ½N ln τ − ½ ln |H + τI|
    /// with N weights.
    pub fn ln_evidence(&self, mode: &Mode, prior_precision: f64) -> f64 {
        let fit = mode.ln_likelihood - 0.5 * prior_precision * mode.weights_sq;
        fit + 0.5 * (self.weights() as f64 * prior_precision.ln() - self.ln_det(prior_precision))
    }

    /// Maximises the marginal likelihood over τ.
    ///
    /// Its slope in ln τ is ½(γ(τ) − τ‖W*‖²), which starts at ½γ(0) > 0 and decreases everywhere. There is therefore one
    /// maximum, which bisection finds.
    pub fn fit_prior(&self, mode: &Mode) -> Result<PriorFit> {
        let high = self.weights() as f64 / mode.weights_sq;
        if !high.is_normal() {
            return Err(Error::ZeroWeights);
        }
        let rises = |ln: f64| self.determined(ln.exp()) > ln.exp() * mode.weights_sq;
        let mut high = high.ln();
        let mut low = high - 1.0;
        while !rises(low) {
            (low, high) = (low - 2.0 * (high - low), low);
            if !low.exp().is_normal() {
                return Err(Error::CertainNetwork);
            }
        }
        while high - low > 1e-12 * (1.0 + low.abs()) {
            let middle = f64::midpoint(low, high);
            if rises(middle) { low = middle } else { high = middle }
        }
        let precision = f64::midpoint(low, high).exp();
        let (ln_evidence, determined) = (self.ln_evidence(mode, precision), self.determined(precision));
        Ok(PriorFit { precision, ln_evidence, determined })
    }
}
