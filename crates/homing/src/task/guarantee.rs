//! Guarantees for picks that are made with less work than exact greedy.

use std::f64::consts::E;

use super::Task;
use super::greedy::Greedy;
use super::plan::{Plan, Stop};
use super::sampling::TargetSampling;

impl Greedy {
    /// Returns what is guaranteed of the picks, in one sentence; `None` for exact greedy.
    ///
    /// Stochastic greedy reaches 1 − e^{−κ(1−ε)} of the optimum in expectation, where κ is the submodularity ratio (Khanna
    /// et al. 2017, Lemma 4, inserted into the induction of greedy). Partitioned greedy reaches ½(1 − 1/e) in expectation
    /// if F is submodular (Barbosa et al. 2015), and never less than 1 − e^{−κ} of the best within one part.
    pub fn guarantee(&self, task: &Task<'_>, plan: &Plan) -> Option<String> {
        let free = plan.quotas.is_empty() && !plan.repeat && plan.stop == Stop::default() && task.costs.is_none();
        let whole = plan.target_sampling == TargetSampling::All && task.noise_vars.is_none();
        let value = plan.strategy.value.filter(|_| free && whole);
        let unknown = |how: &str| {
            let why =
                if free && whole { "" } else { " with quotas, costs, stopping rules, repetition or sampled targets" };
            format!("{how} greedy: no guarantee is known for {}{why}", plan.strategy.name())
        };
        match (*self, value) {
            (Greedy::Exact, _) => None,
            (Greedy::Stochastic { .. }, None) => Some(unknown("stochastic")),
            (Greedy::Partitioned { .. }, None) => Some(unknown("partitioned")),
            (Greedy::Stochastic { epsilon }, Some(value)) => {
                let (left, share) = (1.0 - epsilon, 1.0 - (epsilon - 1.0).exp());
                Some(format!(
                    "stochastic greedy, ε = {epsilon}: the expected {value} is at least 1 − e^(−{left:.3}·κ) of the best \
                     possible, where κ is the submodularity ratio ({share:.2} for κ = 1)"
                ))
            }
            (Greedy::Partitioned { parts }, Some(value)) => Some(format!(
                "partitioned greedy, {parts} parts: the expected {value} is at least ½(1 − 1/e) = {:.2} of the best possible \
                 if it is submodular, and always 1 − e^(−κ) of the best within one part, where κ is the submodularity ratio",
                0.5 * (1.0 - 1.0 / E)
            )),
        }
    }
}
