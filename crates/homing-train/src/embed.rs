//! The kinds of embeddings φ(x) (Appendix H.2), for any learner.

use std::fmt;
use std::str::FromStr;

use homing::last_layer::Covariance;
use homing::{Embeddings, Kernel, Linear, Points, Product};
use homing_data::fits_memory;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::learner::{Examples, Learner, Prediction};
use crate::remedy::NameSet;
use crate::text::written_as_text;
use crate::{Error, Result};

/// Kind of embedding φ(x).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum EmbeddingKind {
    /// h(x), the last hidden layer.
    LastLayer,
    /// (p − e_ŷ) ⊗ [h(x), 1] with ŷ the most probable class (Eq. 22), in factored form; without the 1 if the last layer has
    /// no bias.
    LossGradient,
    /// (f − e_ŷ) ⊗ [h(x), 1]: Eq. 22 with the outputs before the softmax in the place of the probabilities, as in the
    /// authors' code, where the network has no softmax. It is the gradient of no loss.
    LogitGradient,
    /// ∇f(x) with respect to the last layer (empirical NTK): e_c ⊗ [h(x), 1] for each output c. All outputs have the same
    /// kernel, that of [h(x), 1].
    OutputGradient,
    /// ∇f(x) with respect to all trainable weights, one output after the other, at full length or sketched to this many
    /// numbers.
    NetworkGradient(Option<usize>),
    /// f(x), the outputs (empirical NNGP).
    Outputs,
}

/// The names of the kinds, for a message.
pub(crate) const EMBEDDING_NAMES: &str =
    "last-layer, loss-gradient, logit-gradient, output-gradient, network-gradient, network-gradient:WIDTH or outputs";

/// The largest width of a sketch.
const WIDEST: usize = 1 << 20;

impl FromStr for EmbeddingKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let width = name.strip_prefix("network-gradient:").map(str::parse::<usize>);
        match (name, width) {
            ("last-layer", _) => Ok(Self::LastLayer),
            ("loss-gradient", _) => Ok(Self::LossGradient),
            ("logit-gradient", _) => Ok(Self::LogitGradient),
            ("output-gradient", _) => Ok(Self::OutputGradient),
            ("network-gradient", _) => Ok(Self::NetworkGradient(None)),
            (_, Some(Ok(width @ 1..=WIDEST))) => Ok(Self::NetworkGradient(Some(width))),
            ("outputs", _) => Ok(Self::Outputs),
            _ => Err(Error::Name { of: NameSet::Embedding, name: name.into() }),
        }
    }
}

impl fmt::Display for EmbeddingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LastLayer => f.write_str("last-layer"),
            Self::LossGradient => f.write_str("loss-gradient"),
            Self::LogitGradient => f.write_str("logit-gradient"),
            Self::OutputGradient => f.write_str("output-gradient"),
            Self::NetworkGradient(None) => f.write_str("network-gradient"),
            Self::NetworkGradient(Some(width)) => write!(f, "network-gradient:{width}"),
            Self::Outputs => f.write_str("outputs"),
        }
    }
}

written_as_text!(EmbeddingKind);

/// Maps examples to points at which f is observed, with the network of a learner.
pub struct Embedder<'a> {
    learner: &'a dyn Learner,
    kind: EmbeddingKind,
    sigma: Option<Covariance>,
    product: Product,
}

/// Seed of the sketch of network gradients.
const SKETCH: u64 = 0x5eed;
/// Limit on the numbers of all full network gradients together.
const MOST_NUMBERS: usize = 1 << 29;

impl<'a> Embedder<'a> {
    /// Uses the covariance Σ of the weights, or I if `sigma` is none.
    pub fn new(learner: &'a dyn Learner, kind: EmbeddingKind, sigma: Option<Covariance>) -> Self {
        let product = Product::new(learner.classes(), learner.is_biased());
        Self { learner, kind, sigma, product }
    }

    /// Embeds the examples.
    pub fn embed(&self, examples: Examples<'_>) -> Result<ExampleEmbeddings> {
        let prediction = self.learner.predict(examples)?;
        let (classes, probabilities) = (prediction.classes, prediction.probabilities());
        let class_probabilities = || Embeddings::new(&probabilities[..], classes);
        let hidden = || Embeddings::new(&prediction.hidden[..], prediction.width);
        let single = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect();
        let (values, dim) = match (self.kind, &self.sigma) {
            (EmbeddingKind::LossGradient, Some(sigma)) => {
                (single(sigma.loss_gradients(hidden()?, class_probabilities()?)?), sigma.width())
            }
            (EmbeddingKind::LastLayer | EmbeddingKind::OutputGradient, Some(sigma)) => {
                (single(sigma.last_layer(hidden()?)?), sigma.last_layer_width())
            }
            (EmbeddingKind::LastLayer | EmbeddingKind::LossGradient, None) => (prediction.hidden, prediction.width),
            (EmbeddingKind::LogitGradient, _) => logit_gradients(&prediction),
            (EmbeddingKind::OutputGradient, None) => extended(prediction),
            (EmbeddingKind::Outputs, _) => (prediction.outputs, prediction.classes),
            (EmbeddingKind::NetworkGradient(width), _) => gradients(self.learner, examples, width)?,
        };
        let finite = |numbers: &[f32]| numbers.iter().all(|number| number.is_finite());
        if !(finite(&values) && finite(&probabilities)) {
            return Err(Error::InfiniteEmbeddings);
        }
        let factored = self.kind == EmbeddingKind::LossGradient && self.sigma.is_none();
        Ok(ExampleEmbeddings { values, dim, probabilities, classes, factored })
    }

    /// Returns the kernel of the points.
    pub fn kernel(&self) -> &dyn Kernel {
        match (self.kind, &self.sigma) {
            (EmbeddingKind::LossGradient, Some(sigma)) => sigma.kernel(),
            (EmbeddingKind::LossGradient | EmbeddingKind::LogitGradient, None) => &self.product,
            _ => &Linear,
        }
    }
}

/// Embeddings and class probabilities of examples.
#[derive(Clone, Debug)]
pub struct ExampleEmbeddings {
    values: Vec<f32>,
    dim: usize,
    probabilities: Vec<f32>,
    classes: usize,
    /// Whether the points are loss gradients, of which φ is one factor.
    factored: bool,
}

impl ExampleEmbeddings {
    /// Returns φ row by row; for loss gradients, the factor h, and for gradients of logits, both factors.
    pub fn embeddings(&self) -> Result<Embeddings<'_>> {
        Ok(Embeddings::new(&self.values[..], self.dim)?)
    }

    /// Returns φ row by row, its width, and the class probabilities row by row.
    pub fn into_parts(self) -> (Vec<f32>, usize, Vec<f32>) {
        (self.values, self.dim, self.probabilities)
    }

    /// Returns the class probabilities row by row.
    pub fn probabilities(&self) -> Result<Embeddings<'_>> {
        Ok(Embeddings::new(&self.probabilities[..], self.classes)?)
    }

    /// Returns the points at which f is observed.
    pub fn points(&self) -> Result<Points<'_>> {
        if self.factored {
            return Ok(Points::loss_gradient(self.embeddings()?, self.probabilities()?)?);
        }
        Ok(self.embeddings()?.into())
    }
}

/// Returns [f − e_ŷ, h], the two factors of the gradients of logits.
fn logit_gradients(prediction: &Prediction) -> (Vec<f32>, usize) {
    let (classes, width) = (prediction.classes, prediction.width);
    let rows = prediction.outputs.chunks_exact(classes).zip(prediction.hidden.chunks_exact(width));
    let mut values = Vec::with_capacity(prediction.outputs.len() + prediction.hidden.len());
    for ((outputs, hidden), guess) in rows.zip(prediction.guesses()) {
        let at = values.len() + guess as usize;
        values.extend_from_slice(outputs);
        values.extend_from_slice(hidden);
        values[at] -= 1.0;
    }
    (values, classes + width)
}

/// Returns [h, 1] if the last layer has a bias, and h otherwise.
fn extended(prediction: Prediction) -> (Vec<f32>, usize) {
    if !prediction.biased {
        return (prediction.hidden, prediction.width);
    }
    let rows = prediction.hidden.chunks_exact(prediction.width);
    (rows.flat_map(|row| row.iter().copied().chain([1.0])).collect(), prediction.width + 1)
}

fn gradients(learner: &dyn Learner, examples: Examples<'_>, width: Option<usize>) -> Result<(Vec<f32>, usize)> {
    let count = examples.rows.len();
    let length = learner.classes().checked_mul(learner.weights());
    // The gradient of one example, the places of its sketch, and the resulting rows of all examples.
    let numbers = length.and_then(|length| {
        let rows = width.unwrap_or(length).checked_mul(count)?;
        (width.is_some() || rows <= MOST_NUMBERS).then(|| length.checked_mul(2)?.checked_add(rows))?
    });
    if !fits_memory(numbers.and_then(|numbers| numbers.checked_mul(4)).map(|bytes| bytes as u64)) {
        return Err(Error::GradientMemory { length, examples: count, sketched: width.is_some() });
    }
    let mut values = Vec::new();
    let mut sketch = None;
    let mut dim = width.unwrap_or_default();
    for at in 0..count {
        let gradient = learner.gradients(examples, at)?;
        if let Some(width) = width {
            let sketch = sketch.get_or_insert_with(|| Sketch::new(gradient.len(), width));
            values.extend(sketch.of(&gradient));
            continue;
        }
        dim = gradient.len();
        values.extend(gradient);
    }
    Ok((values, dim))
}

/// A random map to fewer numbers that preserves inner products on average. It adds each number to one place or subtracts it
/// from there.
pub struct Sketch {
    /// The place of each number, with its sign in the lowest bit.
    places: Vec<u32>,
    width: usize,
}

impl Sketch {
    /// Returns the map from `from` numbers to `width`, which is always the same.
    pub fn new(from: usize, width: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(SKETCH);
        let places = (0..from).map(|_| rng.random_range(0..2 * width as u32)).collect();
        Self { places, width }
    }

    /// Returns the sketch of `numbers`.
    pub fn of(&self, numbers: &[f32]) -> Vec<f32> {
        let mut sums = vec![0.0; self.width];
        for (&place, &number) in self.places.iter().zip(numbers) {
            let sign = if place & 1 == 0 { 1.0 } else { -1.0 };
            sums[(place >> 1) as usize] += sign * f64::from(number);
        }
        sums.into_iter().map(|sum| sum as f32).collect()
    }
}
