//! How greedily picks are made: exactly, or with less work and a weaker guarantee.

use std::collections::BTreeSet;
use std::f64::consts::E;
use std::str::FromStr;

use rand::RngExt;
use rand::seq::index;

use crate::choose::Limits;
use crate::random::{Stream, generator};
use crate::strategy::{Batch, Choice};
use crate::{Error, Plan, Result, Stop, TargetSampling, Task};

/// What each pick is the best of.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Greedy {
    /// All rows.
    #[default]
    Exact,
    /// A fresh random sample of (m/n)·ln(1/ε) rows of the m, for n picks (Mirzasoleiman et al. 2015).
    Stochastic {
        /// ε, between 0 and 1.
        epsilon: f64,
    },
    /// A random part of the pool; then, of the picks of all parts together (Mirzasoleiman et al. 2013). The better of that and
    /// of the best part is taken.
    Partitioned {
        /// How many parts.
        parts: usize,
    },
}

impl FromStr for Greedy {
    type Err = Error;

    /// `exact`, `stochastic:EPSILON` or `partitioned:PARTS`.
    fn from_str(text: &str) -> Result<Self> {
        let choices = "exact, stochastic:EPSILON (0.1, say) or partitioned:PARTS (8, say)";
        let unknown = || Error::UnknownName { what: "way to be greedy", name: text.into(), choices };
        match text.split_once(':') {
            None if text == "exact" => Ok(Greedy::Exact),
            Some(("stochastic", epsilon)) => {
                Ok(Greedy::Stochastic { epsilon: epsilon.parse().map_err(|_| unknown())? })
            }
            Some(("partitioned", parts)) => Ok(Greedy::Partitioned { parts: parts.parse().map_err(|_| unknown())? }),
            _ => Err(unknown()),
        }
    }
}

impl Greedy {
    /// What is promised of the picks, in one sentence; nothing for exact picks.
    ///
    /// Stochastic greedy reaches 1 − e^{−κ(1−ε)} of the optimum in expectation, with κ the submodularity ratio (Khanna et al.
    /// 2017, Lemma 4 in the induction of greedy). Partitioned greedy reaches ½(1 − 1/e) in expectation where F is submodular
    /// (Barbosa et al. 2015), and never less than 1 − e^{−κ} of the best within one part.
    pub fn guarantee(&self, task: &Task<'_>, plan: &Plan) -> Option<String> {
        let free = plan.quotas.is_empty() && !plan.repeat && plan.stop == Stop::default() && task.costs.is_none();
        let whole = plan.target_sampling == TargetSampling::All && task.noise_vars.is_none();
        let value = plan.strategy.value.filter(|_| free && whole);
        let unknown = |how: &str| {
            let why = if free && whole { "" } else { " with quotas, costs, stops, repetition or sampled targets" };
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
                     possible, κ the submodularity ratio ({share:.2} for κ = 1)"
                ))
            }
            (Greedy::Partitioned { parts }, Some(value)) => Some(format!(
                "partitioned greedy, {parts} parts: the expected {value} is at least ½(1 − 1/e) = {:.2} of the best possible \
                 where it is submodular, and always 1 − e^(−κ) of the best within one part, κ the submodularity ratio",
                0.5 * (1.0 - 1.0 / E)
            )),
        }
    }

    pub(crate) fn check(&self, plan: &Plan) -> Result<()> {
        let greedy = plan.strategy.batch == Batch::Sequential && plan.strategy.choice == Choice::Largest;
        match *self {
            Greedy::Exact => Ok(()),
            _ if !greedy => Err(Error::Unsupported(
                "stochastic and partitioned greedy are for rules that take the best row again and again, such as itl, vtl and ctl",
            )),
            Greedy::Stochastic { epsilon } if !(epsilon > 0.0 && epsilon < 1.0) => {
                Err(Error::Setting { name: "epsilon", value: epsilon, expected: "it must lie between 0 and 1" })
            }
            Greedy::Partitioned { parts: 0 } => {
                Err(Error::Setting { name: "the number of parts", value: 0.0, expected: "it must be at least 1" })
            }
            _ => Ok(()),
        }
    }
}

/// How many of `rows` rows stochastic greedy looks at for each of `count` picks.
pub(crate) fn sample_size(rows: usize, count: usize, epsilon: f64) -> usize {
    ((rows as f64 / count as f64 * epsilon.recip().ln()).ceil() as usize).clamp(1, rows)
}

/// `size` random rows that the limits allow, or all of them, in rising order.
pub(crate) fn sample(limits: &Limits<'_>, size: usize, seed: u64, pick: u64) -> Vec<usize> {
    let mut rng = generator(seed, Stream::Pick(pick));
    let rows = limits.open().len();
    let mut drawn = BTreeSet::new();
    // Few draws miss while most rows are open and unseen.
    let draws = if 4 * size < rows { 3 * size } else { 0 };
    for _ in 0..draws {
        let row = rng.random_range(0..rows);
        if limits.allows(row) {
            drawn.insert(row);
        }
        if drawn.len() == size {
            return drawn.into_iter().collect();
        }
    }
    let allowed: Vec<usize> = (0..rows).filter(|&row| limits.allows(row)).collect();
    let mut rows = index::sample(&mut rng, allowed.len(), size.min(allowed.len())).into_vec();
    rows.sort_unstable();
    rows.into_iter().map(|at| allowed[at]).collect()
}
