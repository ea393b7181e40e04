//! Convergence of the targets' variance to the irreducible variance (Theorem 3.1, Appendix D.3).

use super::constants::Constants;
use super::markov::Boundary;
use super::model::Model;
use super::ratio::ChainPair;
use crate::Result;

/// Upper bound γ_n/n of Γ_{n−1} (Theorem D.1, Eq. 7), if S ⊆ A and ITL chose the first n rows.
///
/// ```
/// assert_eq!(homing::theory::objective_bound(3.0, 6), 0.5);
/// ```
pub fn objective_bound(capacity: f64, n: usize) -> f64 {
    capacity / n as f64
}

/// Upper bound 2σ̃²·Γ_n of σ²_n(x) for x in both S and A (Lemma D.2, Eq. 8).
///
/// ```
/// use homing::theory::{Constants, Model, bound_within_pool};
/// use homing::{Embeddings, Noise, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let model = Model::new(task, Noise::Std(0.5))?;
/// let bound = bound_within_pool(&Constants::of(&model), model.objective().value);
/// assert!(model.target_vars()[0] <= bound);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn bound_within_pool(constants: &Constants, objective: f64) -> f64 {
    2.0 * constants.max_total_var * objective
}

/// Upper bound η² + ε + 2σ²·b·Γ_n of σ²_n(x) if S ⊆ A, for an ε-approximate Markov boundary of b rows: the proof of Theorem
/// 3.1 before ε is chosen. `boundary_var` is η² + ε.
///
/// ```
/// use homing::theory::{Constants, Model, sharp_variance_bound, variance_bound};
/// use homing::{Embeddings, Noise, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let model = Model::new(task, Noise::Std(0.5))?;
/// let (boundary_var, size, objective) = (0.1, 2, 0.05);
/// let bound = variance_bound(&Constants::of(&model), boundary_var, size, objective);
/// assert!(bound > sharp_variance_bound(boundary_var, size, objective));
/// # Ok::<(), homing::Error>(())
/// ```
pub fn variance_bound(constants: &Constants, boundary_var: f64, size: usize, objective: f64) -> f64 {
    boundary_var + 2.0 * constants.max_var * size as f64 * objective
}

/// Upper bound of σ²_n(x) before Lemma D.13 replaces the logarithm by a difference.
///
/// I(f_x; y_B | D_n) ≤ b·Γ_n (Lemma D.6) means that σ²_n(x) ≤ Var(f_x | y_B, D_n)·e^(2bΓ_n), and the variance on the right
/// is at most `boundary_var`. This bound is smaller than [`variance_bound`] wherever that one is informative, and contains
/// no constants.
///
/// ```
/// assert_eq!(homing::theory::sharp_variance_bound(0.1, 2, 0.25), 0.1 * 1f64.exp());
/// ```
pub fn sharp_variance_bound(boundary_var: f64, size: usize, objective: f64) -> f64 {
    boundary_var * (2.0 * size as f64 * objective).exp()
}

/// Reducible part of the bound in Theorem 3.1 (Eq. 2): C·γ_n/√n with C = 2σ² + c. Infinite if λ_min is zero, and `None` if
/// it is not known. It holds for S ⊆ A and square n, for which the proof's b = √n is an integer.
///
/// ```
/// use homing::theory::{Constants, Model, reducible_bound};
/// use homing::{Embeddings, Noise, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let model = Model::new(task, Noise::Std(0.5))?;
/// let bound = reducible_bound(&Constants::of(&model), 2.0, 4);
/// assert_eq!(bound, Some(f64::INFINITY)); // the rows are linearly dependent
/// # Ok::<(), homing::Error>(())
/// ```
pub fn reducible_bound(constants: &Constants, capacity: f64, n: usize) -> Option<f64> {
    Some(constants.theorem_factor()? * capacity / (n as f64).sqrt())
}

/// The state of a run after n picks.
#[derive(Debug, Clone, PartialEq)]
pub struct TrajectoryPoint {
    /// Number of picks n.
    pub n: usize,
    /// Objective Γ_n.
    pub objective: f64,
    /// Variance σ²_n of each target.
    pub vars: Vec<f64>,
    /// For each target that has a boundary: the least of [`variance_bound`] and [`sharp_variance_bound`] over the
    /// boundary's first b rows, with Γ_n/κ instead of Γ_n.
    pub bounds: Vec<f64>,
}

/// Replays `picks` and records the state after the numbers of picks in `at`, which are increasing.
///
/// Lemma D.6 requires S ⊆ A. For other targets, its sum is divided by κ = Σ Δ_n(x̃ | ∅) / Δ_n(B_b | ∅), the ratio of
/// Definition C.1 for the boundary itself, which is at least 1 if S ⊆ A. The bound then holds for every A and any picks.
///
/// ```
/// use homing::theory::{Constants, Model, trajectory};
/// use homing::{Embeddings, Noise, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let model = Model::new(task, Noise::Std(0.5))?;
/// let points = trajectory(&model, &[1, 2], &[0, 1, 2], &Constants::of(&model), &[])?;
/// assert!(points.windows(2).all(|pair| pair[1].vars[0] < pair[0].vars[0]));
/// # Ok::<(), homing::Error>(())
/// ```
pub fn trajectory(
    model: &Model<'_>,
    picks: &[usize],
    at: &[usize],
    constants: &Constants,
    boundaries: &[Boundary],
) -> Result<Vec<TrajectoryPoint>> {
    let mut model = model.clone();
    let mut rounds = Vec::with_capacity(at.len());
    for n in 0..=picks.len() {
        if at.contains(&n) {
            let objective = model.objective().value;
            let bound = |boundary: &Boundary| least_bound(&model, constants, boundary, objective);
            let bounds = boundaries.iter().map(bound).collect();
            rounds.push(TrajectoryPoint { n, objective, vars: model.target_vars(), bounds });
        }
        if let Some(&row) = picks.get(n) {
            model.observe(row)?;
        }
    }
    Ok(rounds)
}

/// Returns the least bound over the first b rows of a boundary.
fn least_bound(model: &Model<'_>, constants: &Constants, boundary: &Boundary, objective: f64) -> f64 {
    let (data, joint) = model.covariances(&boundary.rows);
    let noise: Vec<f64> = boundary.rows.iter().map(|&row| model.noise_at(row)).collect();
    let mut pair = ChainPair::new(&data, &joint, std::iter::empty());
    let singles: Vec<f64> = noise.iter().enumerate().map(|(x, &noise_var)| pair.gain(x, noise_var)).collect();
    let (mut alone, mut together) = (0.0, 0.0);
    let mut least = boundary.vars[0];
    for (b, &noise_var) in noise.iter().enumerate() {
        alone += singles[b];
        together += pair.push(b, noise_var);
        let ratio = if together > alone { alone / together } else { 1.0 };
        if ratio > 0.0 {
            let (left, size, objective) = (boundary.vars[b + 1], b + 1, objective / ratio);
            let bounds =
                (variance_bound(constants, left, size, objective), sharp_variance_bound(left, size, objective));
            least = least.min(bounds.0).min(bounds.1);
        }
    }
    least
}
