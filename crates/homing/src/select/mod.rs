//! Choosing rows: checks, the main loop, its rounds, and the result.

pub(crate) mod ledger;
mod partitioned;
mod picking;
pub(crate) mod round;
pub(crate) mod selection;

use std::ops::ControlFlow;

use crate::task::check::check;
use crate::task::limits::Limits;
use crate::task::range::{check_signal, resolve_noise};
use crate::task::survey::Survey;
use crate::{Error, Greedy, Plan, Result, Selection, Task};
pub use picking::Progress;

/// Chooses rows of the pool.
///
/// ```
/// use homing::{Embeddings, Plan, Task, select};
///
/// let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// let targets = [0.8f32, 0.3];
/// let task = Task::new(Embeddings::new(&pool[..], 2)?, Embeddings::new(&targets[..], 2)?);
/// let selection = select(&task, &Plan::default().count(2))?;
/// assert_eq!(selection.rows(), [1, 2]);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn select(task: &Task<'_>, plan: &Plan) -> Result<Selection> {
    select_with(task, plan, |_| ControlFlow::Continue(()))
}

/// Chooses rows as [`select`] does, and calls `progress` with each pick. If `progress` breaks, the picks so far are
/// returned.
///
/// ```
/// use homing::{Embeddings, EndReason, Plan, Task, select_with};
/// use std::ops::ControlFlow;
///
/// let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2];
/// let targets = [0.8f32, 0.3];
/// let task = Task::new(Embeddings::new(&pool[..], 2)?, Embeddings::new(&targets[..], 2)?);
/// let selection = select_with(&task, &Plan::default().count(3), |progress| {
///     println!("pick {} of {}: row {}", progress.pick.rank, progress.count, progress.pick.row);
///     if progress.pick.information > 0.5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
/// })?;
/// assert_eq!((selection.picks.len(), selection.end_reason), (1, EndReason::Progress));
/// # Ok::<(), homing::Error>(())
/// ```
pub fn select_with(
    task: &Task<'_>,
    plan: &Plan,
    progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Selection> {
    resume_with(task, plan, &[], progress)
}

/// Chooses rows as [`select_with`] does, given the first picks of the same selection, which was ended before it was done:
/// their rows and scores. Together, the picks are those of one call. `progress` is called with all of them.
///
/// Partitioned greedy, and rules that score every row once, choose all rows again.
///
/// ```
/// use homing::{Embeddings, Plan, Task, resume_with, select};
/// use std::ops::ControlFlow;
///
/// let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2];
/// let targets = [0.8f32, 0.3];
/// let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let plan = Plan::default().count(3);
/// let whole = select(&task, &plan)?;
/// let first = (whole.picks[0].row, whole.picks[0].score);
/// let resumed = resume_with(&task, &plan, &[first], |_| ControlFlow::Continue(()))?;
/// assert_eq!(resumed.picks, whole.picks);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn resume_with(
    task: &Task<'_>,
    plan: &Plan,
    made: &[(usize, f64)],
    progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Selection> {
    let selection = checked(task, plan, made, progress);
    // After a failed read, any result, including an error of another kind, may be based on zeros.
    task.check_read()?;
    selection
}

fn checked(
    task: &Task<'_>,
    plan: &Plan,
    made: &[(usize, f64)],
    progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Selection> {
    check(task, plan)?;
    check_made(task, plan, made)?;
    if let Greedy::Partitioned { parts } = plan.greedy {
        return partitioned::select(task, plan, parts, progress);
    }
    let limits = Limits::new(task, plan);
    limits.check_count(plan)?;
    let survey = Survey::new(task)?;
    let noise_var = resolve_noise(task, plan.noise, survey.mean_var)?;
    check_signal(&plan.strategy, task.targets, task.kernel, survey.mean_var, noise_var)?;
    picking::continue_from(made, task, plan, noise_var, &survey, limits, progress)
}

/// Refuses earlier picks that cannot be those of this selection.
fn check_made(task: &Task<'_>, plan: &Plan, made: &[(usize, f64)]) -> Result<()> {
    let rows = task.pool.rows();
    if let Some(&(row, _)) = made.iter().find(|(row, _)| *row >= rows) {
        return Err(Error::NoSuchRow { what: "earlier picks", row, rows });
    }
    if made.len() > plan.count {
        return Err(Error::Count { count: made.len(), available: plan.count });
    }
    let mut limits = Limits::new(task, plan);
    for &(row, value) in made {
        if !limits.allows(row) {
            let expected = "this row may not be picked again; start without the earlier picks";
            return Err(Error::BadValue { what: "earlier picks", row, value, expected });
        }
        limits.take(row);
    }
    Ok(())
}
