//! All rows, with their numbers and bounds on the errors of these numbers.
//!
//! The numbers are held by one or more shards. This is the coordinator's side: it keeps the bounds, asks every shard, and
//! merges the answers.
//!
//! With k = ‖φ‖² of a row, each bound has the form (error) · k. A product ĝ of a row with a pick's functional w is off by
//! at most γ‖φ‖‖w‖ (see [`Precision`]). Each pick lowers a variance by g²/p, so Σ g²/p ≤ k. By the Cauchy–Schwarz
//! inequality, all errors together are at most Σ (ĝ² − g²)/p ≤ (2√s + s) · k with s = Σ γ²‖w‖²/p: they grow with the square
//! root of the number of picks.

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;

use super::SelectionState;
use crate::base::algebra::norm_sq;
use crate::engine::order::TIE;
use crate::law::LinearLaw;
use crate::shard::{
    CHECKPOINTS, Challengers, Decision, Errors, Pass, PickStep, Precision, Projection, Ranked, Ranking, Rival,
    SecondNumber, SecondStart, Shard, SquareRoot, Start, Trial,
};

/// Largest number of rivals that one decision adds to the draft.
const MOST_RIVALS: usize = 128;

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

/// A shard and the rows of the pool that it holds.
struct Part<'a> {
    rows: Range<usize>,
    shard: Box<dyn Shard + 'a>,
}

impl Part<'_> {
    /// Returns the rows of a list that this shard holds, by its own numbers.
    fn own(&self, rows: &[usize]) -> Vec<usize> {
        rows.iter().filter(|&row| self.rows.contains(row)).map(|row| row - self.rows.start).collect()
    }
}

/// All rows.
pub(super) struct ColdRows<'a> {
    parts: Vec<Part<'a>>,
    precision: Precision,
    /// The errors at the start of the draft, then at the checkpoints: those of the shards, and those of numbers in f64 that
    /// are computed from the start.
    errors: [[NumberErrors; 2]; CHECKPOINTS + 1],
    /// Number of drafted picks that are applied at each checkpoint.
    applied: [usize; CHECKPOINTS + 1],
    /// The checkpoints that hold numbers after picks that were dropped from the last draft.
    later: Vec<usize>,
    dim: usize,
    probes: usize,
}

/// Rows that would have been picked before the draft's own picks.
pub(super) struct Rivals {
    /// The first decision that one of them wins.
    pub at: usize,
    pub rows: Vec<usize>,
}

impl<'a> ColdRows<'a> {
    /// Takes the shards, and computes all numbers as [`ColdRows::start`] does.
    pub fn new(shards: Vec<Box<dyn Shard + 'a>>, dim: usize, state: &SelectionState, open: &[bool]) -> Self {
        let mut cold = Self::unstarted(shards, dim, open.len());
        cold.start(state, open);
        cold
    }

    /// Takes the shards, which hold `rows` rows together. Their numbers are yet to be computed.
    pub fn unstarted(shards: Vec<Box<dyn Shard + 'a>>, dim: usize, rows: usize) -> Self {
        let mut end = 0;
        let parts = shards.into_iter().map(|shard| {
            let start = end;
            end += shard.rows();
            Part { rows: start..end, shard }
        });
        let parts: Vec<Part<'a>> = parts.collect();
        assert_eq!(end, rows, "the shards hold all rows");
        let exact = Precision { unit: 0.0, product: 0.0, challengers: usize::MAX };
        let precision = parts.iter().map(|part| part.shard.precision()).fold(exact, Precision::max);
        let (errors, applied) = Default::default();
        Self { parts, precision, errors, applied, later: Vec::new(), dim, probes: 0 }
    }

    /// Returns the number of probes with which every row was multiplied so far.
    pub fn probes(&self) -> usize {
        self.probes
    }

    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Returns the precision of the shards, and that of f64.
    fn precisions(&self) -> [Precision; 2] {
        let product = Precision::fine_product(self.dim);
        // In f64, a shard computes ‖φ‖² as another sum of as many terms.
        [self.precision, Precision { unit: product, product, ..self.precision }]
    }

    /// Computes all numbers from scratch again. The laws must be folded into their bases.
    pub fn start(&mut self, state: &SelectionState, open: &[bool]) {
        let dim = self.dim;
        // Σ weight·c² with c off by γ‖φ‖: the error is at most the largest weight times 2γ‖φ‖Σ|c| + rγ²‖φ‖², and Σ|c| ≤
        // √r‖φ‖.
        let projected = |Projection { shrink, .. }: &Projection, Precision { unit, product: gamma, .. }: Precision| {
            let (r, most) = (shrink.len() as f64, largest_weight(shrink, dim));
            ErrorBound::fresh(most * (2.0 * gamma * r.sqrt() + r * gamma * gamma + 4.0 * unit))
        };
        let data = projection(&state.data);
        let precisions = self.precisions();
        let (second, errors, columns) = match (&state.joint, state.square_root(), state.standardised()) {
            (Some(joint), ..) => {
                let joint = projection(joint);
                let (errors, columns) = (precisions.map(|precision| projected(&joint, precision)), joint.columns.len());
                (SecondStart::Joint(joint), errors, columns)
            }
            (None, Some(root), _) => {
                let (errors, columns) = (precisions.map(|precision| root_error(&root, precision)), root.columns.len());
                (SecondStart::Squares(root), errors, columns)
            }
            (None, None, Some(weights)) => (SecondStart::Standardised(weights), Default::default(), 1),
            (None, None, None) => (SecondStart::None, Default::default(), 0),
        };
        self.probes += data.columns.len() + columns;
        let of = |i: usize| NumberErrors { var: projected(&data, precisions[i]), second: errors[i] };
        self.errors[0] = [of(0), of(1)];
        self.parts.par_iter_mut().for_each(|Part { rows, shard }| {
            shard.start(&Start { data: &data, second: &second, open: &open[rows.clone()] });
        });
    }

    /// Applies the pending picks and the draft to all rows. At each decision, collects the rows outside the draft that might
    /// have won it; `excluded` are the rows of the draft, and the decisions from which on they belong to it. `after` is CTL's
    /// functional after the draft. If a `root` of the state before the draft is given, VTL's sums are recomputed there.
    pub fn verify(
        &mut self,
        (pending, draft): (&[PickStep], &[PickStep]),
        after: Option<&[f64]>,
        root: Option<&SquareRoot>,
        excluded: &HashMap<usize, usize>,
    ) -> Challengers {
        let made = pending.len();
        let steps: Vec<&PickStep> = pending.iter().chain(draft).collect();
        let precisions = self.precisions();
        // The errors before each decision, and after the last.
        let mut errors = vec![self.errors[0]];
        for (j, step) in steps.iter().enumerate() {
            let mut now = *errors.last().expect("the list starts with one element");
            if let Some(root) = root.filter(|_| j == made) {
                now[0].second = root_error(root, self.precision);
                errors[made] = now;
            }
            errors.push([0, 1].map(|i| grow_errors(precisions[i], now[i], step)));
        }
        let wide = steps.first().map_or(1, |step| 1 + usize::from(step.second.weights().is_some()));
        self.probes += wide * steps.len() + usize::from(after.is_some()) + root.map_or(0, |root| root.columns.len());
        let stride = draft.len().div_ceil(CHECKPOINTS).max(1);
        for c in 0..=CHECKPOINTS {
            self.applied[c] = (c * stride).min(draft.len());
            self.errors[c] = errors[made + self.applied[c]];
        }
        let decide = |(step, errors): (&PickStep, &[NumberErrors; 2])| {
            let standardised = match &step.second {
                SecondNumber::Standardised { weights } => norm_sq(weights).sqrt(),
                _ => 0.0,
            };
            let of = |i: usize| Errors {
                var: errors[i].var.total(),
                second: errors[i].second.total(),
                std_cov: precisions[i].product * standardised,
            };
            Decision { bar: step.key - TIE * step.key.abs(), errors: of(0), fine_errors: of(1) }
        };
        let decisions: Vec<Decision> = draft.iter().zip(&errors[made..]).map(decide).collect();
        let checkpoints = self.applied;
        let answers: Vec<Challengers> = self
            .parts
            .par_iter_mut()
            .map(|Part { rows, shard }| {
                let own = excluded.iter().filter(|(row, _)| rows.contains(row));
                let own: Vec<(usize, usize)> = own.map(|(row, &from)| (row - rows.start, from)).collect();
                let excluded = &own[..];
                let pass = Pass { steps: &steps, made, after, root, decisions: &decisions, checkpoints, excluded };
                let mut found = shard.verify(&pass);
                found.rows.iter_mut().for_each(|(_, row)| *row += rows.start);
                found
            })
            .collect();
        merge(answers, draft.len(), self.precision.challengers)
    }

    /// Keeps the numbers after at most `agreed` drafted picks. Returns how many of them are applied.
    pub fn keep(&mut self, agreed: usize) -> usize {
        let best =
            (0..=CHECKPOINTS).rev().find(|&c| self.applied[c] <= agreed).expect("the first checkpoint has no picks");
        // If the draft is short, several checkpoints coincide, and only the first of them was written.
        let best = (0..=best).find(|&c| self.applied[c] == self.applied[best]).expect("the checkpoint itself matches");
        if best > 0 {
            self.parts.iter_mut().for_each(|part| part.shard.keep(best));
            self.errors[0] = self.errors[best];
        }
        let is_later = |c: &usize| self.applied[*c] > self.applied[c - 1].max(agreed);
        self.later = (best + 1..=CHECKPOINTS).filter(is_later).collect();
        self.applied[best]
    }

    /// Chooses `warm` open rows with the largest keys before the pending picks as warm rows, and returns the `hot` best of
    /// them after these picks. `taken` are the rows that were picked since.
    ///
    /// If the last draft was cut, half of the rows are those with the largest keys at its later checkpoints. Most of the
    /// dropped picks will be made after all, and rows that win after them may rank low before.
    pub fn rank(
        &mut self,
        (warm, hot): (usize, usize),
        pending: &[PickStep],
        after: Option<&[f64]>,
        taken: &[usize],
    ) -> Vec<usize> {
        let later = if self.later.is_empty() { 0 } else { warm / 2 / self.later.len() };
        let mut lists = vec![(0, warm - later * self.later.len())];
        lists.extend(self.later.iter().map(|&checkpoint| (checkpoint, later)));
        let ask = |part: &mut Part<'_>| {
            let taken = part.own(taken);
            let ranking = Ranking { lists: &lists, pending, after, count: hot, taken: &taken };
            let mut best = part.shard.rank(&ranking);
            best.iter_mut().for_each(|one| one.row += part.rows.start);
            best
        };
        let mut best: Vec<Ranked> = self.parts.par_iter_mut().map(ask).collect::<Vec<_>>().concat();
        best.sort_unstable_by(Ranked::order);
        best.into_iter().take(hot).map(|one| one.row).collect()
    }

    /// Applies the steps of a draft to the warm rows, up to the first at which one of them scores more than the step's own
    /// row. The rows of the draft are `excluded`, in increasing order.
    pub fn try_steps(&mut self, steps: &[PickStep], after: Option<&[f64]>, excluded: &[usize]) -> Option<Rivals> {
        let ask = |part: &mut Part<'_>| {
            let excluded = part.own(excluded);
            let mut found = part.shard.try_steps(&Trial { steps, after, excluded: &excluded });
            found.iter_mut().for_each(|rival| rival.row += part.rows.start);
            found
        };
        let mut found: Vec<Rival> = self.parts.par_iter_mut().map(ask).collect::<Vec<_>>().concat();
        found.sort_unstable_by(|a, b| a.at.cmp(&b.at).then(b.key.total_cmp(&a.key)).then(a.row.cmp(&b.row)));
        let at = found.first()?.at;
        let best = found.chunk_by(|a, b| a.at == b.at).flat_map(|decision| decision.iter().take(MOST_RIVALS));
        let mut rows: Vec<usize> = best.map(|rival| rival.row).collect();
        rows.sort_unstable();
        rows.dedup();
        self.parts.iter_mut().for_each(|part| part.shard.rewind(at));
        Some(Rivals { at, rows })
    }
}

/// Returns the error of a sum in addition to the errors that are stored per row.
fn root_error(root: &SquareRoot, Precision { unit, product, .. }: Precision) -> ErrorBound {
    ErrorBound::fresh((product.powi(2) + 4.0 * unit) * root.norm_sq)
}

/// Returns the errors after one more pick.
fn grow_errors(
    Precision { unit, product: gamma, .. }: Precision,
    NumberErrors { mut var, mut second }: NumberErrors,
    step: &PickStep,
) -> NumberErrors {
    let square = |bound: &mut ErrorBound, weights: &[f64], total: f64| {
        bound.squares += gamma * gamma * norm_sq(weights) / total;
        bound.rest += 5.0 * unit;
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
            second.rest += small + 9.0 * unit * terms + unit * step.target_var;
        }
    }
    NumberErrors { var, second }
}

/// Merges the answers of all shards about a draft of `len` picks, up to the decision at which there are too many
/// challengers.
fn merge(answers: Vec<Challengers>, len: usize, most: usize) -> Challengers {
    let mut counts = vec![0; len];
    let mut complete = len;
    for answer in &answers {
        complete = complete.min(answer.complete);
        answer.rows.iter().for_each(|&(t, _)| counts[t] += 1);
    }
    let mut total = 0;
    let within = |count: &usize| {
        total += count;
        total <= most
    };
    let complete = counts[..complete].iter().map(within).take_while(|&within| within).count();
    let mut rows: Vec<(usize, usize)> = answers.into_iter().flat_map(|answer| answer.rows).collect();
    rows.retain(|&(t, _)| t < complete);
    rows.sort_unstable_by_key(|&(t, row)| (row, t));
    rows.dedup_by_key(|&mut (_, row)| row);
    Challengers { rows, complete }
}

/// Returns the largest weight of a square in a variance: of the remaining part if V spans everything, otherwise of the
/// removed part.
fn largest_weight(shrink: &[f64], dim: usize) -> f64 {
    if shrink.len() == dim { shrink.iter().copied().fold(0.0, f64::max) } else { 1.0 }
}

/// Returns the columns of V of a folded law, and the variances along them.
fn projection(law: &LinearLaw) -> Projection {
    let (basis, shrink) = law.base();
    let column = |j: usize| (0..basis.nrows()).map(|i| basis[(i, j)]).collect();
    Projection { columns: (0..shrink.len()).map(column).collect(), shrink: shrink.to_vec() }
}
