//! Targets of a round.

use std::fmt;
use std::str::FromStr;

use homing::TargetSampling;
use serde::{Deserialize, Serialize};

use crate::remedy::NameSet;
use crate::text::written_as_text;
use crate::{Error, Result};

/// Targets of a round, written as `all`, `COUNT`, `max-det:COUNT` or `max-dist:COUNT`. Smaller sets of targets are used whole.
///
/// ```
/// use homing_train::RoundTargets;
///
/// assert_eq!("10".parse::<RoundTargets>()?, RoundTargets::Sample(10));
/// assert_eq!("max-det:10".parse::<RoundTargets>()?, RoundTargets::MaxDet(10));
/// # Ok::<(), homing_train::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum RoundTargets {
    /// All targets.
    All,
    /// This many targets at random.
    Sample(usize),
    /// This many targets that explain the others best under the current network: greedily those with the largest determinant
    /// of their kernel matrix (Appendix F).
    MaxDet(usize),
    /// This many targets that are far from each other under the current network (Appendix F).
    MaxDist(usize),
}

/// The names of the choices, for a message.
pub(crate) const ROUND_TARGET_NAMES: &str = "all, 10, max-det:10 or max-dist:10";

impl RoundTargets {
    /// Returns how many targets are drawn at random, or none if all are embedded.
    pub(crate) fn sampled(self, targets: usize) -> Option<usize> {
        if let Self::Sample(count) = self { Some(count).filter(|&count| count < targets) } else { None }
    }

    /// Returns how the selection chooses among targets that are embedded.
    pub(crate) fn chosen(self, targets: usize) -> TargetSampling {
        match self {
            Self::MaxDet(count) if count < targets => TargetSampling::MaxDet(count),
            Self::MaxDist(count) if count < targets => TargetSampling::MaxDist(count),
            _ => TargetSampling::All,
        }
    }
}

impl FromStr for RoundTargets {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown = || Error::Name { of: NameSet::RoundTargets, name: text.into() };
        let count = |digits: &str| digits.parse().ok().filter(|&count: &usize| count > 0).ok_or_else(unknown);
        match text.split_once(':') {
            None if text == "all" => Ok(Self::All),
            None => count(text).map(Self::Sample),
            Some(("max-det", digits)) => count(digits).map(Self::MaxDet),
            Some(("max-dist", digits)) => count(digits).map(Self::MaxDist),
            Some(_) => Err(unknown()),
        }
    }
}

impl fmt::Display for RoundTargets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Sample(count) => write!(f, "{count}"),
            Self::MaxDet(count) => write!(f, "max-det:{count}"),
            Self::MaxDist(count) => write!(f, "max-dist:{count}"),
        }
    }
}

written_as_text!(RoundTargets);
