//! Bounds on κ_n(k) for pools and batches that are too large to enumerate.
//!
//! **Lower bound.** Δ(X|B) = I(f_A; y_X | B, D) ≤ I(f_X; y_X | B, D) ≤ Σ_x I(f_x; y_x | B, D), by the data-processing
//! inequality and because the noise is independent. So
//!
//! κ ≥ min over B ⊆ B′, x ∉ B of I(f_A; y_x | B, D) / I(f_x; y_x | B, D),
//!
//! the least share of the information in an observation that is about the targets. This needs one pass over the pool with
//! the batch's covariances, then every B ⊆ B′ row by row. For long batches, the share itself is bounded: it increases with
//! Var(f_x|B,D) and decreases with Var(f_x|B,f_A,D), and these lie between their values for B′ and for ∅.
//!
//! **Upper bound.** Each pair (B, X) has a ratio of at least κ. Random pairs are tried, and pairs of the rows with the
//! least shares.

use faer::linalg::solvers::DenseSolveCore;
use faer::{Mat, Side};
use rand::RngExt;
use rand::seq::{IndexedRandom, index};

use super::chain::Chain;
use super::model::Model;
use super::ratio::{ChainPair, NOTHING, Ratio, distinct, doubtful, ratio, snap_to_one};
use crate::Result;
use crate::base::algebra::matrix;
use crate::base::random::{Stream, generator};
use crate::law::moments::{covariance, gain, variances};
use crate::law::{Functional, Law, WhitenedColumns, variance_given};

/// Largest number of rows times subsets of the batch that are evaluated one by one.
const MOST_SHARES: f64 = 1e9;

/// Number of rows of each of two kinds from which sets are sampled, in addition to the batch itself.
const DRAWN_FROM: usize = 64;

/// Number of random pairs.
const SAMPLES: usize = 2000;

/// Largest size of a sampled B and of a sampled X, because the cost of a pair is cubic in them.
const MOST_SAMPLED: usize = 100;

/// Number of attempts to lower the ratio of the best pair by an exchange.
const EXCHANGES: usize = 2000;

/// Bounds κ_n(k) of a batch of k rows by a proven lower bound and the least ratio of several thousand sampled pairs.
///
/// ```
/// use homing::theory::{Model, bounded_ratio, exact_ratio};
/// use homing::{Embeddings, Noise, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let model = Model::new(task, Noise::Std(0.5))?;
/// let (bounds, exact) = (bounded_ratio(&model, &[1, 2], 0)?, exact_ratio(&model, &[1, 2])?);
/// assert!(bounds.lower <= exact && exact <= bounds.upper);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn bounded_ratio(model: &Model<'_>, batch: &[usize], seed: u64) -> Result<Ratio> {
    let batch = distinct(model, batch)?;
    let shares = least_shares(model, &batch);
    let lower = shares.iter().copied().fold(1.0, f64::min);
    let lower = snap_to_one(lower);
    let upper = if lower == 1.0 { 1.0 } else { least_sampled_ratio(model, &batch, &shares, seed) };
    Ok(Ratio { lower: lower.min(upper), upper })
}

/// Returns I(f_A; y_x | B, D) / I(f_x; y_x | B, D).
fn share(var: f64, given_targets: f64, noise_var: f64) -> f64 {
    let (own, about_targets) = (gain(var, 0.0, noise_var), gain(var, given_targets, noise_var));
    if own <= NOTHING { 1.0 } else { about_targets / own }
}

/// Returns a lower bound of each row's share over all B ⊆ B′ without that row.
fn least_shares(model: &Model<'_>, batch: &[usize]) -> Vec<f64> {
    let Some(joint) = model.joint() else { return vec![1.0; model.task().pool.rows()] };
    let data = model.data();
    let scan = BatchScan::new(model, batch, &data, &joint);
    let enumerable = 2f64.powi(batch.len() as i32) * model.task().pool.rows() as f64 <= MOST_SHARES;
    let blocks = model.task().pool.map_blocks(|start, rows| {
        let block = scan.block(start, rows);
        if enumerable { block.over_subsets(&scan) } else { block.between_ends(&scan) }
    });
    blocks.concat()
}

/// The batch, with which a pass over the pool compares rows.
struct BatchScan<'m, 'a> {
    model: &'m Model<'m>,
    batch: &'m [usize],
    laws: [&'m Law<'a>; 2],
    /// The batch's rows as functionals of each law.
    functionals: [Vec<Functional>; 2],
    /// Covariances of the batch under each law.
    covs: [Mat<f64>; 2],
    /// Var(f_x | y of the rest of the batch, D) of each row of the batch.
    left_out: Vec<f64>,
}

impl<'m, 'a> BatchScan<'m, 'a> {
    fn new(model: &'m Model<'m>, batch: &'m [usize], data: &'m Law<'a>, joint: &'m Law<'a>) -> Self {
        let points = model.task().pool.gather(batch);
        let covs = [data, joint].map(|law| covariance(law, &points, model.dim()));
        let functionals =
            [data, joint].map(|law| points.chunks_exact(model.dim()).map(|x| law.itself(x)).collect::<Vec<_>>());
        let noise = |i: usize| model.noise_at(batch[i]);
        let left_out = if batch.is_empty() {
            Vec::new()
        } else {
            let total = matrix(batch.len(), batch.len(), |i, j| covs[0][(i, j)] + if i == j { noise(i) } else { 0.0 });
            let inverse = total.llt(Side::Lower).expect("the noise makes it positive definite").inverse();
            (0..batch.len()).map(|i| (1.0 / inverse[(i, i)] - noise(i)).max(0.0)).collect()
        };
        Self { model, batch, laws: [data, joint], functionals, covs, left_out }
    }

    fn block(&self, start: usize, rows: &[f64]) -> BlockMoments {
        let dim = self.model.dim();
        let count = rows.len() / dim;
        let vars = self.laws.map(|law| variances(law, rows, dim));
        let covs = [0, 1].map(|i| {
            let mut columns = WhitenedColumns::default();
            let column = |functional: &Functional| {
                let mut out = vec![0.0; count];
                self.laws[i].scan(functional, rows, &mut columns, &mut out);
                out
            };
            self.functionals[i].iter().map(column).collect()
        });
        let noise = (start..start + count).map(|row| self.model.noise_at(row)).collect();
        let place = |row: usize| self.batch.iter().position(|&picked| picked == row);
        BlockMoments { vars, covs, noise, places: (start..start + count).map(place).collect() }
    }
}

/// Variances of a block of rows and their covariances with the batch, given D, and given D and f_A.
struct BlockMoments {
    vars: [Vec<f64>; 2],
    covs: [Vec<Vec<f64>>; 2],
    noise: Vec<f64>,
    /// Position of each row in the batch.
    places: Vec<Option<usize>>,
}

impl BlockMoments {
    /// Returns the least share of each row over every B ⊆ B′ without that row.
    fn over_subsets(&self, scan: &BatchScan<'_, '_>) -> Vec<f64> {
        let mut least = vec![1.0; self.noise.len()];
        let mut node = SubsetNode {
            chains: [Chain::new(scan.covs[0].as_ref()), Chain::new(scan.covs[1].as_ref())],
            members: Vec::new(),
            whitened: [Vec::new(), Vec::new()],
            vars: self.vars.clone(),
        };
        self.visit(scan, &mut node, 0, &mut least);
        least
    }

    fn visit(&self, scan: &BatchScan<'_, '_>, node: &mut SubsetNode<'_>, from: usize, least: &mut [f64]) {
        for (i, least) in least.iter_mut().enumerate() {
            if self.places[i].is_none_or(|place| !node.members.contains(&place)) {
                *least = least.min(share(node.vars[0][i].max(0.0), node.vars[1][i].max(0.0), self.noise[i]));
            }
        }
        for j in from..scan.batch.len() {
            let before = node.vars.clone();
            node.push(j, &self.covs, scan.model.noise_at(scan.batch[j]));
            self.visit(scan, node, j + 1, least);
            node.pop(before);
        }
    }

    /// Returns a lower bound of the least share of each row, from the variances for B′ and for ∅.
    fn between_ends(&self, scan: &BatchScan<'_, '_>) -> Vec<f64> {
        let mut chain = Chain::new(scan.covs[0].as_ref());
        let mut whitened: Vec<Vec<f64>> = Vec::new();
        let mut vars = self.vars[0].clone();
        for (j, column) in self.covs[0].iter().enumerate() {
            let (l, std) = chain.push_row(j, scan.model.noise_at(scan.batch[j]));
            whitened.push(next_column(column, &l, std, &whitened));
            subtract_squares(&mut vars, whitened.last().expect("a column was just added"));
        }
        let one = |i: usize| {
            let var = self.places[i].map_or(vars[i].max(0.0), |place| scan.left_out[place]);
            share(var, self.vars[1][i], self.noise[i])
        };
        (0..self.noise.len()).map(one).collect()
    }
}

/// A subset B of the batch: its factors under each law, and the remaining variances of a block.
struct SubsetNode<'c> {
    chains: [Chain<'c>; 2],
    members: Vec<usize>,
    whitened: [Vec<Vec<f64>>; 2],
    vars: [Vec<f64>; 2],
}

impl SubsetNode<'_> {
    fn push(&mut self, j: usize, covs: &[Vec<Vec<f64>>; 2], noise_var: f64) {
        for law in 0..2 {
            let (l, std) = self.chains[law].push_row(j, noise_var);
            let column = next_column(&covs[law][j], &l, std, &self.whitened[law]);
            subtract_squares(&mut self.vars[law], &column);
            self.whitened[law].push(column);
        }
        self.members.push(j);
    }

    fn pop(&mut self, before: [Vec<f64>; 2]) {
        for law in 0..2 {
            self.chains[law].pop();
            self.whitened[law].pop();
        }
        self.members.pop();
        self.vars = before;
    }
}

/// Computes (c − Σ lᵢ zᵢ) / std for each row of a block.
fn next_column(cov: &[f64], l: &[f64], std: f64, whitened: &[Vec<f64>]) -> Vec<f64> {
    let mut column = cov.to_vec();
    for (l, z) in l.iter().zip(whitened) {
        crate::base::algebra::axpy(-l, z, &mut column);
    }
    column.iter_mut().for_each(|c| *c /= std);
    column
}

fn subtract_squares(vars: &mut [f64], column: &[f64]) {
    vars.iter_mut().zip(column).for_each(|(var, z)| *var = variance_given(*var, *z, 1.0));
}

/// Returns the least ratio of the sampled pairs.
fn least_sampled_ratio(model: &Model<'_>, batch: &[usize], shares: &[f64], seed: u64) -> f64 {
    let mut rng = generator(seed, Stream::Estimate);
    let all = shares.len();
    let mut order: Vec<usize> = (0..all).collect();
    order.select_nth_unstable_by(DRAWN_FROM.min(all) - 1, |&a, &b| shares[a].total_cmp(&shares[b]).then(a.cmp(&b)));
    let mut rows = batch.to_vec();
    rows.extend(&order[..DRAWN_FROM.min(all)]);
    rows.extend(index::sample(&mut rng, all, DRAWN_FROM.min(all)));
    let rows = distinct(model, &rows).expect("all are rows of the pool");
    let (data, joint) = model.covariances(&rows);
    let noise: Vec<f64> = rows.iter().map(|&row| model.noise_at(row)).collect();
    let doubtful = doubtful(model);
    // Positions in `rows`: the batch comes first.
    let places: Vec<usize> = (0..rows.len()).collect();
    let value = |sets: &Sets| {
        let mut pair = ChainPair::new(&data, &joint, sets.given.iter().map(|&x| (x, noise[x])));
        let alone: f64 = sets.added.iter().map(|&x| pair.gain(x, noise[x])).sum();
        let together: f64 = sets.added.iter().map(|&x| pair.push(x, noise[x])).sum();
        ratio(alone, together, doubtful)
    };
    let most = batch.len().min(MOST_SAMPLED);
    let mut best = (1.0, Sets { given: Vec::new(), added: Vec::new() });
    for _ in 0..SAMPLES {
        let given = rng.random_range(0..=most);
        let given = index::sample(&mut rng, batch.len(), given).into_vec();
        let open: Vec<usize> = places.iter().copied().filter(|x| !given.contains(x)).collect();
        let added = rng.random_range(0..=most.min(open.len()));
        let added = open.sample(&mut rng, added).copied().collect();
        let sets = Sets { given, added };
        let found = value(&sets);
        if found < best.0 {
            best = (found, sets);
        }
    }
    for _ in 0..EXCHANGES {
        let sets = best.1.exchanged(batch.len(), most, &places, &mut rng);
        let found = value(&sets);
        if found < best.0 {
            best = (found, sets);
        }
    }
    best.0
}

/// A pair of sets B and X.
#[derive(Clone)]
struct Sets {
    /// B.
    given: Vec<usize>,
    /// X.
    added: Vec<usize>,
}

impl Sets {
    /// Returns a pair that differs in one row: added to or removed from B or X, or replaced in X.
    fn exchanged(&self, batch: usize, most: usize, places: &[usize], rng: &mut impl rand::Rng) -> Self {
        let mut sets = self.clone();
        if rng.random_bool(0.3) {
            let x = rng.random_range(0..batch);
            if let Some(at) = sets.given.iter().position(|&y| y == x) {
                sets.given.swap_remove(at);
            } else if !sets.added.contains(&x) && sets.given.len() < most {
                sets.given.push(x);
            }
            return sets;
        }
        let x = places[rng.random_range(0..places.len())];
        if let Some(at) = sets.added.iter().position(|&y| y == x) {
            sets.added.swap_remove(at);
        } else if !sets.given.contains(&x) {
            if sets.added.len() == most || (!sets.added.is_empty() && rng.random_bool(0.5)) {
                let at = rng.random_range(0..sets.added.len());
                sets.added[at] = x;
            } else {
                sets.added.push(x);
            }
        }
        sets
    }
}
