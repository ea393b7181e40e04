//! Nearest row of each target in turn: the baseline that a user would write first.

use super::{Candidate, Rule, Wants};

/// Cosine with the target whose turn it is: φ_x·φ_a / (‖φ_x‖ ‖φ_a‖). The targets take turns in the order in which they are
/// given, and each turn picks the most similar row that is left.
///
/// The cosine, unlike the distance, treats rows of unequal length alike: a long row is not far from every target. Among
/// rows of equal length, the two give the same order. Under another kernel, it is the kernel's cosine k(x, a) / √(k(x, x)
/// k(a, a)).
///
/// With fewer picks than targets, only the first targets have a turn: shuffle targets that are sorted by class.
///
/// ```
/// use homing::{Embeddings, Plan, Task, select};
///
/// let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, 0.1, 0.9]; // two rows near each axis
/// let targets = [2.0f32, 0.0, 0.0, 0.5]; // one target on each axis
/// let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let plan = Plan::default().strategy("nearest-each".parse()?).count(3);
/// assert_eq!(select(&task, &plan)?.rows(), [0, 2, 1]);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct NearestEach;

impl Rule for NearestEach {
    fn wants(&self) -> Wants {
        Wants { turn_cosine: true, ..Wants::default() }
    }

    fn score(&self, x: &Candidate<'_>) -> f64 {
        x.turn_cosine
    }

    fn is_cosine(&self) -> bool {
        true
    }
}
