//! Information capacity γ_n = max over X ⊆ S, |X| ≤ n of I(f_X; y_X) (Section 2).

use std::ops::ControlFlow;

use faer::Mat;
use rayon::prelude::*;

use super::chain::{Chain, count_lists};
use super::growth::capacity_by_rank;
use super::model::{Model, covariance, gain, variances};
use crate::law::Law;
use crate::select::select;
use crate::{Error, Noise, Plan, Result, Task};

/// Sets that are enumerated at most.
const MOST_SETS: f64 = 1e6;

/// 1 − 1/e: the share of the best set's information that a greedy one has at least, since I(f_X; y_X) is monotone and
/// submodular in X.
const GREEDY_SHARE: f64 = 1.0 - 1.0 / std::f64::consts::E;

/// γ_n up to what could be computed: `lower` ≤ γ_n ≤ `upper`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    /// n.
    pub n: usize,
    /// What some n rows have, in nats.
    pub lower: f64,
    /// What no n rows exceed.
    pub upper: f64,
}

impl Capacity {
    /// Whether both ends are γ_n itself.
    pub fn is_exact(&self) -> bool {
        self.lower == self.upper
    }
}

/// γ_n by enumeration where there are few enough sets, by [`greedy_capacity`] otherwise. Rows are not repeated.
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

/// γ_n between the greedy set's information and the least of three upper bounds.
///
/// Greedy is undirected ITL. The bounds: its information / (1 − 1/e); its information and the n largest gains that are
/// left after it (submodularity); for the linear kernel, [`capacity_by_rank`]. With `repeat`, a row may be observed again.
pub fn greedy_capacity(model: &Model<'_>, n: usize, repeat: bool) -> Result<Capacity> {
    let (task, rows) = (model.task(), model.task().pool.rows());
    let count = if repeat { n } else { n.min(rows) };
    if count == 0 {
        return Ok(Capacity { n, lower: 0.0, upper: 0.0 });
    }
    let prior = Task { kernel: task.kernel, noise_vars: task.noise_vars, ..Task::new(task.pool, None) };
    let noise = Noise::Std(model.noise_var().sqrt());
    let plan = Plan { strategy: "undirected-itl".parse()?, count, noise, repeat, ..Plan::default() };
    let picks = select(&prior, &plan, |_| ControlFlow::Continue(()))?.indices();
    let after = Model::new(prior, noise)?.given(&picks)?;
    let lower = after.information();
    let mut left = after.gains();
    if repeat {
        let most = left.iter().copied().fold(0.0, f64::max);
        left = vec![most; count];
    } else {
        // A set has each row once.
        picks.iter().for_each(|&row| left[row] = 0.0);
    }
    left.sort_by(|a, b| b.total_cmp(a));
    let mut upper = (lower / GREEDY_SHARE).min(lower + left.iter().take(count).sum::<f64>());
    if task.kernel.is_linear() {
        upper = upper.min(capacity_by_rank(count, model.dim(), signal_to_noise(model)));
    }
    // Three bounds may meet the greedy value itself, and rounding may put them on either side of it.
    Ok(Capacity { n, lower, upper: upper.max(lower) })
}

/// max over S of k(x, x)/ρ²(x).
fn signal_to_noise(model: &Model<'_>) -> f64 {
    let (task, dim) = (model.task(), model.dim());
    let most = task.pool.map_blocks(|start, rows| {
        let ratio = |(i, x): (usize, &[f64])| task.kernel.var(x) / model.noise_at(start + i);
        rows.chunks_exact(dim).enumerate().map(ratio).fold(0.0, f64::max)
    });
    most.into_iter().fold(0.0, f64::max)
}

/// γ_n by its definition: ½ ln |I + P⁻¹K_XX| of every set of n rows (every multiset with `repeat`).
pub fn exact_capacity(model: &Model<'_>, n: usize, repeat: bool) -> Result<f64> {
    if sets(model, n, repeat) > MOST_SETS {
        let why = "the exact information capacity is limited to a million sets of rows; ask for its bounds, \
                   fewer picks or a smaller pool";
        return Err(Error::Unsupported(why));
    }
    let task = model.task();
    let rows = task.pool.rows();
    let size = if repeat { n } else { n.min(rows) };
    if size == 0 {
        return Ok(0.0);
    }
    if size == 1 {
        // Sets of one row may be many, and their covariances do not matter.
        let law = Law::prior(task.kernel, model.dim());
        let best = task.pool.map_blocks(|start, block| {
            let gains = variances(&law, block, model.dim()).into_iter().zip(start..);
            gains.map(|(var, row)| gain(var, 0.0, model.noise_at(row))).fold(0.0, f64::max)
        });
        return Ok(best.into_iter().fold(0.0, f64::max));
    }
    let cov = covariance(&Law::prior(task.kernel, model.dim()), &task.pool.to_vec(), model.dim());
    let noise: Vec<f64> = (0..rows).map(|row| model.noise_at(row)).collect();
    let search = Search { cov, noise, size, repeat };
    let best = (0..rows).into_par_iter().map(|first| search.from(first));
    Ok(best.reduce(|| 0.0, f64::max))
}

struct Search {
    cov: Mat<f64>,
    noise: Vec<f64>,
    size: usize,
    repeat: bool,
}

impl Search {
    /// The most information of a list of rows that starts with `first` and rises.
    fn from(&self, first: usize) -> f64 {
        self.extend(&mut Chain::new(self.cov.as_ref()), first, 0, 0.0)
    }

    fn extend(&self, chain: &mut Chain<'_>, row: usize, depth: usize, known: f64) -> f64 {
        let var = chain.push(row, self.noise[row]);
        let information = known + gain(var, 0.0, self.noise[row]);
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
