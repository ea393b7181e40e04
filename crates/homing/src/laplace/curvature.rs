//! The Hessian of the cross-entropy, weighted by example, in the last layer's weights, in one of four forms.

use faer::Mat;

use super::LastLayer;
use super::eigen::Eigen;
use crate::{Error, Result};

/// A full covariance is computed for so many weights at most: its time is cubic in them.
pub const MOST_WEIGHTS: usize = 2048;

/// Values above this have products that overflow.
const LARGEST: f64 = 1e100;

/// What is kept of H = Σᵢ wᵢ (diag pᵢ − pᵢpᵢᵀ) ⊗ hᵢhᵢᵀ, with the weight wᵢ of an example in the loss, most often 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Approximation {
    /// The diagonal, D_cj = Σᵢ wᵢ p_ic (1 − p_ic) h_ij²; Σ_cj = 1/(D_cj + τ).
    Diagonal,
    /// G ⊗ A with G = Σᵢ wᵢ (diag pᵢ − pᵢpᵢᵀ) and A = Σᵢ wᵢ hᵢhᵢᵀ / Σᵢ wᵢ (KFAC, as laplace-torch scales it). In the eigenvectors of
    /// both, Σ_cj = 1/(λ_c λ_j + τ). It is H itself for one example, and where all p are equal.
    ///
    /// A bias is the last coordinate of h, as Martens and Grosse (2015) have it; laplace-torch splits it off as a block of its own.
    Kronecker,
    /// (G + (√τ/π)I) ⊗ (A + π√τ I) in place of G ⊗ A + τI, with π² = (tr A / w) / (tr G / C) (Martens and Grosse 2015). Its
    /// inverse is a product again, so that the kernel is a [`Product`](crate::Product): the fastest.
    Damped,
    /// All of it, for up to [`MOST_WEIGHTS`] weights.
    Full,
}

/// H, decomposed, so that any τ is cheap.
#[derive(Debug, Clone)]
pub struct Curvature {
    pub(super) classes: usize,
    pub(super) width: usize,
    pub(super) bias: bool,
    pub(super) form: Form,
}

/// The four forms of H. Weight (c, j) leads from input j to class c; c is the slower index.
#[derive(Debug, Clone)]
pub(super) enum Form {
    /// D, a row a class.
    Diagonal(Mat<f64>),
    Kronecker(Factors),
    Damped(Factors),
    Full(Eigen),
}

/// G and A.
#[derive(Debug, Clone)]
pub(super) struct Factors {
    pub outputs: Eigen,
    pub inputs: Eigen,
}

impl Factors {
    /// √τ/π and π√τ.
    pub fn damping(&self, prior_precision: f64) -> (f64, f64) {
        let mean = |eigen: &Eigen| eigen.trace() / eigen.values.len() as f64;
        let balance = (mean(&self.inputs) / mean(&self.outputs)).sqrt();
        let balance = if balance.is_normal() { balance } else { 1.0 };
        (prior_precision.sqrt() / balance, prior_precision.sqrt() * balance)
    }
}

impl Curvature {
    /// Of what a network says of the labelled examples.
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
            let expected = "its squares must be numbers; scale the layer to values below 1e100";
            return Err(Error::Setting { name: "the largest value of the hidden layer", value: largest, expected });
        }
        let form = match approximation {
            Approximation::Diagonal => Form::Diagonal(diagonal(&h, &p, &weights)),
            Approximation::Kronecker => Form::Kronecker(factors(&h, &p, &weights)),
            Approximation::Damped => Form::Damped(factors(&h, &p, &weights)),
            Approximation::Full => Form::Full(Eigen::of(full(&h, &p, &weights).as_ref())),
        };
        Ok(Self { classes, width, bias, form })
    }

    /// Weights of the layer: C·w.
    pub fn weights(&self) -> usize {
        self.classes * self.width
    }
}

/// D.
fn diagonal(h: &Mat<f64>, p: &Mat<f64>, weights: &[f64]) -> Mat<f64> {
    let uncertain = Mat::from_fn(p.ncols(), p.nrows(), |c, i| weights[i] * p[(i, c)] * (1.0 - p[(i, c)]));
    uncertain * Mat::from_fn(h.nrows(), h.ncols(), |i, j| h[(i, j)] * h[(i, j)])
}

/// The eigenvalues of G and A.
fn factors(h: &Mat<f64>, p: &Mat<f64>, weights: &[f64]) -> Factors {
    let weighted = |rows: &Mat<f64>, of: &dyn Fn(f64) -> f64| {
        Mat::from_fn(rows.nrows(), rows.ncols(), |i, j| of(weights[i]) * rows[(i, j)])
    };
    let weighted_p = weighted(p, &|w| w);
    let mut outputs = weighted_p.transpose() * p * faer::Scale(-1.0);
    (0..p.ncols()).for_each(|c| outputs[(c, c)] += weighted_p.col(c).sum());
    let mean = weights.iter().sum::<f64>() / weights.len() as f64;
    let inputs = weighted(h, &|w| (w / mean).sqrt());
    let (mut outputs, mut inputs) = (Eigen::of(outputs.as_ref()), Eigen::of_rows(inputs.as_ref()));
    // G ⊗ A is zero then, and its damping is τI: the limit for a factor that goes to zero.
    if outputs.trace() == 0.0 || inputs.trace() == 0.0 {
        outputs.values.fill(0.0);
        inputs.values.fill(0.0);
    }
    Factors { outputs, inputs }
}

/// H, written out, block by block of two classes.
fn full(h: &Mat<f64>, p: &Mat<f64>, weights: &[f64]) -> Mat<f64> {
    let (classes, width) = (p.ncols(), h.ncols());
    let mut out = Mat::zeros(classes * width, classes * width);
    for (c, d) in (0..classes).flat_map(|c| (0..=c).map(move |d| (c, d))) {
        let same = f64::from(u8::from(c == d));
        let residual = |i: usize| weights[i] * p[(i, c)] * (same - p[(i, d)]);
        let weighted = Mat::from_fn(width, h.nrows(), |j, i| h[(i, j)] * residual(i));
        let block = weighted * h;
        out.as_mut().submatrix_mut(c * width, d * width, width, width).copy_from(&block);
        out.as_mut().submatrix_mut(d * width, c * width, width, width).copy_from(block.transpose());
    }
    out
}
