//! The submodularity ratio κ_n(k) of ITL and the guarantee that it gives a greedy batch (Appendix C).
//!
//! F_n(B) = I(f_A; y_B | D_{n−1}) is monotone but need not be submodular: two rows may tell more together than apart, such
//! as the difference of two functions that only share a nuisance. κ says how far from submodular F_n is.

use faer::Mat;
use rayon::prelude::*;

use super::chain::{Chain, count_lists};
use super::model::{Model, gain};
use super::ratio_bounds::bounded_ratio;
use crate::{Error, Result};

/// Pairs (B, X) that are enumerated at most.
const MOST_PAIRS: f64 = 2e7;

/// Information below this many nats is none: the definition has 0/0 = 1.
pub(crate) const NOTHING: f64 = 1e-12;

/// Information below this many nats may be rounding: variances are known to a share of what they came from, and tell in units
/// of ρ². More than [`NOTHING`] where ρ² is less than a hundredth of the mean variance.
pub(crate) fn doubtful(model: &Model<'_>) -> f64 {
    let noise = model.task().noise_vars.into_iter().flatten().copied().fold(model.noise_var(), f64::min);
    NOTHING.max(1e-14 * model.mean_var() / noise)
}

/// κ_n(k) up to what could be computed: `lower` ≤ κ ≤ `upper`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// No pair (B, X) has a smaller ratio.
    pub lower: f64,
    /// Some pair has this ratio.
    pub upper: f64,
}

impl Ratio {
    /// Whether both ends are κ itself.
    pub fn is_exact(&self) -> bool {
        self.lower == self.upper
    }

    fn min(self, other: Self) -> Self {
        Self { lower: self.lower.min(other.lower), upper: self.upper.min(other.upper) }
    }

    /// Theorem C.2: the batch has at least this share of the information of the best batch of its size.
    pub fn guarantee(&self) -> f64 {
        guarantee(self.lower)
    }
}

/// 1 − e^−κ (Theorem C.2).
pub fn guarantee(ratio: f64) -> f64 {
    -(-ratio).exp_m1()
}

/// κ_n(k) of a batch of k rows, for the model given D_{n−1}: by enumeration where there are few enough pairs, between
/// bounds otherwise ([`bounded_ratio`]).
///
/// Under little noise, rounding may make a ratio out of sets that tell next to nothing. The lower end counts such sets, the
/// upper end does not.
pub fn submodularity_ratio(model: &Model<'_>, batch: &[usize], seed: u64) -> Result<Ratio> {
    let batch = distinct(model, batch)?;
    if pairs(model.task().pool.rows(), batch.len()) <= MOST_PAIRS {
        return enumerated(model, &batch);
    }
    bounded_ratio(model, &batch, seed)
}

/// The rows of a batch, each once: B′ is a set.
pub(crate) fn distinct(model: &Model<'_>, batch: &[usize]) -> Result<Vec<usize>> {
    let rows = model.task().pool.rows();
    if let Some(&row) = batch.iter().find(|&&row| row >= rows) {
        return Err(Error::NoSuchRow { what: "batch", row, rows });
    }
    let mut seen = std::collections::HashSet::new();
    Ok(batch.iter().copied().filter(|&row| seen.insert(row)).collect())
}

fn pairs(rows: usize, size: usize) -> f64 {
    2f64.powi(size as i32) * count_lists(rows, size, false)
}

/// κ_n(k) by its definition (Eq. 5): the least of Σ_{x ∈ X} Δ_n(x | B) / Δ_n(X | B) over all B ⊆ B′_{n,k} and all X ⊆ S
/// disjoint from B with |X| ≤ k = |B′|, where 0/0 = 1.
///
/// X = ∅ is among them, so κ ≤ 1.
pub fn exact_ratio(model: &Model<'_>, batch: &[usize]) -> Result<f64> {
    Ok(enumerated(model, &distinct(model, batch)?)?.lower)
}

fn enumerated(model: &Model<'_>, batch: &[usize]) -> Result<Ratio> {
    let rows = model.task().pool.rows();
    // A single row tells alone what it tells.
    if batch.len() <= 1 {
        return Ok(ONE);
    }
    if pairs(rows, batch.len()) > MOST_PAIRS {
        let why = "the exact submodularity ratio is limited to twenty million pairs of sets; ask for its bounds, \
                   a smaller batch or a smaller pool";
        return Err(Error::Unsupported(why));
    }
    let all: Vec<usize> = (0..rows).collect();
    let (data, joint) = model.covariances(&all);
    let noise = all.iter().map(|&row| model.noise_at(row)).collect();
    let search = Search { data, joint, noise, most: batch.len(), doubtful: doubtful(model) };
    let subsets = (0u32..1 << batch.len()).into_par_iter().map(|mask| {
        let chosen = batch.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1);
        search.least(&chosen.map(|(_, &row)| row).collect::<Vec<_>>())
    });
    let Ratio { lower, upper } = subsets.reduce(|| ONE, Ratio::min);
    Ok(Ratio { lower: snapped(lower), upper: snapped(upper) })
}

/// One where only rounding makes it less.
pub(crate) fn snapped(ratio: f64) -> f64 {
    if ratio > 1.0 - NOTHING { 1.0 } else { ratio }
}

/// What the enumeration of X reads: covariances given D and given D and f_A.
struct Search {
    data: Mat<f64>,
    joint: Mat<f64>,
    noise: Vec<f64>,
    most: usize,
    doubtful: f64,
}

const ONE: Ratio = Ratio { lower: 1.0, upper: 1.0 };

impl Search {
    /// The least ratio over X for one B.
    fn least(&self, given: &[usize]) -> Ratio {
        let mut pair = Pair::new(&self.data, &self.joint, given.iter().map(|&row| (row, self.noise[row])));
        let open: Vec<(usize, f64, f64)> = (0..self.noise.len())
            .filter(|row| !given.contains(row))
            .map(|row| (row, self.noise[row], pair.gain(row, self.noise[row])))
            .collect();
        self.extend(&mut pair, &open, 0, 0.0, 0.0)
    }

    /// The least ratio over all extensions of the X pushed so far, with Σ Δ(x | B) `alone` and Δ(X | B) `together`.
    fn extend(
        &self,
        pair: &mut Pair<'_>,
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

/// Σ Δ(x | B) / Δ(X | B), where no more than `nothing` is none.
pub(crate) fn ratio(alone: f64, together: f64, nothing: f64) -> f64 {
    if together <= nothing { 1.0 } else { alone / together }
}

/// The law given D and the law given D and f_A, with the same observations added to both.
pub(crate) struct Pair<'c> {
    data: Chain<'c>,
    joint: Chain<'c>,
}

impl<'c> Pair<'c> {
    pub fn new(data: &'c Mat<f64>, joint: &'c Mat<f64>, given: impl Iterator<Item = (usize, f64)>) -> Self {
        let mut pair = Self { data: Chain::new(data.as_ref()), joint: Chain::new(joint.as_ref()) };
        given.for_each(|(x, noise_var)| {
            pair.push(x, noise_var);
        });
        pair
    }

    /// Δ(x | what was pushed).
    pub fn gain(&mut self, x: usize, noise_var: f64) -> f64 {
        gain(self.data.var(x), self.joint.var(x), noise_var)
    }

    /// Observes x; Δ(x | what was pushed before).
    pub fn push(&mut self, x: usize, noise_var: f64) -> f64 {
        gain(self.data.push(x, noise_var), self.joint.push(x, noise_var), noise_var)
    }

    pub fn pop(&mut self) {
        self.data.pop();
        self.joint.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guarantee_of_a_submodular_batch_is_the_known_one() {
        assert!((guarantee(1.0) - (1.0 - 1.0 / std::f64::consts::E)).abs() < 1e-15);
        assert_eq!(guarantee(0.0), 0.0);
        assert_eq!(ratio(0.0, 0.0, 0.0), 1.0);
    }
}
