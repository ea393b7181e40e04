//! Questions to a shard, and its answers.

use super::{CHECKPOINTS, KeyForm, Transform};

/// What all questions of a selection have in common.
#[derive(Debug, Clone, Copy)]
pub struct ShardSetup<'m> {
    /// What is done to rows before anything is computed from them.
    pub transform: Transform<'m>,
    /// The rule's key; `None` if it has no closed form.
    pub form: Option<KeyForm>,
    /// Noise variance ρ².
    pub noise_var: f64,
    /// Whether the numbers are kept in f64, because f32 could not distinguish the best rows.
    pub is_double: bool,
}

/// Sizes of a pool's rows.
#[derive(Debug, Clone, Copy)]
pub struct Survey {
    /// Σ ‖φ‖² over all rows.
    pub sum: f64,
    /// The smallest ‖φ‖² that is not zero; zero if all are.
    pub least: f64,
    /// The largest ‖φ‖².
    pub most: f64,
    /// The row with the largest ‖φ‖².
    pub row: usize,
}

/// Errors of a shard's arithmetic.
#[derive(Debug, Clone, Copy)]
pub struct Precision {
    /// Relative rounding error u of one operation: 2⁻²⁴ for f32.
    pub unit: f64,
    /// γ: a product of a row φ with a functional w is off by at most γ‖φ‖‖w‖, whatever the order of summation.
    pub product: f64,
    /// Number of challengers of one pass above which passes in f64 cost less.
    pub challengers: usize,
}

/// The larger error of each kind.
impl Precision {
    /// Returns γ for products in f64, in any order of summation, with rows of `dim` numbers. The rows may have been scaled
    /// to unit length by sums in another order, too.
    pub fn fine_product(dim: usize) -> f64 {
        1.01 * f64::EPSILON * (dim + 4) as f64
    }

    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            unit: self.unit.max(other.unit),
            product: self.product.max(other.product),
            challengers: self.challengers.min(other.challengers),
        }
    }
}

/// Everything from which the numbers of a row are computed from scratch.
#[derive(Debug, Clone, Copy)]
pub struct Start<'m> {
    /// The covariance of the weights given D.
    pub data: &'m Projection,
    /// What the second number is computed from.
    pub second: &'m SecondStart,
    /// Whether each row may be picked.
    pub open: &'m [bool],
}

/// A covariance Σ = I − V·diag(1 − shrink)·Vᵀ, where the columns of V are orthonormal.
///
/// Var f = ‖φ‖² − Σ (1 − shrink)(v·φ)². If V spans everything, Var f = Σ shrink (v·φ)² keeps more digits.
#[derive(Debug, Clone, Default)]
pub struct Projection {
    /// The columns of V.
    pub columns: Vec<Vec<f64>>,
    /// The variance along each column.
    pub shrink: Vec<f64>,
}

/// What the second number is computed from.
#[derive(Debug, Clone)]
pub enum SecondStart {
    /// There is no second number.
    None,
    /// The covariance of the weights given the targets as well.
    Joint(Projection),
    /// The functionals whose squared covariances with f_x are summed.
    Squares(SquareRoot),
    /// Σ_a f_a / σ_a, whose covariance with f_x is the number.
    Standardised(Vec<f64>),
}

/// Functionals whose squared covariances with f_x add up to VTL's sum.
#[derive(Debug, Clone)]
pub struct SquareRoot {
    /// The functionals r_a.
    pub columns: Vec<Vec<f64>>,
    /// Σ_a ‖r_a‖².
    pub norm_sq: f64,
}

impl SquareRoot {
    /// Returns the factor of √q that bounds the error of a sum q which comes from one product being off, per ‖φ‖: with each
    /// covariance off by γ‖φ‖‖r_a‖, it is 2γ√(Σ_a ‖r_a‖²) by the Cauchy–Schwarz inequality.
    pub fn error_per_root(&self, product_error: f64) -> f64 {
        2.01 * product_error * self.norm_sq.sqrt()
    }
}

/// One pick, drafted or made: the functionals by which it changes the candidates' numbers.
///
/// With g the product of a row with `data`, the variance falls by g²/p, where p is `total`.
#[derive(Debug, Clone)]
pub struct PickStep {
    /// The row of the whole pool.
    pub row: usize,
    /// The key by which it was chosen.
    pub key: f64,
    /// Its score.
    pub score: f64,
    /// Σφ under the law given D.
    pub data: Vec<f64>,
    /// p = Var f + ρ².
    pub total: f64,
    /// Var f.
    pub var: f64,
    /// Σ_a Var f_a before the pick.
    pub target_var: f64,
    /// How the second number changes.
    pub second: SecondNumber,
}

/// The part of a step that changes the rule's second number. h is the product of a row with its weights.
#[derive(Debug, Clone)]
pub enum SecondNumber {
    /// There is no second number.
    None,
    /// Σ_A φ and its total variance under the law given the targets as well (ITL): the number falls by h²/total.
    Joint {
        /// Σ_A φ.
        weights: Vec<f64>,
        /// Var(f | A) + ρ².
        total: f64,
    },
    /// Σ_a c_a f_a, where c are the pick's covariances with the targets, and ‖c‖² (VTL): with s = g/p, the number changes
    /// by s(s‖c‖² − 2h).
    Squares {
        /// The functional of Σ_a c_a f_a.
        weights: Vec<f64>,
        /// ‖c‖².
        norm_sq: f64,
    },
    /// Σ_a f_a / σ_a before the pick, by which it was chosen (CTL): the number before the pick is h.
    Standardised {
        /// The functional of Σ_a f_a / σ_a.
        weights: Vec<f64>,
    },
}

impl SecondNumber {
    /// Returns the functional, if there is one.
    pub fn weights(&self) -> Option<&[f64]> {
        match self {
            SecondNumber::None => None,
            SecondNumber::Joint { weights, .. }
            | SecondNumber::Squares { weights, .. }
            | SecondNumber::Standardised { weights } => Some(weights),
        }
    }
}

/// One pass over all rows: picks that are made, then drafted picks to be verified.
#[derive(Debug)]
pub struct Pass<'m> {
    /// All steps.
    pub steps: &'m [&'m PickStep],
    /// Number of steps that are made; the others are drafted.
    pub made: usize,
    /// The functional of Σ_a f_a / σ_a after the last step (CTL).
    pub after: Option<&'m [f64]>,
    /// The root with which VTL's sums are recomputed before the first drafted step.
    pub root: Option<&'m SquareRoot>,
    /// The decision before each drafted step.
    pub decisions: &'m [Decision],
    /// Numbers of drafted steps after which the numbers are stored, in increasing order. Of equal ones, the first counts.
    pub checkpoints: [usize; CHECKPOINTS + 1],
    /// Rows that are not to be named from a decision on.
    pub excluded: &'m [(usize, usize)],
}

/// What a row must reach to matter to a decision, and the bounds on the errors of its numbers at that point.
#[derive(Debug, Clone, Copy)]
pub struct Decision {
    /// The key of the drafted pick, lowered by the tolerance for ties.
    pub bar: f64,
    /// Errors of the shard's numbers.
    pub errors: Errors,
    /// Errors of numbers that are computed in f64 from [`Start`] and all steps since, for shards that look again at the rows
    /// in question.
    pub fine_errors: Errors,
}

/// Bounds on the errors of a row's numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Errors {
    /// Error of the variance, per ‖φ‖².
    pub var: f64,
    /// Error of the second number, per ‖φ‖². A shard adds the error of VTL's sums that it stores per row.
    pub second: f64,
    /// Error of the covariance with the standardised targets, per ‖φ‖.
    pub std_cov: f64,
}

impl Decision {
    /// Returns the bar, lowered by more than the rounding of a key in f32.
    pub fn lowered_bar(&self) -> f32 {
        (self.bar - 1e-5 * self.bar.abs()) as f32
    }
}

/// Rows whose key may reach that of a drafted pick.
#[derive(Debug, Clone, Default)]
pub struct Challengers {
    /// Each decision with a row that may matter to it. A row need be named only once, at the first such decision.
    pub rows: Vec<(usize, usize)>,
    /// `rows` contains all challengers of the decisions before this one.
    pub complete: usize,
}

/// Asks for the best rows.
#[derive(Debug)]
pub struct Ranking<'m> {
    /// Checkpoints of the last pass, with the number of rows to be taken from each. The current numbers are checkpoint 0.
    pub lists: &'m [(usize, usize)],
    /// Picks that are made but not yet applied to all rows. They are applied to the chosen rows.
    pub pending: &'m [PickStep],
    /// The functional of Σ_a f_a / σ_a after these picks (CTL).
    pub after: Option<&'m [f64]>,
    /// Number of rows to be returned.
    pub count: usize,
    /// Rows that were picked since the last question.
    pub taken: &'m [usize],
}

/// A row with its key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// The row.
    pub row: usize,
    /// Its key, up to rounding.
    pub key: f32,
}

impl Ranked {
    /// Orders by decreasing key, then by increasing row.
    pub fn order(&self, other: &Self) -> std::cmp::Ordering {
        other.key.total_cmp(&self.key).then(self.row.cmp(&other.row))
    }
}

/// Asks which warm rows would be picked before the steps of a draft.
#[derive(Debug)]
pub struct Trial<'m> {
    /// The drafted steps since the last trial.
    pub steps: &'m [PickStep],
    /// The functional of Σ_a f_a / σ_a after the last step (CTL).
    pub after: Option<&'m [f64]>,
    /// Rows that take part in the draft, in increasing order. They are not to be named.
    pub excluded: &'m [usize],
}

/// A warm row that would be picked before a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rival {
    /// The step.
    pub at: usize,
    /// The row.
    pub row: usize,
    /// Its key there, up to rounding.
    pub key: f32,
}
