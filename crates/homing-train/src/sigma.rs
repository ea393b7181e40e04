//! Σ, the covariance of the weights: the identity, or a Laplace approximation around the last layer.

use std::fmt;
use std::str::FromStr;

use homing::Embeddings;
use homing::laplace::{Approximation, Covariance, Curvature, LastLayer, Mode};

use crate::learner::{Labelled, Learner, class_weights};
use crate::{Error, Result};

/// Which Σ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Sigma {
    /// I.
    Identity,
    /// The inverse Hessian of the loss of the labelled examples, as the network learns from it, computed anew in every round.
    Laplace(Approximation),
}

const NAMES: [(&str, Sigma); 5] = [
    ("identity", Sigma::Identity),
    ("laplace-diagonal", Sigma::Laplace(Approximation::Diagonal)),
    ("laplace-kronecker", Sigma::Laplace(Approximation::Kronecker)),
    ("laplace-damped", Sigma::Laplace(Approximation::Damped)),
    ("laplace-full", Sigma::Laplace(Approximation::Full)),
];

impl FromStr for Sigma {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let names = || NAMES.map(|(name, _)| name).join(", ");
        let found = NAMES.iter().find(|(name, _)| *name == text).map(|&(_, sigma)| sigma);
        found.ok_or_else(|| Error::Setting(format!("there is no covariance {text:?}; use {}", names())))
    }
}

impl fmt::Display for Sigma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.iter().find(|(_, sigma)| sigma == self).map_or("", |(name, _)| name))
    }
}

impl TryFrom<String> for Sigma {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        name.parse()
    }
}

impl From<Sigma> for String {
    fn from(sigma: Sigma) -> Self {
        sigma.to_string()
    }
}

/// The prior precision where the labels cannot tell it, because the network is certain of all of them.
const UNTOLD: f64 = 1.0;

impl Sigma {
    /// Σ after the learner has learned from the examples; none stands for I. With `reweight` the loss gives
    /// every class the same weight. The prior precision is the likeliest one.
    pub fn covariance(
        self,
        learner: &dyn Learner,
        learned: Labelled<'_>,
        reweight: bool,
    ) -> Result<Option<Covariance>> {
        let Self::Laplace(approximation) = self else { return Ok(None) };
        if learned.labels.is_empty() {
            return Ok(None);
        }
        let look = learner.look(learned.examples)?;
        let probabilities = look.probabilities();
        let likely = Embeddings::new(&probabilities[..], look.classes)?;
        let of_class = class_weights(learned.labels, look.classes, reweight);
        let shares: Vec<f64> = learned.labels.iter().map(|&label| f64::from(of_class[label as usize])).collect();
        let layer = LastLayer::new(Embeddings::new(&look.hidden[..], look.width)?, likely, look.biased)?;
        let layer = layer.weighted(&shares)?;
        let curvature = Curvature::new(&layer, approximation)?;
        let weights = learner.last_layer();
        let labels: Vec<usize> = learned.labels.iter().map(|&label| label as usize).collect();
        let mode = Mode::new(&layer, Embeddings::new(&weights[..], look.classes)?, &labels)?;
        let precision = match curvature.fit_prior(&mode) {
            Ok(fit) => fit.precision,
            Err(homing::Error::Unsupported(_)) => UNTOLD,
            Err(error) => return Err(error.into()),
        };
        Ok(Some(curvature.covariance(precision)?))
    }
}
