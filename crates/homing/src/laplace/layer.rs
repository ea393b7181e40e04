//! What a network says of the labelled examples.

use faer::Mat;

use crate::points::check_probabilities;
use crate::{Embeddings, Error, Result};

/// The inputs of a network's last layer for the labelled examples, and its softmax outputs.
#[derive(Debug, Clone, Copy)]
pub struct LastLayer<'a> {
    hidden: Embeddings<'a>,
    probabilities: Embeddings<'a>,
    bias: bool,
    /// wᵢ; none is 1 for each.
    weights: Option<&'a [f64]>,
}

impl<'a> LastLayer<'a> {
    /// Takes the last hidden layer h (n × w) and the class probabilities p (n × C) of n examples; with a bias, h is extended by 1.
    pub fn new(hidden: Embeddings<'a>, probabilities: Embeddings<'a>, bias: bool) -> Result<Self> {
        if probabilities.rows() != hidden.rows() {
            let (got, expected) = (probabilities.rows(), hidden.rows());
            return Err(Error::Length { what: "rows of probabilities", got, expected });
        }
        hidden.check_finite("hidden layer")?;
        check_probabilities(probabilities, "probabilities")?;
        Ok(Self { hidden, probabilities, bias, weights: None })
    }

    /// The same, where the network has learned from a weighted loss Σᵢ wᵢ ℓᵢ: a positive number an example. An example of weight 2
    /// counts as if it were there twice.
    pub fn weighted(self, weights: &'a [f64]) -> Result<Self> {
        if weights.len() != self.hidden.rows() {
            let (got, expected) = (weights.len(), self.hidden.rows());
            return Err(Error::Length { what: "weights of examples", got, expected });
        }
        if let Some(row) = weights.iter().position(|w| !(w.is_normal() && *w > 0.0)) {
            let expected = "weights are positive numbers";
            return Err(Error::BadValue { what: "weights of examples", row, value: weights[row], expected });
        }
        Ok(Self { weights: Some(weights), ..self })
    }

    /// wᵢ.
    pub(super) fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }

    /// C.
    pub fn classes(&self) -> usize {
        self.probabilities.dim()
    }

    /// Inputs of the layer, the 1 of the bias among them.
    pub fn width(&self) -> usize {
        self.hidden.dim() + usize::from(self.bias)
    }

    /// Whether there is a bias.
    pub fn has_bias(&self) -> bool {
        self.bias
    }

    /// [h, 1], an example a row.
    pub(super) fn inputs(&self) -> Mat<f64> {
        extended(self.hidden, self.bias)
    }

    /// p, an example a row, with sums of exactly 1: f32 loses what a certain network leaves for the other classes.
    pub(super) fn outputs(&self) -> Mat<f64> {
        let mut p = extended(self.probabilities, false);
        for i in 0..p.nrows() {
            let sum: f64 = (0..p.ncols()).map(|c| p[(i, c)].max(0.0)).sum();
            (0..p.ncols()).for_each(|c| p[(i, c)] = p[(i, c)].max(0.0) / sum);
        }
        p
    }
}

/// A matrix, with a column of ones behind it for the bias.
fn extended(rows: Embeddings<'_>, bias: bool) -> Mat<f64> {
    let (dim, mut values) = (rows.dim(), vec![0.0; rows.rows() * rows.dim()]);
    rows.read(0..rows.rows(), &mut values);
    Mat::from_fn(rows.rows(), dim + usize::from(bias), |i, j| if j < dim { values[i * dim + j] } else { 1.0 })
}

/// The weights that a Laplace approximation is around, and how well they explain the labels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mode {
    /// Σᵢ wᵢ ln p(yᵢ | W*).
    pub ln_likelihood: f64,
    /// ‖W*‖², the bias included.
    pub weights_sq: f64,
}

impl Mode {
    /// Takes W* (a row for each input of the layer, the bias last; a column a class) and the label of each example.
    pub fn new(layer: &LastLayer<'_>, weights: Embeddings<'_>, labels: &[usize]) -> Result<Self> {
        let (classes, rows) = (layer.classes(), layer.hidden.rows());
        if weights.dim() != classes {
            return Err(Error::Layer { what: "weights", got: weights.dim(), expected: classes });
        }
        if weights.rows() != layer.width() {
            let what = if layer.bias { "rows of weights, the bias's among them," } else { "rows of weights" };
            return Err(Error::Length { what, got: weights.rows(), expected: layer.width() });
        }
        weights.check_finite("weights")?;
        if labels.len() != rows {
            return Err(Error::Length { what: "labels", got: labels.len(), expected: rows });
        }
        if let Some(row) = labels.iter().position(|&label| label >= classes) {
            let expected = "labels count the columns of the probabilities, from 0";
            return Err(Error::BadValue { what: "labels", row, value: labels[row] as f64, expected });
        }
        let p = layer.outputs();
        // What f32 cannot tell from zero counts as the least that it can.
        let least = f64::from(f32::MIN_POSITIVE);
        let ln_likelihood =
            labels.iter().enumerate().map(|(i, &label)| layer.weight(i) * p[(i, label)].max(least).ln()).sum();
        let weights_sq = (0..weights.rows()).map(|j| crate::algebra::norm_sq(&weights.row(j))).sum();
        Ok(Self { ln_likelihood, weights_sq })
    }
}
