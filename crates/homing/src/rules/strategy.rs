//! The table of named strategies. A strategy is a rule together with a way of forming batches.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::rules::{
    Cosine, Ctl, DistanceSquared, InformationDensity, Itl, ItlValue, LeastConfidence, MaxDist, MaxEntropy, MaxMargin,
    NearestEach, Rule, TargetNoise, Uncertainty, UndirectedItl, Uniform, Vtl, Wants,
};
use crate::{Error, Result};

/// How a batch is formed.
///
/// ```
/// use homing::{BatchMethod, Strategy};
///
/// assert_eq!("itl".parse::<Strategy>()?.batch(), BatchMethod::Sequential);
/// assert_eq!("itl-top-b".parse::<Strategy>()?.batch(), BatchMethod::TopB);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchMethod {
    /// Each pick is conditioned on before the next one is made (batch selection via conditional embeddings, BaCE).
    Sequential,
    /// Every candidate is scored once, and those with the best scores are picked.
    TopB,
}

/// How a pick is made from scores.
///
/// ```
/// use homing::rules::Uncertainty;
/// use homing::{BatchMethod, Embeddings, PickMethod, Plan, Strategy, Task, select};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let strategy = Strategy::new("drawn by variance", Uncertainty, BatchMethod::Sequential, PickMethod::Proportional);
/// let plan = Plan::default().strategy(strategy).count(2).seed(7);
/// assert_eq!(select(&task, &plan)?.rows(), select(&task, &plan)?.rows()); // the same seed gives the same picks
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickMethod {
    /// The candidate with the largest score. Ties go to the smaller row number.
    Largest,
    /// A random candidate, with probability proportional to its score.
    Proportional,
}

/// The space in which a rule measures candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    /// The given embeddings.
    Given,
    /// Loss gradients computed from the embeddings and class probabilities (Eq. 22).
    LossGradient,
}

/// One row of the table.
///
/// ```
/// use homing::{STRATEGIES, Strategy};
///
/// let entry = STRATEGIES.iter().find(|entry| entry.name == "vtl").expect("vtl is in the table");
/// println!("{}: {} ({}, {})", entry.name, entry.summary, entry.formula, entry.place);
/// assert!(Strategy::from(entry).needs_targets());
/// ```
pub struct StrategyEntry {
    /// Name of the strategy, as users type it.
    pub name: &'static str,
    /// Formula of the score.
    pub formula: &'static str,
    /// Which rows it chooses, in a few words.
    pub summary: &'static str,
    /// Place in the paper.
    pub place: &'static str,
    /// Name of the objective, if a pick's score is what the pick adds to it.
    value: Option<&'static str>,
    batch: BatchMethod,
    pick_method: PickMethod,
    space: Space,
    rule: fn() -> Arc<dyn Rule>,
}

macro_rules! strategies {
    ($($name:literal $batch:ident $pick_method:ident $space:ident $rule:expr, $formula:literal, $summary:literal, $place:literal
        $(, adds $value:literal)?;)*) => {
        /// All strategies that have a name.
        ///
        /// ```
        /// use homing::STRATEGIES;
        ///
        /// let names: Vec<&str> = STRATEGIES.iter().map(|entry| entry.name).collect();
        /// assert!(names.contains(&"itl") && names.contains(&"random"));
        /// ```
        pub static STRATEGIES: &[StrategyEntry] = &[$(StrategyEntry {
            name: $name,
            formula: $formula,
            summary: $summary,
            place: $place,
            value: [$($value)?].as_slice().first().copied(),
            batch: BatchMethod::$batch,
            pick_method: PickMethod::$pick_method,
            space: Space::$space,
            rule: || Arc::new($rule),
        }),*];
    };
}

strategies! {
    "itl" Sequential Largest Given Itl(TargetNoise::Noisy),
        "½ ln( Var(y_x|D) / Var(y_x|y_A,D) )", "the row that is most informative about the targets", "Eq. 21", adds "information";
    "itl-exact" Sequential Largest Given Itl(TargetNoise::Free),
        "½ ln( Var(y_x|D) / Var(y_x|f_A,D) )", "the row that is most informative about the targets' noise-free values", "Eq. 1", adds "information";
    "itl-value" Sequential Largest Given ItlValue,
        "½ ln( Var(f_x|D) / Var(f_x|y_A,D) )", "the row whose noise-free value is most informative about the targets, as in the authors' code", "–";
    "ctl" Sequential Largest Given Ctl,
        "Σ_a Cor(f_x, f_a|D)", "the row most correlated with the targets", "§3, App. E";
    "vtl" Sequential Largest Given Vtl,
        "Σ_a Cov(f_x, f_a|D)² / (Var(f_x|D) + ρ²)", "the row that reduces the targets' variance the most", "App. H", adds "reduction of variance";
    "undirected-itl" Sequential Largest Given UndirectedItl,
        "½ ln(1 + Var(f_x|D)/ρ²)", "the row that is most informative about the whole pool (MaxDet)", "App. H.5", adds "information";
    "uncertainty" Sequential Largest Given Uncertainty,
        "Var(f_x|D)", "the most uncertain row", "App. H.5";
    "itl-top-b" TopB Largest Given Itl(TargetNoise::Noisy),
        "as itl", "the rows with the highest itl scores, all scored once", "Fig. 3";
    "itl-exact-top-b" TopB Largest Given Itl(TargetNoise::Free),
        "as itl-exact", "the rows with the highest itl-exact scores, all scored once", "–";
    "itl-value-top-b" TopB Largest Given ItlValue,
        "as itl-value", "the rows with the highest itl-value scores, all scored once", "–";
    "ctl-top-b" TopB Largest Given Ctl,
        "as ctl", "the rows with the highest ctl scores, all scored once", "Fig. 3";
    "vtl-top-b" TopB Largest Given Vtl,
        "as vtl", "the rows with the highest vtl scores, all scored once", "–";
    "undirected-itl-top-b" TopB Largest Given UndirectedItl,
        "as undirected-itl", "the rows with the highest undirected-itl scores, all scored once", "App. H.5";
    "uncertainty-top-b" TopB Largest Given Uncertainty,
        "as uncertainty", "the most uncertain rows, all scored once (the paper's UnSa)", "App. H.5";
    "max-dist" Sequential Largest Given MaxDist,
        "min_i d(x, x_i)²", "the row farthest from all picks (core-set)", "App. H.5";
    "k-means++" Sequential Proportional Given DistanceSquared,
        "P(x) ∝ min_i d(x, x_i)²", "a random row, with a preference for rows far from all picks", "App. H.5";
    "badge" Sequential Proportional LossGradient DistanceSquared,
        "k-means++ on (p − e_ŷ) ⊗ [φ, 1]", "a random row, with a preference for rows whose loss gradient is far from those of all picks", "App. H.5";
    "cosine" TopB Largest Given Cosine,
        "mean_a cos(φ_x, φ_a)", "the rows most similar to the targets", "App. H.5";
    "nearest-each" Sequential Largest Given NearestEach,
        "cos(φ_x, φ_a), for one target a after the other", "for each target in turn, the row most similar to it", "–";
    "information-density" TopB Largest Given InformationDensity { beta: 1.0 },
        "H(p) · cosine^β", "uncertain rows that are similar to the targets", "App. H.5";
    "max-entropy" TopB Largest Given MaxEntropy,
        "H(p)", "the rows whose predictions have the highest entropy", "App. H.5";
    "max-margin" TopB Largest Given MaxMargin,
        "p₂ − p₁", "the rows whose two most likely classes are closest", "App. H.5";
    "least-confidence" TopB Largest Given LeastConfidence,
        "1 − p₁", "the rows whose most likely class is least certain", "App. H.5";
    "random" TopB Proportional Given Uniform,
        "uniform", "random rows", "Fig. 2";
}

/// Largest exponent β. Larger powers of a cosine are practically zero.
const MOST_BETA: f64 = 100.0;

/// A rule together with a way of forming batches: a row of [`STRATEGIES`], or your own.
///
/// ```
/// use homing::{Embeddings, Plan, Strategy, Task, select};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let strategy: Strategy = "cosine".parse()?;
/// assert_eq!((strategy.name(), strategy.inputs()), ("cosine", "targets"));
/// assert_eq!(select(&task, &Plan::default().strategy(strategy))?.rows(), [1]);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Clone)]
pub struct Strategy {
    pub(crate) name: &'static str,
    pub(crate) value: Option<&'static str>,
    pub(crate) rule: Arc<dyn Rule>,
    pub(crate) batch: BatchMethod,
    pub(crate) pick_method: PickMethod,
    pub(crate) space: Space,
    /// The exponent of `information-density`, if it is not that of the table.
    pub(crate) beta: Option<f64>,
    /// Whether the rule is that of the table, so that another process can make the strategy from its name.
    pub(crate) is_named: bool,
}

impl Strategy {
    /// Creates a strategy for a rule that is not in the table.
    pub fn new(name: &'static str, rule: impl Rule + 'static, batch: BatchMethod, pick_method: PickMethod) -> Self {
        Self {
            name,
            value: None,
            rule: Arc::new(rule),
            batch,
            pick_method,
            space: Space::Given,
            beta: None,
            is_named: false,
        }
    }

    /// Returns whether the strategy computes loss gradients from last-layer embeddings and probabilities.
    pub fn makes_loss_gradients(&self) -> bool {
        matches!(self.space, Space::LossGradient)
    }

    /// Returns the strategy for a task whose points are gradients already, under the kernel of their last layer. Without it,
    /// `badge` computes gradients from last-layer embeddings and probabilities, as for a last layer with a bias.
    ///
    /// ```
    /// use homing::{Embeddings, Plan, Points, Product, Strategy, Task, select};
    ///
    /// let hidden = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0];
    /// let probabilities = [0.75f32, 0.25, 0.5, 0.5, 0.25, 0.75];
    /// let pool = Points::loss_gradient(Embeddings::new(&hidden, 2)?, Embeddings::new(&probabilities, 2)?)?;
    /// let kernel = Product::new(2, false); // the last layer has no bias
    /// let plan = Plan::default().strategy("badge".parse::<Strategy>()?.of_given_gradients()).count(2);
    /// assert_eq!(select(&Task::undirected(pool).kernel(&kernel), &plan)?.picks.len(), 2);
    /// # Ok::<(), homing::Error>(())
    /// ```
    #[must_use]
    pub fn of_given_gradients(self) -> Self {
        Self { space: Space::Given, ..self }
    }

    /// Returns `information-density` with another exponent β of the similarity.
    pub fn information_density(beta: f64) -> Result<Self> {
        if !(beta > 0.0 && beta <= MOST_BETA) {
            return Err(Error::Setting { name: "β", value: beta, expected: "it must be above 0 and at most 100" });
        }
        let rule = Arc::new(InformationDensity { beta });
        Ok(Self { rule, beta: Some(beta), .."information-density".parse()? })
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns whether the carrier of a pool can run it (see [`shard`](crate::shard)): each pick is the largest, and the rule's
    /// key is a cosine with the targets or has another closed form.
    pub fn is_carried(&self) -> bool {
        self.pick_method == PickMethod::Largest && (self.rule.form().is_some() || self.rule.is_cosine())
    }

    /// Returns how the strategy forms batches.
    pub fn batch(&self) -> BatchMethod {
        self.batch
    }

    /// Returns whether the strategy needs targets.
    pub fn needs_targets(&self) -> bool {
        self.wants().targets()
    }

    /// Returns whether the strategy needs class probabilities.
    pub fn needs_probabilities(&self) -> bool {
        self.wants().probabilities || self.space == Space::LossGradient
    }

    /// Names the inputs that the strategy needs in addition to the pool.
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

impl From<&StrategyEntry> for Strategy {
    fn from(entry: &StrategyEntry) -> Self {
        let &StrategyEntry { name, value, batch, pick_method, space, rule, .. } = entry;
        Self { name, value, rule: rule(), batch, pick_method, space, beta: None, is_named: true }
    }
}

impl FromStr for Strategy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        if let Some(entry) = STRATEGIES.iter().find(|entry| entry.name == name) {
            return Ok(entry.into());
        }
        let distance = |entry: &&StrategyEntry| strsim::damerau_levenshtein(entry.name, &name.to_lowercase());
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
    fn a_typo_suggests_the_nearest_name() {
        let error = "undirected-ilt".parse::<Strategy>().unwrap_err();
        assert!(error.to_string().contains("did you mean 'undirected-itl'"), "{error}");
    }
}
