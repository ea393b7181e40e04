//! All rows, with their numbers and bounds on the errors of these numbers.
//!
//! With k = ‖φ‖² of a row, each bound has the form (error) · k. A product ĝ of a row with a pick's functional w is off by
//! at most γ‖φ‖‖w‖ (see [`gamma`]). Each pick lowers a variance by g²/p, so Σ g²/p ≤ k. By the Cauchy–Schwarz inequality,
//! all errors together are at most Σ (ĝ² − g²)/p ≤ (2√s + s) · k with s = Σ γ²‖w‖²/p: they grow with the square root of the
//! number of picks.

use std::borrow::Cow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::block_steps::{BlockSteps, ColdNumbers, Probes, Products, VtlRoot, gamma};
use super::{PickStep, SecondNumber, SelectionState};
use crate::base::algebra::norm_sq;
use crate::data::embeddings::BLOCK;
use crate::engine::order::TIE;
use crate::engine::real::Real;
use crate::law::LinearLaw;
use crate::rules::BlockBounds;
use crate::{Embeddings, Rule};

/// Number of states stored within a draft, to fall back on when it is cut.
const CHECKPOINTS: usize = 4;

/// Number of rows that one pass may recompute in f64.
const CHALLENGERS: usize = 16384;

/// Errors of a row's numbers, as shares of ‖φ‖².
#[derive(Debug, Clone, Copy, Default)]
struct NumberErrors {
    var: ErrorBound,
    second: ErrorBound,
}

/// The components of an error.
#[derive(Debug, Clone, Copy, Default)]
struct ErrorBound {
    /// Σ γ²‖w‖²/p over the subtracted squares.
    squares: f64,
    /// All other contributions.
    rest: f64,
}

impl ErrorBound {
    fn fresh(rest: f64) -> Self {
        Self { squares: 0.0, rest }
    }

    fn total(self) -> f64 {
        2.0 * self.squares.sqrt() + self.squares + self.rest
    }
}

/// One block of rows.
struct ColdBlock<'a, T: Real> {
    norm_sq: Cow<'a, [T]>,
    /// The numbers of the rows at the start of the draft, then at the checkpoints.
    numbers: [ColdNumbers<T>; CHECKPOINTS + 1],
}

/// All rows.
pub(crate) struct ColdRows<'a, T: Real> {
    blocks: Vec<ColdBlock<'a, T>>,
    /// The errors at the start of the draft, then at the checkpoints.
    errors: [NumberErrors; CHECKPOINTS + 1],
    /// Number of drafted picks that are applied at each checkpoint.
    applied: [usize; CHECKPOINTS + 1],
    /// The checkpoints that hold numbers after picks that were dropped from the last draft.
    later: Vec<usize>,
    dim: usize,
    probes: usize,
}

/// Rows whose score may reach that of a drafted pick.
pub(crate) struct Challengers {
    pub rows: Vec<usize>,
    /// `rows` contains all challengers of the decisions before this one.
    pub complete: usize,
}

impl<'a, T: Real> ColdRows<'a, T> {
    pub fn new(pool: Embeddings<'_>, norms: Cow<'a, [T]>, state: &SelectionState) -> Self {
        let block = |norm_sq: Cow<'a, [T]>| ColdBlock { norm_sq, numbers: Default::default() };
        let blocks = match norms {
            Cow::Borrowed(norms) => norms.chunks(BLOCK).map(|norms| block(Cow::Borrowed(norms))).collect(),
            Cow::Owned(norms) => norms.chunks(BLOCK).map(|norms| block(Cow::Owned(norms.to_vec()))).collect(),
        };
        let mut cold = Self {
            blocks,
            errors: Default::default(),
            applied: Default::default(),
            later: Vec::new(),
            dim: pool.dim(),
            probes: 0,
        };
        cold.start(pool, state);
        cold
    }

    /// Returns the number of probes with which every row was multiplied so far.
    pub fn probes(&self) -> usize {
        self.probes
    }

    /// Computes all numbers from scratch. The laws must be folded into their bases.
    fn start(&mut self, pool: Embeddings<'_>, state: &SelectionState) {
        let dim = self.dim;
        let (data, data_shrink) = columns(&state.data);
        let (joint, joint_shrink) = state.joint.as_ref().map_or_else(Default::default, columns);
        let (root, standardised) = (VtlRoot::of(state), state.standardised());
        let sums = root.as_ref().map_or(&[][..], |root| &root.columns);
        let all = data.iter().chain(&joint).chain(sums).chain(&standardised);
        let probes = Probes::new(dim, all.map(Vec::as_slice));
        self.probes += probes.count();
        let gamma = gamma::<T>(dim);
        // Σ weight·c² with c off by γ‖φ‖: the error is at most the largest weight times 2γ‖φ‖Σ|c| + rγ²‖φ‖², and Σ|c| ≤
        // √r‖φ‖.
        let projected = |shrink: &[f64]| {
            let (r, most) = (shrink.len() as f64, largest_weight(shrink, dim));
            ErrorBound::fresh(most * (2.0 * gamma * r.sqrt() + r * gamma * gamma + 4.0 * T::UNIT))
        };
        let second =
            root.as_ref().map_or_else(|| projected(&joint_shrink), |root| ErrorBound::fresh(root.error::<T>(dim)));
        self.errors[0] = NumberErrors { var: projected(&data_shrink), second };
        self.applied = Default::default();
        self.each(
            pool,
            || probes.room(),
            |_, rows, products, block| {
                probes.multiply(rows, products);
                let remaining = |from: usize, shrink: &[f64]| -> Vec<T> {
                    let len = block.norm_sq.len();
                    if shrink.len() == dim {
                        return products
                            .squares(from, shrink.iter().copied(), len)
                            .iter()
                            .map(|&var| T::of(var))
                            .collect();
                    }
                    let explained = products.squares(from, shrink.iter().map(|s| 1.0 - s), len);
                    block.norm_sq.iter().zip(explained).map(|(&whole, part)| T::of(whole.get() - part)).collect()
                };
                let mut numbers = ColdNumbers { var: remaining(0, &data_shrink), ..ColdNumbers::default() };
                if !joint.is_empty() {
                    numbers.second = remaining(data.len(), &joint_shrink);
                } else if let Some(root) = &root {
                    root.sum(products, data.len(), &mut numbers);
                } else if standardised.is_some() {
                    numbers.second = products.of(data.len(), block.norm_sq.len()).to_vec();
                }
                block.numbers[0] = numbers;
            },
        );
    }

    /// Calls `f` for each block with its rows, in parallel.
    fn each(
        &mut self,
        pool: Embeddings<'_>,
        room: impl Fn() -> Products<T> + Sync,
        f: impl Fn(usize, &[T], &mut Products<T>, &mut ColdBlock<'a, T>) + Sync,
    ) {
        let dim = self.dim;
        self.blocks.par_iter_mut().enumerate().for_each_init(
            || (vec![T::default(); BLOCK.min(pool.rows()) * dim], room()),
            |(buffer, products), (b, block)| {
                let rows = T::block(pool, b * BLOCK..b * BLOCK + block.norm_sq.len(), buffer);
                f(b, rows, products, block);
            },
        );
    }

    /// Applies the pending picks and the draft to all rows. At each decision, collects the rows `outside` the draft that
    /// might have won it. `state` is the state after the draft. If a `root` of the state before the draft is given, VTL's
    /// sums are recomputed there.
    pub fn verify(
        &mut self,
        pool: Embeddings<'_>,
        rule: &dyn Rule,
        state: &SelectionState,
        (pending, draft): (&[PickStep], &[PickStep]),
        outside: impl Fn(usize, usize) -> bool + Sync,
        root: Option<VtlRoot>,
    ) -> Challengers {
        let first = pending.len();
        // The errors before each decision, and after the last.
        let mut errors = vec![self.errors[0]];
        for (j, step) in pending.iter().chain(draft).enumerate() {
            let mut now = *errors.last().expect("the list starts with one element");
            if let Some(root) = root.as_ref().filter(|_| j == first) {
                now.second = ErrorBound::fresh(root.error::<T>(self.dim));
                errors[first] = now;
            }
            errors.push(grow_errors::<T>(now, step, self.dim));
        }
        let block_steps = BlockSteps::new(self.dim, pending.iter().chain(draft), state, root.map(|root| (first, root)));
        self.probes += block_steps.probe_count();
        let stride = draft.len().div_ceil(CHECKPOINTS).max(1);
        for c in 0..=CHECKPOINTS {
            self.applied[c] = (c * stride).min(draft.len());
            self.errors[c] = errors[first + self.applied[c]];
        }
        let (errors, applied) = (&errors, self.applied);
        let found = Mutex::new(Vec::new());
        let counts: Vec<AtomicUsize> = draft.iter().map(|_| AtomicUsize::new(0)).collect();
        let gamma = gamma::<T>(self.dim);
        self.each(
            pool,
            || block_steps.room(),
            |b, rows, products, block| {
                let mut numbers = std::mem::take(&mut block.numbers[0]);
                let mut hits: Vec<usize> = Vec::new();
                let mut checkpoint = 0;
                block_steps.apply(rows, products, &mut numbers, |j, numbers| {
                    let Some(t) = j.checked_sub(first) else { return };
                    if checkpoint <= CHECKPOINTS && t == applied[checkpoint] {
                        block.numbers[checkpoint].copy(numbers);
                        checkpoint += 1;
                    }
                    let Some(step) = draft.get(t).filter(|_| t < complete_decisions(&counts)) else { return };
                    let std_weights = match &step.second {
                        SecondNumber::Standardised { weights } => norm_sq(weights).sqrt(),
                        _ => 0.0,
                    };
                    let bounded = BlockBounds {
                        var_error: errors[j].var.total(),
                        second_error: errors[j].second.total(),
                        std_cov_error: gamma * std_weights,
                        second_errors: &numbers.second_error,
                        ..bounded(state, numbers, &block.norm_sq)
                    };
                    let bar = step.key - TIE * step.key.abs();
                    if !rule.may_reach((bar - 1e-5 * bar.abs()) as f32, &bounded) {
                        return;
                    }
                    hits.clear();
                    rule.reach(bar, &bounded, &mut hits);
                    hits.retain(|&i| outside(b * BLOCK + i, t));
                    if !hits.is_empty() {
                        counts[t].fetch_add(hits.len(), Ordering::Relaxed);
                        let mut found = found.lock().expect("no thread panics while it holds the lock");
                        found.extend(hits.iter().map(|&i| (t, b * BLOCK + i)));
                    }
                });
                block.numbers[0].second_error = numbers.second_error;
            },
        );
        let complete = complete_decisions(&counts);
        let found = found.into_inner().expect("no thread panics while it holds the lock").into_iter();
        let mut rows: Vec<usize> = found.filter(|&(t, _)| t < complete).map(|(_, row)| row).collect();
        rows.sort_unstable();
        rows.dedup();
        Challengers { rows, complete }
    }

    /// Keeps the numbers after at most `agreed` drafted picks. Returns how many of them are applied.
    pub fn keep(&mut self, agreed: usize) -> usize {
        let best =
            (0..=CHECKPOINTS).rev().find(|&c| self.applied[c] <= agreed).expect("the first checkpoint has no picks");
        // If the draft is short, several checkpoints coincide, and only the first of them was written.
        let best = (0..=best).find(|&c| self.applied[c] == self.applied[best]).expect("the checkpoint itself matches");
        if best > 0 {
            for block in &mut self.blocks {
                block.numbers.swap(0, best);
                block.numbers[0].second_error = std::mem::take(&mut block.numbers[best].second_error);
            }
            self.errors[0] = self.errors[best];
        }
        let is_later = |c: &usize| self.applied[*c] > self.applied[c - 1].max(agreed);
        self.later = (best + 1..=CHECKPOINTS).filter(is_later).collect();
        self.applied[best]
    }

    /// Returns open rows with the largest keys before the pending picks, with their numbers.
    ///
    /// If the last draft was cut, half of the rows are those with the largest keys at its later checkpoints. Most of the
    /// dropped picks will be made after all, and rows that win after them may rank low before.
    pub fn best(
        &self,
        rule: &dyn Rule,
        state: &SelectionState,
        open: &[bool],
        count: usize,
    ) -> (Vec<usize>, ColdNumbers<T>) {
        let later = if self.later.is_empty() { 0 } else { count / 2 / self.later.len() };
        let mut rows = self.largest(rule, state, open, (0, count - later * self.later.len()));
        for &checkpoint in &self.later {
            rows.extend(self.largest(rule, state, open, (checkpoint, later)));
        }
        rows.sort_unstable();
        rows.dedup();
        let mut numbers = ColdNumbers::default();
        for &row in &rows {
            let (from, i) = (&self.blocks[row / BLOCK].numbers[0], row % BLOCK);
            numbers.var.push(from.var[i]);
            numbers.second.extend(from.second.get(i));
        }
        (rows, numbers)
    }

    /// Returns the `count` open rows with the largest keys at a checkpoint, and some that tie with the last of them.
    fn largest(
        &self,
        rule: &dyn Rule,
        state: &SelectionState,
        open: &[bool],
        (checkpoint, count): (usize, usize),
    ) -> Vec<usize> {
        let mut keys = vec![f32::NEG_INFINITY; open.len()];
        keys.par_chunks_mut(BLOCK).zip(&self.blocks).zip(open.par_chunks(BLOCK)).for_each(|((keys, block), open)| {
            let mut found = Vec::with_capacity(keys.len());
            rule.keys(&bounded(state, &block.numbers[checkpoint], &block.norm_sq), &mut found);
            let all = keys.iter_mut().zip(found).zip(open);
            all.filter(|(_, open)| **open).for_each(|((key, found), _)| *key = found);
        });
        let bar = (0 < count && count < keys.len()).then(|| {
            let mut order = keys.clone();
            *order.select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a)).1
        });
        let reach = |row: &usize| open[*row] && bar.is_none_or(|bar| keys[*row].total_cmp(&bar).is_ge());
        // Many rows may have the same key as the bar.
        (0..open.len()).filter(reach).take(2 * count).collect()
    }
}

/// Returns the largest weight of a square in a variance: of the remaining part if V spans everything, otherwise of the
/// removed part.
fn largest_weight(shrink: &[f64], dim: usize) -> f64 {
    if shrink.len() == dim { shrink.iter().copied().fold(0.0, f64::max) } else { 1.0 }
}

/// Returns the columns of V of a folded law, and the variances along them.
fn columns(law: &LinearLaw) -> (Vec<Vec<f64>>, Vec<f64>) {
    let (basis, shrink) = law.base();
    let column = |j: usize| (0..basis.nrows()).map(|i| basis[(i, j)]).collect();
    ((0..shrink.len()).map(column).collect(), shrink.to_vec())
}

/// Returns the numbers of some rows as a rule reads them, without errors.
pub(super) fn bounded<'b, T: Real>(
    state: &SelectionState,
    numbers: &'b ColdNumbers<T>,
    norm_sq: &'b [T],
) -> BlockBounds<'b> {
    // CTL's second number is its covariance with the targets.
    let (second, std_cov): (&[T], &[T]) =
        if state.wants.std_cov { (&[], &numbers.second) } else { (&numbers.second, &[]) };
    BlockBounds {
        var: T::view(&numbers.var),
        second: T::view(second),
        std_cov: T::view(std_cov),
        norm_sq: T::view(norm_sq),
        second_errors: &[],
        var_error: 0.0,
        second_error: 0.0,
        std_cov_error: 0.0,
        noise_var: state.noise_var,
        second_is_sum: state.wants.sq_cov,
    }
}

/// Returns the number of decisions that can be settled within the limit on challengers. Counts only grow, so a decision
/// that exceeds the limit once also exceeds it at the end. The result therefore does not depend on threads.
fn complete_decisions(counts: &[AtomicUsize]) -> usize {
    let mut total = 0;
    let within = |count: &AtomicUsize| {
        total += count.load(Ordering::Relaxed);
        total <= CHALLENGERS
    };
    counts.iter().map(within).take_while(|&within| within).count()
}

/// Returns the errors after one more pick.
fn grow_errors<T: Real>(
    NumberErrors { mut var, mut second }: NumberErrors,
    step: &PickStep,
    dim: usize,
) -> NumberErrors {
    let gamma = gamma::<T>(dim);
    let square = |bound: &mut ErrorBound, weights: &[f64], total: f64| {
        bound.squares += gamma * gamma * norm_sq(weights) / total;
        bound.rest += 5.0 * T::UNIT;
    };
    square(&mut var, &step.data, step.total);
    match &step.second {
        SecondNumber::None | SecondNumber::Standardised { .. } => {}
        SecondNumber::Joint { weights, total, .. } => square(&mut second, weights, *total),
        SecondNumber::Squares { weights, norm_sq: c } => {
            // Products of two errors. Terms with one error are stored per row.
            let (g_off, h_off) = (gamma * norm_sq(&step.data).sqrt(), gamma * norm_sq(weights).sqrt());
            let small = 2.0 * g_off * h_off / step.total + g_off * g_off * c / (step.total * step.total);
            // The rounding of the terms and of the sum: q ≤ k · Σ_a Var f_a.
            let (g, h) = (step.var.max(0.0).sqrt(), norm_sq(weights).sqrt());
            let terms = 2.0 * g * h / step.total + g * g * c / (step.total * step.total);
            second.rest += small + 9.0 * T::UNIT * terms + T::UNIT * step.target_var;
        }
    }
    NumberErrors { var, second }
}
