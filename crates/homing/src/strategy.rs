//! The table of named strategies: a rule, and how batches are formed with it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::rules::{
    Cosine, Ctl, DistanceSquared, InformationDensity, Itl, ItlValue, LeastConfidence, MaxDist, MaxEntropy, MaxMargin,
    Rule, TargetNoise, Uncertainty, UndirectedItl, Uniform, Vtl, Wants,
};
use crate::{Error, Result};

/// How a batch is formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batch {
    /// Each pick is conditioned on before the next (batch selection via conditional embeddings, BaCE).
    Sequential,
    /// The candidates with the best scores, scored once.
    TopB,
}

/// How a pick is made from scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The largest score; ties go to the smaller row number.
    Largest,
    /// At random, with probability proportional to the score.
    Proportional,
}

/// The space in which a rule measures candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// The embeddings as they are given.
    Given,
    /// Loss gradients made of the embeddings and class probabilities (Eq. 22).
    LossGradient,
}

/// One row of the table.
pub struct Entry {
    /// The name that people type.
    pub name: &'static str,
    /// The score, as a formula.
    pub formula: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// Where the paper has it.
    pub place: &'static str,
    /// What the picks are worth together, where the score is what a pick adds to that.
    value: Option<&'static str>,
    batch: Batch,
    choice: Choice,
    space: Space,
    rule: fn() -> Arc<dyn Rule>,
}

macro_rules! strategies {
    ($($name:literal $batch:ident $choice:ident $space:ident $rule:expr, $formula:literal, $summary:literal, $place:literal
        $(, adds $value:literal)?;)*) => {
        /// Every strategy that has a name.
        pub static STRATEGIES: &[Entry] = &[$(Entry {
            name: $name,
            formula: $formula,
            summary: $summary,
            place: $place,
            value: [$($value)?].as_slice().first().copied(),
            batch: Batch::$batch,
            choice: Choice::$choice,
            space: Space::$space,
            rule: || Arc::new($rule),
        }),*];
    };
}

strategies! {
    "itl" Sequential Largest Given Itl(TargetNoise::Noisy),
        "½ ln( Var(y_x|D) / Var(y_x|y_A,D) )", "most information about the targets", "Eq. 21", adds "information";
    "itl-exact" Sequential Largest Given Itl(TargetNoise::Free),
        "½ ln( Var(y_x|D) / Var(y_x|f_A,D) )", "the same, targets without noise", "Eq. 1", adds "information";
    "itl-value" Sequential Largest Given ItlValue,
        "½ ln( Var(f_x|D) / Var(f_x|y_A,D) )", "itl without ρ² in the ratio, as the authors' code", "–";
    "ctl" Sequential Largest Given Ctl,
        "Σ_a Cor(f_x, f_a|D)", "most correlated with the targets", "§3, App. E";
    "vtl" Sequential Largest Given Vtl,
        "Σ_a Cov(f_x, f_a|D)² / (Var(f_x|D) + ρ²)", "takes most variance from the targets", "App. H", adds "reduction of variance";
    "undirected-itl" Sequential Largest Given UndirectedItl,
        "½ ln(1 + Var(f_x|D)/ρ²)", "most information about the pool (MaxDet)", "App. H.5", adds "information";
    "uncertainty" Sequential Largest Given Uncertainty,
        "Var(f_x|D)", "most uncertain", "App. H.5";
    "itl-top-b" TopB Largest Given Itl(TargetNoise::Noisy),
        "as itl", "itl without conditioning inside the batch", "Fig. 3";
    "itl-exact-top-b" TopB Largest Given Itl(TargetNoise::Free),
        "as itl-exact", "itl-exact without conditioning inside the batch", "–";
    "ctl-top-b" TopB Largest Given Ctl,
        "as ctl", "ctl without conditioning inside the batch", "Fig. 3";
    "vtl-top-b" TopB Largest Given Vtl,
        "as vtl", "vtl without conditioning inside the batch", "–";
    "undirected-itl-top-b" TopB Largest Given UndirectedItl,
        "as undirected-itl", "undirected-itl without conditioning inside the batch", "App. H.5";
    "uncertainty-top-b" TopB Largest Given Uncertainty,
        "as uncertainty", "the paper's UnSa: most uncertain, scored once", "App. H.5";
    "max-dist" Sequential Largest Given MaxDist,
        "min_i d(x, x_i)²", "farthest from all picks (core-set)", "App. H.5";
    "k-means++" Sequential Proportional Given DistanceSquared,
        "P(x) ∝ min_i d(x, x_i)²", "random, far from all picks", "App. H.5";
    "badge" Sequential Proportional LossGradient DistanceSquared,
        "k-means++ on (p − e_ŷ) ⊗ [φ, 1]", "k-means++ on loss gradients", "App. H.5";
    "cosine" TopB Largest Given Cosine,
        "mean_a cos(φ_x, φ_a)", "most similar to the targets", "App. H.5";
    "information-density" TopB Largest Given InformationDensity { beta: 1.0 },
        "H(p) · cosine^β", "uncertain and similar", "App. H.5";
    "max-entropy" TopB Largest Given MaxEntropy,
        "H(p)", "most spread prediction", "App. H.5";
    "max-margin" TopB Largest Given MaxMargin,
        "p₂ − p₁", "two classes nearly tied", "App. H.5";
    "least-confidence" TopB Largest Given LeastConfidence,
        "1 − p₁", "least sure of its class", "App. H.5";
    "random" TopB Proportional Given Uniform,
        "uniform", "a random sample", "Fig. 2";
}

/// Larger powers of a cosine are zero.
const MOST_BETA: f64 = 100.0;

/// A rule with its way of forming batches: a row of [`STRATEGIES`], or one of your own.
#[derive(Clone)]
pub struct Strategy {
    pub(crate) name: &'static str,
    pub(crate) value: Option<&'static str>,
    pub(crate) rule: Arc<dyn Rule>,
    pub(crate) batch: Batch,
    pub(crate) choice: Choice,
    pub(crate) space: Space,
}

impl Strategy {
    /// A strategy for a rule that has no row in the table.
    pub fn new(name: &'static str, rule: impl Rule + 'static, batch: Batch, choice: Choice) -> Self {
        Self { name, value: None, rule: Arc::new(rule), batch, choice, space: Space::Given }
    }

    /// Whether it looks at loss gradients, which it makes of last-layer embeddings and probabilities itself.
    pub fn makes_loss_gradients(&self) -> bool {
        matches!(self.space, Space::LossGradient)
    }

    /// `information-density` with another weight β of the similarity.
    pub fn information_density(beta: f64) -> Result<Self> {
        if !(beta > 0.0 && beta <= MOST_BETA) {
            return Err(Error::Setting { name: "β", value: beta, expected: "it must be above 0 and at most 100" });
        }
        Ok(Self { rule: Arc::new(InformationDensity { beta }), .."information-density".parse()? })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// How it forms batches.
    pub fn batch(&self) -> Batch {
        self.batch
    }

    /// Whether it cannot do without targets.
    pub fn needs_targets(&self) -> bool {
        self.wants().targets()
    }

    /// Whether it cannot do without class probabilities.
    pub fn needs_probabilities(&self) -> bool {
        self.wants().probabilities || self.space == Space::LossGradient
    }

    /// What it wants beside the pool, in words.
    pub fn inputs(&self) -> &'static str {
        match (self.needs_targets(), self.needs_probabilities()) {
            (true, true) => "targets, probabilities",
            (true, false) => "targets",
            (false, true) => "probabilities",
            (false, false) => "–",
        }
    }

    pub(crate) fn wants(&self) -> Wants {
        self.rule.wants()
    }
}

impl From<&Entry> for Strategy {
    fn from(entry: &Entry) -> Self {
        let &Entry { name, value, batch, choice, space, rule, .. } = entry;
        Self { name, value, rule: rule(), batch, choice, space }
    }
}

impl FromStr for Strategy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        if let Some(entry) = STRATEGIES.iter().find(|entry| entry.name == name) {
            return Ok(entry.into());
        }
        let distance = |entry: &&Entry| strsim::damerau_levenshtein(entry.name, &name.to_lowercase());
        let nearest = STRATEGIES.iter().min_by_key(distance).expect("the table has rows").name;
        Err(Error::UnknownStrategy { name: name.into(), nearest })
    }
}

impl fmt::Debug for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_parse() {
        for (i, entry) in STRATEGIES.iter().enumerate() {
            assert!(STRATEGIES[..i].iter().all(|other| other.name != entry.name));
            assert_eq!(entry.name.parse::<Strategy>().unwrap().name(), entry.name);
        }
    }

    #[test]
    fn a_typo_is_answered_with_the_nearest_name() {
        let error = "undirected-ilt".parse::<Strategy>().unwrap_err();
        assert!(error.to_string().contains("did you mean 'undirected-itl'"), "{error}");
    }
}
