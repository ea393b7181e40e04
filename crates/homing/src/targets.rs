//! Which targets a round looks at (Appendix F).

use rand::RngExt;
use rand::distr::weighted::WeightedIndex;
use rand::seq::index;

use crate::random::{Stream, generator};
use crate::range::check_count;
use crate::select::select;
use crate::{Error, Kernel, Noise, Plan, Points, Result, Task};

/// A' ⊆ A of a round.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum TargetSampling {
    /// All of A.
    #[default]
    All,
    /// A random share of A (0 to 1), at least one target.
    Fraction(f64),
    /// So many of A at random.
    Size(usize),
    /// So many independent draws from P_A, given as one weight a target (stochastic target spaces, Appendix F.1).
    Weighted {
        /// P_A, up to a factor.
        weights: Vec<f64>,
        /// K.
        size: usize,
    },
    /// The K most explanatory targets by greedy maximum determinant.
    MaxDet(usize),
    /// The K most explanatory targets by greedy maximum kernel distance.
    MaxDist(usize),
}

impl TargetSampling {
    pub(crate) fn check(&self, targets: usize) -> Result<()> {
        match self {
            TargetSampling::All => Ok(()),
            TargetSampling::Fraction(share) if *share > 0.0 && *share <= 1.0 => Ok(()),
            TargetSampling::Fraction(share) => {
                let expected = "it must be above 0 and at most 1";
                Err(Error::Setting { name: "the share of targets", value: *share, expected })
            }
            TargetSampling::Weighted { weights, size } => {
                if weights.len() != targets {
                    return Err(Error::Length { what: "target weights", got: weights.len(), expected: targets });
                }
                let expected = "weights are not negative, and not all zero";
                if let Some(row) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
                    return Err(Error::BadValue { what: "target weights", row, value: weights[row], expected });
                }
                if weights.iter().all(|&w| w == 0.0) {
                    return Err(Error::BadValue { what: "target weights", row: 0, value: 0.0, expected });
                }
                check_count("draws of targets", *size)?;
                at_least_one(*size)
            }
            TargetSampling::Size(size) | TargetSampling::MaxDet(size) | TargetSampling::MaxDist(size) => {
                at_least_one(*size)?;
                if *size > targets {
                    return Err(Error::Count { count: *size, available: targets });
                }
                Ok(())
            }
        }
    }

    /// Row numbers of A' in rising order.
    pub(crate) fn draw(
        &self,
        targets: Points<'_>,
        kernel: &dyn Kernel,
        noise: Noise,
        seed: u64,
        round: u64,
    ) -> Result<Vec<usize>> {
        let all = targets.rows();
        let mut rng = generator(seed, Stream::Targets(round));
        let mut chosen = match self {
            TargetSampling::All => (0..all).collect(),
            TargetSampling::Fraction(share) => {
                let size = ((share * all as f64).round() as usize).clamp(1, all);
                index::sample(&mut rng, all, size).into_vec()
            }
            TargetSampling::Size(size) => index::sample(&mut rng, all, *size).into_vec(),
            TargetSampling::Weighted { weights, size } => {
                let law = WeightedIndex::new(scaled(weights)).expect("checked weights");
                let mut drawn = vec![false; all];
                (0..*size).for_each(|_| drawn[rng.sample(&law)] = true);
                (0..all).filter(|&target| drawn[target]).collect()
            }
            TargetSampling::MaxDet(size) => explanatory("undirected-itl", *size, targets, kernel, noise)?,
            TargetSampling::MaxDist(size) => explanatory("max-dist", *size, targets, kernel, noise)?,
        };
        chosen.sort_unstable();
        chosen.dedup();
        Ok(chosen)
    }
}

/// Weights whose sum is a number, with the same shares: times a power of two where they are very large or very small.
pub(crate) fn scaled(weights: &[f64]) -> Vec<f64> {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let factor = match largest {
        largest if largest > 1e200 => 2f64.powi(-512),
        largest if largest < 1e-200 => 2f64.powi(512),
        _ => 1.0,
    };
    weights.iter().map(|weight| weight * factor).collect()
}

fn at_least_one(size: usize) -> Result<()> {
    if size > 0 {
        Ok(())
    } else {
        Err(Error::Setting { name: "the number of targets", value: 0.0, expected: "it must be at least 1" })
    }
}

/// Chooses among the targets as if they were a pool.
fn explanatory(
    strategy: &str,
    count: usize,
    targets: Points<'_>,
    kernel: &dyn Kernel,
    noise: Noise,
) -> Result<Vec<usize>> {
    let task = Task { kernel, ..Task::new(targets, None) };
    let plan = Plan { strategy: strategy.parse()?, count, noise, ..Plan::default() };
    let selection = select(&task, &plan, |_| std::ops::ControlFlow::Continue(()))?;
    Ok(selection.indices())
}
