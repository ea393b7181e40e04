//! One pass over every row before the selection starts.

use std::borrow::Cow;

use super::Task;
use super::range::{Extremes, check_extremes, check_points};
use crate::base::algebra::norm_sq;
use crate::{Embeddings, Points, Result};

/// Prior variances of the pool.
pub(crate) struct Survey {
    pub mean_var: f64,
    /// ‖φ‖² of the rows, for the linear kernel on embeddings.
    pub norms: Option<Norms>,
}

/// ‖φ‖² of a pool's rows.
pub(crate) enum Norms {
    /// Those of every row.
    Rows(Vec<f32>),
    /// The smallest that is not zero, and the largest. The pool's carrier holds the others.
    Carried([f64; 2]),
}

impl Norms {
    /// Returns the smallest that is not zero, and the largest; both are zero if all are.
    pub fn extremes(&self) -> [f64; 2] {
        match self {
            Norms::Rows(norms) => {
                let most = norms.iter().copied().fold(0.0, f32::max);
                let least = norms.iter().copied().filter(|norm| *norm != 0.0).fold(most, f32::min);
                [least, most].map(f64::from)
            }
            Norms::Carried(extremes) => *extremes,
        }
    }

    /// Returns those of every row.
    pub fn of_rows(&self, pool: Embeddings<'_>) -> Cow<'_, [f32]> {
        match self {
            Norms::Rows(norms) => Cow::Borrowed(norms),
            Norms::Carried(_) => {
                let norms =
                    |block: &[f64]| block.chunks_exact(pool.dim()).map(|x| single(norm_sq(x))).collect::<Vec<_>>();
                Cow::Owned(pool.map_blocks(|_, block| norms(block)).concat())
            }
        }
    }
}

/// Rounds a variance to f32. One that underflows must not become zero.
pub(crate) fn single(var: f64) -> f32 {
    if var > 0.0 { (var as f32).max(f32::MIN_POSITIVE) } else { 0.0 }
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
        if let (Points::Embeddings(pool), true) = (task.pool, task.kernel.is_linear())
            && let Some(carrier) = pool.carrier()
        {
            if let Some(found) = carrier.survey(pool.transform())
                && let Some(extremes) = Extremes::of_norms(found.row, found.most)
            {
                let norms = Some(Norms::Carried([found.least, found.most]));
                return (Self { mean_var: found.sum / pool.rows() as f64, norms }, vec![extremes]);
            }
            if pool.check_read().is_err() || carrier.bad_row().is_some() {
                return (Self { mean_var: 0.0, norms: None }, vec![Extremes::unsound()]);
            }
        }
        let dim = task.pool.dim();
        let blocks = task.pool.map_blocks(|start, block| {
            let (vars, extremes) = Extremes::of(task.kernel, start, block, dim);
            (vars.iter().map(|&var| single(var)).collect::<Vec<_>>(), vars.iter().sum::<f64>(), extremes)
        });
        let found = blocks.iter().map(|(_, _, extremes)| *extremes).collect();
        let mean_var = blocks.iter().map(|(_, sum, _)| sum).sum::<f64>() / task.pool.rows() as f64;
        let embeddings = matches!(task.pool, Points::Embeddings(_));
        let linear = task.kernel.is_linear() && embeddings;
        let norms = linear.then(|| Norms::Rows(blocks.into_iter().flat_map(|(norms, _, _)| norms).collect()));
        (Self { mean_var, norms }, found)
    }
}
