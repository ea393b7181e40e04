//! Remedies for errors, for which Rust, the command line and Python each have their own names.

use std::fmt;

/// What to do about an [`Error`](crate::Error), if that is a setting or an input whose name differs between Rust, the
/// command line and Python.
///
/// [`Display`](fmt::Display) gives the Rust wording; [`Error::phrase`](crate::Error::phrase) accepts any other.
///
/// ```
/// use homing::{Embeddings, Error, Plan, Remedy, Task, select};
///
/// let pool = [1.0f32, 0.0, 0.9, 0.1];
/// let error = select(&Task::undirected(Embeddings::new(&pool, 2)?), &Plan::default()).unwrap_err();
/// assert_eq!(error.remedy(), Some(Remedy::GiveTargetsOrChooseUndirectedRule));
/// let words = |_: Remedy| "drop a file of targets here".to_owned();
/// assert_eq!(error.phrase(words), "the rule 'itl' needs targets; drop a file of targets here");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Remedy {
    /// Give targets.
    GiveTargets,
    /// Give targets, or choose a rule that needs none, such as `undirected-itl`.
    GiveTargetsOrChooseUndirectedRule,
    /// Give targets, or drop the stopping rule about their variance.
    GiveTargetsOrDropVarianceStop,
    /// Give class probabilities for every pool row, or choose a rule that does not need them.
    GiveProbabilitiesOrChooseRule,
    /// Give the cost of every pool row, or drop the budget.
    GiveCostsOrDropBudget,
    /// Give the group of every pool row, or drop the quotas.
    GiveGroupsOrDropQuotas,
    /// Raise the quotas or the budget.
    RaiseLimits,
    /// Choose a rule from the table of strategies.
    ChooseListedRule,
    /// Drop the repetition of rows, or choose a rule that picks one row after another.
    DropRepeatOrChooseSequentialRule,
    /// Choose a rule that repeatedly picks the best row, or exact greedy.
    ChooseGreedyRuleOrExact,
    /// Drop noise variances, probabilities and repetition, or choose exact or stochastic greedy.
    DropInputsOrChooseUnpartitioned,
    /// Give the observed examples as pool rows, not as embeddings.
    ObserveByRow,
    /// Stop by the least gain instead, or give a sample of the pool.
    StopByGainOrSamplePool,
    /// Add a multiple of the identity to the kernel matrix, or raise the noise.
    AddToKernelOrRaiseNoise,
    /// Choose the Kronecker-factored or the diagonal approximation of the last layer's covariance.
    ChooseSmallerApproximation,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Remedy::GiveTargets => "set `Task::targets`",
            Remedy::GiveTargetsOrChooseUndirectedRule => {
                "set `Task::targets`, or choose an undirected rule such as 'undirected-itl'"
            }
            Remedy::GiveTargetsOrDropVarianceStop => "set `Task::targets`, or leave `Stop::reduced_share` out",
            Remedy::GiveProbabilitiesOrChooseRule => {
                "set `Task::probabilities`, or choose a rule that does not need them"
            }
            Remedy::GiveCostsOrDropBudget => "set `Task::costs`, or leave `Plan::budget` out",
            Remedy::GiveGroupsOrDropQuotas => "set `Task::groups`, or leave `Plan::quotas` empty",
            Remedy::RaiseLimits => "raise `Plan::quotas` or `Plan::budget`",
            Remedy::ChooseListedRule => "choose a rule from `STRATEGIES`",
            Remedy::DropRepeatOrChooseSequentialRule => {
                "leave `Plan::repeat` out, or choose a rule with `BatchMethod::Sequential`"
            }
            Remedy::ChooseGreedyRuleOrExact => "choose one of those, or `Greedy::Exact`",
            Remedy::DropInputsOrChooseUnpartitioned => {
                "leave `Task::noise_vars`, `Task::probabilities` and `Plan::repeat` out, or choose `Greedy::Exact` or \
                 `Greedy::Stochastic`"
            }
            Remedy::ObserveByRow => {
                "give the observed examples in `Task::observed_rows`, not in `Task::observed_points`"
            }
            Remedy::StopByGainOrSamplePool => "stop by `Stop::min_gain`, or give a sample of the pool",
            Remedy::AddToKernelOrRaiseNoise => {
                "add a multiple of the identity to the kernel matrix, or raise `Plan::noise`"
            }
            Remedy::ChooseSmallerApproximation => "choose `Approximation::Kronecker` or `Approximation::Diagonal`",
        })
    }
}
