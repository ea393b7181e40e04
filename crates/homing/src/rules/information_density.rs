//! Information density: entropy weighed by similarity.

use super::{Candidate, Rule, Wants, entropy};

/// H(p(x)) · ∠(x, A)^β; a negative similarity keeps its sign.
#[derive(Debug, Clone, Copy)]
pub struct InformationDensity {
    /// β > 0: how much similarity counts.
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
