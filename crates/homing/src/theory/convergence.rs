//! Convergence of the targets' variance to what is irreducible (Theorem 3.1, Appendix D.3).

use super::constants::Constants;
use super::markov::Boundary;
use super::model::Model;
use super::submodularity::Pair;
use crate::Result;

/// Theorem D.1 (Eq. 7): γ_n/n, which Γ_{n−1} does not exceed when S ⊆ A and ITL chose the first n rows.
pub fn objective_bound(capacity: f64, n: usize) -> f64 {
    capacity / n as f64
}

/// Lemma D.2 (Eq. 8): 2σ̃²·Γ_n, which σ²_n(x) does not exceed for x in S and A.
pub fn bound_within_pool(constants: &Constants, objective: f64) -> f64 {
    2.0 * constants.max_total_var * objective
}

/// The proof of Theorem 3.1 before ε is chosen: η² + ε + 2σ²·b·Γ_n for an ε-approximate Markov boundary of b rows, of which
/// `boundary_var` is η² + ε. With S ⊆ A, σ²_n(x) does not exceed it.
pub fn variance_bound(constants: &Constants, boundary_var: f64, size: usize, objective: f64) -> f64 {
    boundary_var + 2.0 * constants.max_var * size as f64 * objective
}

/// The same before Lemma D.13 trades the logarithm for a difference: I(f_x; y_B | D_n) ≤ b·Γ_n (Lemma D.6) is
/// σ²_n(x) ≤ Var(f_x | y_B, D_n)·e^(2bΓ_n), and the variance on the right is at most `boundary_var`. Smaller than
/// [`variance_bound`] wherever that says anything, and free of constants.
pub fn sharp_variance_bound(boundary_var: f64, size: usize, objective: f64) -> f64 {
    boundary_var * (2.0 * size as f64 * objective).exp()
}

/// The reducible part of Theorem 3.1 (Eq. 2): C·γ_n/√n with C = 2σ² + c; infinite where λ_min is zero, none where it is not
/// known. Holds for S ⊆ A and square n, where the proof's b = √n is whole.
pub fn reducible_bound(constants: &Constants, capacity: f64, n: usize) -> Option<f64> {
    Some(constants.theorem_factor()? * capacity / (n as f64).sqrt())
}

/// Where a run stood after n picks.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// n.
    pub n: usize,
    /// Γ_n.
    pub objective: f64,
    /// σ²_n of every target.
    pub vars: Vec<f64>,
    /// For each target that has a boundary: the least of [`variance_bound`] and [`sharp_variance_bound`] over the boundary's
    /// first b rows, with Γ_n/κ in place of Γ_n.
    pub bounds: Vec<f64>,
}

/// Replays `picks` and notes the rounds `at` (numbers of picks, rising).
///
/// Lemma D.6 needs S ⊆ A. For other targets its sum is divided by κ = Σ Δ_n(x̃ | ∅) / Δ_n(B_b | ∅), the ratio of
/// Definition C.1 for the boundary itself, which is 1 or more when S ⊆ A; the bound then holds for every A and any picks.
pub fn trajectory(
    model: &Model<'_>,
    picks: &[usize],
    at: &[usize],
    constants: &Constants,
    boundaries: &[Boundary],
) -> Result<Vec<Round>> {
    let mut model = model.clone();
    let mut rounds = Vec::with_capacity(at.len());
    for n in 0..=picks.len() {
        if at.contains(&n) {
            let objective = model.objective().value;
            let bound = |boundary: &Boundary| least_bound(&model, constants, boundary, objective);
            let bounds = boundaries.iter().map(bound).collect();
            rounds.push(Round { n, objective, vars: model.target_vars(), bounds });
        }
        if let Some(&row) = picks.get(n) {
            model.observe(row)?;
        }
    }
    Ok(rounds)
}

/// The least bound over the first b rows of a boundary.
fn least_bound(model: &Model<'_>, constants: &Constants, boundary: &Boundary, objective: f64) -> f64 {
    let (data, joint) = model.covariances(&boundary.rows);
    let noise: Vec<f64> = boundary.rows.iter().map(|&row| model.noise_at(row)).collect();
    let mut pair = Pair::new(&data, &joint, std::iter::empty());
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
