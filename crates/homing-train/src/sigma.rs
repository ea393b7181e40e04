//! Σ, the covariance of the weights: the identity, or a Laplace approximation around the last layer.

use std::fmt;
use std::str::FromStr;

use homing::Embeddings;
use homing::last_layer::{Approximation, Covariance, Curvature, LastLayer, Mode};

use crate::learner::{LabelledExamples, Learner, class_weights};
use crate::remedy::NameSet;
use crate::text::written_as_text;
use crate::{Error, Result};

/// Covariance Σ of the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Sigma {
    /// The identity matrix I.
    Identity,
    /// The inverse Hessian of the training loss on the labelled examples, recomputed in each round.
    Laplace(Approximation),
}

const NAMES: [(&str, Sigma); 5] = [
    ("identity", Sigma::Identity),
    ("laplace-diagonal", Sigma::Laplace(Approximation::Diagonal)),
    ("laplace-kronecker", Sigma::Laplace(Approximation::Kronecker)),
    ("laplace-damped", Sigma::Laplace(Approximation::Damped)),
    ("laplace-full", Sigma::Laplace(Approximation::Full)),
];

/// The names of the covariances, for a message.
pub(crate) fn covariance_names() -> String {
    NAMES.map(|(name, _)| name).join(", ")
}

impl FromStr for Sigma {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = NAMES.iter().find(|(name, _)| *name == text).map(|&(_, sigma)| sigma);
        found.ok_or_else(|| Error::Name { of: NameSet::Covariance, name: text.into() })
    }
}

impl fmt::Display for Sigma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.iter().find(|(_, sigma)| sigma == self).map_or("", |(name, _)| name))
    }
}

written_as_text!(Sigma);

/// Prior precision if it cannot be fitted, because the network is certain of all labels.
const DEFAULT_PRECISION: f64 = 1.0;

impl Sigma {
    /// Returns Σ after the learner has learned from the examples; none stands for I. With `reweight`, the loss gives every
    /// class the same weight. The prior precision maximises the marginal likelihood.
    pub fn covariance(
        self,
        learner: &dyn Learner,
        learned: LabelledExamples<'_>,
        reweight: bool,
    ) -> Result<Option<Covariance>> {
        let Self::Laplace(approximation) = self else { return Ok(None) };
        if learned.labels.is_empty() {
            return Ok(None);
        }
        let prediction = learner.predict(learned.examples)?;
        let probabilities = prediction.probabilities();
        let class_probabilities = Embeddings::new(&probabilities[..], prediction.classes)?;
        let of_class = class_weights(learned.labels, prediction.classes, reweight);
        let shares: Vec<f64> = learned.labels.iter().map(|&label| f64::from(of_class[label as usize])).collect();
        let hidden = Embeddings::new(&prediction.hidden[..], prediction.width)?;
        let layer = LastLayer::new(hidden, class_probabilities, prediction.biased)?;
        let layer = layer.weighted(&shares)?;
        let curvature = Curvature::new(&layer, approximation)?;
        let weights = learner.last_layer();
        let labels: Vec<usize> = learned.labels.iter().map(|&label| label as usize).collect();
        let mode = Mode::new(&layer, Embeddings::new(&weights[..], prediction.classes)?, &labels)?;
        let precision = match curvature.fit_prior(&mode) {
            Ok(fit) => fit.precision,
            Err(homing::Error::ZeroWeights | homing::Error::CertainNetwork) => DEFAULT_PRECISION,
            Err(error) => return Err(error.into()),
        };
        Ok(Some(curvature.covariance(precision)?))
    }
}
