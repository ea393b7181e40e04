//! Information density: entropy weighted by similarity.

use super::{Candidate, Rule, Wants, entropy};

/// Entropy times similarity to the targets: H(p(x)) · ∠(x, A)^β. A negative similarity keeps its sign.
///
/// ```
/// use homing::rules::InformationDensity;
/// use homing::{Candidate, Rule};
///
/// let candidate = Candidate { probabilities: &[0.5, 0.5], cosine: 0.25, ..Candidate::default() };
/// assert!((InformationDensity { beta: 1.0 }.score(&candidate) - 0.25 * 2f64.ln()).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct InformationDensity {
    /// Exponent β > 0 of the similarity.
    pub beta: f64,
}

impl Rule for InformationDensity {
    fn wants(&self) -> Wants {
        Wants { cosine: true, probabilities: true, ..Wants::default() }
    }

    fn score(&self, x: &Candidate<'_>) -> f64 {
        entropy(x.probabilities) * x.cosine.signum() * x.cosine.abs().powf(self.beta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beta_one_is_the_plain_product() {
        let x = Candidate { probabilities: &[0.5, 0.5], cosine: -0.25, ..Candidate::default() };
        let score = InformationDensity { beta: 1.0 }.score(&x);
        assert!((score + 0.25 * 2f64.ln()).abs() < 1e-15);
    }
}
