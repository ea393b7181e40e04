//! The whitened columns of all rows, and the pass that verifies a draft.

use faer::MatRef;
use rayon::prelude::*;

use super::Laws;
use crate::base::algebra::axpy;
use crate::base::range::LEAST_VAR;
use crate::engine::numbers::{candidate, lower_variance};
use crate::engine::order::{ScoredRow, contenders};
use crate::law::targets::Targets;
use crate::law::{DualLaw, Variance, WhitenedColumns};
use crate::shard::BLOCK;
use crate::{Candidate, Points, Rule, Wants};

/// The columns of a block of rows under the law given D and the picks, and under the law given the targets as well.
struct BlockColumns {
    data: Vec<f64>,
    joint: Vec<f64>,
}

/// The columns of all rows.
pub(super) struct ColumnTable<'a> {
    pool: Points<'a>,
    blocks: Vec<BlockColumns>,
}

/// The rows that may be best at each step of a draft.
pub(super) struct Verification {
    /// Number of drafted picks that were already decided.
    decided: usize,
    blocks: Vec<BlockVerification>,
}

/// The rows of one block that may be best at the undecided steps.
#[derive(Default)]
struct BlockVerification {
    contenders: Vec<Vec<ScoredRow>>,
    /// The keys of the rows.
    keys: Vec<Vec<f32>>,
    /// Whether some variance is more negative than rounding explains.
    is_negative: bool,
}

impl Verification {
    /// Returns whether some variance is negative at any step.
    pub fn is_negative(&self) -> bool {
        self.blocks.iter().any(|block| block.is_negative)
    }

    /// Returns the rows that may be best once `applied` drafted picks are made, in increasing order.
    pub fn contenders(&self, applied: usize) -> impl Iterator<Item = ScoredRow> + Clone {
        self.blocks.iter().flat_map(move |block| &block.contenders[applied - self.decided]).copied()
    }

    /// Returns the `count` open rows with the largest keys once `applied` drafted picks are made, in increasing order.
    pub fn best(&self, applied: usize, open: &[bool], count: usize) -> Vec<usize> {
        let keys = self.blocks.iter().flat_map(|block| &block.keys[applied - self.decided]).copied();
        let mut ranked: Vec<(f32, usize)> = keys.zip(0..).filter(|&(_, row)| open[row]).collect();
        if count < ranked.len() {
            ranked.select_nth_unstable_by(count, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            ranked.truncate(count);
        }
        let mut rows: Vec<usize> = ranked.into_iter().map(|(_, row)| row).collect();
        rows.sort_unstable();
        rows
    }
}

/// The targets, for a rule that reads covariances with them.
struct TargetColumns<'t> {
    points: &'t [f64],
    count: usize,
    /// The targets' own columns, up to the end of the draft.
    whitened: Vec<f64>,
    /// 1/σ_a at each step of the draft; zero for a target whose value is already known.
    inverse_stds: Vec<Vec<f64>>,
}

impl<'t> TargetColumns<'t> {
    fn new(targets: &'t Targets, law: &DualLaw<'_>, drafted: usize) -> Self {
        let (points, count) = (&targets.points[..], targets.vars.len());
        let mut whitened = Vec::new();
        law.extend(law.len(), points, count, &mut whitened);
        let mut vars = vec![Variance::ZERO; count];
        let inverse_stds = (law.len() - drafted..=law.len()).map(|steps| {
            law.scan_vars(points, &whitened[..steps * count], &mut vars);
            vars.iter().map(|var| if var.value > LEAST_VAR { var.value.sqrt().recip() } else { 0.0 }).collect()
        });
        Self { points, count, inverse_stds: inverse_stds.collect(), whitened }
    }

    /// Returns the column of a drafted pick.
    fn drafted(&self, pick: usize) -> &[f64] {
        let first = self.whitened.len() / self.count + 1 - self.inverse_stds.len();
        &self.whitened[(first + pick) * self.count..][..self.count]
    }
}

/// Largest number of picks for which memory is reserved at the start. Growing columns would fragment memory.
const ROOM: usize = 1024;

impl<'a> ColumnTable<'a> {
    /// Creates an empty table, with memory reserved for the given number of picks.
    pub fn new(pool: Points<'a>, laws: &Laws<'_>, picks: usize) -> Self {
        let room = |law: &DualLaw<'_>| Vec::with_capacity(BLOCK * (law.len() + picks.min(ROOM)));
        let block = |_| BlockColumns { data: room(&laws.data), joint: laws.joint.as_ref().map_or_else(Vec::new, room) };
        Self { pool, blocks: (0..pool.rows().div_ceil(BLOCK)).map(block).collect() }
    }

    fn len(&self, block: usize) -> usize {
        BLOCK.min(self.pool.rows() - block * BLOCK)
    }

    /// Removes the last columns.
    pub fn forget(&mut self, count: usize) {
        for b in 0..self.blocks.len() {
            let cut = count * self.len(b);
            let BlockColumns { data, joint } = &mut self.blocks[b];
            data.truncate(data.len() - cut);
            joint.truncate(joint.len().saturating_sub(cut));
        }
    }

    /// Returns the columns of the given rows.
    pub fn gather(&self, rows: &[usize]) -> [WhitenedColumns; 2] {
        let pick = |columns: fn(&BlockColumns) -> &[f64]| {
            let places: Vec<(&[f64], usize, usize)> = rows
                .iter()
                .map(|&row| (columns(&self.blocks[row / BLOCK]), row % BLOCK, self.len(row / BLOCK)))
                .collect();
            let steps = places.first().map_or(0, |(columns, _, len)| columns.len() / len);
            let of = |step: usize| places.iter().map(move |&(columns, at, len)| columns[step * len + at]);
            WhitenedColumns((0..steps).flat_map(of).collect())
        };
        [pick(|block| &block.data), pick(|block| &block.joint)]
    }

    /// Extends the columns of all rows to the laws, whose last steps are the draft, and scores the rows at each undecided
    /// step of the draft.
    pub fn verify(
        &mut self,
        laws: &Laws<'_>,
        targets: Option<&Targets>,
        draft: &[usize],
        decided: usize,
        open: &[bool],
        (rule, noise_var): (&dyn Rule, f64),
    ) -> Verification {
        let wants = rule.wants();
        let target_columns = targets.map(|targets| TargetColumns::new(targets, &laws.data, draft.len()));
        let (pool, dim) = (self.pool, self.pool.dim());
        let in_block = |buffer: &mut Vec<f64>, (b, block): (usize, &mut BlockColumns)| {
            let start = b * BLOCK;
            let mut open = open[start..pool.rows().min(start + BLOCK)].to_vec();
            let len = open.len();
            let rows = &mut buffer[..len * dim];
            pool.read(start..start + len, rows);
            block.extend(laws, rows, len);
            let mut numbers = StepNumbers::new(laws, target_columns.as_ref(), rows, len, draft.len(), block);
            let mut verification = BlockVerification::default();
            for t in 0..=draft.len() {
                if t > 0 {
                    numbers.observe(t - 1);
                    let pick = draft[t - 1].wrapping_sub(start);
                    open.get_mut(pick).into_iter().for_each(|open| *open = false);
                }
                verification.is_negative |= numbers.is_negative(noise_var);
                if t < decided {
                    continue;
                }
                numbers.measure(t, wants);
                let key = |i: usize| if open[i] { rule.key(&numbers.candidate(i, noise_var)) } else { f64::NAN };
                let keys = (0..len).map(key).map(|key| if key.is_nan() { f64::NEG_INFINITY } else { key });
                let keys: Vec<f64> = keys.collect();
                verification.keys.push(keys.iter().map(|&key| key as f32).collect());
                let rows = (0..len).filter(|&i| open[i]);
                let mut best = contenders(rows.map(|i| ScoredRow { row: start + i, score: 0.0, key: keys[i] }));
                for one in &mut best {
                    one.score = rule.score(&numbers.candidate(one.row - start, noise_var));
                }
                verification.contenders.push(best);
            }
            verification
        };
        let buffer = || vec![0.0; BLOCK.min(pool.rows()) * dim];
        let blocks = self.blocks.par_iter_mut().enumerate().map_init(buffer, in_block).collect();
        Verification { decided, blocks }
    }
}

impl BlockColumns {
    /// Extends the columns to the laws.
    fn extend(&mut self, laws: &Laws<'_>, rows: &[f64], len: usize) {
        let missing = |law: &DualLaw<'_>, columns: &[f64]| columns.len() / len..law.len();
        let steps = missing(&laws.data, &self.data);
        let values = laws.data.values(steps.clone(), rows, len);
        laws.data.append(&values, len, &mut self.data);
        if let Some(joint) = &laws.joint {
            let others = missing(joint, &self.joint);
            // The joint law has observed everything that the law given D has observed, and the targets in addition.
            if others.len() == steps.len() {
                joint.append(&values, len, &mut self.joint);
            } else {
                joint.extend(joint.len(), rows, len, &mut self.joint);
            }
        }
    }
}

/// The numbers that a rule reads for a block's rows, at some step of a draft.
struct StepNumbers<'b> {
    len: usize,
    var: Vec<Variance>,
    joint_var: Vec<Variance>,
    /// Covariances with the targets, one column per target.
    covs: Vec<f64>,
    sq_cov: Vec<f64>,
    std_cov: Vec<f64>,
    /// Columns of the drafted picks.
    data: &'b [f64],
    joint: &'b [f64],
    target_columns: Option<&'b TargetColumns<'b>>,
}

impl<'b> StepNumbers<'b> {
    /// Computes the numbers of a block's rows before the draft.
    fn new(
        laws: &Laws<'_>,
        target_columns: Option<&'b TargetColumns<'b>>,
        rows: &[f64],
        len: usize,
        drafted: usize,
        block: &'b BlockColumns,
    ) -> Self {
        let before = laws.data.len() - drafted;
        let (before_draft, data) = block.data.split_at(before * len);
        let mut var = vec![Variance::ZERO; len];
        laws.data.scan_vars(rows, before_draft, &mut var);
        let (mut joint_var, mut joint) = (Vec::new(), &[][..]);
        if let Some(law) = &laws.joint {
            let (before_draft, drafted) = block.joint.split_at((law.len() - drafted) * len);
            joint_var.resize(len, Variance::ZERO);
            law.scan_vars(rows, before_draft, &mut joint_var);
            joint = drafted;
        }
        let covs = target_columns.map_or_else(Vec::new, |target_columns| {
            let whitened = MatRef::from_column_major_slice(
                &target_columns.whitened[..before * target_columns.count],
                target_columns.count,
                before,
            );
            laws.data.covs(rows, before_draft, target_columns.points, whitened.transpose())
        });
        Self { len, var, joint_var, covs, sq_cov: Vec::new(), std_cov: Vec::new(), data, joint, target_columns }
    }

    /// Conditions on a drafted pick.
    fn observe(&mut self, pick: usize) {
        let at = pick * self.len..(pick + 1) * self.len;
        let z = &self.data[at.clone()];
        subtract(&mut self.var, z);
        if !self.joint.is_empty() {
            subtract(&mut self.joint_var, &self.joint[at]);
        }
        if let Some(target_columns) = self.target_columns {
            for (c, covs) in target_columns.drafted(pick).iter().zip(self.covs.chunks_exact_mut(self.len)) {
                axpy(-c, z, covs);
            }
        }
    }

    /// Sums the covariances with the targets once `applied` drafted picks are made.
    fn measure(&mut self, applied: usize, wants: Wants) {
        let Some(target_columns) = self.target_columns else { return };
        let columns = self.covs.chunks_exact(self.len);
        if wants.sq_cov {
            self.sq_cov = vec![0.0; self.len];
            columns.clone().for_each(|covs| self.sq_cov.iter_mut().zip(covs).for_each(|(sum, c)| *sum += c * c));
        }
        if wants.std_cov {
            self.std_cov = vec![0.0; self.len];
            target_columns.inverse_stds[applied]
                .iter()
                .zip(columns)
                .for_each(|(&inverse, c)| axpy(inverse, c, &mut self.std_cov));
        }
    }

    fn is_negative(&self, noise_var: f64) -> bool {
        self.var.iter().chain(&self.joint_var).any(|var| var.is_negative(noise_var))
    }

    fn candidate(&self, i: usize, noise_var: f64) -> Candidate<'static> {
        let at = |list: &[f64]| list.get(i).copied().unwrap_or(0.0);
        let given_targets = self.joint_var.get(i).map_or(0.0, |given| given.value);
        candidate(self.var[i].value, given_targets, at(&self.sq_cov), at(&self.std_cov), noise_var)
    }
}

/// Subtracts z² from each row's variance.
fn subtract(vars: &mut [Variance], column: &[f64]) {
    vars.iter_mut().zip(column).for_each(|(var, z)| lower_variance(var, *z, 1.0));
}
