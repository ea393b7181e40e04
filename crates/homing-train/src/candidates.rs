//! Candidates: the rows of the pool that a round chooses from.

use std::fmt;
use std::str::FromStr;

use homing::{Kernel, Plan, Task, select};
use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::embed::ExampleEmbeddings;
use crate::remedy::NameSet;
use crate::text::written_as_text;
use crate::{Error, Result};

/// Source of the candidates of a round, written as `all`, `sample:COUNT` or `nearest:COUNT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Candidates {
    /// The whole pool.
    All,
    /// This many rows at random: S ~ P_S.
    Sample(usize),
    /// This many rows whose embeddings are most similar to those of the targets, on average.
    Nearest(usize),
}

/// The names of the sources, for a message.
pub(crate) const CANDIDATE_NAMES: &str = "all, sample:1000 or nearest:1000";

/// Data for choosing the candidates of one round.
pub(crate) struct CandidateRequest<'a> {
    /// Rows that are not labelled yet, in ascending order.
    pub open: &'a [usize],
    /// Seed for the round.
    pub seed: u64,
    /// Embeds rows of the pool with the current network.
    pub embed: &'a dyn Fn(&[usize]) -> Result<ExampleEmbeddings>,
    /// Embeddings of the targets.
    pub targets: &'a ExampleEmbeddings,
    /// Kernel of the embeddings.
    pub kernel: &'a dyn Kernel,
}

impl Candidates {
    /// Returns the candidates among the open rows, in ascending order.
    pub(crate) fn rows(self, request: &CandidateRequest<'_>) -> Result<Vec<usize>> {
        let open = request.open;
        let mut at = match self {
            Self::All => return Ok(open.to_vec()),
            Self::Sample(count) => {
                let mut rng = ChaCha8Rng::seed_from_u64(request.seed);
                sample(&mut rng, open.len(), count.min(open.len())).into_vec()
            }
            Self::Nearest(count) => {
                let pool = (request.embed)(open)?;
                let task = Task::new(pool.points()?, request.targets.points()?).kernel(request.kernel);
                let plan = Plan::default().strategy("cosine".parse()?).count(count.min(open.len()));
                select(&task, &plan)?.rows()
            }
        };
        at.sort_unstable();
        Ok(at.into_iter().map(|at| open[at]).collect())
    }
}

impl FromStr for Candidates {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let count = |text: &str| text.parse::<usize>().ok().filter(|&count| count > 0);
        match name.split_once(':').map(|(kind, text)| (kind, count(text))) {
            None if name == "all" => Ok(Self::All),
            Some(("sample", Some(count))) => Ok(Self::Sample(count)),
            Some(("nearest", Some(count))) => Ok(Self::Nearest(count)),
            _ => Err(Error::Name { of: NameSet::Candidates, name: name.into() }),
        }
    }
}

impl fmt::Display for Candidates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Sample(count) => write!(f, "sample:{count}"),
            Self::Nearest(count) => write!(f, "nearest:{count}"),
        }
    }
}

written_as_text!(Candidates);
