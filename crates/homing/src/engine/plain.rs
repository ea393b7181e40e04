//! The numbers that rules read, stored for each candidate and updated after each pick.
//!
//! A pick changes them by covariances of f_x with one or two functionals, so an update is one pass over the pool: read a
//! block of rows, scan it with the functionals, and adjust the block's numbers. Nothing here depends on a rule.

use rayon::prelude::*;

use super::numbers::{candidate, lower_squares, lower_variance};
use super::order::is_copy;
use crate::base::algebra::norm_sq;
use crate::base::range::LEAST_VAR;
use crate::law::targets::Targets;
use crate::law::{CovarianceRoot, Functional, Law, Variance, WhitenedColumns};
use crate::shard::BLOCK;
use crate::{Candidate, Embeddings, Error, Kernel, Points, Result, Wants};

/// Factor of the targets' variance at which VTL's sums of squares are recomputed.
const REFRESH_SQ_COV: f64 = 1e-3;

/// Share of its prior variance below which a pick was already known so well that dividing by its variance amplifies
/// rounding errors. VTL's sums are then recomputed, too.
const KNOWN_PICK: f64 = 1e-5;

/// The numbers of one block of rows. A list is empty if the rule does not want it.
#[derive(Default)]
struct BlockNumbers {
    start: usize,
    len: usize,
    prior_var: Vec<f64>,
    var: Vec<Variance>,
    joint_var: Vec<Variance>,
    sq_cov: Vec<Variance>,
    std_cov: Vec<f64>,
    nearest_sq: Vec<f64>,
    cosine: Vec<f64>,
    turn_cosine: Vec<f64>,
    data_columns: WhitenedColumns,
    joint_columns: WhitenedColumns,
    prior_columns: WhitenedColumns,
}

/// The functionals that a pass over the pool scans for.
#[derive(Default)]
struct PassFunctionals {
    /// The pick under the law given D, and its total variance.
    data: Option<(Functional, f64)>,
    /// The pick under the law given D and the targets.
    joint: Option<(Functional, f64)>,
    /// Σ_a c_a f_a, where c are the pick's covariances with the targets before it was observed, and ‖c‖².
    sq_cov: Option<(Functional, f64)>,
    /// Σ_a f_a / σ_a, after the pick was observed.
    std_cov: Option<Functional>,
    /// Picks without conditioning, and k(j, j).
    nearest: Vec<(Functional, f64)>,
    /// The target whose turn it is, without conditioning, divided by its prior standard deviation.
    turn: Option<Functional>,
}

/// The numbers of all candidates.
pub(crate) struct Tracker<'a> {
    pool: Points<'a>,
    kernel: &'a dyn Kernel,
    wants: Wants,
    probabilities: Option<Embeddings<'a>>,
    targets: Option<Targets>,
    prior: Law<'a>,
    data: Law<'a>,
    joint: Option<Law<'a>>,
    blocks: Vec<BlockNumbers>,
    /// Total variance of the targets when VTL's sums were last computed.
    sq_cov_base: f64,
    /// The row with the least variance so far and that variance, if the kernel may make it negative.
    least: Option<(usize, Variance)>,
    pub passes: usize,
}

impl<'a> Tracker<'a> {
    /// Creates the tracker. `data` is the law given D, `joint` the law given D and the targets; distances are measured from
    /// the points `near`.
    pub fn new(
        pool: Points<'a>,
        kernel: &'a dyn Kernel,
        wants: Wants,
        probabilities: Option<Embeddings<'a>>,
        targets: Option<Targets>,
        laws: (Law<'a>, Option<Law<'a>>),
        near: &[f64],
    ) -> Self {
        let mut tracker = Self { probabilities, ..Self::resume(pool, kernel, wants, targets, laws, Vec::new()) };
        if !near.is_empty() {
            let nearest = near.chunks_exact(pool.dim()).map(|point| tracker.itself(point)).collect();
            tracker.pass(&PassFunctionals { nearest, ..PassFunctionals::default() });
        }
        tracker
    }

    /// Creates the tracker from the blocks' columns under both laws, as far as they are computed.
    pub fn resume(
        pool: Points<'a>,
        kernel: &'a dyn Kernel,
        wants: Wants,
        targets: Option<Targets>,
        (data, joint): (Law<'a>, Option<Law<'a>>),
        columns: Vec<[WhitenedColumns; 2]>,
    ) -> Self {
        let rows = pool.rows();
        let mut columns = columns.into_iter();
        let blocks = (0..rows.div_ceil(BLOCK)).map(|i| {
            let (start, [data_columns, joint_columns]) = (i * BLOCK, columns.next().unwrap_or_default());
            BlockNumbers { start, len: BLOCK.min(rows - start), data_columns, joint_columns, ..BlockNumbers::default() }
        });
        let mut tracker = Self {
            pool,
            kernel,
            wants,
            probabilities: None,
            targets,
            prior: Law::prior(kernel, pool.dim()),
            data,
            joint,
            blocks: blocks.collect(),
            sq_cov_base: 0.0,
            least: None,
            passes: 0,
        };
        tracker.start();
        tracker
    }

    /// Returns the functional f_x without conditioning, and k(x, x).
    fn itself(&self, x: &[f64]) -> (Functional, f64) {
        (self.prior.itself(x), self.kernel.var(x))
    }

    /// Applies `f` to every block and its rows.
    fn scan(&mut self, f: impl Fn(&Self, &[f64], &mut BlockNumbers) + Sync) {
        self.passes += 1;
        let mut blocks = std::mem::take(&mut self.blocks);
        let (pool, dim) = (self.pool, self.pool.dim());
        blocks.par_iter_mut().for_each_init(
            || vec![0.0; BLOCK.min(pool.rows()) * dim],
            |buffer, block| {
                let rows = &mut buffer[..block.len * dim];
                pool.read(block.start..block.start + block.len, rows);
                f(self, rows, block);
            },
        );
        self.blocks = blocks;
    }

    /// Computes all numbers from scratch, in one pass.
    fn start(&mut self) {
        let cosine = self.wants.cosine.then(|| {
            let targets = self.targets.as_ref().expect("a rule that wants cosines was checked to have targets");
            let weight = 1.0 / targets.vars.len() as f64;
            let vars = targets.iter().map(|a| self.kernel.var(a));
            let coefficients: Vec<f64> =
                vars.map(|var| if var > LEAST_VAR { weight / var.sqrt() } else { 0.0 }).collect();
            self.prior.functional(&coefficients, &targets.points, &mut WhitenedColumns::default())
        });
        let turn = self.turn();
        let std_cov = self.standardised();
        let sq_cov = self.sq_cov_root();
        let wants = self.wants;
        self.scan(|tracker, rows, block| {
            let (len, dim) = (block.len, tracker.pool.dim());
            if wants.nearest || wants.cosine || wants.turn_cosine {
                block.prior_var = tracker.kernel.vars(rows, dim);
            }
            if wants.var {
                block.var = vec![Variance::ZERO; len];
                tracker.data.scan_vars(rows, &mut block.data_columns, &mut block.var);
            }
            if let Some(joint) = &tracker.joint {
                block.joint_var = vec![Variance::ZERO; len];
                joint.scan_vars(rows, &mut block.joint_columns, &mut block.joint_var);
            }
            if let Some(root) = &sq_cov {
                block.sq_cov = tracker.data.scan_squares(root, rows, &mut block.data_columns, len);
            }
            if let Some(functional) = &std_cov {
                block.std_cov = vec![0.0; len];
                tracker.data.scan(functional, rows, &mut block.data_columns, &mut block.std_cov);
            }
            if let Some(functional) = &cosine {
                block.cosine = vec![0.0; len];
                tracker.prior.scan(functional, rows, &mut block.prior_columns, &mut block.cosine);
                divide_by_std(&mut block.cosine, &block.prior_var);
            }
            if let Some(functional) = &turn {
                tracker.scan_turn(functional, rows, block);
            }
        });
        self.recover();
    }

    /// Returns the functional of the target whose turn it is, without conditioning.
    fn turn(&self) -> Option<Functional> {
        let targets = self.targets.as_ref().filter(|_| self.wants.turn_cosine)?;
        Some(cosine_with(&self.prior, self.kernel, targets.whose_turn()))
    }

    fn scan_turn(&self, functional: &Functional, rows: &[f64], block: &mut BlockNumbers) {
        block.turn_cosine.resize(block.len, 0.0);
        self.prior.scan(functional, rows, &mut block.prior_columns, &mut block.turn_cosine);
        divide_by_std(&mut block.turn_cosine, &block.prior_var);
    }

    /// Returns the data for VTL's numerator.
    fn sq_cov_root(&mut self) -> Option<CovarianceRoot> {
        let targets = self.targets.as_mut().filter(|_| self.wants.sq_cov)?;
        self.sq_cov_base = targets.total_var();
        self.data.fold();
        Some(self.data.root_of(&targets.points, targets.dim, &mut targets.columns))
    }

    /// Returns the functional Σ_a f_a / σ_a under the law given D.
    fn standardised(&mut self) -> Option<Functional> {
        let targets = self.targets.as_mut().filter(|_| self.wants.std_cov)?;
        let coefficients: Vec<f64> = targets.standardised().map(|(c, _)| c).collect();
        Some(targets.weighted(&self.data, &coefficients))
    }

    /// Conditions on an observation of pool row `row`.
    pub fn observe(&mut self, row: usize, noise_var: f64) {
        self.observe_point(&self.pool.row(row), noise_var);
    }

    /// Conditions on an observation of a point, which need not be one of the rows.
    pub fn observe_point(&mut self, x: &[f64], noise_var: f64) {
        let mut functionals = PassFunctionals::default();
        if self.wants.var {
            let (functional, total) = self.observe_data(x, noise_var, &mut functionals);
            functionals.data = Some((functional, total));
        }
        if let Some(joint) = &mut self.joint {
            functionals.joint = Some(joint.observe(x, noise_var));
        }
        functionals.std_cov = self.standardised();
        if let Some(targets) = self.targets.as_mut().filter(|_| self.wants.turn_cosine) {
            targets.turns += 1;
            functionals.turn = self.turn();
        }
        if self.wants.nearest {
            functionals.nearest.push(self.itself(x));
        }
        self.pass(&functionals);
        let was_known = functionals.data.as_ref().is_some_and(|(_, total)| *total < KNOWN_PICK * self.kernel.var(x));
        let has_fallen = self.targets.as_ref().is_some_and(|t| t.total_var() < REFRESH_SQ_COV * self.sq_cov_base);
        if self.wants.sq_cov && (was_known || has_fallen) {
            let root = self.sq_cov_root().expect("the rule wants the sums of squares");
            self.scan(|tracker, rows, block| {
                block.sq_cov = tracker.data.scan_squares(&root, rows, &mut block.data_columns, block.len);
            });
        }
        self.recover();
    }

    fn observe_data(&mut self, x: &[f64], noise_var: f64, functionals: &mut PassFunctionals) -> (Functional, f64) {
        let Some(targets) = self.targets.as_mut().filter(|_| self.wants.sq_cov || self.wants.std_cov) else {
            return self.data.observe(x, noise_var);
        };
        // Folds the law first if the pick is already known too well, so all of its functionals belong to the same law.
        self.data.var(x);
        let before = self.wants.sq_cov.then(|| {
            let covs = targets.covs(&self.data, &self.data.itself(x));
            (targets.weighted(&self.data, &covs), norm_sq(&covs))
        });
        let (functional, total) = self.data.observe(x, noise_var);
        let covs = targets.covs(&self.data, &functional);
        targets.observe(&covs, total, &mut self.data);
        functionals.sq_cov = before;
        (functional, total)
    }

    /// Updates all numbers in one pass over the pool.
    fn pass(&mut self, functionals: &PassFunctionals) {
        self.scan(|tracker, rows, block| {
            let mut g = vec![0.0; block.len];
            let mut h = vec![0.0; block.len];
            // The functional of VTL's sum before the pick must be scanned before the pick's own column is added.
            if let Some((functional, _)) = &functionals.sq_cov {
                tracker.data.scan(functional, rows, &mut block.data_columns, &mut h);
            }
            if let Some((functional, total)) = &functionals.data {
                tracker.data.scan(functional, rows, &mut block.data_columns, &mut g);
                subtract(&mut block.var, &g, *total);
                if let Some((_, norm_sq)) = functionals.sq_cov {
                    for ((sum, g), h) in block.sq_cov.iter_mut().zip(&g).zip(&h) {
                        lower_squares(sum, *g, *h, *total, norm_sq);
                    }
                }
            }
            if let (Some((functional, total)), Some(joint)) = (&functionals.joint, &tracker.joint) {
                joint.scan(functional, rows, &mut block.joint_columns, &mut g);
                subtract(&mut block.joint_var, &g, *total);
            }
            if let Some(functional) = &functionals.std_cov {
                tracker.data.scan(functional, rows, &mut block.data_columns, &mut block.std_cov);
            }
            if let Some(functional) = &functionals.turn {
                tracker.scan_turn(functional, rows, block);
            }
            for (functional, var) in &functionals.nearest {
                tracker.prior.scan(functional, rows, &mut block.prior_columns, &mut g);
                block.nearest_sq.resize(block.len, f64::INFINITY);
                for ((near, prior), g) in block.nearest_sq.iter_mut().zip(&block.prior_var).zip(&g) {
                    *near = near.min((prior + var - 2.0 * g).max(0.0));
                }
            }
        });
    }

    /// Returns an error if some row has a negative variance under the kernel.
    pub fn check_definite(&self, noise_var: f64) -> Result<()> {
        match self.least.filter(|(_, var)| var.is_negative(noise_var)) {
            Some((row, var)) => Err(Error::Indefinite { row: Some(row), var: var.value }),
            None => Ok(()),
        }
    }

    /// Records the least variance, before a negative one counts as rounding.
    fn note_least_variance(&mut self) {
        let mut least = self.least;
        for block in &self.blocks {
            for list in [&block.var, &block.joint_var] {
                for (row, &var) in (block.start..).zip(list) {
                    if var.is_less(least.map(|(_, least)| least)) {
                        least = Some((row, var));
                    }
                }
            }
        }
        self.least = least;
    }

    /// Recomputes numbers that subtraction has lost, from a law whose steps are folded into one decomposition.
    fn recover(&mut self) {
        if self.kernel.may_be_indefinite() {
            self.note_least_variance();
        }
        let pool = self.pool;
        recover(&mut self.blocks, pool, |block| &mut block.var, |x| self.data.var(x));
        if let Some(joint) = &mut self.joint {
            recover(&mut self.blocks, pool, |block| &mut block.joint_var, |x| joint.var(x));
        }
        let mut root = None;
        let mut blocks = std::mem::take(&mut self.blocks);
        recover(
            &mut blocks,
            pool,
            |block| &mut block.sq_cov,
            |x| {
                let root = root.get_or_insert_with(|| self.sq_cov_root().expect("the rule wants the sums of squares"));
                self.data.scan_squares(root, x, &mut WhitenedColumns::default(), 1)[0].value
            },
        );
        self.blocks = blocks;
    }

    /// Calls `f` with each candidate of block `b`, in order.
    pub fn for_each_in(&self, b: usize, noise_var: impl Fn(usize) -> f64, mut f: impl FnMut(usize, &Candidate<'_>)) {
        let block = &self.blocks[b];
        let view = self.probabilities.filter(|_| self.wants.probabilities);
        let classes = view.map_or(0, |p| p.dim());
        let mut probabilities = vec![0.0; block.len * classes];
        if let Some(view) = view {
            view.read(block.start..block.start + block.len, &mut probabilities);
        }
        let at = |list: &[f64], i: usize| list.get(i).copied().unwrap_or(0.0);
        let value = |list: &[Variance], i: usize| list.get(i).map_or(0.0, |number| number.value);
        for i in 0..block.len {
            let row = block.start + i;
            let (var, joint_var, sq_cov) = (value(&block.var, i), value(&block.joint_var, i), value(&block.sq_cov, i));
            let candidate = Candidate {
                prior_var: at(&block.prior_var, i),
                nearest_sq: block.nearest_sq.get(i).copied(),
                cosine: at(&block.cosine, i),
                turn_cosine: at(&block.turn_cosine, i),
                probabilities: &probabilities[i * classes..(i + 1) * classes],
                ..candidate(var, joint_var, sq_cov, at(&block.std_cov, i), noise_var(row))
            };
            f(row, &candidate);
        }
    }

    /// Returns whether a rule cannot distinguish two rows.
    pub fn is_copy(&self, a: usize, b: usize) -> bool {
        let probabilities = self.probabilities.filter(|_| self.wants.probabilities);
        is_copy(self.kernel, self.pool, a, b) && probabilities.is_none_or(|p| p.row(a) == p.row(b))
    }

    /// Returns the laws given D and the observations, and given the targets as well.
    pub fn into_laws(self) -> (Law<'a>, Option<Law<'a>>) {
        (self.data, self.joint)
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }
}

/// Replaces the lost numbers of a list by `compute` of their rows.
fn recover(
    blocks: &mut [BlockNumbers],
    pool: Points<'_>,
    list: fn(&mut BlockNumbers) -> &mut Vec<Variance>,
    mut compute: impl FnMut(&[f64]) -> f64,
) {
    for block in blocks {
        let start = block.start;
        for (i, number) in list(block).iter_mut().enumerate().filter(|(_, number)| number.is_lost()) {
            *number = Variance::fresh(compute(&pool.row(start + i)));
        }
    }
}

/// Returns f_a / √k(a, a), whose covariances with rows are their cosines with a, once they are divided by the rows' standard
/// deviations.
pub(crate) fn cosine_with(prior: &Law<'_>, kernel: &dyn Kernel, a: &[f64]) -> Functional {
    let var = kernel.var(a);
    let coefficient = if var > LEAST_VAR { 1.0 / var.sqrt() } else { 0.0 };
    prior.functional(&[coefficient], a, &mut WhitenedColumns::default())
}

/// Divides covariances with the rows by the rows' prior standard deviations. Rows without variance get zero.
pub(crate) fn divide_by_std(covs: &mut [f64], prior_vars: &[f64]) {
    for (cov, &var) in covs.iter_mut().zip(prior_vars) {
        *cov = if var > LEAST_VAR { *cov / var.sqrt() } else { 0.0 };
    }
}

/// Subtracts g²/p from each row's variance.
fn subtract(vars: &mut [Variance], covs: &[f64], total: f64) {
    for (var, g) in vars.iter_mut().zip(covs) {
        lower_variance(var, *g, total);
    }
}
