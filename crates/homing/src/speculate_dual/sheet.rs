//! All rows by their columns, and the pass that verifies a draft.

use faer::MatRef;
use rayon::prelude::*;

use super::Laws;
use crate::algebra::axpy;
use crate::choose::{Scored, contenders};
use crate::embeddings::BLOCK;
use crate::law::{Columns, DualLaw, Variance};
use crate::range::LEAST_VAR;
use crate::tracker::Targets;
use crate::{Candidate, Points, Rule, Wants};

/// The columns of a block of rows under the law given D and the picks, and given the targets too.
struct Block {
    data: Vec<f64>,
    joint: Vec<f64>,
}

/// All rows.
pub(super) struct Sheet<'a> {
    pool: Points<'a>,
    blocks: Vec<Block>,
}

/// The rows that may be best at every step of a draft.
pub(super) struct Verdict {
    /// Drafted picks that were decided before.
    decided: usize,
    blocks: Vec<Found>,
}

/// The same of one block, at the steps that are open.
#[derive(Default)]
struct Found {
    contenders: Vec<Vec<Scored>>,
    /// The rows' keys.
    keys: Vec<Vec<f32>>,
    /// Whether some variance is negative by more than rounding.
    negative: bool,
}

impl Verdict {
    /// Whether some variance is negative at any step.
    pub fn is_negative(&self) -> bool {
        self.blocks.iter().any(|block| block.negative)
    }

    /// The rows that may be best once `applied` drafted picks are made, in rising order.
    pub fn contenders(&self, applied: usize) -> Vec<Scored> {
        self.blocks.iter().flat_map(|block| &block.contenders[applied - self.decided]).copied().collect()
    }

    /// The `count` open rows with the largest keys once `applied` drafted picks are made, in rising order.
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
struct Aim<'t> {
    points: &'t [f64],
    count: usize,
    /// Their own columns, up to the end of the draft.
    whitened: Vec<f64>,
    /// 1/σ_a at every step of the draft; a target that is known already correlates with nothing.
    inverse_stds: Vec<Vec<f64>>,
}

impl<'t> Aim<'t> {
    fn new(targets: &'t Targets, law: &DualLaw<'_>, drafted: usize) -> Self {
        let (points, count) = (&targets.points[..], targets.vars.len());
        let mut whitened = Vec::new();
        law.extend(law.len(), points, count, &mut whitened);
        let mut vars = vec![NOTHING; count];
        let inverse_stds = (law.len() - drafted..=law.len()).map(|steps| {
            law.scan_vars(points, &whitened[..steps * count], &mut vars);
            vars.iter().map(|var| if var.value > LEAST_VAR { var.value.sqrt().recip() } else { 0.0 }).collect()
        });
        Self { points, count, inverse_stds: inverse_stds.collect(), whitened }
    }

    /// The column of a drafted pick.
    fn drafted(&self, pick: usize) -> &[f64] {
        let first = self.whitened.len() / self.count + 1 - self.inverse_stds.len();
        &self.whitened[(first + pick) * self.count..][..self.count]
    }
}

/// Picks that room is made for from the start: columns that grow leave holes in memory.
const ROOM: usize = 1024;

impl<'a> Sheet<'a> {
    /// No columns yet, and room for those of so many picks.
    pub fn new(pool: Points<'a>, laws: &Laws<'_>, picks: usize) -> Self {
        let room = |law: &DualLaw<'_>| Vec::with_capacity(BLOCK * (law.len() + picks.min(ROOM)));
        let block = |_| Block { data: room(&laws.data), joint: laws.joint.as_ref().map_or_else(Vec::new, room) };
        Self { pool, blocks: (0..pool.rows().div_ceil(BLOCK)).map(block).collect() }
    }

    fn len(&self, block: usize) -> usize {
        BLOCK.min(self.pool.rows() - block * BLOCK)
    }

    /// Takes back the last columns.
    pub fn forget(&mut self, count: usize) {
        for b in 0..self.blocks.len() {
            let cut = count * self.len(b);
            let Block { data, joint } = &mut self.blocks[b];
            data.truncate(data.len() - cut);
            joint.truncate(joint.len().saturating_sub(cut));
        }
    }

    /// The columns of some rows.
    pub fn gather(&self, rows: &[usize]) -> [Columns; 2] {
        let pick = |columns: fn(&Block) -> &[f64]| {
            let places: Vec<(&[f64], usize, usize)> = rows
                .iter()
                .map(|&row| (columns(&self.blocks[row / BLOCK]), row % BLOCK, self.len(row / BLOCK)))
                .collect();
            let steps = places.first().map_or(0, |(columns, _, len)| columns.len() / len);
            let of = |step: usize| places.iter().map(move |&(columns, at, len)| columns[step * len + at]);
            Columns((0..steps).flat_map(of).collect())
        };
        [pick(|block| &block.data), pick(|block| &block.joint)]
    }

    /// Brings the columns of all rows up to the laws, whose last steps are the draft, and scores the rows at every step of
    /// it that is not decided.
    pub fn verify(
        &mut self,
        laws: &Laws<'_>,
        targets: Option<&Targets>,
        draft: &[usize],
        decided: usize,
        open: &[bool],
        (rule, noise_var): (&dyn Rule, f64),
    ) -> Verdict {
        let wants = rule.wants();
        let aim = targets.map(|targets| Aim::new(targets, &laws.data, draft.len()));
        let (pool, dim) = (self.pool, self.pool.dim());
        let in_block = |buffer: &mut Vec<f64>, (b, block): (usize, &mut Block)| {
            let start = b * BLOCK;
            let mut open = open[start..pool.rows().min(start + BLOCK)].to_vec();
            let len = open.len();
            let rows = &mut buffer[..len * dim];
            pool.read(start..start + len, rows);
            block.extend(laws, rows, len);
            let mut numbers = Numbers::new(laws, aim.as_ref(), rows, len, draft.len(), block);
            let mut found = Found::default();
            for t in 0..=draft.len() {
                if t > 0 {
                    numbers.observe(t - 1);
                    let pick = draft[t - 1].wrapping_sub(start);
                    open.get_mut(pick).into_iter().for_each(|open| *open = false);
                }
                found.negative |= numbers.is_negative(noise_var);
                if t < decided {
                    continue;
                }
                numbers.measure(t, wants);
                let key = |i: usize| if open[i] { rule.key(&numbers.candidate(i, noise_var)) } else { f64::NAN };
                let keys = (0..len).map(key).map(|key| if key.is_nan() { f64::NEG_INFINITY } else { key });
                let keys: Vec<f64> = keys.collect();
                found.keys.push(keys.iter().map(|&key| key as f32).collect());
                let rows = (0..len).filter(|&i| open[i]);
                let mut best = contenders(rows.map(|i| Scored { row: start + i, score: 0.0, key: keys[i] }));
                for one in &mut best {
                    one.score = rule.score(&numbers.candidate(one.row - start, noise_var));
                }
                found.contenders.push(best);
            }
            found
        };
        let room = || vec![0.0; BLOCK.min(pool.rows()) * dim];
        let blocks = self.blocks.par_iter_mut().enumerate().map_init(room, in_block).collect();
        Verdict { decided, blocks }
    }
}

impl Block {
    /// Brings the columns up to the laws.
    fn extend(&mut self, laws: &Laws<'_>, rows: &[f64], len: usize) {
        let missing = |law: &DualLaw<'_>, columns: &[f64]| columns.len() / len..law.len();
        let steps = missing(&laws.data, &self.data);
        let values = laws.data.values(steps.clone(), rows, len);
        laws.data.append(&values, len, &mut self.data);
        if let Some(joint) = &laws.joint {
            let others = missing(joint, &self.joint);
            // All that the law given D has observed was observed under the other too, the targets beside it.
            if others.len() == steps.len() {
                joint.append(&values, len, &mut self.joint);
            } else {
                joint.extend(joint.len(), rows, len, &mut self.joint);
            }
        }
    }
}

/// What a rule reads of a block's rows, at some step of a draft.
struct Numbers<'b> {
    len: usize,
    var: Vec<Variance>,
    joint_var: Vec<Variance>,
    /// Covariances with the targets, a column a target.
    covs: Vec<f64>,
    sq_cov: Vec<f64>,
    std_cov: Vec<f64>,
    /// The drafted picks' columns.
    data: &'b [f64],
    joint: &'b [f64],
    aim: Option<&'b Aim<'b>>,
}

const NOTHING: Variance = Variance { value: 0.0, scale: 0.0 };

impl<'b> Numbers<'b> {
    /// Before the draft.
    fn new(
        laws: &Laws<'_>,
        aim: Option<&'b Aim<'b>>,
        rows: &[f64],
        len: usize,
        drafted: usize,
        block: &'b Block,
    ) -> Self {
        let before = laws.data.len() - drafted;
        let (known, data) = block.data.split_at(before * len);
        let mut var = vec![NOTHING; len];
        laws.data.scan_vars(rows, known, &mut var);
        let (mut joint_var, mut joint) = (Vec::new(), &[][..]);
        if let Some(law) = &laws.joint {
            let (known, drafted) = block.joint.split_at((law.len() - drafted) * len);
            joint_var.resize(len, NOTHING);
            law.scan_vars(rows, known, &mut joint_var);
            joint = drafted;
        }
        let covs = aim.map_or_else(Vec::new, |aim| {
            let whitened = MatRef::from_column_major_slice(&aim.whitened[..before * aim.count], aim.count, before);
            laws.data.covs(rows, known, aim.points, whitened.transpose())
        });
        Self { len, var, joint_var, covs, sq_cov: Vec::new(), std_cov: Vec::new(), data, joint, aim }
    }

    /// Takes in a drafted pick.
    fn observe(&mut self, pick: usize) {
        let at = pick * self.len..(pick + 1) * self.len;
        let z = &self.data[at.clone()];
        subtract(&mut self.var, z);
        if !self.joint.is_empty() {
            subtract(&mut self.joint_var, &self.joint[at]);
        }
        if let Some(aim) = self.aim {
            for (c, covs) in aim.drafted(pick).iter().zip(self.covs.chunks_exact_mut(self.len)) {
                axpy(-c, z, covs);
            }
        }
    }

    /// Sums up the covariances with the targets once `applied` drafted picks are made.
    fn measure(&mut self, applied: usize, wants: Wants) {
        let Some(aim) = self.aim else { return };
        let columns = self.covs.chunks_exact(self.len);
        if wants.sq_cov {
            self.sq_cov = vec![0.0; self.len];
            columns.clone().for_each(|covs| self.sq_cov.iter_mut().zip(covs).for_each(|(sum, c)| *sum += c * c));
        }
        if wants.std_cov {
            self.std_cov = vec![0.0; self.len];
            aim.inverse_stds[applied].iter().zip(columns).for_each(|(&inverse, c)| axpy(inverse, c, &mut self.std_cov));
        }
    }

    fn is_negative(&self, noise_var: f64) -> bool {
        self.var.iter().chain(&self.joint_var).any(|var| var.is_negative(noise_var))
    }

    fn candidate(&self, i: usize, noise_var: f64) -> Candidate<'static> {
        let var = Some(self.var[i].value).filter(|&var| var > LEAST_VAR).unwrap_or(0.0);
        Candidate {
            var,
            // Conditioning never adds variance; rounding may.
            var_given_targets: self.joint_var.get(i).map_or(0.0, |given| given.value.clamp(0.0, var)),
            sq_cov: self.sq_cov.get(i).copied().unwrap_or(0.0),
            std_cov: self.std_cov.get(i).copied().unwrap_or(0.0),
            noise_var,
            ..Candidate::default()
        }
    }
}

/// v −= z² for every row.
fn subtract(vars: &mut [Variance], column: &[f64]) {
    vars.iter_mut().zip(column).for_each(|(var, z)| var.value -= z * z);
}
