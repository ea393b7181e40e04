//! The Hessian of the weighted cross-entropy with respect to the last layer's weights, in one of four forms.

use faer::Mat;

use super::LastLayer;
use super::eigen::Eigen;
use crate::base::algebra::{matrix, zeros};
use crate::{Error, Result};

/// Largest number of weights for a full covariance, whose cost is cubic.
pub const MOST_WEIGHTS: usize = 2048;

/// Largest value of the hidden layer. Products of larger values overflow.
const LARGEST: f64 = 1e100;

/// Approximation of H = Σᵢ wᵢ (diag pᵢ − pᵢpᵢᵀ) ⊗ hᵢhᵢᵀ, where wᵢ is the weight of example i in the loss, usually 1.
///
/// ```
/// use homing::Embeddings;
/// use homing::last_layer::{Approximation, Curvature, LastLayer};
///
/// let (hidden, p) = ([1.0f32, 0.2, 0.1, 0.9, 0.8, 0.3], [0.7f32, 0.3, 0.4, 0.6, 0.6, 0.4]); // three examples, two classes
/// let layer = LastLayer::new(Embeddings::new(&hidden, 2)?, Embeddings::new(&p, 2)?, true)?;
/// let diagonal = Curvature::new(&layer, Approximation::Diagonal)?;
/// let full = Curvature::new(&layer, Approximation::Full)?;
/// assert!(diagonal.ln_det(1.0) >= full.ln_det(1.0)); // Hadamard's inequality
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Approximation {
    /// The diagonal, D_cj = Σᵢ wᵢ p_ic (1 − p_ic) h_ij²; Σ_cj = 1/(D_cj + τ).
    Diagonal,
    /// G ⊗ A with G = Σᵢ wᵢ (diag pᵢ − pᵢpᵢᵀ) and A = Σᵢ wᵢ hᵢhᵢᵀ / Σᵢ wᵢ (KFAC, scaled as in laplace-torch). In the
    /// eigenvectors of both, Σ_cj = 1/(λ_c λ_j + τ). It equals H for one example, and if all p are equal.
    ///
    /// A bias is the last coordinate of h, as in Martens and Grosse (2015); laplace-torch treats it as a separate block.
    Kronecker,
    /// (G + (√τ/π)I) ⊗ (A + π√τ I) instead of G ⊗ A + τI, with π² = (tr A / w) / (tr G / C) (Martens and Grosse 2015). Its
    /// inverse is also a product, so the kernel is a [`Product`](crate::Product), which is the fastest.
    Damped,
    /// All of H, for up to [`MOST_WEIGHTS`] weights.
    Full,
}

/// The Hessian H in decomposed form, so that trying another τ is cheap.
///
/// ```
/// use homing::Embeddings;
/// use homing::last_layer::{Approximation, Curvature, LastLayer};
///
/// let (hidden, p) = ([1.0f32, 0.2, 0.1, 0.9, 0.8, 0.3], [0.7f32, 0.3, 0.4, 0.6, 0.6, 0.4]); // three examples, two classes
/// let layer = LastLayer::new(Embeddings::new(&hidden, 2)?, Embeddings::new(&p, 2)?, true)?;
/// let curvature = Curvature::new(&layer, Approximation::Kronecker)?;
/// assert_eq!(curvature.weights(), 6);
/// assert!(curvature.determined(1.0) < 6.0);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Curvature {
    pub(super) classes: usize,
    pub(super) width: usize,
    pub(super) bias: bool,
    pub(super) form: CurvatureForm,
}

/// The four forms of H. Weight (c, j) leads from input j to class c; j varies fastest.
#[derive(Debug, Clone)]
pub(super) enum CurvatureForm {
    /// D, with one row per class.
    Diagonal(Mat<f64>),
    Kronecker(Factors),
    Damped(Factors),
    Full(Eigen),
}

/// Decompositions of G and A.
#[derive(Debug, Clone)]
pub(super) struct Factors {
    pub outputs: Eigen,
    pub inputs: Eigen,
}

impl Factors {
    /// Returns √τ/π and π√τ.
    pub fn damping(&self, prior_precision: f64) -> (f64, f64) {
        let mean = |eigen: &Eigen| eigen.trace() / eigen.values.len() as f64;
        let balance = (mean(&self.inputs) / mean(&self.outputs)).sqrt();
        let balance = if balance.is_normal() { balance } else { 1.0 };
        (prior_precision.sqrt() / balance, prior_precision.sqrt() * balance)
    }
}

impl Curvature {
    /// Computes the curvature at the network's predictions for the labelled examples.
    pub fn new(layer: &LastLayer<'_>, approximation: Approximation) -> Result<Self> {
        let (classes, width, bias) = (layer.classes(), layer.width(), layer.has_bias());
        let weights = classes * width;
        if approximation == Approximation::Full && weights > MOST_WEIGHTS {
            return Err(Error::LayerTooLarge { weights, most: MOST_WEIGHTS });
        }
        let (h, p) = (layer.inputs(), layer.outputs());
        let weights: Vec<f64> = (0..h.nrows()).map(|i| layer.weight(i)).collect();
        let largest = h.norm_max();
        if largest > LARGEST {
            let expected = "its square must not overflow; scale the layer to values below 1e100";
            return Err(Error::Setting { name: "the largest value of the hidden layer", value: largest, expected });
        }
        let form = match approximation {
            Approximation::Diagonal => CurvatureForm::Diagonal(diagonal(&h, &p, &weights)),
            Approximation::Kronecker => CurvatureForm::Kronecker(factors(&h, &p, &weights)),
            Approximation::Damped => CurvatureForm::Damped(factors(&h, &p, &weights)),
            Approximation::Full => CurvatureForm::Full(Eigen::of(full(&h, &p, &weights).as_ref())),
        };
        Ok(Self { classes, width, bias, form })
    }

    /// Returns the number of weights of the layer, C·w.
    pub fn weights(&self) -> usize {
        self.classes * self.width
    }
}

/// Computes the diagonal D.
fn diagonal(h: &Mat<f64>, p: &Mat<f64>, weights: &[f64]) -> Mat<f64> {
    let variances = matrix(p.ncols(), p.nrows(), |c, i| weights[i] * p[(i, c)] * (1.0 - p[(i, c)]));
    variances * matrix(h.nrows(), h.ncols(), |i, j| h[(i, j)] * h[(i, j)])
}

/// Decomposes G and A.
fn factors(h: &Mat<f64>, p: &Mat<f64>, weights: &[f64]) -> Factors {
    let weighted = |rows: &Mat<f64>, of: &dyn Fn(f64) -> f64| {
        matrix(rows.nrows(), rows.ncols(), |i, j| of(weights[i]) * rows[(i, j)])
    };
    let weighted_p = weighted(p, &|w| w);
    let mut outputs = weighted_p.transpose() * p * faer::Scale(-1.0);
    (0..p.ncols()).for_each(|c| outputs[(c, c)] += weighted_p.col(c).sum());
    let mean = weights.iter().sum::<f64>() / weights.len() as f64;
    let inputs = weighted(h, &|w| (w / mean).sqrt());
    let (mut outputs, mut inputs) = (Eigen::of(outputs.as_ref()), Eigen::of_rows(inputs.as_ref()));
    // G ⊗ A is then zero and its damping is τI, which is the limit as a factor goes to zero.
    if outputs.trace() == 0.0 || inputs.trace() == 0.0 {
        outputs.values.fill(0.0);
        inputs.values.fill(0.0);
    }
    Factors { outputs, inputs }
}

/// Computes H as a dense matrix, block by block for each pair of classes.
fn full(h: &Mat<f64>, p: &Mat<f64>, weights: &[f64]) -> Mat<f64> {
    let (classes, width) = (p.ncols(), h.ncols());
    let mut out = zeros(classes * width, classes * width);
    for (c, d) in (0..classes).flat_map(|c| (0..=c).map(move |d| (c, d))) {
        let same = f64::from(u8::from(c == d));
        let residual = |i: usize| weights[i] * p[(i, c)] * (same - p[(i, d)]);
        let weighted = matrix(width, h.nrows(), |j, i| h[(i, j)] * residual(i));
        let block = weighted * h;
        out.as_mut().submatrix_mut(c * width, d * width, width, width).copy_from(&block);
        out.as_mut().submatrix_mut(d * width, c * width, width, width).copy_from(block.transpose());
    }
    out
}
