//! The constants of the convergence theorem (Appendix D.1, D.3).

use faer::Mat;

use super::model::{Model, covariance};
use crate::law::Law;
use crate::span::{coordinates, is_wide};

/// Pools with more rows have no eigenvalues computed; of rows in very many dimensions fewer.
const MOST_ROWS: usize = 2048;
const MOST_WIDE: usize = 1024;

/// What the bounds of Appendix D are made of, over X = S ∪ A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constants {
    /// |S|.
    pub rows: usize,
    /// σ² = max σ²_0(x).
    pub max_var: f64,
    /// σ̃² = max σ²_0(x) + ρ²(x).
    pub max_total_var: f64,
    /// λ_min(Var f_S): zero where the rows are linearly dependent; none for a kernel that is not linear and a pool of more
    /// than 2,048 rows, or in more than 8,192 dimensions of more than 1,024.
    pub least_eigenvalue: Option<f64>,
}

impl Constants {
    /// The constants of a model.
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

    /// c = 2|S|²σ⁴σ̃² / λ²_min (Appendix D.3.2): ε = c·γ_k/k makes k rows an ε-approximate Markov boundary (Lemma D.4).
    /// Infinite where λ_min is zero, none where it is not known.
    pub fn boundary_factor(&self) -> Option<f64> {
        let lambda = self.least_eigenvalue?;
        let rows = self.rows as f64;
        Some(2.0 * rows * rows * self.max_var * self.max_var * self.max_total_var / (lambda * lambda))
    }

    /// C = 2σ² + c of Theorem 3.1, as Appendix D.3.2 gives it.
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
    // Below the rounding of the largest, an eigenvalue is zero as far as anyone can tell.
    Some(if least > most * rows as f64 * f64::EPSILON { least } else { 0.0 })
}
