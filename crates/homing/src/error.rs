//! Everything that can be wrong with what a caller hands in.

use crate::range::{LEAST_SIZE, MOST_SIZE};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call was refused. Each message says what was expected, what came, and the remedy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A matrix without rows or without columns.
    #[error("the {what} is empty: it needs at least one row and one dimension")]
    Empty {
        /// Which input.
        what: &'static str,
    },
    /// A buffer whose length is no multiple of its row length.
    #[error("{len} values do not divide into rows of {dim}; give a whole number of rows")]
    Ragged {
        /// Values in the buffer.
        len: usize,
        /// Values a row.
        dim: usize,
    },
    /// Pool and another input live in different spaces.
    #[error("the {what} have {got} dimensions but the pool has {pool}; embed both with the same model")]
    Dimension {
        /// Which input.
        what: &'static str,
        /// Its dimension.
        got: usize,
        /// The pool's dimension.
        pool: usize,
    },
    /// NaN or infinity.
    #[error("row {row} of the {what} holds a value that is not finite; remove or repair that row")]
    NotFinite {
        /// Which input.
        what: &'static str,
        /// The first bad row, counted from zero.
        row: usize,
    },
    /// A value outside of its range, found before the work starts.
    #[error("row {row} of the {what} is {}; {expected}", short(*.value))]
    BadValue {
        /// Which input.
        what: &'static str,
        /// The first bad row, counted from zero.
        row: usize,
        /// What stood there.
        value: f64,
        /// What was expected.
        expected: &'static str,
    },
    /// Rows of a size whose powers f64 cannot hold.
    #[error(
        "row {row} of the {what} has the {} {}, but the largest must lie between {} and {} for its powers to fit double \
         precision; multiply pool, targets and observed points by one factor",
        .size, short(*.value), short(LEAST_SIZE), short(MOST_SIZE)
    )]
    Size {
        /// Which input.
        what: &'static str,
        /// The largest row, counted from zero.
        row: usize,
        /// What is too large or too small: its norm, or its prior standard deviation.
        size: &'static str,
        /// How large it is.
        value: f64,
    },
    /// A row that the kernel cannot be asked about.
    #[error("row {row} of the {what} is no point of this kernel: {expected}")]
    Point {
        /// Which input.
        what: &'static str,
        /// The first bad row, counted from zero.
        row: usize,
        /// What was expected.
        expected: &'static str,
    },
    /// A kernel that yields negative variances.
    #[error(
        "{} has the variance {} given what is known before it, so the kernel matrix is not positive semi-definite; add a \
         multiple of the identity to it, or raise the noise",
        row.map_or_else(|| "one of the targets and labelled rows".to_owned(), |row| format!("row {row} of the pool")), short(*.var)
    )]
    Indefinite {
        /// The row of the pool; none for a target or a labelled point.
        row: Option<usize>,
        /// Its variance.
        var: f64,
    },
    /// A number of things that nobody can wait for.
    #[error("{count} {what} are asked for, and {most} are the most in one call; ask for fewer")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many were asked for.
        count: usize,
        /// The most that there may be.
        most: usize,
    },
    /// One value per pool row was expected.
    #[error("{got} {what} for {expected} rows; give one a row")]
    Length {
        /// Which input.
        what: &'static str,
        /// How many came.
        got: usize,
        /// How many rows there are.
        expected: usize,
    },
    /// A row number beyond the pool.
    #[error("row {row} is named in the {what}, but the pool has only {rows} rows (counted from 0)")]
    NoSuchRow {
        /// Which input.
        what: &'static str,
        /// The row named.
        row: usize,
        /// Rows in the pool.
        rows: usize,
    },
    /// A target that is not there.
    #[error("target {target} is asked for, but there are only {targets} targets (counted from 0)")]
    NoSuchTarget {
        /// The target named.
        target: usize,
        /// How many there are.
        targets: usize,
    },
    /// Every row is closed.
    #[error("no row of the pool may be picked: all are forbidden or labelled already; allow some")]
    NothingToPick,
    /// No picks, or more than there are rows.
    #[error("cannot pick {count} of {available} rows; ask for 1 to {available}")]
    Count {
        /// Picks asked for.
        count: usize,
        /// Rows that may be picked.
        available: usize,
    },
    /// A setting outside of its range.
    #[error("{name} is {}; {expected}", short(*.value))]
    Setting {
        /// The setting's name.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What was expected.
        expected: &'static str,
    },
    /// No such strategy.
    #[error("there is no rule '{name}'; did you mean '{nearest}'? `homing rules` lists them all")]
    UnknownStrategy {
        /// What was asked for.
        name: String,
        /// The closest name that exists.
        nearest: &'static str,
    },
    /// No such name, of something that has few.
    #[error("there is no {what} '{name}'; choose {choices}")]
    UnknownName {
        /// What it would name.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// The names that exist.
        choices: &'static str,
    },
    /// The rule reads class probabilities.
    #[error(
        "the rule '{rule}' needs the class probabilities of every pool row; give them, or choose a rule that does without"
    )]
    NeedsProbabilities {
        /// The rule's name.
        rule: &'static str,
    },
    /// The rule is about targets.
    #[error("the rule '{rule}' needs targets; give some, or choose an undirected rule such as 'undirected-itl'")]
    NeedsTargets {
        /// The rule's name.
        rule: &'static str,
    },
    /// A covariance matrix that is none.
    #[error("the {what} is not positive definite at pivot {pivot}; raise the noise or remove duplicate rows")]
    NotPositiveDefinite {
        /// Which matrix.
        what: &'static str,
        /// The first pivot that is not positive.
        pivot: usize,
    },
    /// A last layer whose weights are too many for a dense covariance.
    #[error(
        "the last layer has {weights} weights, and a full covariance is computed for {most} at most; choose the \
         Kronecker-factored or the diagonal approximation"
    )]
    LayerTooLarge {
        /// Its weights.
        weights: usize,
        /// The most that there may be.
        most: usize,
    },
    /// Values that were to come from one layer do not fit together.
    #[error("the {what} have {got} columns but the last layer has {expected}; take them from the network that Σ is of")]
    Layer {
        /// Which input.
        what: &'static str,
        /// Its columns.
        got: usize,
        /// The columns that fit.
        expected: usize,
    },
    /// A read of a [`RowSource`](crate::RowSource) failed, for this reason.
    #[error("{0}")]
    Unreadable(String),
    /// An [`Interrupt`](crate::Interrupt) was set.
    #[error("interrupted")]
    Interrupted,
    /// A combination that cannot be served.
    #[error("{0}")]
    Unsupported(&'static str),
}

impl Error {
    /// The same about the pool, of an error about some rows of it.
    pub(crate) fn in_pool(self, rows: &[usize]) -> Self {
        match self {
            Error::Indefinite { row: Some(row), var } => Error::Indefinite { row: rows.get(row).copied(), var },
            other => other,
        }
    }
}

/// A number as it was given, with an exponent where its digits would be a long row of zeros.
fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() || (1e-6..1e9).contains(&value.abs()) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_messages_are_short() {
        let said = |value| Error::Setting { name: "the noise", value, expected: "raise it" }.to_string();
        assert_eq!(said(-1.5), "the noise is -1.5; raise it");
        assert_eq!(said(1e-30), "the noise is 1e-30; raise it");
        assert_eq!(said(6.25e200), "the noise is 6.25e200; raise it");
        assert_eq!(said(f64::NAN), "the noise is NaN; raise it");
    }
}
