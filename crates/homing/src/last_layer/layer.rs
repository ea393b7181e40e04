//! The network's hidden layer and predictions for the labelled examples.

use faer::Mat;

use crate::base::algebra::matrix;
use crate::data::points::check_probabilities;
use crate::{Embeddings, Error, Result};

/// The inputs of a network's last layer for the labelled examples, and its softmax outputs.
///
/// ```
/// use homing::Embeddings;
/// use homing::last_layer::{LastLayer};
///
/// let (hidden, p) = ([1.0f32, 0.2, 0.1, 0.9, 0.8, 0.3], [0.7f32, 0.3, 0.4, 0.6, 0.6, 0.4]); // three examples, two classes
/// let layer = LastLayer::new(Embeddings::new(&hidden, 2)?, Embeddings::new(&p, 2)?, true)?;
/// assert_eq!((layer.width(), layer.classes(), layer.has_bias()), (3, 2, true));
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct LastLayer<'a> {
    hidden: Embeddings<'a>,
    probabilities: Embeddings<'a>,
    bias: bool,
    /// Weights wᵢ of the examples; `None` means 1 for each.
    weights: Option<&'a [f64]>,
}

impl<'a> LastLayer<'a> {
    /// Creates the layer from the last hidden layer h (n × w) and the class probabilities p (n × C) of n examples. With a
    /// bias, h is extended by 1.
    pub fn new(hidden: Embeddings<'a>, probabilities: Embeddings<'a>, bias: bool) -> Result<Self> {
        if probabilities.rows() != hidden.rows() {
            let (got, expected) = (probabilities.rows(), hidden.rows());
            return Err(Error::Length { what: "rows of probabilities", got, expected });
        }
        hidden.check_finite("hidden layer")?;
        check_probabilities(probabilities, "probabilities")?;
        Ok(Self { hidden, probabilities, bias, weights: None })
    }

    /// Sets the weights of a network that was trained with a weighted loss Σᵢ wᵢ ℓᵢ: one positive number per example. An
    /// example of weight 2 counts as if it occurred twice.
    pub fn weighted(self, weights: &'a [f64]) -> Result<Self> {
        if weights.len() != self.hidden.rows() {
            let (got, expected) = (weights.len(), self.hidden.rows());
            return Err(Error::Length { what: "weights of examples", got, expected });
        }
        if let Some(row) = weights.iter().position(|w| !(w.is_normal() && *w > 0.0)) {
            let expected = "weights must be positive numbers";
            return Err(Error::BadValue { what: "weights of examples", row, value: weights[row], expected });
        }
        Ok(Self { weights: Some(weights), ..self })
    }

    /// Returns wᵢ.
    pub(super) fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }

    /// Returns the number of classes C.
    pub fn classes(&self) -> usize {
        self.probabilities.dim()
    }

    /// Returns the number of inputs of the layer, including the 1 of the bias.
    pub fn width(&self) -> usize {
        self.hidden.dim() + usize::from(self.bias)
    }

    /// Returns whether the layer has a bias.
    pub fn has_bias(&self) -> bool {
        self.bias
    }

    /// Returns [h, 1], one row per example.
    pub(super) fn inputs(&self) -> Mat<f64> {
        extended(self.hidden, self.bias)
    }

    /// Returns p, one row per example, normalised to sum to exactly 1: f32 loses the small probabilities that a certain
    /// network gives to the other classes.
    pub(super) fn outputs(&self) -> Mat<f64> {
        let mut p = extended(self.probabilities, false);
        for i in 0..p.nrows() {
            let sum: f64 = (0..p.ncols()).map(|c| p[(i, c)].max(0.0)).sum();
            (0..p.ncols()).for_each(|c| p[(i, c)] = p[(i, c)].max(0.0) / sum);
        }
        p
    }
}

/// Returns the rows as a matrix, with an additional column of ones for the bias.
fn extended(rows: Embeddings<'_>, bias: bool) -> Mat<f64> {
    let (dim, mut values) = (rows.dim(), vec![0.0; rows.rows() * rows.dim()]);
    rows.read(0..rows.rows(), &mut values);
    matrix(rows.rows(), dim + usize::from(bias), |i, j| if j < dim { values[i * dim + j] } else { 1.0 })
}

/// The weights at the centre of a Laplace approximation, and how well they explain the labels.
///
/// ```
/// use homing::Embeddings;
/// use homing::last_layer::{LastLayer, Mode};
///
/// let (hidden, p) = ([1.0f32, 0.2, 0.1, 0.9, 0.8, 0.3], [0.7f32, 0.3, 0.4, 0.6, 0.6, 0.4]); // three examples, two classes
/// let layer = LastLayer::new(Embeddings::new(&hidden, 2)?, Embeddings::new(&p, 2)?, true)?;
/// let weights = [0.5f32, -0.4, -0.2, 0.6, 0.1, -0.1]; // one row per input, the bias last
/// let mode = Mode::new(&layer, Embeddings::new(&weights, 2)?, &[0, 1, 0])?;
/// assert!((mode.ln_likelihood - (0.7f64.ln() + 2.0 * 0.6f64.ln())).abs() < 1e-6);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mode {
    /// Log-likelihood Σᵢ wᵢ ln p(yᵢ | W*) of the labels.
    pub ln_likelihood: f64,
    /// Squared norm ‖W*‖², including the bias.
    pub weights_sq: f64,
}

impl Mode {
    /// Computes both from W* (one row per input of the layer, the bias last; one column per class) and the label of each
    /// example.
    pub fn new(layer: &LastLayer<'_>, weights: Embeddings<'_>, labels: &[usize]) -> Result<Self> {
        let (classes, rows) = (layer.classes(), layer.hidden.rows());
        if weights.dim() != classes {
            return Err(Error::Layer { what: "weights", got: weights.dim(), expected: classes });
        }
        if weights.rows() != layer.width() {
            let what = if layer.bias { "rows of weights, including the bias," } else { "rows of weights" };
            return Err(Error::Length { what, got: weights.rows(), expected: layer.width() });
        }
        weights.check_finite("weights")?;
        if labels.len() != rows {
            return Err(Error::Length { what: "labels", got: labels.len(), expected: rows });
        }
        if let Some(row) = labels.iter().position(|&label| label >= classes) {
            let expected = "a label must be the number of a column of the probabilities, counted from 0";
            return Err(Error::BadValue { what: "labels", row, value: labels[row] as f64, expected });
        }
        let p = layer.outputs();
        // Probabilities that f32 cannot distinguish from zero count as its smallest positive number.
        let least = f64::from(f32::MIN_POSITIVE);
        let ln_likelihood =
            labels.iter().enumerate().map(|(i, &label)| layer.weight(i) * p[(i, label)].max(least).ln()).sum();
        let weights_sq = (0..weights.rows()).map(|j| crate::base::algebra::norm_sq(&weights.row(j))).sum();
        Ok(Self { ln_likelihood, weights_sq })
    }
}
