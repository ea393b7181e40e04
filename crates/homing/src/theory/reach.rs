//! What a pool can teach at all: the variance of each target that is left when all of it is known, or labelled once.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use rayon::prelude::*;

use super::model::Model;
use crate::algebra::norm_sq;
use crate::irreducible::given_exactly;
use crate::law::Law;
use crate::{Points, Result};

/// Rows of the pool that are conditioned on at most, under a kernel that is not linear.
const MOST_ROWS: usize = 2048;

/// Rows of the pool whose labels are counted at most, under the linear kernel.
const MOST_LABELS: usize = 100_000;

/// Rows that are multiplied together.
const PIECE: usize = 1024;

/// The targets' variance given the whole pool.
#[derive(Debug, Clone, PartialEq)]
pub struct Reach {
    /// η²_S(a) = Var(f_a | f_S, D_0) of each target.
    pub irreducible: Vec<f64>,
    /// Var(f_a | y_S, D_0) of each target: every row labelled once, with noise.
    pub labelled: Vec<f64>,
    /// Rows that `irreducible` was computed from. Fewer than the pool has: an upper bound, since more rows leave less.
    pub irreducible_rows: usize,
    /// The same of `labelled`.
    pub labelled_rows: usize,
}

/// What the pool can teach about each target, with the task's own observations (D_0) known already.
///
/// Linear kernel: η² of any pool in weight space; labels of up to 100,000 rows, evenly spread. Another kernel: the 2,048 rows
/// that correlate most with some target.
pub fn reach(model: &Model<'_>) -> Result<Reach> {
    let task = model.task();
    let (rows, Some(targets)) = (task.pool.rows(), task.targets) else {
        let none = Vec::new();
        return Ok(Reach { irreducible: none.clone(), labelled: none, irreducible_rows: 0, labelled_rows: 0 });
    };
    if task.kernel.is_linear() {
        let kept = rows.min(MOST_LABELS);
        let spread: Vec<usize> = (0..kept).map(|i| i * rows / kept).collect();
        let known = model.irreducible_vars()?;
        let mut labelled = labelled_linear(model, targets, &spread);
        labelled.iter_mut().zip(&known).for_each(|(labelled, known)| *labelled = labelled.max(*known));
        return Ok(Reach { irreducible: known, labelled, irreducible_rows: rows, labelled_rows: kept });
    }
    let chosen = if rows <= MOST_ROWS { (0..rows).collect() } else { most_correlated(model, targets) };
    let points = task.pool.gather(&chosen);
    let noise: Vec<f64> = chosen.iter().map(|&row| model.noise_at(row)).collect();
    let mut law = Law::prior(task.kernel, model.dim());
    if let Some(observed) = task.observed_points {
        law.observe_all(&observed.to_vec(), &vec![model.noise_var(); observed.rows()]);
    }
    let asked = targets.to_vec();
    let irreducible = given_exactly(&law, &points, &asked, model.dim());
    law.observe_all(&points, &noise);
    let labelled = asked.chunks_exact(model.dim()).zip(&irreducible).map(|(a, &known)| law.var(a).max(known)).collect();
    let used = chosen.len();
    Ok(Reach { irreducible, labelled, irreducible_rows: used, labelled_rows: used })
}

/// aᵀ(I + ΦᵀP⁻¹Φ)⁻¹a for the rows Φ and the observed points.
fn labelled_linear(model: &Model<'_>, targets: Points<'_>, rows: &[usize]) -> Vec<f64> {
    let (task, dim) = (model.task(), model.dim());
    // I + MᵀM with rows φ/ρ in M, summed in pieces of fixed size.
    let scaled = |points: Vec<f64>, noise: &dyn Fn(usize) -> f64| {
        let rows = points.len() / dim;
        Mat::from_fn(rows, dim, |i, j| points[i * dim + j] / noise(i).sqrt())
    };
    let pieces: Vec<&[usize]> = rows.chunks(PIECE).collect();
    let mut sum = Mat::<f64>::identity(dim, dim);
    for group in pieces.chunks(rayon::current_num_threads()) {
        let products: Vec<Mat<f64>> = group
            .par_iter()
            .map(|piece| {
                let m = scaled(task.pool.gather(piece), &|i| model.noise_at(piece[i]));
                m.transpose() * &m
            })
            .collect();
        products.iter().for_each(|product| sum += product);
    }
    if let Some(observed) = task.observed_points {
        let m = scaled(observed.to_vec(), &|_| model.noise_var());
        sum += m.transpose() * &m;
    }
    let factor = sum.llt(Side::Lower).expect("the identity makes it positive definite");
    let points = targets.to_vec();
    let columns = Mat::from_fn(dim, targets.rows(), |i, j| points[j * dim + i]);
    let solved = factor.solve(&columns);
    let one = |(j, a): (usize, &[f64])| {
        let var: f64 = a.iter().enumerate().map(|(i, x)| x * solved[(i, j)]).sum();
        var.clamp(0.0, norm_sq(a))
    };
    points.chunks_exact(dim).enumerate().map(one).collect()
}

/// The rows with the largest squared correlation with some target, in rising order.
fn most_correlated(model: &Model<'_>, targets: Points<'_>) -> Vec<usize> {
    let (task, dim) = (model.task(), model.dim());
    let points = targets.to_vec();
    let vars: Vec<f64> = points.chunks_exact(dim).map(|a| task.kernel.var(a)).collect();
    let scores = task.pool.map_blocks(|_, rows| {
        let score = |x: &[f64]| {
            let var = task.kernel.var(x);
            let with = |(a, own): (&[f64], &f64)| task.kernel.eval(x, a).powi(2) / (var * own);
            points.chunks_exact(dim).zip(&vars).map(with).filter(|c| c.is_finite()).fold(0.0, f64::max)
        };
        rows.chunks_exact(dim).map(score).collect::<Vec<_>>()
    });
    let scores: Vec<f64> = scores.concat();
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.select_nth_unstable_by(MOST_ROWS, |&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    order.truncate(MOST_ROWS);
    order.sort_unstable();
    order
}
