//! Which rows of the pool a round chooses from.

use std::ops::ControlFlow;

use homing::{Plan, Task, select};
use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha8Rng;

use crate::embed::Embedded;
use crate::{Error, Result};

/// A source of candidates.
pub trait Source {
    /// Rows of the pool for a round, out of those that are `open`, in ascending order.
    fn candidates(&self, round: &Round<'_>) -> Result<Vec<usize>>;
}

/// What a source may look at.
pub struct Round<'a> {
    /// Rows that are not labelled yet, in ascending order.
    pub open: &'a [usize],
    /// Of the round's random numbers.
    pub seed: u64,
    /// Embeds rows of the pool with the network as it is.
    pub embed: &'a dyn Fn(&[usize]) -> Result<Embedded>,
    /// Embeddings of the targets.
    pub targets: &'a Embedded,
}

/// The whole pool.
pub struct All;

impl Source for All {
    fn candidates(&self, round: &Round<'_>) -> Result<Vec<usize>> {
        Ok(round.open.to_vec())
    }
}

/// So many at random: S ~ P_S.
pub struct Sample(pub usize);

impl Source for Sample {
    fn candidates(&self, round: &Round<'_>) -> Result<Vec<usize>> {
        let mut rng = ChaCha8Rng::seed_from_u64(round.seed);
        let count = self.0.min(round.open.len());
        let mut rows: Vec<usize> = sample(&mut rng, round.open.len(), count).iter().map(|at| round.open[at]).collect();
        rows.sort_unstable();
        Ok(rows)
    }
}

/// So many with the embeddings most similar to the targets' on average.
pub struct Nearest(pub usize);

impl Source for Nearest {
    fn candidates(&self, round: &Round<'_>) -> Result<Vec<usize>> {
        let pool = (round.embed)(round.open)?;
        let task = Task::new(pool.embeddings()?, Some(round.targets.embeddings()?.into()));
        let count = self.0.min(round.open.len());
        let plan = Plan { strategy: "cosine".parse()?, count, ..Plan::default() };
        let nearest = select(&task, &plan, |_| ControlFlow::Continue(()))?;
        let mut rows: Vec<usize> = nearest.indices().into_iter().map(|at| round.open[at]).collect();
        rows.sort_unstable();
        Ok(rows)
    }
}

/// The source of a name: `all`, `sample:COUNT` or `nearest:COUNT`.
pub fn source(name: &str) -> Result<Box<dyn Source>> {
    let count = |text: &str| text.parse::<usize>().ok().filter(|&count| count > 0);
    match name.split_once(':').map(|(kind, text)| (kind, count(text))) {
        None if name == "all" => Ok(Box::new(All)),
        Some(("sample", Some(count))) => Ok(Box::new(Sample(count))),
        Some(("nearest", Some(count))) => Ok(Box::new(Nearest(count))),
        _ => Err(Error::Setting(format!("there are no candidates {name:?}; use all, sample:1000 or nearest:1000"))),
    }
}
