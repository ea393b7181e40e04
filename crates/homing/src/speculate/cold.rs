//! All rows, with their numbers in f32 and a bound on how wrong those can be.
//!
//! With k = ‖φ‖² a row's own, every bound has the form (error) · k: a product of f32 vectors summed in runs of [`RUN`] terms
//! is off by at most γ‖φ‖‖w‖, γ = (RUN + d/RUN + 3)·2⁻²⁴ (Higham 2002, §3.1), and |Cov(f_x, f_j)| ≤ √(k · Var f_j).

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::hot::Hot;
use super::{Second, State, Step};
use crate::algebra::norm_sq;
use crate::embeddings::BLOCK;
use crate::law::LinearLaw;
use crate::rules::Bounded;
use crate::{Embeddings, Rule};

/// Terms that are summed in f32 before they join a longer sum.
const RUN: usize = 128;

/// Half an ulp of f32 at one.
const UNIT: f64 = 1.0 / (1u64 << 24) as f64;

/// States kept within a draft, to fall back on when it is cut.
const CHECKPOINTS: usize = 4;

/// Rows that one pass may call to f64.
const CHALLENGERS: usize = 16384;

/// Errors of a block's numbers, as shares of ‖φ‖².
#[derive(Debug, Clone, Copy, Default)]
struct Errors {
    var: f64,
    second: f64,
}

/// One block of rows.
struct Block {
    norm_sq: Vec<f32>,
    /// The numbers at the start of the draft, then at the checkpoints.
    var: [Vec<f32>; CHECKPOINTS + 1],
    second: [Vec<f32>; CHECKPOINTS + 1],
}

/// All rows.
pub(crate) struct Cold {
    blocks: Vec<Block>,
    /// At the start of the draft, then at the checkpoints.
    errors: [Errors; CHECKPOINTS + 1],
    /// Drafted picks applied at each checkpoint.
    applied: [usize; CHECKPOINTS + 1],
    fresh: Errors,
    dim: usize,
}

/// Rows whose score may reach a drafted pick's.
pub(crate) struct Challenge {
    pub rows: Vec<usize>,
    /// Decisions before this one have all of their challengers in `rows`.
    pub sound: usize,
}

fn gamma(dim: usize) -> f64 {
    1.01 * UNIT * (dim.min(RUN) + dim.div_ceil(RUN) + 3) as f64
}

impl Cold {
    pub fn new(pool: Embeddings<'_>, norms: &[f32], state: &mut State) -> Self {
        let blocks = norms.chunks(BLOCK).map(|norms| Block {
            norm_sq: norms.to_vec(),
            var: Default::default(),
            second: Default::default(),
        });
        let mut cold = Self {
            blocks: blocks.collect(),
            errors: Default::default(),
            applied: Default::default(),
            fresh: Errors::default(),
            dim: pool.dim(),
        };
        cold.restart(pool, state);
        cold
    }

    /// Computes all numbers from nothing; the laws must be folded into their bases.
    pub fn restart(&mut self, pool: Embeddings<'_>, state: &mut State) {
        let dim = self.dim;
        let (data_basis, data_shrink) = state.data.base();
        let joint = state.joint.as_ref().map(LinearLaw::base);
        // What the second number is made of beside the joint law: VTL's root, or CTL's one functional.
        let root = match state.targets.as_ref().filter(|_| state.wants.sq_cov) {
            Some(targets) => state.data.root_of(&targets.points),
            None => state.standardised().into_iter().collect(),
        };
        let squared = state.wants.sq_cov;
        let ranks = (data_shrink.len(), joint.as_ref().map_or(0, |(_, shrink)| shrink.len()), root.len());
        let mut probes = Mat::<f32>::zeros(dim, ranks.0 + ranks.1 + ranks.2);
        for j in 0..ranks.0 {
            (0..dim).for_each(|i| probes[(i, j)] = data_basis[(i, j)] as f32);
        }
        if let Some((basis, shrink)) = &joint {
            for j in 0..shrink.len() {
                (0..dim).for_each(|i| probes[(i, ranks.0 + j)] = basis[(i, j)] as f32);
            }
        }
        for (j, column) in root.iter().enumerate() {
            (0..dim).for_each(|i| probes[(i, ranks.0 + ranks.1 + j)] = column[i] as f32);
        }
        let gamma = gamma(dim);
        // Σ(1 − s)c² with c off by γ‖φ‖: 2γ‖φ‖Σ|c| + rγ²‖φ‖², and Σ|c| ≤ √r‖φ‖.
        let projected = |rank: usize| {
            let r = rank as f64;
            2.0 * gamma * r.sqrt() + r * gamma * gamma + 4.0 * UNIT
        };
        let root_sq: f64 = root.iter().map(|column| norm_sq(column)).sum();
        let second =
            if root.is_empty() { projected(ranks.1) } else { (2.0 * gamma + gamma * gamma + 4.0 * UNIT) * root_sq };
        self.fresh = Errors { var: projected(ranks.0), second };
        self.errors[0] = self.fresh;
        self.applied = Default::default();
        let has_joint = joint.is_some();
        let joint_shrink = joint.map_or_else(Vec::new, |(_, shrink)| shrink.to_vec());
        let data_shrink = data_shrink.to_vec();
        self.each(pool, probes.as_ref(), |_, block, products| {
            let len = block.norm_sq.len();
            let left = |i: usize, from: usize, shrink: &[f64]| {
                let known: f64 = shrink
                    .iter()
                    .enumerate()
                    .map(|(j, s)| (1.0 - s) * f64::from(products[(i, from + j)]).powi(2))
                    .sum();
                (f64::from(block.norm_sq[i]) - known) as f32
            };
            block.var[0] = (0..len).map(|i| left(i, 0, &data_shrink)).collect();
            if has_joint {
                block.second[0] = (0..len).map(|i| left(i, ranks.0, &joint_shrink)).collect();
            } else if ranks.2 > 0 {
                let of = |i: usize, j: usize| f64::from(products[(i, ranks.0 + ranks.1 + j)]);
                let sum = |i: usize| (0..ranks.2).map(|j| of(i, j).powi(2)).sum::<f64>();
                block.second[0] = (0..len).map(|i| (if squared { sum(i) } else { of(i, 0) }) as f32).collect();
            }
        });
    }

    /// Multiplies every block of rows with the probes and hands it over, in parallel.
    fn each(
        &mut self,
        pool: Embeddings<'_>,
        probes: MatRef<'_, f32>,
        f: impl Fn(usize, &mut Block, MatRef<'_, f32>) + Sync,
    ) {
        let dim = self.dim;
        self.blocks.par_iter_mut().enumerate().for_each_init(
            || (vec![0f32; BLOCK * dim], Mat::<f32>::zeros(BLOCK, probes.ncols())),
            |(buffer, products), (b, block)| {
                let len = block.norm_sq.len();
                let rows = pool.block_f32(b * BLOCK..b * BLOCK + len, buffer);
                let rows = MatRef::from_row_major_slice(rows, len, dim);
                for k in (0..dim).step_by(RUN) {
                    let run = RUN.min(dim - k);
                    let accumulate = if k == 0 { Accum::Replace } else { Accum::Add };
                    let out: MatMut<'_, f32> = products.as_mut().subrows_mut(0, len);
                    matmul(out, accumulate, rows.subcols(k, run), probes.subrows(k, run), 1.0, Par::Seq);
                }
                f(b, block, products.as_ref().subrows(0, len));
            },
        );
    }

    /// Applies the pending picks and the draft to all rows, noting at each decision the rows that might have won it.
    #[allow(clippy::too_many_arguments)]
    pub fn verify(
        &mut self,
        pool: Embeddings<'_>,
        rule: &dyn Rule,
        state: &State,
        pending: &[Step],
        draft: &[Step],
        open: &[bool],
        hot: &Hot,
    ) -> Challenge {
        let all: Vec<&Step> = pending.iter().chain(draft).collect();
        let after = state.standardised();
        let wide = all.first().map_or(1, |step| 1 + usize::from(step.second.weights().is_some()));
        let mut probes = Mat::<f32>::zeros(self.dim, wide * all.len() + usize::from(after.is_some()));
        if let Some(after) = &after {
            (0..self.dim).for_each(|i| probes[(i, wide * all.len())] = after[i] as f32);
        }
        for (j, step) in all.iter().enumerate() {
            for (column, weights) in [Some(&step.data[..]), step.second.weights()].into_iter().flatten().enumerate() {
                (0..self.dim).for_each(|i| probes[(i, wide * j + column)] = weights[i] as f32);
            }
        }
        // The errors before each decision, and after the last.
        let mut errors = vec![self.errors[0]];
        for step in &all {
            errors.push(grown(*errors.last().expect("starts with one"), step, self.dim));
        }
        let stride = draft.len().div_ceil(CHECKPOINTS).max(1);
        self.errors[0] = errors[pending.len()];
        self.applied = [0; CHECKPOINTS + 1];
        for c in 1..=CHECKPOINTS {
            self.applied[c] = (c * stride).min(draft.len());
            self.errors[c] = errors[pending.len() + self.applied[c]];
        }
        let (errors, applied) = (&errors, self.applied);
        let mut watched = open.to_vec();
        hot.rows().iter().for_each(|&row| watched[row] = false);
        let found = Mutex::new(Vec::new());
        let counts: Vec<AtomicUsize> = draft.iter().map(|_| AtomicUsize::new(0)).collect();
        let (gamma, wants) = (gamma(self.dim), state.wants);
        self.each(pool, probes.as_ref(), |b, block, products| {
            let at = |j: usize| products.col(j).try_as_col_major().expect("a column").as_slice();
            let column = |j: usize, which: usize| at(wide * j + which);
            // What CTL reads once the first j picks are applied.
            let covs = |j: usize| at(if j < all.len() { wide * j + 1 } else { wide * all.len() });
            let mut var = std::mem::take(&mut block.var[0]);
            let mut second = std::mem::take(&mut block.second[0]);
            for (j, step) in pending.iter().enumerate() {
                apply(step, column(j, 0), (wide > 1).then(|| column(j, 1)), &mut var, &mut second);
            }
            if wants.std_cov {
                second.copy_from_slice(covs(pending.len()));
            }
            keep_copy(&mut block.var[0], &var);
            keep_copy(&mut block.second[0], &second);
            let mut hits: Vec<usize> = Vec::new();
            let mut checkpoint = 1;
            for (t, step) in draft.iter().enumerate() {
                let j = pending.len() + t;
                let other = (wide > 1).then(|| column(j, 1));
                if t < sound(&counts) {
                    let std_weights = match &step.second {
                        Second::Standardised { weights } => norm_sq(weights).sqrt(),
                        _ => 0.0,
                    };
                    let exact = bounded(state, &var, &second, &block.norm_sq);
                    let bounded = Bounded {
                        var_error: errors[j].var,
                        second_error: errors[j].second,
                        std_cov_error: gamma * std_weights,
                        ..exact
                    };
                    let bar = step.key - crate::choose::TIE * step.key.abs();
                    hits.clear();
                    rule.reach(bar, &bounded, &mut hits);
                    hits.retain(|&i| watched[b * BLOCK + i]);
                    if !hits.is_empty() {
                        counts[t].fetch_add(hits.len(), Ordering::Relaxed);
                        let mut found = found.lock().expect("no panic while it is held");
                        found.extend(hits.iter().map(|&i| (t, b * BLOCK + i)));
                    }
                }
                apply(step, column(j, 0), other, &mut var, &mut second);
                if wants.std_cov {
                    second.copy_from_slice(covs(j + 1));
                }
                if t + 1 == applied[checkpoint] {
                    keep_copy(&mut block.var[checkpoint], &var);
                    keep_copy(&mut block.second[checkpoint], &second);
                    checkpoint = (checkpoint + 1).min(CHECKPOINTS);
                }
            }
        });
        let sound = sound(&counts);
        let found = found.into_inner().expect("no panic while it is held").into_iter();
        let mut rows: Vec<usize> = found.filter(|&(t, _)| t < sound).map(|(_, row)| row).collect();
        rows.sort_unstable();
        rows.dedup();
        Challenge { rows, sound }
    }

    /// Keeps the numbers after at most `agreed` drafted picks; how many of them are applied.
    pub fn keep(&mut self, agreed: usize) -> usize {
        let best = (0..=CHECKPOINTS).rev().find(|&c| self.applied[c] <= agreed).expect("none are applied at the start");
        // Several checkpoints coincide when the draft is short; the first of them was written.
        let best = (0..=best).find(|&c| self.applied[c] == self.applied[best]).expect("itself");
        if best > 0 {
            for block in &mut self.blocks {
                block.var.swap(0, best);
                block.second.swap(0, best);
            }
            self.errors[0] = self.errors[best];
        }
        self.applied[best]
    }

    pub fn error_has_grown(&self) -> bool {
        self.errors[0].var > 3.0 * self.fresh.var || self.errors[0].second > 3.0 * self.fresh.second
    }

    /// The `count` open rows with the largest keys, before the pending picks, with their numbers as f32 has them.
    pub fn best(&self, rule: &dyn Rule, state: &State, open: &[bool], count: usize) -> Vec<(usize, f32, f32)> {
        let in_block = |(b, block): (usize, &Block)| {
            let bounded = bounded(state, &block.var[0], &block.second[0], &block.norm_sq);
            let mut keys = Vec::with_capacity(block.norm_sq.len());
            rule.keys(&bounded, &mut keys);
            let rows = (b * BLOCK) as u32..;
            keys.into_iter().zip(rows).filter(|&(_, row)| open[row as usize]).collect::<Vec<_>>()
        };
        let mut keys: Vec<(f32, u32)> = self.blocks.par_iter().enumerate().flat_map_iter(in_block).collect();
        let count = count.min(keys.len());
        if count > 0 && count < keys.len() {
            keys.select_nth_unstable_by(count - 1, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        let numbers = |&(_, row): &(f32, u32)| {
            let (block, i) = (&self.blocks[row as usize / BLOCK], row as usize % BLOCK);
            (row as usize, block.var[0][i], block.second[0].get(i).copied().unwrap_or(0.0))
        };
        let mut best: Vec<_> = keys[..count].iter().map(numbers).collect();
        best.sort_unstable_by_key(|&(row, _, _)| row);
        best
    }
}

/// The numbers of a block as a rule reads them, without errors.
fn bounded<'b>(state: &State, var: &'b [f32], second: &'b [f32], norm_sq: &'b [f32]) -> Bounded<'b> {
    // CTL's second number is its covariance with the targets.
    let (second, std_cov): (&[f32], &[f32]) = if state.wants.std_cov { (&[], second) } else { (second, &[]) };
    Bounded {
        var,
        second,
        std_cov,
        norm_sq,
        var_error: 0.0,
        second_error: 0.0,
        std_cov_error: 0.0,
        noise_var: state.noise_var,
        second_is_sum: state.wants.sq_cov,
    }
}

/// How many decisions can be settled within the limit on challengers. Counts only grow, so a decision that is passed over
/// once is passed over at the end: the answer does not depend on threads.
fn sound(counts: &[AtomicUsize]) -> usize {
    let mut total = 0;
    let within = |count: &AtomicUsize| {
        total += count.load(Ordering::Relaxed);
        total <= CHALLENGERS
    };
    counts.iter().map(within).take_while(|&within| within).count()
}

fn keep_copy(to: &mut Vec<f32>, from: &[f32]) {
    to.clear();
    to.extend_from_slice(from);
}

/// The errors after one more pick.
fn grown(errors: Errors, step: &Step, dim: usize) -> Errors {
    let gamma = gamma(dim);
    // g² with g off by γ‖φ‖‖w‖ and |g| ≤ √(k · Var f): 2√Var·γ‖w‖ + γ²‖w‖², as a share of k.
    let square = |weights: &[f64], var: f64| {
        let off = gamma * norm_sq(weights).sqrt();
        2.0 * var.max(0.0).sqrt() * off + off * off
    };
    let var = errors.var + square(&step.data, step.var) / step.total + 5.0 * UNIT;
    let second = match &step.second {
        Second::None | Second::Standardised { .. } => 0.0,
        Second::Joint { weights, total, var } => square(weights, *var) / total + 5.0 * UNIT,
        Second::Squares { weights, norm_sq: c } => {
            let (g, g_off) = (step.var.max(0.0).sqrt(), gamma * norm_sq(&step.data).sqrt());
            let (h, h_off) = (norm_sq(weights).sqrt(), gamma * norm_sq(weights).sqrt());
            let cross = 2.0 * (g * h_off + h * g_off + g_off * h_off) / step.total;
            let own = (2.0 * g * g_off + g_off * g_off) * c / (step.total * step.total);
            // The terms' own rounding, and that of the sum: q ≤ k · Σ_a Var f_a.
            let terms = 2.0 * g * h / step.total + g * g * c / (step.total * step.total);
            cross + own + 9.0 * UNIT * terms + UNIT * step.target_var
        }
    };
    Errors { var, second: errors.second + second }
}

/// Takes a pick into the numbers of a block.
fn apply(step: &Step, first: &[f32], other: Option<&[f32]>, var: &mut [f32], second: &mut [f32]) {
    let inverse = (1.0 / step.total) as f32;
    match (&step.second, other) {
        (Second::Joint { total, .. }, Some(other)) => {
            let joint_inverse = (1.0 / total) as f32;
            for (u, g) in second.iter_mut().zip(other) {
                *u -= (g * joint_inverse) * g;
            }
        }
        (Second::Squares { norm_sq, .. }, Some(other)) => {
            let norm_sq = *norm_sq as f32;
            for ((q, g), h) in second.iter_mut().zip(first).zip(other) {
                let share = g * inverse;
                *q += share * (share * norm_sq - 2.0 * h);
            }
        }
        _ => {}
    }
    for (v, g) in var.iter_mut().zip(first) {
        *v -= (g * inverse) * g;
    }
}
