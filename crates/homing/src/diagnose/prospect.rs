//! What a realistic number of picks can do for the targets, compared with what picks can do for rows of the pool and with
//! what random rows can do.

use crate::base::random::sample_rows;
use crate::select::select;
use crate::theory::Model;
use crate::{Embeddings, Noise, Plan, Result};

/// Number of rows of the pool that stand in for targets.
const STAND_INS: usize = 20;

/// Shares of the variance that are left after some picks.
///
/// ```
/// use homing::diagnose::{Diagnosis, Question};
/// use homing::{Embeddings, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let prospect = Diagnosis::new(&Question::new(task).count(1))?.prospect;
/// assert_eq!(prospect.count, 1);
/// assert!(prospect.left < 0.1 && prospect.left <= prospect.left_by_random);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Prospect {
    /// Number of picks.
    pub count: usize,
    /// Share of the targets' variance that is left after the picks.
    pub left: f64,
    /// Share that as many random rows leave.
    pub left_by_random: f64,
    /// Share of the variance of some rows of the pool that is left after as many picks for them, made from the other rows;
    /// none if the pool is too small.
    pub left_of_rows: Option<f64>,
}

impl Prospect {
    /// Compares a batch with random rows, and with picks for rows of the pool.
    pub(super) fn new(model: &Model<'_>, batch: &[usize], seed: u64) -> Result<Self> {
        let count = batch.len();
        let prior: f64 = model.target_vars().iter().sum();
        let left = |rows: &[usize]| -> Result<f64> {
            let now: f64 = model.given(rows)?.target_vars().iter().sum();
            Ok(if prior > 0.0 { (now / prior).clamp(0.0, 1.0) } else { 0.0 })
        };
        let random = sample_rows(model.task().pool.rows(), count, seed);
        Ok(Self {
            count,
            left: left(batch)?,
            left_by_random: left(&random[..count.min(random.len())])?,
            left_of_rows: Self::of_rows(model, count, seed)?,
        })
    }

    fn of_rows(model: &Model<'_>, count: usize, seed: u64) -> Result<Option<f64>> {
        let task = *model.task();
        let targets = task.targets.map_or(0, |targets| targets.rows());
        let closed: Vec<usize> = task.forbidden.iter().chain(model.observed()).copied().collect();
        let mut stand_ins = sample_rows(task.pool.rows(), targets.min(STAND_INS), seed ^ 1);
        stand_ins.retain(|row| !closed.contains(row));
        let left = task.pool.rows().saturating_sub(closed.len() + stand_ins.len());
        let is_whole = matches!(task.pool, crate::Points::Embeddings(_)) && task.noise_vars.is_none();
        if stand_ins.is_empty() || count == 0 || left < count || !is_whole {
            return Ok(None);
        }
        let points = task.pool.gather(&stand_ins);
        let forbidden: Vec<usize> = stand_ins.iter().copied().chain(task.forbidden.iter().copied()).collect();
        let about = task.targets(Embeddings::new(&points, task.pool.dim())?).forbidden(&forbidden);
        let noise = Noise::Std(model.noise_var().sqrt());
        let selection = select(&about, &Plan::default().count(count).noise(noise).seed(seed))?;
        Ok(selection.picks.last().and_then(|pick| pick.variance_left))
    }
}
