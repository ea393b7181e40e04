//! The result of a selection.

/// One chosen row.
///
/// ```
/// use homing::{Embeddings, Plan, Task, select};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let selection = select(&task, &Plan::default().count(2))?;
/// let [first, second] = selection.picks[..] else { panic!("two picks") };
/// assert_eq!((first.rank, first.row), (1, 1));
/// assert!(second.information > first.information && second.variance_left < first.variance_left);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pick {
    /// Position among the picks, starting at 1.
    pub rank: usize,
    /// Row of the pool, starting at 0.
    pub row: usize,
    /// Score that the rule gave this row when it was picked.
    pub score: f64,
    /// Information about the targets gained by this and all earlier picks, in nats.
    pub information: f64,
    /// Share of the targets' variance that is left after this pick; `None` without targets.
    pub variance_left: Option<f64>,
}

/// Why a selection ended.
///
/// ```
/// use homing::{Embeddings, EndReason, Plan, Stop, Task, select};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let stop = Stop { min_gain: Some(1.0), ..Stop::default() };
/// let selection = select(&task, &Plan::default().count(4).stop(stop))?;
/// assert_eq!((selection.picks.len(), selection.end_reason), (1, EndReason::Gain));
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndReason {
    /// All requested picks were made.
    Count,
    /// The next pick would have added too little ([`Stop::min_gain`](crate::Stop::min_gain)).
    Gain,
    /// Enough of the reducible variance was removed ([`Stop::reduced_share`](crate::Stop::reduced_share)).
    Variance,
    /// Quotas or the budget allow no further row.
    Limits,
    /// The progress closure returned `Break`.
    Progress,
}

impl EndReason {
    /// Returns the name of the reason, as files and Python have it.
    pub fn name(self) -> &'static str {
        match self {
            EndReason::Count => "count",
            EndReason::Gain => "gain",
            EndReason::Variance => "variance",
            EndReason::Limits => "limits",
            EndReason::Progress => "progress",
        }
    }
}

/// The picks in order, and how they were made.
///
/// ```
/// use homing::{Embeddings, Plan, Task, select};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let selection = select(&task, &Plan::default().count(2))?;
/// assert_eq!(selection.rows(), [1, 2]);
/// println!("{} picks in {} passes with ρ² = {:.3}", selection.picks.len(), selection.passes, selection.noise_var);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The chosen rows, in the order in which they were picked.
    pub picks: Vec<Pick>,
    /// Noise variance ρ² of the targets and of rows without their own noise.
    pub noise_var: f64,
    /// Why the selection ended.
    pub end_reason: EndReason,
    /// Number of passes over the pool.
    pub passes: usize,
    /// Number of functionals with which the drafting engine of the linear kernel multiplied every row, over all passes.
    /// Its time is nearly proportional to this number. It is 0 if another engine made the picks or the pool was partitioned.
    pub probes: usize,
    /// Whether passes ran on this machine's processor although the pool has a [carrier](crate::shard::Carrier) at hand, because
    /// the pool is small or too many rows are within rounding.
    pub left_carrier: bool,
}

impl Selection {
    /// Returns the row numbers of the picks, in order.
    pub fn rows(&self) -> Vec<usize> {
        self.picks.iter().map(|pick| pick.row).collect()
    }
}
