//! Errors: everything that can be wrong with a caller's input.

/// Result type of this crate.
///
/// ```
/// fn first_row(values: &[f32], dim: usize) -> homing::Result<Vec<f64>> {
///     Ok(homing::Embeddings::new(values, dim)?.row(0))
/// }
/// assert_eq!(first_row(&[1.0, 2.0, 3.0, 4.0], 2)?, [1.0, 2.0]);
/// assert!(first_row(&[1.0, 2.0, 3.0], 2).is_err());
/// # Ok::<(), homing::Error>(())
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reason why a call was refused. Each message says what was expected, what was given, and how to fix it.
///
/// ```
/// use homing::{Embeddings, Error, Plan, Task, select};
///
/// let (pool, targets) = ([1.0f32, 0.0, 0.9, 0.1], [0.8f32, 0.3, 0.1]);
/// let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 3)?);
/// let error = select(&task, &Plan::default()).unwrap_err();
/// assert_eq!(error, Error::Dimension { what: "targets", got: 3, pool: 2 });
/// assert_eq!(error.to_string(), "the targets have 3 dimensions but the pool has 2; embed both with the same model");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A matrix without rows or without columns.
    Empty {
        /// Name of the input.
        what: &'static str,
    },
    /// A buffer whose length is not a multiple of its row length.
    Ragged {
        /// Values in the buffer.
        len: usize,
        /// Values per row.
        dim: usize,
    },
    /// The pool and another input have different dimensions.
    Dimension {
        /// Name of the input.
        what: &'static str,
        /// Its dimension.
        got: usize,
        /// The pool's dimension.
        pool: usize,
    },
    /// A value that is NaN or infinite.
    NotFinite {
        /// Name of the input.
        what: &'static str,
        /// The first bad row, counted from zero.
        row: usize,
    },
    /// A value outside its range.
    BadValue {
        /// Name of the input.
        what: &'static str,
        /// The first bad row, counted from zero.
        row: usize,
        /// The value in that row.
        value: f64,
        /// What was expected.
        expected: &'static str,
    },
    /// Rows so large or so small that f64 cannot hold the powers of their norm.
    Size {
        /// Name of the input.
        what: &'static str,
        /// The largest row, counted from zero.
        row: usize,
        /// Which size is out of range: the row's norm, or its prior standard deviation.
        size: &'static str,
        /// The size itself.
        value: f64,
    },
    /// A row that the kernel does not accept.
    Point {
        /// Name of the input.
        what: &'static str,
        /// The first bad row, counted from zero.
        row: usize,
        /// What was expected.
        expected: &'static str,
    },
    /// A kernel that gives a negative variance.
    Indefinite {
        /// The row of the pool; `None` for a target or a labelled point.
        row: Option<usize>,
        /// Its variance.
        var: f64,
    },
    /// A number of things that would take forever.
    TooMany {
        /// Name of the things.
        what: &'static str,
        /// How many were requested.
        count: usize,
        /// The largest number allowed.
        most: usize,
    },
    /// An input that does not have one value per row.
    Length {
        /// Name of the input.
        what: &'static str,
        /// How many values were given.
        got: usize,
        /// How many rows there are.
        expected: usize,
    },
    /// A row number that the pool does not have.
    NoSuchRow {
        /// Name of the input.
        what: &'static str,
        /// The requested row.
        row: usize,
        /// Number of rows in the pool.
        rows: usize,
    },
    /// A target number that does not exist.
    NoSuchTarget {
        /// The requested target.
        target: usize,
        /// Number of targets.
        targets: usize,
    },
    /// Every row of the pool is forbidden or already labelled.
    NothingToPick,
    /// A number of picks that is zero, or larger than the number of rows.
    Count {
        /// Number of picks requested.
        count: usize,
        /// Number of rows that may be picked.
        available: usize,
    },
    /// A setting outside its range.
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// The given value.
        value: f64,
        /// What was expected.
        expected: &'static str,
    },
    /// A strategy name that does not exist.
    UnknownStrategy {
        /// The requested name.
        name: String,
        /// The closest existing name.
        nearest: &'static str,
    },
    /// A name that does not exist, of something that has only a few names.
    UnknownName {
        /// The kind of thing it names.
        what: &'static str,
        /// The requested name.
        name: String,
        /// The existing names.
        choices: &'static str,
    },
    /// A rule that needs class probabilities, which are missing.
    NeedsProbabilities {
        /// Name of the rule.
        rule: &'static str,
    },
    /// A rule that needs targets, which are missing.
    NeedsTargets {
        /// Name of the rule.
        rule: &'static str,
    },
    /// A covariance matrix that is not positive definite.
    NotPositiveDefinite {
        /// Name of the matrix.
        what: &'static str,
        /// The first pivot that is not positive.
        pivot: usize,
    },
    /// A last layer with too many weights for a dense covariance.
    LayerTooLarge {
        /// Number of its weights.
        weights: usize,
        /// The largest number allowed.
        most: usize,
    },
    /// An input whose number of columns does not match the last layer.
    Layer {
        /// Name of the input.
        what: &'static str,
        /// Number of its columns.
        got: usize,
        /// The number of columns that the layer has.
        expected: usize,
    },
    /// A failed read of a [`RowSource`](crate::RowSource), with its reason.
    Unreadable(String),
    /// Threads that the system did not start.
    Threads {
        /// The system's reason.
        reason: String,
    },
    /// Work that ended because an [`Interrupt`](crate::Interrupt) was set.
    Interrupted,
    /// A diagnosis without targets.
    NothingToDiagnose,
    /// Limits that allow no pick.
    LimitsTooTight,
    /// A stopping rule about targets, without targets.
    StopNeedsTargets,
    /// A budget without costs.
    BudgetNeedsCosts,
    /// Quotas without groups.
    QuotasNeedGroups,
    /// Repetition requested from a rule that scores every row only once.
    CannotRepeat {
        /// Name of the rule.
        rule: &'static str,
    },
    /// Stochastic or partitioned greedy requested for a rule that is not greedy.
    NotGreedy {
        /// Name of the rule.
        rule: &'static str,
    },
    /// Inputs that partitioned greedy does not support.
    NotPartitionable,
    /// Observed points without loss gradients, for a rule that needs them.
    NoGradients {
        /// Name of the rule.
        rule: &'static str,
    },
    /// A pool that is too large for an exact computation under a nonlinear kernel.
    PoolTooLarge {
        /// Number of rows in the pool.
        rows: usize,
        /// The largest number allowed.
        most: usize,
    },
    /// An exact number of the theory that would take too long to compute.
    TooManySets {
        /// Name of the number.
        what: &'static str,
        /// The largest number of sets that are evaluated.
        most: usize,
    },
    /// Values from which no noise can be estimated.
    NoVariation {
        /// Name of the input.
        what: &'static str,
        /// What they have in common.
        value: &'static str,
    },
    /// A last layer whose weights are all zero, so no prior precision can be estimated.
    ZeroWeights,
    /// A network that is certain of every example, so no prior precision can be estimated.
    CertainNetwork,
}

impl Error {
    /// Translates an error about a subset of the pool, given by its `rows`, to the pool's row numbers.
    pub(crate) fn in_pool(self, rows: &[usize]) -> Self {
        match self {
            Error::Indefinite { row: Some(row), var } => Error::Indefinite { row: rows.get(row).copied(), var },
            other => other,
        }
    }
}
