//! The constants of the convergence theorem (Appendix D.1, D.3).

use faer::Mat;

use super::model::Model;
use crate::law::Law;
use crate::law::moments::covariance;
use crate::task::span::{coordinates, is_wide};

/// Largest number of rows for which eigenvalues are computed, and the same for rows in very many dimensions.
const MOST_ROWS: usize = 2048;
const MOST_WIDE: usize = 1024;

/// The constants in the bounds of Appendix D, over X = S ∪ A.
///
/// ```
/// use homing::theory::{Constants, Model};
/// use homing::{Embeddings, Noise, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let model = Model::new(task, Noise::Std(0.5))?;
/// let constants = Constants::of(&model);
/// assert_eq!((constants.rows, constants.least_eigenvalue), (4, Some(0.0))); // four dependent rows
/// assert!((constants.max_total_var - constants.max_var - 0.25).abs() < 1e-12);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constants {
    /// Number of rows |S|.
    pub rows: usize,
    /// Largest prior variance σ² = max σ²_0(x).
    pub max_var: f64,
    /// Largest total variance σ̃² = max σ²_0(x) + ρ²(x).
    pub max_total_var: f64,
    /// Least eigenvalue λ_min(Var f_S); zero if the rows are linearly dependent. `None` if it is not computed: for a
    /// nonlinear kernel with more than 2,048 rows, or for more than 1,024 rows in more than 8,192 dimensions.
    pub least_eigenvalue: Option<f64>,
}

impl Constants {
    /// Computes the constants of a model.
    pub fn of(model: &Model<'_>) -> Self {
        let (task, dim) = (model.task(), model.dim());
        let largest = |(var, total): (f64, f64), (v, t): (f64, f64)| (f64::max(var, v), f64::max(total, t));
        let pool = task.pool.map_blocks(|start, rows| {
            let one = |(i, x): (usize, &[f64])| {
                let var = task.kernel.var(x);
                (var, var + model.noise_at(start + i))
            };
            rows.chunks_exact(dim).enumerate().map(one).fold((0.0, 0.0), largest)
        });
        let targets = model.prior_vars().into_iter().map(|var| (var, var + model.noise_var()));
        let (max_var, max_total_var) = pool.into_iter().chain(targets).fold((0.0, 0.0), largest);
        Self { rows: task.pool.rows(), max_var, max_total_var, least_eigenvalue: least_eigenvalue(model) }
    }

    /// Returns c = 2|S|²σ⁴σ̃² / λ²_min (Appendix D.3.2): with ε = c·γ_k/k, some k rows are an ε-approximate Markov boundary
    /// (Lemma D.4). Infinite if λ_min is zero, and `None` if it is not known.
    pub fn boundary_factor(&self) -> Option<f64> {
        let lambda = self.least_eigenvalue?;
        let rows = self.rows as f64;
        Some(2.0 * rows * rows * self.max_var * self.max_var * self.max_total_var / (lambda * lambda))
    }

    /// Returns C = 2σ² + c of Theorem 3.1, as in Appendix D.3.2.
    pub fn theorem_factor(&self) -> Option<f64> {
        Some(2.0 * self.max_var + self.boundary_factor()?)
    }
}

fn least_eigenvalue(model: &Model<'_>) -> Option<f64> {
    let (task, dim, rows) = (model.task(), model.dim(), model.task().pool.rows());
    if task.kernel.is_linear() && rows > dim {
        return Some(0.0);
    }
    let wide = task.kernel.is_linear() && is_wide(rows, dim);
    if rows > if wide { MOST_WIDE } else { MOST_ROWS } {
        return None;
    }
    let cov: Mat<f64> = if wide {
        let points = coordinates(&[(task.pool.embeddings(), (0..rows).collect())]);
        covariance(&Law::prior(task.kernel, rows), &points, rows)
    } else {
        covariance(&Law::prior(task.kernel, dim), &task.pool.to_vec(), dim)
    };
    let values = cov.self_adjoint_eigenvalues(faer::Side::Lower).expect("a finite symmetric matrix has eigenvalues");
    let (least, most) = (values[0], values[rows - 1]);
    // An eigenvalue below the rounding of the largest cannot be distinguished from zero.
    Some(if least > most * rows as f64 * f64::EPSILON { least } else { 0.0 })
}
