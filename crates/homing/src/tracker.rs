//! The numbers that rules read, kept for every candidate and brought up to date after each pick.
//!
//! A pick changes each of them by covariances of f_x with one or two functionals, so an update is one pass over the
//! pool: read a block of rows, scan it with the functionals, adjust the block's numbers. Nothing here knows a rule.

use std::sync::Arc;

use rayon::prelude::*;

use crate::embeddings::BLOCK;
use crate::law::{Columns, Functional, Law, Root, Variance};
use crate::range::LEAST_VAR;
use crate::{Candidate, Embeddings, Error, Kernel, Points, Result, Wants};

/// VTL's sums of squares are recomputed when the targets' variance has fallen by this factor since they last were, or
/// when a pick was known so well already that dividing by its variance blows up rounding.
const REFRESH_SQ_COV: f64 = 1e-3;
const KNOWN_PICK: f64 = 1e-5;

/// The targets of a round, and their variances given all observations.
#[derive(Clone)]
pub(crate) struct Targets {
    pub points: Arc<[f64]>,
    pub dim: usize,
    pub vars: Vec<Variance>,
    columns: Columns,
}

impl Targets {
    pub fn new(points: Vec<f64>, dim: usize, data: &mut Law<'_>) -> Self {
        let vars = points.chunks_exact(dim).map(|a| Variance::fresh(data.var(a))).collect();
        Self { points: points.into(), dim, vars, columns: Columns::default() }
    }

    /// The same targets under another law.
    pub fn given(&self, data: &mut Law<'_>) -> Self {
        Self::new(self.points.to_vec(), self.dim, data)
    }

    pub fn iter(&self) -> impl Iterator<Item = &[f64]> {
        self.points.chunks_exact(self.dim)
    }

    /// Covariances with a functional of `data`.
    pub fn covs(&mut self, data: &Law<'_>, functional: &Functional) -> Vec<f64> {
        let mut covs = vec![0.0; self.vars.len()];
        data.scan(functional, &self.points, &mut self.columns, &mut covs);
        covs
    }

    /// Σ_a c_a f_a under `data`.
    fn weighted(&mut self, data: &Law<'_>, coefficients: &[f64]) -> Functional {
        data.functional(coefficients, &self.points, &mut self.columns)
    }

    /// Takes in an observation with these covariances and total variance p; `data` is the law after it.
    pub fn observe(&mut self, covs: &[f64], total: f64, data: &mut Law<'_>) {
        for (i, c) in covs.iter().enumerate() {
            let var = &mut self.vars[i];
            var.value -= c * c / total;
            if var.is_lost() {
                *var = Variance::fresh(data.var(&self.points[i * self.dim..(i + 1) * self.dim]));
            }
        }
    }

    /// The terms of Σ_a f_a / σ_a; a target that is known already correlates with nothing.
    pub fn standardised(&self) -> impl Iterator<Item = (f64, &[f64])> {
        let coefficient = |var: &Variance| if var.value > LEAST_VAR { 1.0 / var.value.sqrt() } else { 0.0 };
        self.vars.iter().map(coefficient).zip(self.iter())
    }

    pub fn total_var(&self) -> f64 {
        self.vars.iter().map(|var| var.value).sum()
    }
}

/// The numbers of one block of rows; a list is empty when no rule wants it.
#[derive(Default)]
struct Block {
    start: usize,
    len: usize,
    prior_var: Vec<f64>,
    var: Vec<Variance>,
    joint_var: Vec<Variance>,
    sq_cov: Vec<Variance>,
    std_cov: Vec<f64>,
    nearest_sq: Vec<f64>,
    cosine: Vec<f64>,
    data_columns: Columns,
    joint_columns: Columns,
    prior_columns: Columns,
}

/// What a pass over the pool scans for.
#[derive(Default)]
struct Update {
    /// The pick under the law given D, and its total variance.
    data: Option<(Functional, f64)>,
    /// The pick under the law given D and the targets.
    joint: Option<(Functional, f64)>,
    /// Σ_a c_a f_a with c the pick's covariances with the targets, before it was observed; ‖c‖².
    sq_cov: Option<(Functional, f64)>,
    /// Σ_a f_a / σ_a, after it was observed.
    std_cov: Option<Functional>,
    /// Picks themselves without conditioning, and k(j, j).
    nearest: Vec<(Functional, f64)>,
}

/// All candidates' numbers.
pub(crate) struct Tracker<'a> {
    pool: Points<'a>,
    kernel: &'a dyn Kernel,
    wants: Wants,
    probabilities: Option<Embeddings<'a>>,
    targets: Option<Targets>,
    prior: Law<'a>,
    data: Law<'a>,
    joint: Option<Law<'a>>,
    blocks: Vec<Block>,
    /// The targets' total variance when VTL's sums were last computed.
    sq_cov_base: f64,
    /// The row of the least variance so far and that variance, for a kernel that may make it negative.
    least: Option<(usize, Variance)>,
    pub passes: usize,
}

impl<'a> Tracker<'a> {
    /// `data` is the law given D, `joint` given D and the targets; `near` are the points that distances count from.
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
            tracker.pass(&Update { nearest, ..Update::default() });
        }
        tracker
    }

    /// The same, with the blocks' columns under both laws as far as they are known.
    pub fn resume(
        pool: Points<'a>,
        kernel: &'a dyn Kernel,
        wants: Wants,
        targets: Option<Targets>,
        (data, joint): (Law<'a>, Option<Law<'a>>),
        columns: Vec<[Columns; 2]>,
    ) -> Self {
        let rows = pool.rows();
        let mut columns = columns.into_iter();
        let blocks = (0..rows.div_ceil(BLOCK)).map(|i| {
            let (start, [data_columns, joint_columns]) = (i * BLOCK, columns.next().unwrap_or_default());
            Block { start, len: BLOCK.min(rows - start), data_columns, joint_columns, ..Block::default() }
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

    /// The functional f_x without conditioning, and k(x, x).
    fn itself(&self, x: &[f64]) -> (Functional, f64) {
        (self.prior.itself(x), self.kernel.var(x))
    }

    /// Applies `f` to every block and its rows.
    fn scan(&mut self, f: impl Fn(&Self, &[f64], &mut Block) + Sync) {
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

    /// Everything from nothing, in one pass.
    fn start(&mut self) {
        let cosine = self.wants.cosine.then(|| {
            let targets = self.targets.as_ref().expect("checked: the rule has targets");
            let weight = 1.0 / targets.vars.len() as f64;
            let vars = targets.iter().map(|a| self.kernel.var(a));
            let coefficients: Vec<f64> =
                vars.map(|var| if var > LEAST_VAR { weight / var.sqrt() } else { 0.0 }).collect();
            self.prior.functional(&coefficients, &targets.points, &mut Columns::default())
        });
        let std_cov = self.standardised();
        let sq_cov = self.sq_cov_root();
        let wants = self.wants;
        self.scan(|tracker, rows, block| {
            let (len, dim) = (block.len, tracker.pool.dim());
            if wants.nearest || wants.cosine {
                block.prior_var = tracker.kernel.vars(rows, dim);
            }
            if wants.var {
                block.var = vec![Variance { value: 0.0, scale: 0.0 }; len];
                tracker.data.scan_vars(rows, &mut block.data_columns, &mut block.var);
            }
            if let Some(joint) = &tracker.joint {
                block.joint_var = vec![Variance { value: 0.0, scale: 0.0 }; len];
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
                for (cosine, &var) in block.cosine.iter_mut().zip(&block.prior_var) {
                    *cosine = if var > LEAST_VAR { *cosine / var.sqrt() } else { 0.0 };
                }
            }
        });
        self.recover();
    }

    /// What VTL's numerator is made of.
    fn sq_cov_root(&mut self) -> Option<Root> {
        let targets = self.targets.as_mut().filter(|_| self.wants.sq_cov)?;
        self.sq_cov_base = targets.total_var();
        self.data.fold();
        Some(self.data.root_of(&targets.points, targets.dim, &mut targets.columns))
    }

    /// Σ_a f_a / σ_a under the law given D.
    fn standardised(&mut self) -> Option<Functional> {
        let targets = self.targets.as_mut().filter(|_| self.wants.std_cov)?;
        let coefficients: Vec<f64> = targets.standardised().map(|(c, _)| c).collect();
        Some(targets.weighted(&self.data, &coefficients))
    }

    /// Conditions on an observation of pool row `index`.
    pub fn observe(&mut self, index: usize, noise_var: f64) {
        let x = self.pool.row(index);
        let mut update = Update::default();
        if self.wants.var {
            let (functional, total) = self.observe_data(&x, noise_var, &mut update);
            update.data = Some((functional, total));
        }
        if let Some(joint) = &mut self.joint {
            update.joint = Some(joint.observe(&x, noise_var));
        }
        update.std_cov = self.standardised();
        if self.wants.nearest {
            update.nearest.push(self.itself(&x));
        }
        self.pass(&update);
        let known = update.data.as_ref().is_some_and(|(_, total)| *total < KNOWN_PICK * self.kernel.var(&x));
        let fallen = self.targets.as_ref().is_some_and(|t| t.total_var() < REFRESH_SQ_COV * self.sq_cov_base);
        if self.wants.sq_cov && (known || fallen) {
            let root = self.sq_cov_root().expect("the rule wants it");
            self.scan(|tracker, rows, block| {
                block.sq_cov = tracker.data.scan_squares(&root, rows, &mut block.data_columns, block.len);
            });
        }
        self.recover();
    }

    fn observe_data(&mut self, x: &[f64], noise_var: f64, update: &mut Update) -> (Functional, f64) {
        let Some(targets) = self.targets.as_mut().filter(|_| self.wants.sq_cov || self.wants.std_cov) else {
            return self.data.observe(x, noise_var);
        };
        // Folds the law first where the pick is known too well, so that all of its functionals are of one law.
        self.data.var(x);
        let before = self.wants.sq_cov.then(|| {
            let covs = targets.covs(&self.data, &self.data.itself(x));
            (targets.weighted(&self.data, &covs), crate::algebra::norm_sq(&covs))
        });
        let (functional, total) = self.data.observe(x, noise_var);
        let covs = targets.covs(&self.data, &functional);
        targets.observe(&covs, total, &mut self.data);
        update.sq_cov = before;
        (functional, total)
    }

    /// One pass over the pool.
    fn pass(&mut self, update: &Update) {
        self.scan(|tracker, rows, block| {
            let mut g = vec![0.0; block.len];
            let mut h = vec![0.0; block.len];
            // VTL's sum of the functional before the pick must be read before the pick's own column is added.
            if let Some((functional, _)) = &update.sq_cov {
                tracker.data.scan(functional, rows, &mut block.data_columns, &mut h);
            }
            if let Some((functional, total)) = &update.data {
                tracker.data.scan(functional, rows, &mut block.data_columns, &mut g);
                subtract(&mut block.var, &g, *total);
                if let Some((_, norm_sq)) = update.sq_cov {
                    for ((q, g), h) in block.sq_cov.iter_mut().zip(&g).zip(&h) {
                        let share = g / total;
                        let (cross, own) = (2.0 * share * h, share * share * norm_sq);
                        let scale = q.scale.max(cross.abs()).max(own);
                        *q = Variance { value: q.value - cross + own, scale };
                    }
                }
            }
            if let (Some((functional, total)), Some(joint)) = (&update.joint, &tracker.joint) {
                joint.scan(functional, rows, &mut block.joint_columns, &mut g);
                subtract(&mut block.joint_var, &g, *total);
            }
            if let Some(functional) = &update.std_cov {
                tracker.data.scan(functional, rows, &mut block.data_columns, &mut block.std_cov);
            }
            for (functional, var) in &update.nearest {
                tracker.prior.scan(functional, rows, &mut block.prior_columns, &mut g);
                block.nearest_sq.resize(block.len, f64::INFINITY);
                for ((near, prior), g) in block.nearest_sq.iter_mut().zip(&block.prior_var).zip(&g) {
                    *near = near.min((prior + var - 2.0 * g).max(0.0));
                }
            }
        });
    }

    /// Refuses a kernel under which some row has a negative variance.
    pub fn check_definite(&self, noise_var: f64) -> Result<()> {
        match self.least.filter(|(_, var)| var.is_negative(noise_var)) {
            Some((row, var)) => Err(Error::Indefinite { row: Some(row), var: var.value }),
            None => Ok(()),
        }
    }

    /// Remembers the least variance, before a negative one is taken for rounding.
    fn look(&mut self) {
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

    /// Computes anew what subtraction has lost, from a law whose steps are folded into one decomposition.
    fn recover(&mut self) {
        if self.kernel.may_be_indefinite() {
            self.look();
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
                let root = root.get_or_insert_with(|| self.sq_cov_root().expect("the rule wants it"));
                self.data.scan_squares(root, x, &mut Columns::default(), 1)[0].value
            },
        );
        self.blocks = blocks;
    }

    /// Calls `f` with every candidate of block `b`, in order.
    pub fn for_each_in(&self, b: usize, noise_var: impl Fn(usize) -> f64, mut f: impl FnMut(usize, &Candidate<'_>)) {
        let block = &self.blocks[b];
        let wanted = self.probabilities.filter(|_| self.wants.probabilities);
        let classes = wanted.map_or(0, |p| p.dim());
        let mut probabilities = vec![0.0; block.len * classes];
        if let Some(view) = wanted {
            view.read(block.start..block.start + block.len, &mut probabilities);
        }
        let at = |list: &[f64], i: usize| list.get(i).copied().unwrap_or(0.0);
        let sum = |list: &[Variance], i: usize| list.get(i).map_or(0.0, |v| v.value.max(0.0));
        let var = |list: &[Variance], i: usize| Some(sum(list, i)).filter(|&v| v > LEAST_VAR).unwrap_or(0.0);
        for i in 0..block.len {
            let row = block.start + i;
            let given_data = var(&block.var, i);
            let candidate = Candidate {
                prior_var: at(&block.prior_var, i),
                var: given_data,
                // Conditioning never adds variance; rounding may.
                var_given_targets: var(&block.joint_var, i).min(given_data),
                sq_cov: sum(&block.sq_cov, i),
                std_cov: at(&block.std_cov, i),
                nearest_sq: block.nearest_sq.get(i).copied(),
                cosine: at(&block.cosine, i),
                probabilities: &probabilities[i * classes..(i + 1) * classes],
                noise_var: noise_var(row),
            };
            f(row, &candidate);
        }
    }

    /// Whether a rule cannot tell two rows apart.
    pub fn is_copy(&self, a: usize, b: usize) -> bool {
        let probabilities = self.probabilities.filter(|_| self.wants.probabilities);
        is_copy(self.kernel, self.pool, a, b) && probabilities.is_none_or(|p| p.row(a) == p.row(b))
    }

    /// The laws given D and what was observed, and given the targets too.
    pub fn into_laws(self) -> (Law<'a>, Option<Law<'a>>) {
        (self.data, self.joint)
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }
}

/// Whether f has one value at two rows: k(a, a) = k(a, b) = k(b, b).
pub(crate) fn is_copy(kernel: &dyn Kernel, pool: Points<'_>, a: usize, b: usize) -> bool {
    let (a, b) = (pool.row(a), pool.row(b));
    let shared = kernel.eval(&a, &b);
    kernel.var(&a) == shared && kernel.var(&b) == shared
}

/// Replaces the lost numbers of a list by `compute` of their rows.
fn recover(
    blocks: &mut [Block],
    pool: Points<'_>,
    list: fn(&mut Block) -> &mut Vec<Variance>,
    mut compute: impl FnMut(&[f64]) -> f64,
) {
    for block in blocks {
        let start = block.start;
        for (i, number) in list(block).iter_mut().enumerate().filter(|(_, number)| number.is_lost()) {
            *number = Variance::fresh(compute(&pool.row(start + i)));
        }
    }
}

/// v −= g²/p for every row.
fn subtract(vars: &mut [Variance], covs: &[f64], total: f64) {
    for (var, g) in vars.iter_mut().zip(covs) {
        var.value -= g * g / total;
    }
}
