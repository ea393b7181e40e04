//! All rows, with their numbers and a bound on how wrong those can be.
//!
//! With k = ‖φ‖² a row's own, every bound has the form (error) · k. A product ĝ of a row with a pick's functional w is off by at
//! most γ‖φ‖‖w‖ (see [`gamma`]). A variance falls by g²/p a pick, so that Σ g²/p ≤ k, and by Cauchy and Schwarz the errors
//! of all of them together are at most Σ (ĝ² − g²)/p ≤ (2√s + s) · k with s = Σ γ²‖w‖²/p: they grow with the root of the picks.

use std::borrow::Cow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::real::Real;
use super::walk::{Numbers, Probes, Products, Root, Walk, gamma};
use super::{Second, State, Step};
use crate::algebra::norm_sq;
use crate::embeddings::BLOCK;
use crate::law::LinearLaw;
use crate::rules::Bounded;
use crate::{Embeddings, Rule};

/// States kept within a draft, to fall back on when it is cut.
const CHECKPOINTS: usize = 2;

/// Rows that one pass may call to f64.
const CHALLENGERS: usize = 16384;

/// Errors of the numbers, as shares of ‖φ‖².
#[derive(Debug, Clone, Copy, Default)]
struct Errors {
    var: Drift,
    second: Drift,
}

/// What an error is made of.
#[derive(Debug, Clone, Copy, Default)]
struct Drift {
    /// Σ γ²‖w‖²/p over the squares subtracted.
    squares: f64,
    /// Everything else.
    rest: f64,
}

impl Drift {
    fn fresh(rest: f64) -> Self {
        Self { squares: 0.0, rest }
    }

    fn total(self) -> f64 {
        2.0 * self.squares.sqrt() + self.squares + self.rest
    }
}

/// One block of rows.
struct Block<'a, T: Real> {
    norm_sq: Cow<'a, [T]>,
    /// At the start of the draft, then at the checkpoints.
    numbers: [Numbers<T>; CHECKPOINTS + 1],
}

/// All rows.
pub(crate) struct Cold<'a, T: Real> {
    blocks: Vec<Block<'a, T>>,
    /// At the start of the draft, then at the checkpoints.
    errors: [Errors; CHECKPOINTS + 1],
    /// Drafted picks applied at each checkpoint.
    applied: [usize; CHECKPOINTS + 1],
    dim: usize,
}

/// Rows whose score may reach a drafted pick's.
pub(crate) struct Challenge {
    pub rows: Vec<usize>,
    /// Decisions before this one have all of their challengers in `rows`.
    pub sound: usize,
}

impl<'a, T: Real> Cold<'a, T> {
    pub fn new(pool: Embeddings<'_>, norms: Cow<'a, [T]>, state: &State) -> Self {
        let block = |norm_sq: Cow<'a, [T]>| Block { norm_sq, numbers: Default::default() };
        let blocks = match norms {
            Cow::Borrowed(norms) => norms.chunks(BLOCK).map(|norms| block(Cow::Borrowed(norms))).collect(),
            Cow::Owned(norms) => norms.chunks(BLOCK).map(|norms| block(Cow::Owned(norms.to_vec()))).collect(),
        };
        let mut cold = Self { blocks, errors: Default::default(), applied: Default::default(), dim: pool.dim() };
        cold.start(pool, state);
        cold
    }

    /// Computes all numbers from nothing; the laws must be folded into their bases.
    fn start(&mut self, pool: Embeddings<'_>, state: &State) {
        let dim = self.dim;
        let (data, data_shrink) = columns(&state.data);
        let (joint, joint_shrink) = state.joint.as_ref().map_or_else(Default::default, columns);
        let (root, standardised) = (Root::of(state), state.standardised());
        let sums = root.as_ref().map_or(&[][..], |root| &root.columns);
        let all = data.iter().chain(&joint).chain(sums).chain(&standardised);
        let probes = Probes::new(dim, all.map(Vec::as_slice));
        let gamma = gamma::<T>(dim);
        // Σ weight·c² with c off by γ‖φ‖: at most the largest weight times 2γ‖φ‖Σ|c| + rγ²‖φ‖², and Σ|c| ≤ √r‖φ‖.
        let projected = |shrink: &[f64]| {
            let (r, most) = (shrink.len() as f64, largest_weight(shrink, dim));
            Drift::fresh(most * (2.0 * gamma * r.sqrt() + r * gamma * gamma + 4.0 * T::UNIT))
        };
        let second = root.as_ref().map_or_else(|| projected(&joint_shrink), |root| Drift::fresh(root.error::<T>(dim)));
        self.errors[0] = Errors { var: projected(&data_shrink), second };
        self.applied = Default::default();
        self.each(
            pool,
            || probes.room(),
            |_, rows, products, block| {
                probes.multiply(rows, products);
                let left = |from: usize, shrink: &[f64]| -> Vec<T> {
                    let len = block.norm_sq.len();
                    if shrink.len() == dim {
                        return products
                            .squares(from, shrink.iter().copied(), len)
                            .iter()
                            .map(|&var| T::of(var))
                            .collect();
                    }
                    let known = products.squares(from, shrink.iter().map(|s| 1.0 - s), len);
                    block.norm_sq.iter().zip(known).map(|(&whole, known)| T::of(whole.get() - known)).collect()
                };
                let mut numbers = Numbers { var: left(0, &data_shrink), ..Numbers::default() };
                if !joint.is_empty() {
                    numbers.second = left(data.len(), &joint_shrink);
                } else if let Some(root) = &root {
                    root.sum(products, data.len(), &mut numbers);
                } else if standardised.is_some() {
                    numbers.second = products.of(data.len(), block.norm_sq.len()).to_vec();
                }
                block.numbers[0] = numbers;
            },
        );
    }

    /// Hands every block over with its rows, in parallel.
    fn each(
        &mut self,
        pool: Embeddings<'_>,
        room: impl Fn() -> Products<T> + Sync,
        f: impl Fn(usize, &[T], &mut Products<T>, &mut Block<'a, T>) + Sync,
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

    /// Applies the pending picks and the draft to all rows, noting at each decision the rows `outside` of the draft that might
    /// have won it. `state` is the one after the draft. With a `root`, of the state before it, VTL's sums are computed anew there.
    pub fn verify(
        &mut self,
        pool: Embeddings<'_>,
        rule: &dyn Rule,
        state: &State,
        (pending, draft): (&[Step], &[Step]),
        outside: impl Fn(usize, usize) -> bool + Sync,
        root: Option<Root>,
    ) -> Challenge {
        let first = pending.len();
        // The errors before each decision, and after the last.
        let mut errors = vec![self.errors[0]];
        for (j, step) in pending.iter().chain(draft).enumerate() {
            let mut now = *errors.last().expect("starts with one");
            if let Some(root) = root.as_ref().filter(|_| j == first) {
                now.second = Drift::fresh(root.error::<T>(self.dim));
                errors[first] = now;
            }
            errors.push(grown::<T>(now, step, self.dim));
        }
        let walk = Walk::new(self.dim, pending.iter().chain(draft), state, root.map(|root| (first, root)));
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
            || walk.room(),
            |b, rows, products, block| {
                let mut numbers = std::mem::take(&mut block.numbers[0]);
                let mut hits: Vec<usize> = Vec::new();
                let mut checkpoint = 0;
                walk.take(rows, products, &mut numbers, |j, numbers| {
                    let Some(t) = j.checked_sub(first) else { return };
                    if checkpoint <= CHECKPOINTS && t == applied[checkpoint] {
                        block.numbers[checkpoint].copy(numbers);
                        checkpoint += 1;
                    }
                    let Some(step) = draft.get(t).filter(|_| t < sound(&counts)) else { return };
                    let std_weights = match &step.second {
                        Second::Standardised { weights } => norm_sq(weights).sqrt(),
                        _ => 0.0,
                    };
                    let bounded = Bounded {
                        var_error: errors[j].var.total(),
                        second_error: errors[j].second.total(),
                        std_cov_error: gamma * std_weights,
                        second_errors: &numbers.second_error,
                        ..bounded(state, numbers, &block.norm_sq)
                    };
                    let bar = step.key - crate::choose::TIE * step.key.abs();
                    if !rule.may_reach((bar - 1e-5 * bar.abs()) as f32, &bounded) {
                        return;
                    }
                    hits.clear();
                    rule.reach(bar, &bounded, &mut hits);
                    hits.retain(|&i| outside(b * BLOCK + i, t));
                    if !hits.is_empty() {
                        counts[t].fetch_add(hits.len(), Ordering::Relaxed);
                        let mut found = found.lock().expect("no panic while it is held");
                        found.extend(hits.iter().map(|&i| (t, b * BLOCK + i)));
                    }
                });
                block.numbers[0].second_error = numbers.second_error;
            },
        );
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
                block.numbers.swap(0, best);
                block.numbers[0].second_error = std::mem::take(&mut block.numbers[best].second_error);
            }
            self.errors[0] = self.errors[best];
        }
        self.applied[best]
    }

    /// The `count` open rows with the largest keys, before the pending picks, with their numbers.
    pub fn best(&self, rule: &dyn Rule, state: &State, open: &[bool], count: usize) -> (Vec<usize>, Numbers<T>) {
        let mut keys = vec![f32::NEG_INFINITY; open.len()];
        keys.par_chunks_mut(BLOCK).zip(&self.blocks).zip(open.par_chunks(BLOCK)).for_each(|((keys, block), open)| {
            let mut found = Vec::with_capacity(keys.len());
            rule.keys(&bounded(state, &block.numbers[0], &block.norm_sq), &mut found);
            let all = keys.iter_mut().zip(found).zip(open);
            all.filter(|(_, open)| **open).for_each(|((key, found), _)| *key = found);
        });
        let bar = (0 < count && count < keys.len()).then(|| {
            let mut order = keys.clone();
            *order.select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a)).1
        });
        let reach = |row: &usize| open[*row] && bar.is_none_or(|bar| keys[*row].total_cmp(&bar).is_ge());
        let mut rows: Vec<usize> = (0..open.len()).filter(reach).collect();
        // Rows at the bar itself may be many.
        rows.truncate(2 * count);
        let mut numbers = Numbers::default();
        for &row in &rows {
            let (from, i) = (&self.blocks[row / BLOCK].numbers[0], row % BLOCK);
            numbers.var.push(from.var[i]);
            numbers.second.extend(from.second.get(i));
        }
        (rows, numbers)
    }
}

/// The largest weight of a square in a variance: of what is left where V spans everything, else of what is taken away.
fn largest_weight(shrink: &[f64], dim: usize) -> f64 {
    if shrink.len() == dim { shrink.iter().copied().fold(0.0, f64::max) } else { 1.0 }
}

/// V of a folded law, column after column, and the variances along them.
fn columns(law: &LinearLaw) -> (Vec<Vec<f64>>, Vec<f64>) {
    let (basis, shrink) = law.base();
    let column = |j: usize| (0..basis.nrows()).map(|i| basis[(i, j)]).collect();
    ((0..shrink.len()).map(column).collect(), shrink.to_vec())
}

/// The numbers of some rows as a rule reads them, without errors.
pub(super) fn bounded<'b, T: Real>(state: &State, numbers: &'b Numbers<T>, norm_sq: &'b [T]) -> Bounded<'b> {
    // CTL's second number is its covariance with the targets.
    let (second, std_cov): (&[T], &[T]) =
        if state.wants.std_cov { (&[], &numbers.second) } else { (&numbers.second, &[]) };
    Bounded {
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

/// The errors after one more pick.
fn grown<T: Real>(Errors { mut var, mut second }: Errors, step: &Step, dim: usize) -> Errors {
    let gamma = gamma::<T>(dim);
    let square = |drift: &mut Drift, weights: &[f64], total: f64| {
        drift.squares += gamma * gamma * norm_sq(weights) / total;
        drift.rest += 5.0 * T::UNIT;
    };
    square(&mut var, &step.data, step.total);
    match &step.second {
        Second::None | Second::Standardised { .. } => {}
        Second::Joint { weights, total, .. } => square(&mut second, weights, *total),
        Second::Squares { weights, norm_sq: c } => {
            // Products of errors; those with one error each are kept for every row.
            let (g_off, h_off) = (gamma * norm_sq(&step.data).sqrt(), gamma * norm_sq(weights).sqrt());
            let small = 2.0 * g_off * h_off / step.total + g_off * g_off * c / (step.total * step.total);
            // The terms' own rounding, and that of the sum: q ≤ k · Σ_a Var f_a.
            let (g, h) = (step.var.max(0.0).sqrt(), norm_sq(weights).sqrt());
            let terms = 2.0 * g * h / step.total + g * g * c / (step.total * step.total);
            second.rest += small + 9.0 * T::UNIT * terms + T::UNIT * step.target_var;
        }
    }
    Errors { var, second }
}
