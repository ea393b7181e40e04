//! How thoroughly each pick searches the pool: exact greedy, or less work with a weaker [guarantee](super::guarantee).

use std::str::FromStr;

use crate::rules::strategy::{BatchMethod, PickMethod, Strategy};
use crate::{Error, Result};

/// The set of rows of which each pick is the best.
///
/// ```
/// use homing::{Embeddings, Greedy, Plan, Task, select};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let plan = Plan::default().count(2).greedy(Greedy::Stochastic { epsilon: 0.1 });
/// assert_eq!(select(&task, &plan)?.picks.len(), 2);
/// println!("{}", plan.greedy.guarantee(&task, &plan).expect("stochastic greedy has a guarantee"));
/// assert_eq!("partitioned:8".parse(), Ok(Greedy::Partitioned { parts: 8 }));
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Greedy {
    /// All rows of the pool.
    #[default]
    Exact,
    /// A fresh random sample of (m/n)·ln(1/ε) of the m rows, for n picks (Mirzasoleiman et al. 2015).
    Stochastic {
        /// Parameter ε, between 0 and 1. A smaller ε means larger samples.
        epsilon: f64,
    },
    /// Random parts of the pool: the picks of all parts together are the pool for a second selection (Mirzasoleiman et al.
    /// 2013). The result is the better of that selection and the best part's.
    Partitioned {
        /// Number of parts.
        parts: usize,
    },
}

impl FromStr for Greedy {
    type Err = Error;

    /// Parses `exact`, `stochastic:EPSILON` or `partitioned:PARTS`.
    fn from_str(text: &str) -> Result<Self> {
        let choices = "exact, stochastic:EPSILON (for example 0.1) or partitioned:PARTS (for example 8)";
        let unknown = || Error::UnknownName { what: "greedy method", name: text.into(), choices };
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
    /// Refuses a rule that is not greedy, or a parameter out of range.
    pub(crate) fn check(&self, strategy: &Strategy) -> Result<()> {
        let greedy = strategy.batch == BatchMethod::Sequential && strategy.pick_method == PickMethod::Largest;
        match *self {
            Greedy::Exact => Ok(()),
            _ if !greedy => Err(Error::NotGreedy { rule: strategy.name() }),
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
