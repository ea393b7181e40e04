//! One pass over every row before the selection starts.

use super::Task;
use super::range::{Extremes, check_extremes, check_points};
use crate::{Points, Result};

/// Prior variances of the pool.
pub(crate) struct Survey {
    pub mean_var: f64,
    /// ‖φ‖² of every row, for the linear kernel on embeddings.
    pub norms: Option<Vec<f32>>,
}

impl Survey {
    /// Reads every row once, and refuses invalid rows of the pool, the targets and the observed points.
    pub fn new(task: &Task<'_>) -> Result<Self> {
        let (survey, found) = Self::measure(task);
        check_extremes("pool", task.pool, task.kernel, &found)?;
        for (what, points) in [("targets", task.targets), ("observed points", task.observed_points)] {
            points.map_or(Ok(()), |points| check_points(what, points, task.kernel))?;
        }
        Ok(survey)
    }

    /// Reads every row of the pool once, and returns the extremes of every block in addition.
    pub fn measure(task: &Task<'_>) -> (Self, Vec<Extremes>) {
        let dim = task.pool.dim();
        let blocks = task.pool.map_blocks(|start, block| {
            let (vars, extremes) = Extremes::of(task.kernel, start, block, dim);
            // A variance that underflows in f32 must not become zero.
            let single = |&var: &f64| if var > 0.0 { (var as f32).max(f32::MIN_POSITIVE) } else { 0.0 };
            (vars.iter().map(single).collect::<Vec<_>>(), vars.iter().sum::<f64>(), extremes)
        });
        let found = blocks.iter().map(|(_, _, extremes)| *extremes).collect();
        let mean_var = blocks.iter().map(|(_, sum, _)| sum).sum::<f64>() / task.pool.rows() as f64;
        let embeddings = matches!(task.pool, Points::Embeddings(_));
        let linear = task.kernel.is_linear() && embeddings;
        let norms = linear.then(|| blocks.into_iter().flat_map(|(norms, _, _)| norms).collect());
        (Self { mean_var, norms }, found)
    }
}
