//! Questions with one pass per pick, for rules whose picks cannot be drafted.

/// Everything from which rows are scored anew.
#[derive(Debug, Clone)]
pub struct Opening<'m> {
    /// What is done to rows before anything is computed from them.
    pub transform: super::Transform<'m>,
    /// Name of the strategy.
    pub strategy: &'m str,
    /// Whether the strategy works on the rows as they are given, and not on loss gradients that it makes of them.
    pub in_given_space: bool,
    /// Exponent of the similarity, for `information-density`.
    pub beta: Option<f64>,
    /// Noise variance ρ².
    pub noise_var: f64,
    /// Seed for all random choices.
    pub seed: u64,
    /// Labelled points, row-major.
    pub observed: &'m [f64],
    /// All targets, row-major.
    pub targets: Option<&'m [f64]>,
    /// The targets of this round; all if `is_whole`.
    pub drawn: Option<&'m [usize]>,
    /// Whether targets are not sampled.
    pub is_whole: bool,
    /// Number of picks made before.
    pub turns: usize,
    /// Picks made before, row-major, in their order.
    pub picks: &'m [f64],
    /// Points from which distances are measured, row-major, in the space of the rule.
    pub near: &'m [f64],
    /// Rows that may not be picked.
    pub closed: &'m [usize],
}

/// A row with its score, and the key by which rows are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// The row.
    pub row: usize,
    /// Its score.
    pub score: f64,
    /// Its key.
    pub key: f64,
}

/// Rows that are scored where they lie, in f64.
pub trait Scoring: Send {
    /// Returns the rows that may win the pick after `picks` picks: the best, and those that may tie with it.
    fn best(&mut self, picks: u64) -> Vec<Scored>;

    /// Returns the best `count` rows, and all that tie with the last of them.
    fn top(&mut self, count: usize, picks: u64) -> Vec<Scored>;

    /// Conditions on a pick, a point in the space of the rule, and closes its row.
    fn observe(&mut self, row: usize, point: &[f64]);
}
