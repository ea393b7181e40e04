//! What a pool can teach: the variance of each target that remains if the whole pool is known exactly, or labelled once.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use rayon::prelude::*;

use super::model::Model;
use crate::base::algebra::{matrix, norm_sq};
use crate::law::Law;
use crate::law::irreducible::{given_exactly, irreducible_given};
use crate::task::span::{coordinates, is_wide};
use crate::{Embeddings, Points, Result};

/// Largest number of pool rows that are conditioned on under a nonlinear kernel.
const MOST_ROWS: usize = 2048;

/// Largest number of pool rows whose labels count under the linear kernel.
const MOST_LABELS: usize = 100_000;

/// Number of rows that are multiplied together, and largest number of values in products that are not yet summed.
const PIECE: usize = 1024;
const WAITING: usize = 1 << 26;

/// Numbers of rows, observed points and targets that are processed together if there are more dimensions than rows.
const MOST_WIDE: usize = 512;
const OBSERVED_WIDE: usize = 256;
const TARGETS_WIDE: usize = 256;

/// Variances of the targets given the whole pool.
#[derive(Debug, Clone, PartialEq)]
pub struct Reach {
    /// Irreducible variance η²_S(a) = Var(f_a | f_S, D_0) of each target.
    pub irreducible: Vec<f64>,
    /// Variance Var(f_a | y_S, D_0) of each target, with each row labelled once with noise.
    pub labelled: Vec<f64>,
    /// Number of rows from which `irreducible` was computed. If the pool has more, it is an upper bound, because more rows
    /// leave less variance.
    pub irreducible_rows: usize,
    /// Number of rows from which `labelled` was computed. If the pool has more, it is an upper bound.
    pub labelled_rows: usize,
}

/// Computes what the pool can teach about each target, given the task's own observations D_0.
///
/// - Linear kernel: η² is computed from the whole pool, in weight space. Labels are counted for up to 100,000 rows, evenly
///   spread.
/// - Other kernels: both are computed from the 2,048 rows that correlate most with some target.
/// - Linear kernel with many dimensions and fewer rows: both are computed from the 512 rows that correlate most, in the
///   coordinates of their span.
///
/// ```
/// use homing::theory::{Model, reach};
/// use homing::{Embeddings, Noise, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let model = Model::new(task, Noise::Std(0.5))?;
/// let reach = reach(&model)?;
/// assert!(reach.irreducible[0] < 1e-9 && reach.labelled[0] < model.target_vars()[0]);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn reach(model: &Model<'_>) -> Result<Reach> {
    let task = model.task();
    let (rows, Some(targets)) = (task.pool.rows(), task.targets) else {
        let none = Vec::new();
        return Ok(Reach { irreducible: none.clone(), labelled: none, irreducible_rows: 0, labelled_rows: 0 });
    };
    if task.kernel.is_linear() {
        if is_wide(rows, model.dim()) {
            return reach_wide(model, targets);
        }
        let kept = rows.min(MOST_LABELS);
        let labelled = spread(rows, kept).into_iter().map(|row| (row, model.noise_at(row))).collect();
        let observed_noise = model.noise_var();
        let labels = LabelledRows { pool: task.pool, rows: labelled, observed: task.observed_points, observed_noise };
        let irreducible = model.irreducible_vars()?;
        let labelled = labels.vars(targets, &irreducible);
        return Ok(Reach { irreducible, labelled, irreducible_rows: rows, labelled_rows: kept });
    }
    let chosen = most_correlated(model, targets, MOST_ROWS);
    let points = task.pool.gather(&chosen);
    let noise: Vec<f64> = chosen.iter().map(|&row| model.noise_at(row)).collect();
    let mut law = Law::prior(task.kernel, model.dim());
    if let Some(observed) = task.observed_points {
        law.observe_all(&observed.to_vec(), &vec![model.noise_var(); observed.rows()]);
    }
    let points_of_targets = targets.to_vec();
    let irreducible = given_exactly(&law, &points, &points_of_targets, model.dim());
    law.observe_all(&points, &noise);
    let pairs = points_of_targets.chunks_exact(model.dim()).zip(&irreducible);
    let labelled = pairs.map(|(a, &irreducible)| law.var(a).max(irreducible)).collect();
    let used = chosen.len();
    Ok(Reach { irreducible, labelled, irreducible_rows: used, labelled_rows: used })
}

/// The same for more dimensions than rows: the rows, the observed points and some of the targets at a time, in the
/// coordinates of their span.
fn reach_wide(model: &Model<'_>, targets: Points<'_>) -> Result<Reach> {
    let task = model.task();
    let chosen = most_correlated(model, targets, MOST_WIDE);
    let observed = task.observed_points.map(|points| {
        let kept = points.rows().min(OBSERVED_WIDE);
        (points.embeddings(), spread(points.rows(), kept))
    });
    let (mut irreducible, mut labelled) = (Vec::new(), Vec::new());
    let all: Vec<usize> = (0..targets.rows()).collect();
    for some in all.chunks(TARGETS_WIDE) {
        let mut points = vec![(task.pool.embeddings(), chosen.clone()), (targets.embeddings(), some.to_vec())];
        points.extend(observed.clone());
        let coordinates = coordinates(&points);
        task.check_read()?;
        let dim = points.iter().map(|(_, rows)| rows.len()).sum::<usize>();
        let view = |from: usize, count: usize| -> Result<Points<'_>> {
            let rows = Embeddings::new(&coordinates[from * dim..(from + count) * dim], dim)?;
            Ok(rows.watching_as(task.pool.embeddings()).into())
        };
        let (pool, about) = (view(0, chosen.len())?, view(chosen.len(), some.len())?);
        let used = chosen.len() + some.len();
        let observed = if used < dim { Some(view(used, dim - used)?) } else { None };
        let mut law = Law::prior(task.kernel, dim);
        if let Some(observed) = observed {
            law.observe_all(&observed.to_vec(), &vec![model.noise_var(); observed.rows()]);
        }
        let remaining = irreducible_given(pool, about, law, task.kernel)?;
        let rows = chosen.iter().enumerate().map(|(place, &row)| (place, model.noise_at(row))).collect();
        labelled
            .extend(LabelledRows { pool, rows, observed, observed_noise: model.noise_var() }.vars(about, &remaining));
        irreducible.extend(remaining);
    }
    let used = chosen.len();
    Ok(Reach { irreducible, labelled, irreducible_rows: used, labelled_rows: used })
}

/// Returns `kept` row numbers, evenly spread over all rows.
fn spread(rows: usize, kept: usize) -> Vec<usize> {
    (0..kept).map(|i| i * rows / kept).collect()
}

/// Rows that are labelled, each with its noise, and points that were observed before.
struct LabelledRows<'p> {
    pool: Points<'p>,
    rows: Vec<(usize, f64)>,
    observed: Option<Points<'p>>,
    observed_noise: f64,
}

impl LabelledRows<'_> {
    /// Returns aᵀ(I + ΦᵀP⁻¹Φ)⁻¹a of each target for the rows Φ and the observed points, which is at least its irreducible
    /// variance.
    fn vars(&self, targets: Points<'_>, irreducible: &[f64]) -> Vec<f64> {
        let dim = self.pool.dim();
        // I + MᵀM, where M has the rows φ/ρ, summed in pieces of fixed size.
        let scaled = |points: Vec<f64>, noise: &dyn Fn(usize) -> f64| {
            let rows = points.len() / dim;
            matrix(rows, dim, |i, j| points[i * dim + j] / noise(i).sqrt())
        };
        let pieces: Vec<&[(usize, f64)]> = self.rows.chunks(PIECE).collect();
        let mut sum = Mat::<f64>::identity(dim, dim);
        for group in pieces.chunks(rayon::current_num_threads().min((WAITING / (dim * dim)).max(1))) {
            let products: Vec<Mat<f64>> = group
                .par_iter()
                .map(|piece| {
                    let rows: Vec<usize> = piece.iter().map(|(row, _)| *row).collect();
                    let m = scaled(self.pool.gather(&rows), &|i| piece[i].1);
                    m.transpose() * &m
                })
                .collect();
            products.iter().for_each(|product| sum += product);
        }
        if let Some(observed) = self.observed {
            let m = scaled(observed.to_vec(), &|_| self.observed_noise);
            sum += m.transpose() * &m;
        }
        let factor = sum.llt(Side::Lower).expect("the identity makes it positive definite");
        let points = targets.to_vec();
        let columns = matrix(dim, targets.rows(), |i, j| points[j * dim + i]);
        let solved = factor.solve(&columns);
        let one = |((j, a), irreducible): ((usize, &[f64]), &f64)| {
            let var: f64 = a.iter().enumerate().map(|(i, x)| x * solved[(i, j)]).sum();
            var.clamp(0.0, norm_sq(a)).max(*irreducible)
        };
        points.chunks_exact(dim).enumerate().zip(irreducible).map(one).collect()
    }
}

/// Returns the `most` rows with the largest squared correlation with some target, or all rows, in increasing order.
fn most_correlated(model: &Model<'_>, targets: Points<'_>, most: usize) -> Vec<usize> {
    let (task, dim) = (model.task(), model.dim());
    if task.pool.rows() <= most {
        return (0..task.pool.rows()).collect();
    }
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
    order.select_nth_unstable_by(most, |&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    order.truncate(most);
    order.sort_unstable();
    order
}
