//! Choice of the targets for a round (Appendix F).

use std::iter;
use std::str::FromStr;

use rand::RngExt;
use rand::distr::weighted::WeightedIndex;
use rand::seq::index;

use crate::base::random::{Stream, generator};
use crate::base::range::check_count;
use crate::{Error, Result};

/// Number of weighted draws that are kept one by one. Of more draws, the shares are kept, rounded to one in this many.
const MOST_COPIES: usize = 1 << 14;

/// How the targets A′ ⊆ A of a round are chosen.
///
/// ```
/// use homing::{Embeddings, Plan, TargetSampling, Task, select};
///
/// let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2];
/// let targets = [0.8f32, 0.3, 0.0, 1.0, 0.1, 0.9];
/// let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let plan = Plan::default().count(3).target_sampling(TargetSampling::Size(1)).picks_per_round(1);
/// assert_eq!(select(&task, &plan)?.picks.len(), 3); // each pick is about one target, drawn for it
/// assert_eq!("max-det:20".parse(), Ok(TargetSampling::MaxDet(20)));
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum TargetSampling {
    /// All targets.
    #[default]
    All,
    /// A random share of the targets (0 to 1), at least one.
    Fraction(f64),
    /// This many targets, drawn at random without repetition.
    Size(usize),
    /// Independent draws from a distribution P_A over the targets (stochastic target spaces, Appendix F.1). A target that is
    /// drawn twice counts twice in rules that sum over targets (CTL, VTL, cosine), so that their expected score is the sum
    /// weighted by P_A. Information about the targets (ITL) is about the set of those that were drawn.
    Weighted {
        /// P_A up to a factor: one weight per target.
        weights: Vec<f64>,
        /// Number of draws K. From 16,384 on, the numbers of draws are rounded to multiples of K/16,384.
        size: usize,
    },
    /// K diverse targets: greedily those with the largest determinant of their kernel matrix.
    MaxDet(usize),
    /// K diverse targets: greedily those with the largest kernel distance to the targets chosen before.
    MaxDist(usize),
}

impl FromStr for TargetSampling {
    type Err = Error;

    /// Parses a share (0.1), a number (20), `max-det:N` or `max-dist:N`.
    fn from_str(text: &str) -> Result<Self> {
        let choices = "a share (0.1), a number (20), max-det:N or max-dist:N";
        let unknown = || Error::UnknownName { what: "sample of targets", name: text.into(), choices };
        match text.split_once(':') {
            Some(("max-det", size)) => size.parse().map(TargetSampling::MaxDet).map_err(|_| unknown()),
            Some(("max-dist", size)) => size.parse().map(TargetSampling::MaxDist).map_err(|_| unknown()),
            Some(_) => Err(unknown()),
            None => match text.parse() {
                Ok(size) => Ok(TargetSampling::Size(size)),
                Err(_) => text.parse().map(TargetSampling::Fraction).map_err(|_| unknown()),
            },
        }
    }
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
                let expected = "weights must be non-negative and not all zero";
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

    /// Draws A′ at random and returns its row numbers in increasing order, those of weighted draws as often as they were
    /// drawn; `None` if A′ is chosen by a selection of its own.
    pub(crate) fn draw(&self, targets: usize, seed: u64, round: u64) -> Option<Vec<usize>> {
        let mut rng = generator(seed, Stream::Targets(round));
        let mut chosen = match self {
            TargetSampling::All => (0..targets).collect(),
            TargetSampling::Fraction(share) => {
                let size = ((share * targets as f64).round() as usize).clamp(1, targets);
                index::sample(&mut rng, targets, size).into_vec()
            }
            TargetSampling::Size(size) => index::sample(&mut rng, targets, *size).into_vec(),
            TargetSampling::Weighted { weights, size } => {
                let distribution = WeightedIndex::new(scaled(weights)).expect("the weights were checked");
                let mut counts = vec![0usize; targets];
                (0..*size).for_each(|_| counts[rng.sample(&distribution)] += 1);
                let unit = size.div_ceil(MOST_COPIES);
                let copies = |(target, count): (usize, usize)| iter::repeat_n(target, count.div_ceil(unit));
                counts.into_iter().enumerate().flat_map(copies).collect()
            }
            TargetSampling::MaxDet(_) | TargetSampling::MaxDist(_) => return None,
        };
        chosen.sort_unstable();
        Some(chosen)
    }
}

/// Scales very large or very small weights by a power of two, so that their sum neither overflows nor underflows.
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
