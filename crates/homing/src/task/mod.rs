//! The data and the settings of a selection.

pub(crate) mod check;
pub(crate) mod greedy;
mod guarantee;
pub(crate) mod limits;
pub(crate) mod plan;
pub(crate) mod range;
pub(crate) mod sampling;
pub(crate) mod span;
pub(crate) mod survey;

use crate::base::setters::setters;
use crate::{Embeddings, Kernel, Linear, Points, Result};
pub(crate) use plan::Plan;

/// The data of a selection. Only the pool is always required; rules about targets also need targets.
///
/// ```
/// use homing::{Embeddings, Gaussian, Plan, Task, select};
///
/// let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// let targets = [0.8f32, 0.3];
/// let kernel = Gaussian::new(1.0)?;
/// let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?)
///     .kernel(&kernel)
///     .observed_rows(&[0]) // already has a label
///     .forbidden(&[3]);
/// assert_eq!(select(&task, &Plan::default().count(2))?.rows(), [1, 2]);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Task<'a> {
    /// Candidates S.
    pub pool: Points<'a>,
    /// Targets A.
    pub targets: Option<Points<'a>>,
    /// Covariance function k(x, x′).
    pub kernel: &'a dyn Kernel,
    /// Pool rows that are already labelled. They are conditioned on and not picked again.
    pub observed_rows: &'a [usize],
    /// Further labelled points that are not rows of the pool.
    pub observed_points: Option<Points<'a>>,
    /// Class probabilities of every pool row.
    pub probabilities: Option<Embeddings<'a>>,
    /// Noise variance ρ²(x) of every pool row, instead of [`Plan::noise`]. Targets and observed points keep the latter.
    pub noise_vars: Option<&'a [f64]>,
    /// Cost of every pool row. Picks then maximise the score per unit of cost.
    pub costs: Option<&'a [f64]>,
    /// Group number of every pool row, for [`Plan::quotas`].
    pub groups: Option<&'a [usize]>,
    /// Pool rows that must not be picked.
    pub forbidden: &'a [usize],
}

impl<'a> Task<'a> {
    /// Creates the task of choosing the rows of `pool` that teach the most about `targets`, under the linear kernel.
    pub fn new(pool: impl Into<Points<'a>>, targets: impl Into<Points<'a>>) -> Self {
        Self { targets: Some(targets.into()), ..Self::undirected(pool) }
    }

    /// Creates the task of choosing rows of `pool` without targets, for rules that need none.
    pub fn undirected(pool: impl Into<Points<'a>>) -> Self {
        Self {
            pool: pool.into(),
            targets: None,
            kernel: &Linear,
            observed_rows: &[],
            observed_points: None,
            probabilities: None,
            noise_vars: None,
            costs: None,
            groups: None,
            forbidden: &[],
        }
    }

    setters! {
        /// Sets [`Task::pool`].
        pool: impl Into<Points<'a>>;
        /// Sets [`Task::targets`], from embeddings, points or an option of points.
        targets: impl Into<Option<Points<'a>>>;
        /// Sets [`Task::kernel`].
        kernel: &'a dyn Kernel;
        /// Sets [`Task::observed_rows`].
        observed_rows: &'a [usize];
        /// Sets [`Task::observed_points`], from embeddings, points or an option of points.
        observed_points: impl Into<Option<Points<'a>>>;
        /// Sets [`Task::probabilities`].
        probabilities: impl Into<Option<Embeddings<'a>>>;
        /// Sets [`Task::noise_vars`].
        noise_vars: &'a [f64];
        /// Sets [`Task::costs`].
        costs: &'a [f64];
        /// Sets [`Task::groups`].
        groups: &'a [usize];
        /// Sets [`Task::forbidden`].
        forbidden: &'a [usize];
    }

    /// Returns the pool rows that are already labelled, in increasing order and without duplicates.
    pub(crate) fn labelled_rows(&self) -> Vec<usize> {
        let mut rows = self.observed_rows.to_vec();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// Returns an error if a read of any input has failed.
    pub fn check_read(&self) -> Result<()> {
        for points in [Some(self.pool), self.targets, self.observed_points].into_iter().flatten() {
            points.check_read()?;
        }
        self.kernel.check_read()?;
        self.probabilities.map_or(Ok(()), |probabilities| probabilities.check_read())
    }
}
