//! Approximate Markov boundaries: the few rows of the pool that carry what it knows about a target (Appendix D.3).

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::constants::Constants;
use super::model::Model;
use crate::select::select;
use crate::{Error, Noise, Plan, Result, Task};

/// Observations of these rows bring Var(f_x | D_n, y_B) down step by step.
#[derive(Debug, Clone, PartialEq)]
pub struct Boundary {
    /// B, in the order in which it was found.
    pub rows: Vec<usize>,
    /// Var(f_x | D_n, y of the first b rows) for b = 0, 1, …, |B|.
    pub vars: Vec<f64>,
}

impl Boundary {
    /// The least ε for which B is an ε-approximate Markov boundary (Definition D.3), given η²_S(x).
    pub fn epsilon(&self, irreducible_var: f64) -> f64 {
        (self.left() - irreducible_var).max(0.0)
    }

    /// Var(f_x | D_n, y_B).
    pub fn left(&self) -> f64 {
        *self.vars.last().expect("the variance before the first row is there")
    }
}

/// A small set B with Var(f_x | D_n, y_B) ≤ `goal` = η²_S(x) + ε (Eq. 9) for one target: greedily by ITL for that target
/// alone, then every row that is not needed is taken out again. At most `most` rows; the goal may then be missed.
///
/// The smallest set is hard to find; Lemma D.4 bounds its size, and [`undirected_boundary`] is the set of its proof.
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
    let mut rows = until(one.clone(), one.task(), &plan, |model| model.target_vars()[0] <= goal)?;
    let mut at = 0;
    while rows.len() > 1 && at < rows.len() && left(&rows)? <= goal {
        let mut fewer = rows.clone();
        fewer.remove(at);
        if left(&fewer)? <= goal { rows = fewer } else { at += 1 }
    }
    let vars = one.descent(&rows)?;
    Ok(Boundary { rows, vars })
}

/// The rows that a plan picks until the model that observes them is content.
fn until(
    mut model: Model<'_>,
    task: &Task<'_>,
    plan: &Plan,
    content: impl Fn(&Model<'_>) -> bool,
) -> Result<Vec<usize>> {
    let picks = select(task, plan, |progress| {
        model.observe(progress.pick.index).expect("a pick is a row of the pool");
        if content(&model) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(picks.indices())
}

/// The set of Lemma D.7, undirected ITL on the pool without regard to targets or D_n, up to the first b rows after which
/// Var(f_a | D_n, y_B) ≤ `goals[a]` for every target: one boundary for all. At most `most` rows, which `repeat` lets be
/// observed again, as the lemma does.
pub fn undirected_boundary(model: &Model<'_>, goals: &[f64], most: usize, repeat: bool) -> Result<Vec<usize>> {
    let task = model.task();
    let targets = task.targets.map_or(0, |targets| targets.rows());
    if goals.len() != targets {
        return Err(Error::Length { what: "goals", got: goals.len(), expected: targets });
    }
    let count = if repeat { most } else { most.min(task.pool.rows()) };
    let prior = Task { kernel: task.kernel, noise_vars: task.noise_vars, ..Task::new(task.pool, None) };
    let noise = Noise::Std(model.noise_var().sqrt());
    let plan = Plan { strategy: "undirected-itl".parse()?, count, noise, repeat, ..Plan::default() };
    let reached = |model: &Model<'_>| model.target_vars().iter().zip(goals).all(|(var, goal)| var <= goal);
    if count == 0 || reached(model) {
        return Ok(Vec::new());
    }
    until(model.clone(), &prior, &plan, reached)
}

/// The smallest k with γ_k/k ≤ ε·λ²_min / (2|S|²σ⁴σ̃²) (Eq. 10): by Lemma D.4, some k rows are an ε-approximate Markov
/// boundary of every x. `capacity` gives γ_k or an upper bound of it, whose share γ_k/k does not rise with k.
///
/// None where λ_min is zero or not known, or where k has more than 15 digits.
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
