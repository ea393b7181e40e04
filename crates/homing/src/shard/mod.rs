//! Shards: parts of a pool, wherever they lie, and the questions that a selection asks them.
//!
//! A selection with many picks per pass has a coordinator and shards. The coordinator drafts picks in f64 on a few rows,
//! whose vectors it holds, and decides. A shard holds a part of the pool with two numbers per row in f32, and bounds on
//! their errors. It ranks its rows, and names those that may beat a drafted pick; the coordinator recomputes these in f64.
//! The picks therefore depend neither on how the rows are split nor on what computes a shard.
//!
//! All questions and answers ([`messages`](Start)) are plain data, so a shard can be a part of this process, the memory of
//! a GPU, or a process elsewhere. Its numbers are a function of its rows and the picks so far, so a shard that was lost is
//! rebuilt from [`Start`].
//!
//! A [`RowSource`](crate::RowSource) that can compute on its rows names its [`Carrier`], and every selection from it then
//! runs there. Rows in memory are one shard, on threads.

mod form;
mod messages;
mod scoring;
mod transform;

use std::fmt::Debug;

pub use form::KeyForm;
pub use messages::{
    Challengers, Decision, Errors, Pass, PickStep, Precision, Projection, Ranked, Ranking, Rival, SecondNumber,
    SecondStart, ShardSetup, SquareRoot, Start, Survey, Trial,
};
pub use scoring::{Opening, Scored, Scoring};
pub use transform::Transform;
pub(crate) use transform::scale_to_unit;

/// Largest number of states that a shard stores within a draft, in addition to the one at its start.
pub const CHECKPOINTS: usize = 4;

/// Number of rows that one pass may name as challengers, over all shards.
pub const CHALLENGERS: usize = 16384;

/// Number of rows that are summed together. A block fits into the cache, and its size does not depend on the number of
/// threads or shards, so neither do sums over blocks.
pub const BLOCK: usize = 256;

/// A part of the pool that answers questions about its rows.
///
/// The rows have the numbers 0 to n − 1 in all messages. For each row, the shard stores the variance v and the rule's
/// second number q, both rounded to its precision: q is the variance given the targets as well, the sum of squared
/// covariances with the targets, or the covariance with the standardised targets.
///
/// A shard that fails (a device that vanishes) answers with nothing, and its pool's
/// [`RowSource::failure`](crate::RowSource::failure) gives the reason from then on.
pub trait Shard: Send {
    /// Returns the number of rows.
    fn rows(&self) -> usize;

    /// Returns the errors of the shard's arithmetic.
    fn precision(&self) -> Precision;

    /// Computes all numbers from scratch.
    fn start(&mut self, start: &Start<'_>);

    /// Applies picks to all rows, stores the numbers at some of them, and returns the open rows whose key may reach that of
    /// a drafted pick, except excluded ones.
    fn verify(&mut self, pass: &Pass<'_>) -> Challengers;

    /// Makes the numbers that were stored at a checkpoint of the last pass the current ones.
    fn keep(&mut self, checkpoint: usize);

    /// Chooses warm rows, on which the next draft will be tried, and returns the best of them.
    fn rank(&mut self, ranking: &Ranking<'_>) -> Vec<Ranked>;

    /// Applies drafted picks to the warm rows. Returns warm rows that would be picked before one of them.
    fn try_steps(&mut self, trial: &Trial<'_>) -> Vec<Rival>;

    /// Takes the warm rows back to their numbers before the step `at` of the last trial.
    fn rewind(&mut self, at: usize);
}

/// A pool that can compute on its rows where they lie.
pub trait Carrier: Debug + Sync {
    /// Reads every row once. Returns `None` if a row is not finite, or if the rows could not be read or transformed.
    fn survey(&self, transform: Transform<'_>) -> Option<Survey>;

    /// Returns the mean of all rows as they are stored, if the carrier can compute it: the sums of each [`BLOCK`] of rows in
    /// f64, row by row, which are then added in the order of the blocks. Any other order would change the last digits, and
    /// with them the rows that are centred by the mean.
    fn mean(&self) -> Option<Vec<f64>> {
        None
    }

    /// Returns whether a question takes long compared with its answer's computation, as across a network. Drafts then follow the
    /// same lengths as in memory.
    fn is_far(&self) -> bool {
        false
    }

    /// Returns a row that is not finite, if [`Carrier::survey`] has found one.
    fn bad_row(&self) -> Option<usize> {
        None
    }

    /// Returns whether the rows are class probabilities that were checked where they lie.
    fn are_probabilities(&self) -> bool {
        false
    }

    /// Scores rows where they lie, one pass per pick, under the linear kernel or that of loss gradients. Returns `None` if the
    /// carrier cannot.
    fn scoring<'s>(&'s self, _opening: &Opening<'_>) -> Option<Box<dyn Scoring + 's>> {
        None
    }

    /// Splits the pool into shards, in the order of its rows. Returns no shards if the carrier cannot compute what is asked.
    fn shards<'s>(&'s self, setup: &ShardSetup<'_>) -> Vec<Box<dyn Shard + 's>>;
}
