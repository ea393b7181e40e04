//! The prior precision τ, by the marginal likelihood.

use super::Mode;
use super::curvature::{Curvature, Form};
use crate::{Error, Result};

/// The prior precision under which the labels are likeliest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriorFit {
    /// τ.
    pub precision: f64,
    /// The logarithm of the marginal likelihood at τ.
    pub ln_evidence: f64,
    /// γ = Σ λ/(λ + τ): how many of the weights the examples have determined.
    pub determined: f64,
}

impl Curvature {
    /// ln |H + τI|.
    pub fn ln_det(&self, prior_precision: f64) -> f64 {
        self.sum(prior_precision, |lambda, tau| (lambda + tau).ln())
    }

    /// γ(τ), the number of weights less d ln |H + τI| / d ln τ: Σ λ/(λ + τ) over the eigenvalues of H.
    pub fn determined(&self, prior_precision: f64) -> f64 {
        let sum = self.sum(prior_precision, |lambda, tau| lambda / (lambda + tau));
        // √τ stands in each of the two factors.
        if matches!(self.form, Form::Damped(_)) { 0.5 * sum } else { sum }
    }

    /// The sum of `f` over the eigenvalues of H, or of each factor with its own damping for every eigenvalue of the other.
    fn sum(&self, tau: f64, f: impl Fn(f64, f64) -> f64) -> f64 {
        let over = |values: &[f64], tau: f64| values.iter().map(|&value| f(value, tau)).sum::<f64>();
        match &self.form {
            Form::Diagonal(table) => (0..table.ncols()).map(|j| over(table.col_as_slice(j), tau)).sum(),
            Form::Full(eigen) => over(&eigen.values, tau),
            Form::Kronecker(factors) => {
                let (outputs, inputs) = (&factors.outputs.values, &factors.inputs.values);
                let some = inputs.iter().take_while(|&&value| value > 0.0).count();
                let products = inputs[..some].iter().flat_map(|a| outputs.iter().map(move |g| a * g));
                let zeros = (inputs.len() - some) * outputs.len();
                products.map(|value| f(value, tau)).sum::<f64>() + zeros as f64 * f(0.0, tau)
            }
            Form::Damped(factors) => {
                let (of_outputs, of_inputs) = factors.damping(tau);
                self.width as f64 * over(&factors.outputs.values, of_outputs)
                    + self.classes as f64 * over(&factors.inputs.values, of_inputs)
            }
        }
    }

    /// ln p(y | W*) − ½τ‖W*‖² + ½N ln τ − ½ ln |H + τI| with N weights: the logarithm of the marginal likelihood of the labels.
    pub fn ln_evidence(&self, mode: &Mode, prior_precision: f64) -> f64 {
        let fit = mode.ln_likelihood - 0.5 * prior_precision * mode.weights_sq;
        fit + 0.5 * (self.weights() as f64 * prior_precision.ln() - self.ln_det(prior_precision))
    }

    /// Maximises the marginal likelihood over τ.
    ///
    /// Its slope in ln τ is ½(γ(τ) − τ‖W*‖²), which falls from ½γ(0) > 0 all along; so there is one maximum, found by bisection.
    pub fn fit_prior(&self, mode: &Mode) -> Result<PriorFit> {
        let high = self.weights() as f64 / mode.weights_sq;
        if !high.is_normal() {
            return Err(Error::Unsupported(
                "the last layer's weights are all zero, so that no prior precision can be told from them; train the network \
                 first, or give a precision",
            ));
        }
        let rises = |ln: f64| self.determined(ln.exp()) > ln.exp() * mode.weights_sq;
        let mut high = high.ln();
        let mut low = high - 1.0;
        while !rises(low) {
            (low, high) = (low - 2.0 * (high - low), low);
            if !low.exp().is_normal() {
                return Err(Error::Unsupported(
                    "the network is certain of every labelled example, so that no prior precision can be told from them; \
                     train it for fewer epochs, or give a precision",
                ));
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
