//! Approximate Markov boundaries: a few rows of the pool that explain what it knows about a target (Appendix D.3).

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::constants::Constants;
use super::model::Model;
use crate::select::select_with;
use crate::{Error, Noise, Plan, Result, Task};

/// Rows whose observations lower Var(f_x | D_n, y_B) step by step.
#[derive(Debug, Clone, PartialEq)]
pub struct Boundary {
    /// The rows B, in the order in which they were found.
    pub rows: Vec<usize>,
    /// Variances Var(f_x | D_n, y of the first b rows) for b = 0, 1, …, |B|.
    pub vars: Vec<f64>,
}

impl Boundary {
    /// Returns the least ε for which B is an ε-approximate Markov boundary (Definition D.3), given η²_S(x).
    pub fn epsilon(&self, irreducible_var: f64) -> f64 {
        (self.left() - irreducible_var).max(0.0)
    }

    /// Returns the remaining variance Var(f_x | D_n, y_B).
    pub fn left(&self) -> f64 {
        *self.vars.last().expect("the list starts with the variance before the first row")
    }
}

/// Finds a small set B with Var(f_x | D_n, y_B) ≤ `goal` = η²_S(x) + ε (Eq. 9) for one target.
///
/// ITL for that target alone picks rows greedily, and rows that are not needed are then removed. B has at most `most` rows,
/// and may then miss the goal. The smallest set is hard to find. Lemma D.4 bounds its size, and [`undirected_boundary`]
/// returns the set from its proof.
///
/// ```
/// use homing::theory::{Model, boundary};
/// use homing::{Embeddings, Noise, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let model = Model::new(task, Noise::Std(0.5))?;
/// let found = boundary(&model, 0, 0.2, 4)?;
/// assert!(found.left() <= 0.2 && found.rows.len() == found.vars.len() - 1);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn boundary(model: &Model<'_>, target: usize, goal: f64, most: usize) -> Result<Boundary> {
    let targets = model.task().targets.map_or(0, |targets| targets.rows());
    if target >= targets {
        return Err(Error::NoSuchTarget { target, targets });
    }
    let dim = model.dim();
    let points = model.targets();
    let one = model.about(&points[target * dim..(target + 1) * dim])?;
    let left = |rows: &[usize]| Ok::<f64, Error>(one.given(rows)?.target_vars()[0]);
    let open = one.task().pool.rows() - one.observed().iter().collect::<HashSet<_>>().len();
    let count = most.min(open);
    if count == 0 || left(&[])? <= goal {
        return Ok(Boundary { rows: Vec::new(), vars: one.descent(&[])? });
    }
    let noise = Noise::Std(model.noise_var().sqrt());
    let plan = Plan { strategy: "itl-exact".parse()?, count, noise, ..Plan::default() };
    let mut rows = picks_until(one.clone(), one.task(), &plan, |model| model.target_vars()[0] <= goal)?;
    let mut at = 0;
    while rows.len() > 1 && at < rows.len() && left(&rows)? <= goal {
        let mut fewer = rows.clone();
        fewer.remove(at);
        if left(&fewer)? <= goal { rows = fewer } else { at += 1 }
    }
    let vars = one.descent(&rows)?;
    Ok(Boundary { rows, vars })
}

/// Returns the rows that a plan picks until `is_enough` is true of the model that observes them.
fn picks_until(
    mut model: Model<'_>,
    task: &Task<'_>,
    plan: &Plan,
    is_enough: impl Fn(&Model<'_>) -> bool,
) -> Result<Vec<usize>> {
    let picks = select_with(task, plan, |progress| {
        model.observe(progress.pick.row).expect("a pick is a row of the pool");
        if is_enough(&model) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(picks.rows())
}

/// Finds the set of Lemma D.7: one boundary for all targets.
///
/// Undirected ITL picks rows of the pool, regardless of the targets and D_n, until Var(f_a | D_n, y_B) ≤ `goals[a]` for
/// each target. B has at most `most` rows. With `repeat`, a row may be observed more than once, as in the lemma.
///
/// ```
/// use homing::theory::{Model, undirected_boundary};
/// use homing::{Embeddings, Noise, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let model = Model::new(task, Noise::Std(0.5))?;
/// let rows = undirected_boundary(&model, &[0.3], 4, false)?;
/// assert!(model.given(&rows)?.target_vars()[0] <= 0.3);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn undirected_boundary(model: &Model<'_>, goals: &[f64], most: usize, repeat: bool) -> Result<Vec<usize>> {
    let task = model.task();
    let targets = task.targets.map_or(0, |targets| targets.rows());
    if goals.len() != targets {
        return Err(Error::Length { what: "goals", got: goals.len(), expected: targets });
    }
    let count = if repeat { most } else { most.min(task.pool.rows()) };
    let prior = Task { kernel: task.kernel, noise_vars: task.noise_vars, ..Task::undirected(task.pool) };
    let noise = Noise::Std(model.noise_var().sqrt());
    let plan = Plan { strategy: "undirected-itl".parse()?, count, noise, repeat, ..Plan::default() };
    let reached = |model: &Model<'_>| model.target_vars().iter().zip(goals).all(|(var, goal)| var <= goal);
    if count == 0 || reached(model) {
        return Ok(Vec::new());
    }
    picks_until(model.clone(), &prior, &plan, reached)
}

/// Returns the smallest k with γ_k/k ≤ ε·λ²_min / (2|S|²σ⁴σ̃²) (Eq. 10): by Lemma D.4, some k rows are an ε-approximate
/// Markov boundary of every x.
///
/// `capacity` returns γ_k or an upper bound of it, for which γ_k/k does not increase with k. The result is `None` if λ_min
/// is zero or not known, or if k has more than 15 digits.
///
/// ```
/// use homing::theory::{Constants, boundary_size};
///
/// let constants = Constants { rows: 2, max_var: 1.0, max_total_var: 1.5, least_eigenvalue: Some(0.5) };
/// let factor = constants.boundary_factor().expect("the eigenvalue is known");
/// let size = boundary_size(&constants, factor / 8.0, |_| 1.0); // γ_k = 1 for all k
/// assert_eq!(size, Some(8));
/// ```
pub fn boundary_size(constants: &Constants, epsilon: f64, capacity: impl Fn(usize) -> f64) -> Option<usize> {
    const MOST: usize = 1_000_000_000_000_000;
    let share = epsilon / constants.boundary_factor()?;
    let enough = |k: usize| capacity(k) / k as f64 <= share;
    let mut high = 1;
    while !enough(high) {
        high *= 2;
        if high > MOST {
            return None;
        }
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}
