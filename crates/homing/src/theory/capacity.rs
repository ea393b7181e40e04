//! Information capacity γ_n = max over X ⊆ S, |X| ≤ n of I(f_X; y_X) (Section 2).

use faer::Mat;
use rayon::prelude::*;

use super::chain::{Chain, count_lists};
use super::growth::capacity_by_rank;
use super::model::Model;
use crate::law::Law;
use crate::law::moments::{covariance, gain, variances};
use crate::select::select;
use crate::{Error, Noise, Plan, Result, Task};

/// Largest number of sets that are enumerated.
const MOST_SETS: f64 = 1e6;

/// 1 − 1/e: the least share of the best set's information that a greedy set has, because I(f_X; y_X) is monotone and
/// submodular in X.
const GREEDY_SHARE: f64 = 1.0 - 1.0 / std::f64::consts::E;

/// Bounds of γ_n: `lower` ≤ γ_n ≤ `upper`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    /// Number of rows n.
    pub n: usize,
    /// Information that some n rows have, in nats.
    pub lower: f64,
    /// Information that no n rows exceed, in nats.
    pub upper: f64,
}

impl Capacity {
    /// Returns whether both bounds equal γ_n.
    pub fn is_exact(&self) -> bool {
        self.lower == self.upper
    }
}

/// Computes γ_n by enumeration if there are few enough sets, and bounds it by [`greedy_capacity`] otherwise. Rows are not
/// repeated.
///
/// ```
/// use homing::theory::{Model, capacity};
/// use homing::{Embeddings, Noise, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let model = Model::new(task, Noise::Std(0.5))?;
/// let (one, two) = (capacity(&model, 1)?, capacity(&model, 2)?);
/// assert!(one.is_exact() && one.upper < two.upper && two.upper < 2.0 * one.upper);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn capacity(model: &Model<'_>, n: usize) -> Result<Capacity> {
    if sets(model, n, false) <= MOST_SETS {
        let exact = exact_capacity(model, n, false)?;
        return Ok(Capacity { n, lower: exact, upper: exact });
    }
    greedy_capacity(model, n, false)
}

fn sets(model: &Model<'_>, n: usize, repeat: bool) -> f64 {
    count_lists(model.task().pool.rows(), n, repeat)
}

/// Bounds γ_n by the greedy set's information and the least of three upper bounds.
///
/// Greedy is undirected ITL. The upper bounds are: its information / (1 − 1/e); its information plus the n largest
/// remaining gains (submodularity); and for the linear kernel, [`capacity_by_rank`]. With `repeat`, a row may be observed
/// more than once.
///
/// ```
/// use homing::theory::{Model, exact_capacity, greedy_capacity};
/// use homing::{Embeddings, Noise, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let model = Model::new(task, Noise::Std(0.5))?;
/// let (bounds, exact) = (greedy_capacity(&model, 2, false)?, exact_capacity(&model, 2, false)?);
/// assert!(bounds.lower <= exact + 1e-12 && exact <= bounds.upper + 1e-12);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn greedy_capacity(model: &Model<'_>, n: usize, repeat: bool) -> Result<Capacity> {
    let (task, rows) = (model.task(), model.task().pool.rows());
    let count = if repeat { n } else { n.min(rows) };
    if count == 0 {
        return Ok(Capacity { n, lower: 0.0, upper: 0.0 });
    }
    let prior = Task { kernel: task.kernel, noise_vars: task.noise_vars, ..Task::undirected(task.pool) };
    let noise = Noise::Std(model.noise_var().sqrt());
    let plan = Plan { strategy: "undirected-itl".parse()?, count, noise, repeat, ..Plan::default() };
    let picks = select(&prior, &plan)?.rows();
    let after = Model::new(prior, noise)?.given(&picks)?;
    let lower = after.information();
    let mut gains = after.gains();
    if repeat {
        let most = gains.iter().copied().fold(0.0, f64::max);
        gains = vec![most; count];
    } else {
        // A set contains each row only once.
        picks.iter().for_each(|&row| gains[row] = 0.0);
    }
    gains.sort_by(|a, b| b.total_cmp(a));
    let mut upper = (lower / GREEDY_SHARE).min(lower + gains.iter().take(count).sum::<f64>());
    if task.kernel.is_linear() {
        upper = upper.min(capacity_by_rank(count, model.dim(), signal_to_noise(model)));
    }
    // The upper bounds may equal the greedy value, and rounding may then put them below it.
    Ok(Capacity { n, lower, upper: upper.max(lower) })
}

/// Returns the maximum over S of k(x, x)/ρ²(x).
fn signal_to_noise(model: &Model<'_>) -> f64 {
    let (task, dim) = (model.task(), model.dim());
    let most = task.pool.map_blocks(|start, rows| {
        let ratio = |(i, x): (usize, &[f64])| task.kernel.var(x) / model.noise_at(start + i);
        rows.chunks_exact(dim).enumerate().map(ratio).fold(0.0, f64::max)
    });
    most.into_iter().fold(0.0, f64::max)
}

/// Computes γ_n by its definition: the maximum of ½ ln |I + P⁻¹K_XX| over all sets of n rows (all multisets with `repeat`).
///
/// ```
/// use homing::theory::{Model, exact_capacity};
/// use homing::{Embeddings, Noise, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let model = Model::new(task, Noise::Std(0.5))?;
/// assert!((exact_capacity(&model, 1, false)? - 0.5 * (1.0 + 1.04f64 / 0.25).ln()).abs() < 1e-7); // the longest row's
/// # Ok::<(), homing::Error>(())
/// ```
pub fn exact_capacity(model: &Model<'_>, n: usize, repeat: bool) -> Result<f64> {
    if sets(model, n, repeat) > MOST_SETS {
        return Err(Error::TooManySets { what: "information capacity", most: MOST_SETS as usize });
    }
    let task = model.task();
    let rows = task.pool.rows();
    let size = if repeat { n } else { n.min(rows) };
    if size == 0 {
        return Ok(0.0);
    }
    if size == 1 {
        // There may be many sets of one row, and they need no covariances.
        let law = Law::prior(task.kernel, model.dim());
        let best = task.pool.map_blocks(|start, block| {
            let gains = variances(&law, block, model.dim()).into_iter().zip(start..);
            gains.map(|(var, row)| gain(var, 0.0, model.noise_at(row))).fold(0.0, f64::max)
        });
        return Ok(best.into_iter().fold(0.0, f64::max));
    }
    let cov = covariance(&Law::prior(task.kernel, model.dim()), &task.pool.to_vec(), model.dim());
    let noise: Vec<f64> = (0..rows).map(|row| model.noise_at(row)).collect();
    let search = CapacitySearch { cov, noise, size, repeat };
    let best = (0..rows).into_par_iter().map(|first| search.from(first));
    Ok(best.reduce(|| 0.0, f64::max))
}

struct CapacitySearch {
    cov: Mat<f64>,
    noise: Vec<f64>,
    size: usize,
    repeat: bool,
}

impl CapacitySearch {
    /// Returns the largest information in an increasing list of rows that starts with `first`.
    fn from(&self, first: usize) -> f64 {
        self.extend(&mut Chain::new(self.cov.as_ref()), first, 0, 0.0)
    }

    fn extend(&self, chain: &mut Chain<'_>, row: usize, depth: usize, before: f64) -> f64 {
        let var = chain.push(row, self.noise[row]);
        let information = before + gain(var, 0.0, self.noise[row]);
        let mut best = information;
        if depth + 1 < self.size {
            for next in if self.repeat { row } else { row + 1 }..self.noise.len() {
                best = best.max(self.extend(chain, next, depth + 1, information));
            }
        }
        chain.pop();
        best
    }
}
