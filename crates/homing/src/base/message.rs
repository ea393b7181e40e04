//! Error messages: the problem and the remedy, in one sentence.

use std::fmt;

use super::error::Error;
use super::range::{LEAST_SIZE, MOST_SIZE};
use super::remedy::Remedy;

impl Error {
    /// Returns what to do about the error if that is a setting or an input whose name differs between Rust, the command
    /// line and Python.
    pub fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Error::NothingToDiagnose => Remedy::GiveTargets,
            Error::NeedsTargets { .. } => Remedy::GiveTargetsOrChooseUndirectedRule,
            Error::StopNeedsTargets => Remedy::GiveTargetsOrDropVarianceStop,
            Error::NeedsProbabilities { .. } => Remedy::GiveProbabilitiesOrChooseRule,
            Error::BudgetNeedsCosts => Remedy::GiveCostsOrDropBudget,
            Error::QuotasNeedGroups => Remedy::GiveGroupsOrDropQuotas,
            Error::LimitsTooTight => Remedy::RaiseLimits,
            Error::UnknownStrategy { .. } => Remedy::ChooseListedRule,
            Error::CannotRepeat { .. } => Remedy::DropRepeatOrChooseSequentialRule,
            Error::NotGreedy { .. } => Remedy::ChooseGreedyRuleOrExact,
            Error::NotPartitionable => Remedy::DropInputsOrChooseUnpartitioned,
            Error::NoGradients { .. } => Remedy::ObserveByRow,
            Error::PoolTooLarge { .. } => Remedy::StopByGainOrSamplePool,
            Error::Indefinite { .. } => Remedy::AddToKernelOrRaiseNoise,
            Error::LayerTooLarge { .. } => Remedy::ChooseSmallerApproximation,
            _ => return None,
        })
    }

    /// Returns the message of this error, with the remedy in the caller's own words.
    pub fn phrase(&self, words: impl Fn(Remedy) -> String) -> String {
        match self.remedy() {
            Some(remedy) => format!("{}; {}", self.problem(), words(remedy)),
            None => self.problem(),
        }
    }

    /// The problem, followed by the remedy if that has the same wording everywhere.
    #[allow(clippy::too_many_lines, reason = "a table with a row per variant")]
    fn problem(&self) -> String {
        match self {
            Error::Empty { what } => format!("the {what} is empty; give at least one row and one dimension"),
            Error::Ragged { len, dim } => {
                format!("{len} values do not divide into rows of {dim}; give a whole number of rows")
            }
            Error::Dimension { what, got, pool } => {
                format!("the {what} have {got} dimensions but the pool has {pool}; embed both with the same model")
            }
            Error::NotFinite { what, row } => {
                format!("row {row} of the {what} holds a value that is not finite; remove or repair that row")
            }
            Error::BadValue { what, row, value, expected } => {
                format!("row {row} of the {what} is {}; {expected}", short(*value))
            }
            Error::Size { what, row, size, value } => format!(
                "row {row} of the {what} has {size} {}; the largest {size} must lie between {} and {} for its powers to fit \
                 double precision; multiply pool, targets and observed points by one factor",
                short(*value),
                short(LEAST_SIZE),
                short(MOST_SIZE)
            ),
            Error::Point { what, row, expected } => {
                format!("row {row} of the {what} is not a valid point for this kernel; {expected}")
            }
            Error::Indefinite { row, var } => {
                let which = match row {
                    Some(row) => format!("row {row} of the pool"),
                    None => "one of the targets and labelled rows".to_owned(),
                };
                let var = short(*var);
                format!(
                    "{which} has the variance {var} given the rows before it, so the kernel matrix is not positive \
                     semi-definite"
                )
            }
            Error::TooMany { what, count, most } => {
                format!("{count} {what} were requested, but one call allows at most {most}; request fewer")
            }
            Error::Length { what, got, expected } => {
                format!("there are {got} {what} for {expected} rows; give one per row")
            }
            Error::NoSuchRow { what, row, rows } => format!(
                "row {row} is named in the {what}, but the pool has only {rows} rows; name rows from 0 to {}",
                rows.saturating_sub(1)
            ),
            Error::NoSuchTarget { target, targets } => format!(
                "target {target} was requested, but there are only {targets} targets; name targets from 0 to {}",
                targets.saturating_sub(1)
            ),
            Error::NothingToPick => {
                "no row of the pool may be picked, because all are forbidden or already labelled; allow some".to_owned()
            }
            Error::Count { count, available } => {
                format!("cannot pick {count} of {available} rows; request 1 to {available}")
            }
            Error::Setting { name, value, expected } => format!("{name} is {}; {expected}", short(*value)),
            Error::UnknownStrategy { name, nearest } => {
                format!("there is no rule '{name}' (did you mean '{nearest}'?)")
            }
            Error::UnknownName { what, name, choices } => format!("there is no {what} '{name}'; choose {choices}"),
            Error::NeedsProbabilities { rule } => {
                format!("the rule '{rule}' needs the class probabilities of every pool row")
            }
            Error::NeedsTargets { rule } => format!("the rule '{rule}' needs targets"),
            Error::NotPositiveDefinite { what, pivot } => format!(
                "the {what} is not positive definite at pivot {pivot}; raise the numbers on its diagonal or remove \
                 duplicate rows"
            ),
            Error::LayerTooLarge { weights, most } => {
                format!("the last layer has {weights} weights, but a full covariance is limited to {most}")
            }
            Error::Layer { what, got, expected } => format!(
                "the {what} have {got} columns but the last layer has {expected}; use the network that Σ was computed from"
            ),
            Error::Unreadable(reason) => reason.clone(),
            Error::Threads { reason } => format!("the system starts no more threads ({reason}); ask for fewer"),
            Error::Interrupted => "the work was interrupted; run it again".to_owned(),
            Error::NothingToDiagnose => "a diagnosis needs targets, but there are none".to_owned(),
            Error::LimitsTooTight => "the quotas or the budget allow no row at all".to_owned(),
            Error::StopNeedsTargets => "stopping by the targets' variance needs targets".to_owned(),
            Error::BudgetNeedsCosts => "a budget needs the cost of every pool row".to_owned(),
            Error::QuotasNeedGroups => "quotas need the group of every pool row".to_owned(),
            Error::CannotRepeat { rule } => {
                format!("the rule '{rule}' scores every row only once, so it cannot pick a row repeatedly")
            }
            Error::NotGreedy { rule } => format!(
                "stochastic and partitioned greedy work with rules that repeatedly pick the best row, such as itl, vtl \
                 and ctl, but not with '{rule}'"
            ),
            Error::NotPartitionable => {
                "partitioned greedy supports neither noise per row, nor probabilities, nor repetition".to_owned()
            }
            Error::NoGradients { rule } => {
                format!("the rule '{rule}' needs loss gradients, which observed embeddings alone do not have")
            }
            Error::PoolTooLarge { rows, most } => format!(
                "the irreducible variance under a nonlinear kernel is limited to {most} rows, but the pool has {rows}"
            ),
            Error::TooManySets { what, most } => {
                let most = match most / 1_000_000 {
                    1 => "a million".to_owned(),
                    millions => format!("{millions} million"),
                };
                format!(
                    "the exact {what} is limited to {most} sets of rows; compute its bounds, or use fewer picks or a \
                     smaller pool"
                )
            }
            Error::NoVariation { what, value } => format!(
                "the {what} are all {value}, so no noise can be estimated from them; give others, or leave them out"
            ),
            Error::ZeroWeights => "the last layer's weights are all zero, so no prior precision can be estimated from \
                                   them; train the network first, or give a precision"
                .to_owned(),
            Error::CertainNetwork => "the network is certain of every labelled example, so no prior precision can be \
                                      estimated from them; train it for fewer epochs, or give a precision"
                .to_owned(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.phrase(|remedy| remedy.to_string()))
    }
}

impl std::error::Error for Error {}

/// Formats a number, with an exponent if its decimal form would have many zeros.
fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() || (1e-6..1e9).contains(&value.abs()) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

/// Writes [`Error::examples`]. Omitting a variant is a compile error.
macro_rules! examples {
    ($($variant:ident { $($field:tt: $value:expr),* })*) => {
        impl Error {
            /// Returns one error of each variant, for tests that check every message in every interface.
            #[doc(hidden)]
            pub fn examples() -> Vec<Self> {
                let examples = vec![$(Error::$variant { $($field: $value),* }),*];
                examples.iter().for_each(|example| match example {
                    $(Error::$variant { .. })|* => {}
                });
                examples
            }
        }
    };
}

examples! {
    Empty { what: "matrix" }
    Ragged { len: 5, dim: 2 }
    Dimension { what: "targets", got: 384, pool: 768 }
    NotFinite { what: "pool", row: 7 }
    BadValue { what: "costs", row: 3, value: -1.0, expected: "it must be a positive number" }
    Size { what: "pool", row: 0, size: "norm", value: 1e60 }
    Point { what: "pool", row: 2, expected: "give one number per point, that of its row in the kernel matrix" }
    Indefinite { row: Some(4), var: -0.5 }
    TooMany { what: "picks", count: 1_000_000_000, most: 100_000_000 }
    Length { what: "costs", got: 3, expected: 5 }
    NoSuchRow { what: "forbidden rows", row: 9, rows: 5 }
    NoSuchTarget { target: 3, targets: 2 }
    NothingToPick {}
    Count { count: 6, available: 5 }
    Setting { name: "the noise", value: 1e160, expected: "it must lie between 1e-70 and 1e70; lower it" }
    UnknownStrategy { name: "ilt".to_owned(), nearest: "itl" }
    UnknownName { what: "kernel", name: "cubic".to_owned(), choices: "linear or gaussian:LENGTH" }
    NeedsProbabilities { rule: "badge" }
    NeedsTargets { rule: "itl" }
    NotPositiveDefinite { what: "covariance Σ", pivot: 3 }
    LayerTooLarge { weights: 4096, most: 2048 }
    Layer { what: "probabilities", got: 3, expected: 4 }
    Unreadable { 0: "the connection was lost; run it again".to_owned() }
    Threads { reason: "Resource temporarily unavailable (os error 11)".to_owned() }
    Interrupted {}
    NothingToDiagnose {}
    LimitsTooTight {}
    StopNeedsTargets {}
    BudgetNeedsCosts {}
    QuotasNeedGroups {}
    CannotRepeat { rule: "cosine" }
    NotGreedy { rule: "random" }
    NotPartitionable {}
    NoGradients { rule: "badge" }
    PoolTooLarge { rows: 5000, most: 2048 }
    TooManySets { what: "information capacity", most: 1_000_000 }
    NoVariation { what: "values", value: "equal" }
    ZeroWeights {}
    CertainNetwork {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_messages_are_short() {
        let message = |value| Error::Setting { name: "the noise", value, expected: "raise it" }.to_string();
        assert_eq!(message(-1.5), "the noise is -1.5; raise it");
        assert_eq!(message(1e-30), "the noise is 1e-30; raise it");
        assert_eq!(message(6.25e200), "the noise is 6.25e200; raise it");
        assert_eq!(message(f64::NAN), "the noise is NaN; raise it");
    }

    #[test]
    fn every_message_is_one_sentence_of_a_problem_and_a_remedy() {
        for error in Error::examples() {
            let message = error.to_string();
            let (problem, remedy) = message.split_once("; ").unwrap_or_else(|| panic!("no remedy: {message}"));
            assert!(!problem.is_empty() && !remedy.is_empty(), "{message}");
            assert!(!message.contains("--") && !message.contains('\n') && !message.contains("  "), "{message}");
            assert!(!message.ends_with(['.', ';', ' ']) && !message.contains(". "), "{message}");
        }
    }

    #[test]
    fn an_interface_replaces_the_remedy_and_nothing_else() {
        for error in Error::examples() {
            let (rust, other) = (error.to_string(), error.phrase(|_| "do as I say".to_owned()));
            match error.remedy() {
                None => assert_eq!(rust, other),
                Some(remedy) => {
                    let problem = rust.strip_suffix(&remedy.to_string()).expect("Rust's remedy comes last");
                    assert_eq!(other, format!("{problem}do as I say"));
                }
            }
        }
    }
}
