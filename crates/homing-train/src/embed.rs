//! Embeddings φ(x) of four kinds (Appendix H.1), for any learner.

use std::fmt;
use std::str::FromStr;

use homing::laplace::Covariance;
use homing::{Embeddings, Kernel, Linear, Points, Product};
use homing_data::fits_memory;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::learner::{Examples, Learner, Look};
use crate::{Error, Result};

/// What φ(x) is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Kind {
    /// h(x), the last hidden layer.
    LastLayer,
    /// (p − e_ŷ) ⊗ [h(x), 1] with ŷ the most probable class (Eq. 22), in factored form; without the 1 where the last layer
    /// has no bias.
    LossGradient,
    /// ∇f(x) with respect to the last layer (empirical NTK): e_c ⊗ [h(x), 1] for each output c. All outputs have the same
    /// kernel, that of [h(x), 1].
    OutputGradient,
    /// ∇f(x) with respect to all weights that learn, output after output, at full length or sketched to this many numbers.
    NetworkGradient(Option<usize>),
    /// f(x), the outputs (empirical NNGP).
    Outputs,
}

const NAMES: &str = "last-layer, loss-gradient, output-gradient, network-gradient, network-gradient:WIDTH or outputs";

/// Of a sketch.
const WIDEST: usize = 1 << 20;

impl FromStr for Kind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let width = name.strip_prefix("network-gradient:").map(str::parse::<usize>);
        match (name, width) {
            ("last-layer", _) => Ok(Self::LastLayer),
            ("loss-gradient", _) => Ok(Self::LossGradient),
            ("output-gradient", _) => Ok(Self::OutputGradient),
            ("network-gradient", _) => Ok(Self::NetworkGradient(None)),
            (_, Some(Ok(width @ 1..=WIDEST))) => Ok(Self::NetworkGradient(Some(width))),
            ("outputs", _) => Ok(Self::Outputs),
            _ => Err(Error::Setting(format!("there is no embedding {name:?}; use {NAMES}"))),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LastLayer => f.write_str("last-layer"),
            Self::LossGradient => f.write_str("loss-gradient"),
            Self::OutputGradient => f.write_str("output-gradient"),
            Self::NetworkGradient(None) => f.write_str("network-gradient"),
            Self::NetworkGradient(Some(width)) => write!(f, "network-gradient:{width}"),
            Self::Outputs => f.write_str("outputs"),
        }
    }
}

impl TryFrom<String> for Kind {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        name.parse()
    }
}

impl From<Kind> for String {
    fn from(kind: Kind) -> Self {
        kind.to_string()
    }
}

/// A learner as a map from examples to points at which f is observed.
pub struct Embedder<'a> {
    learner: &'a dyn Learner,
    kind: Kind,
    sigma: Option<Covariance>,
    product: Product,
}

/// Random numbers that a sketch of network gradients is made with.
const SKETCH: u64 = 0x5eed;
/// Most numbers that full network gradients may take, in all.
const MOST_NUMBERS: usize = 1 << 29;

impl<'a> Embedder<'a> {
    /// With weights of covariance Σ = I, or as given.
    pub fn new(learner: &'a dyn Learner, kind: Kind, sigma: Option<Covariance>) -> Self {
        let product = Product::new(learner.classes(), learner.is_biased());
        Self { learner, kind, sigma, product }
    }

    /// What the learner makes of the examples.
    pub fn embed(&self, examples: Examples<'_>) -> Result<Embedded> {
        let look = self.learner.look(examples)?;
        let (classes, probabilities) = (look.classes, look.probabilities());
        let likely = || Embeddings::new(&probabilities[..], classes);
        let hidden = || Embeddings::new(&look.hidden[..], look.width);
        let single = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect();
        let (values, dim) = match (self.kind, &self.sigma) {
            (Kind::LossGradient, Some(sigma)) => (single(sigma.loss_gradients(hidden()?, likely()?)?), sigma.width()),
            (Kind::LastLayer | Kind::OutputGradient, Some(sigma)) => {
                (single(sigma.last_layer(hidden()?)?), sigma.last_layer_width())
            }
            (Kind::LastLayer | Kind::LossGradient, None) => (look.hidden, look.width),
            (Kind::OutputGradient, None) => extended(look),
            (Kind::Outputs, _) => (look.outputs, look.classes),
            (Kind::NetworkGradient(width), _) => gradients(self.learner, examples, width)?,
        };
        let finite = |numbers: &[f32]| numbers.iter().all(|number| number.is_finite());
        if !(finite(&values) && finite(&probabilities)) {
            let reason = "the network makes embeddings that are not finite; use smaller numbers in the data, a smaller learning rate, or other weights";
            return Err(Error::Setting(reason.into()));
        }
        let factored = self.kind == Kind::LossGradient && self.sigma.is_none();
        Ok(Embedded { values, dim, probabilities, classes, factored })
    }

    /// The kernel of the points.
    pub fn kernel(&self) -> &dyn Kernel {
        match (self.kind, &self.sigma) {
            (Kind::LossGradient, Some(sigma)) => sigma.kernel(),
            (Kind::LossGradient, None) => &self.product,
            _ => &Linear,
        }
    }
}

/// Embeddings of examples, with the class probabilities beside them.
#[derive(Clone, Debug)]
pub struct Embedded {
    values: Vec<f32>,
    dim: usize,
    probabilities: Vec<f32>,
    classes: usize,
    /// Whether the points are loss gradients of which φ is one factor.
    factored: bool,
}

impl Embedded {
    /// φ row by row; for loss gradients the factor h.
    pub fn embeddings(&self) -> Result<Embeddings<'_>> {
        Ok(Embeddings::new(&self.values[..], self.dim)?)
    }

    /// φ row by row and its width, and the class probabilities row by row.
    pub fn into_parts(self) -> (Vec<f32>, usize, Vec<f32>) {
        (self.values, self.dim, self.probabilities)
    }

    /// Class probabilities row by row.
    pub fn probabilities(&self) -> Result<Embeddings<'_>> {
        Ok(Embeddings::new(&self.probabilities[..], self.classes)?)
    }

    /// The points at which f is observed.
    pub fn points(&self) -> Result<Points<'_>> {
        if self.factored {
            return Ok(Points::loss_gradient(self.embeddings()?, self.probabilities()?)?);
        }
        Ok(self.embeddings()?.into())
    }
}

/// [h, 1] where the last layer has a bias.
fn extended(look: Look) -> (Vec<f32>, usize) {
    if !look.biased {
        return (look.hidden, look.width);
    }
    let rows = look.hidden.chunks_exact(look.width);
    (rows.flat_map(|row| row.iter().copied().chain([1.0])).collect(), look.width + 1)
}

fn gradients(learner: &dyn Learner, examples: Examples<'_>, width: Option<usize>) -> Result<(Vec<f32>, usize)> {
    let count = examples.rows.len();
    let long = learner.classes().checked_mul(learner.weights());
    // The gradient of one example, what makes its sketch, and the rows that come of all.
    let numbers = long.and_then(|long| {
        let rows = width.unwrap_or(long).checked_mul(count)?;
        (width.is_some() || rows <= MOST_NUMBERS).then(|| long.checked_mul(2)?.checked_add(rows))?
    });
    if !fits_memory(numbers.and_then(|numbers| numbers.checked_mul(4)).map(|bytes| bytes as u64)) {
        let long = long.map_or_else(|| "very many".into(), |long| long.to_string());
        let remedy = if width.is_some() { "a smaller network" } else { "network-gradient:4096, which sketches them" };
        let reason = format!("gradients of {long} numbers for {count} examples do not fit into memory; use {remedy}");
        return Err(Error::Setting(reason));
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

/// A random map to fewer numbers whose inner products are those before on average: every number is added to or taken from
/// one place.
pub struct Sketch {
    /// The place, and in the lowest bit the sign.
    places: Vec<u32>,
    width: usize,
}

impl Sketch {
    /// From `from` numbers to `width`; always the same one.
    pub fn new(from: usize, width: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(SKETCH);
        let places = (0..from).map(|_| rng.random_range(0..2 * width as u32)).collect();
        Self { places, width }
    }

    /// The sketch of `numbers`.
    pub fn of(&self, numbers: &[f32]) -> Vec<f32> {
        let mut sums = vec![0.0; self.width];
        for (&place, &number) in self.places.iter().zip(numbers) {
            let sign = if place & 1 == 0 { 1.0 } else { -1.0 };
            sums[(place >> 1) as usize] += sign * f64::from(number);
        }
        sums.into_iter().map(|sum| sum as f32).collect()
    }
}
