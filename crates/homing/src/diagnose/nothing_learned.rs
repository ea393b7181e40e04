//! Whether the labels of a selection can reveal anything.

use crate::{Points, Selection, Task};

/// The noise variance, in units of the targets' largest variance, above which labels reveal almost nothing about them.
const NOISE_OVER_TARGETS: f64 = 1e12;

/// The noise variance, in units of the largest variance of all rows, above which what labels reveal lies in the last
/// digits of a variance.
const NOISE_OVER_ROWS: f64 = 1e10;

/// Why the labels of a selection reveal nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NothingLearned {
    /// All rows of the pool are zero.
    ZeroPool {
        /// Whether a mean was subtracted from them.
        is_centered: bool,
    },
    /// The noise is much larger than all rows.
    LargeNoise,
    /// The noise is much larger than the targets.
    SmallTargets,
    /// No row that may be picked correlates with a target.
    UnrelatedTargets,
    /// Without targets: everything is known already.
    NothingNew,
}

/// Returns why the labels of a selection reveal nothing, or `None` if they reveal something.
///
/// ```
/// use homing::diagnose::{NothingLearned, nothing_learned};
/// use homing::{Embeddings, Plan, Task, select};
///
/// let (pool, across, along) = ([1.0f32, 0.0, 0.9, 0.0], [0.0f32, 1.0], [1.0f32, 1.0]);
/// let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&across, 2)?);
/// let selection = select(&task, &Plan::default())?;
/// assert_eq!(nothing_learned(&task, &selection), Some(NothingLearned::UnrelatedTargets));
///
/// let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&along, 2)?);
/// assert_eq!(nothing_learned(&task, &select(&task, &Plan::default())?), None);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn nothing_learned(task: &Task<'_>, selection: &Selection) -> Option<NothingLearned> {
    let size = |points: Points<'_>| (0..points.rows()).map(|row| task.kernel.var(&points.row(row))).fold(0.0, f64::max);
    let (noise_var, targets) = (selection.noise_var, task.targets.map_or(0.0, size));
    let has_small_targets = targets > 0.0 && noise_var > NOISE_OVER_TARGETS * targets;
    let is_informative = selection.picks.last().is_none_or(|pick| pick.information > 0.0);
    if is_informative && !has_small_targets {
        return None;
    }
    let pool = task.pool.embeddings();
    if !is_informative && (0..pool.rows()).all(|row| pool.row(row).iter().all(|&x| x == 0.0)) {
        return Some(NothingLearned::ZeroPool { is_centered: pool.is_centered() });
    }
    Some(if noise_var > NOISE_OVER_ROWS * size(task.pool).max(targets) {
        NothingLearned::LargeNoise
    } else if has_small_targets {
        NothingLearned::SmallTargets
    } else if task.targets.is_some() {
        NothingLearned::UnrelatedTargets
    } else {
        NothingLearned::NothingNew
    })
}
