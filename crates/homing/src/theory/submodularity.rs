//! The submodularity ratio κ_n(k) of ITL, and its guarantee for a greedy batch (Appendix C).
//!
//! F_n(B) = I(f_A; y_B | D_{n−1}) is monotone but not always submodular: two rows may tell more together than separately,
//! such as the difference of two functions that share only a nuisance. κ measures how far F_n is from submodular.

use faer::Mat;
use rayon::prelude::*;

use super::chain::count_lists;
use super::model::Model;
use super::ratio::{ChainPair, NOTHING, Ratio, distinct, doubtful, ratio, snap_to_one};
use super::ratio_bounds::bounded_ratio;
use crate::{Error, Result};

/// Largest number of pairs (B, X) that are enumerated.
const MOST_PAIRS: f64 = 2e7;

/// Computes κ_n(k) of a batch of k rows, for the model given D_{n−1}: by enumeration if there are few enough pairs,
/// otherwise by bounds ([`bounded_ratio`]).
///
/// Under little noise, rounding may produce a ratio from sets with almost no information. The lower bound counts such sets,
/// and the upper bound does not.
///
/// ```
/// use homing::theory::{Model, submodularity_ratio};
/// use homing::{Embeddings, Noise, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let model = Model::new(task, Noise::Std(0.5))?;
/// let ratio = submodularity_ratio(&model, &[1, 2], 0)?;
/// println!("at least {:.0} % of the best batch's information", 100.0 * ratio.guarantee());
/// assert!(0.0 < ratio.lower && ratio.upper <= 1.0);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn submodularity_ratio(model: &Model<'_>, batch: &[usize], seed: u64) -> Result<Ratio> {
    let batch = distinct(model, batch)?;
    if pairs(model.task().pool.rows(), batch.len()) <= MOST_PAIRS {
        return enumerated(model, &batch);
    }
    bounded_ratio(model, &batch, seed)
}

fn pairs(rows: usize, size: usize) -> f64 {
    2f64.powi(size as i32) * count_lists(rows, size, false)
}

/// Computes κ_n(k) by its definition (Eq. 5): the least Σ_{x ∈ X} Δ_n(x | B) / Δ_n(X | B) over all B ⊆ B′_{n,k} and all X ⊆
/// S disjoint from B with |X| ≤ k = |B′|, where 0/0 = 1.
///
/// X = ∅ is included, so κ ≤ 1.
///
/// ```
/// use homing::theory::{Model, exact_ratio};
/// use homing::{Embeddings, Noise, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let model = Model::new(task, Noise::Std(0.5))?;
/// assert_eq!(exact_ratio(&model, &[1])?, 1.0); // a single row has the same information alone and together
/// # Ok::<(), homing::Error>(())
/// ```
pub fn exact_ratio(model: &Model<'_>, batch: &[usize]) -> Result<f64> {
    Ok(enumerated(model, &distinct(model, batch)?)?.lower)
}

fn enumerated(model: &Model<'_>, batch: &[usize]) -> Result<Ratio> {
    let rows = model.task().pool.rows();
    // A single row has the same information alone and together.
    if batch.len() <= 1 {
        return Ok(ONE);
    }
    if pairs(rows, batch.len()) > MOST_PAIRS {
        return Err(Error::TooManySets { what: "submodularity ratio", most: MOST_PAIRS as usize });
    }
    let all: Vec<usize> = (0..rows).collect();
    let (data, joint) = model.covariances(&all);
    let noise = all.iter().map(|&row| model.noise_at(row)).collect();
    let search = RatioSearch { data, joint, noise, most: batch.len(), doubtful: doubtful(model) };
    let subsets = (0u32..1 << batch.len()).into_par_iter().map(|mask| {
        let chosen = batch.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1);
        search.least(&chosen.map(|(_, &row)| row).collect::<Vec<_>>())
    });
    let Ratio { lower, upper } = subsets.reduce(|| ONE, Ratio::min);
    Ok(Ratio { lower: snap_to_one(lower), upper: snap_to_one(upper) })
}

/// Data for the enumeration of X: covariances given D, and given D and f_A.
struct RatioSearch {
    data: Mat<f64>,
    joint: Mat<f64>,
    noise: Vec<f64>,
    most: usize,
    doubtful: f64,
}

const ONE: Ratio = Ratio { lower: 1.0, upper: 1.0 };

impl RatioSearch {
    /// Returns the least ratio over X for one B.
    fn least(&self, given: &[usize]) -> Ratio {
        let mut pair = ChainPair::new(&self.data, &self.joint, given.iter().map(|&row| (row, self.noise[row])));
        let open: Vec<(usize, f64, f64)> = (0..self.noise.len())
            .filter(|row| !given.contains(row))
            .map(|row| (row, self.noise[row], pair.gain(row, self.noise[row])))
            .collect();
        self.extend(&mut pair, &open, 0, 0.0, 0.0)
    }

    /// Returns the least ratio over all extensions of the current X, where `alone` is Σ Δ(x | B) and `together` is Δ(X |
    /// B).
    fn extend(
        &self,
        pair: &mut ChainPair<'_>,
        open: &[(usize, f64, f64)],
        depth: usize,
        alone: f64,
        together: f64,
    ) -> Ratio {
        let mut least = ONE;
        for (i, &(row, noise_var, single)) in open.iter().enumerate() {
            let (alone, together) = (alone + single, together + pair.push(row, noise_var));
            least = least
                .min(Ratio { lower: ratio(alone, together, NOTHING), upper: ratio(alone, together, self.doubtful) });
            if depth + 1 < self.most {
                least = least.min(self.extend(pair, &open[i + 1..], depth + 1, alone, together));
            }
            pair.pop();
        }
        least
    }
}
