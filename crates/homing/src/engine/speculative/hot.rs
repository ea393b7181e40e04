//! The few rows on which picks are drafted, with their numbers in f64.

use std::collections::HashMap;

use rayon::prelude::*;

use super::{PrecisionLoss, SelectionState};
use crate::base::algebra::dot;
use crate::data::copies::RowCopies;
use crate::engine::numbers::{candidate, lower_squares, lower_variance};
use crate::engine::order::{ScoredRow, contenders, winner, winner_at};
use crate::law::{LOST, LinearLaw, Scanner, Variance};
use crate::shard::BLOCK;
use crate::shard::{PickStep, SecondNumber};
use crate::{Candidate, Embeddings, Rule};

/// Number of rows whose numbers one thread computes at a time, and of few rows, which are rivals or challengers that a draft
/// waits for.
const SHARE: usize = 64;
const FEW: usize = 512;
const SHARE_OF_FEW: usize = 16;

/// Number of rows that one thread reads at a time in a search through all rows.
const PART: usize = 16 * BLOCK;

/// Some rows, and their numbers given all picks.
#[derive(Clone)]
pub(crate) struct HotRows {
    rows: Vec<usize>,
    points: RowCopies,
    numbers: RowNumbers,
    std_cov: Vec<f64>,
    /// Whether the second number is a sum of squares. It is tiny for most rows, and may then lose its digits.
    is_sum: bool,
}

/// Var f_x given D, and the rule's second number: the variance given the targets as well, or the sum of squared
/// covariances.
type RowNumbers = Vec<(Variance, Variance)>;

/// Numbers without their scales, which only grow.
pub(super) type Snapshot = Vec<[f64; 2]>;

impl HotRows {
    /// Creates an empty set of rows.
    pub fn none(pool: Embeddings<'_>, state: &SelectionState) -> Self {
        let points = RowCopies::gather(pool.into(), &[]);
        Self { rows: Vec::new(), points, numbers: Vec::new(), std_cov: Vec::new(), is_sum: state.wants.sq_cov }
    }

    /// Computes the numbers of some rows from scratch.
    pub fn build(pool: Embeddings<'_>, rows: &[usize], state: &SelectionState) -> Result<Self, PrecisionLoss> {
        let dim = pool.dim();
        let root = state.square_root().map_or_else(Vec::new, |root| root.columns);
        let copies = RowCopies::gather(pool.into(), rows);
        let mut numbers = vec![(Variance::ZERO, Variance::ZERO); rows.len()];
        if rows.is_empty() {
            return Ok(Self { points: copies, ..Self::none(pool, state) });
        }
        let (data, joint) = (state.data.scanner(), state.joint.as_ref().map(LinearLaw::scanner));
        let share = if rows.len() <= FEW { SHARE_OF_FEW } else { SHARE };
        numbers.par_chunks_mut(share).enumerate().for_each(|(b, numbers)| {
            let points = copies.read(b * share..b * share + numbers.len(), dim);
            let mut found = vec![Variance::ZERO; numbers.len()];
            let mut scan = |law: &Scanner<'_>, to: fn(&mut (Variance, Variance)) -> &mut Variance| {
                law.scan(&points, &mut found);
                numbers.iter_mut().zip(&found).for_each(|(number, found)| *to(number) = *found);
            };
            scan(&data, |(var, _)| var);
            if let Some(joint) = &joint {
                scan(joint, |(_, second)| second);
            }
            if !root.is_empty() {
                for (x, (_, second)) in points.chunks_exact(dim).zip(numbers) {
                    let value = root.iter().map(|weights| dot(weights, x).powi(2)).sum();
                    *second = Variance { value, scale: value };
                }
            }
        });
        if numbers.iter().any(|(var, second)| var.is_lost() || second.is_lost()) {
            return Err(PrecisionLoss);
        }
        Ok(Self { rows: rows.to_vec(), points: copies, numbers, ..Self::none(pool, state) })
    }

    /// Returns the best open row of the whole pool.
    pub fn best_of_all(
        pool: Embeddings<'_>,
        rule: &dyn Rule,
        state: &SelectionState,
        open: &[bool],
    ) -> Result<Option<ScoredRow>, PrecisionLoss> {
        let standardised = state.standardised();
        let starts: Vec<usize> = (0..pool.rows()).step_by(PART).collect();
        let scan = |&start: &usize| {
            let rows: Vec<usize> = (start..pool.rows().min(start + PART)).filter(|&row| open[row]).collect();
            let mut part = Self::build(pool, &rows, state)?;
            part.standardise(standardised.as_deref());
            let keyed = part.keyed(rule, state.noise_var, |_| true);
            let doubtful = part.most_doubtful(rule, state.noise_var, &keyed);
            let mut contenders = contenders(keyed.iter().map(|(_, one)| *one));
            for one in &mut contenders {
                let at = rows.binary_search(&one.row).expect("the row is one of these rows");
                one.score = rule.score(&part.candidate(at, state.noise_var));
            }
            Ok((contenders, doubtful))
        };
        let found = starts.par_iter().map(scan).collect::<Result<Vec<_>, PrecisionLoss>>()?;
        let doubtful = found.iter().filter_map(|(_, doubtful)| *doubtful).reduce(f64::max);
        let all = contenders(found.iter().flat_map(|(contenders, _)| contenders).copied());
        let best = winner(all.into_iter(), super::is_copy(pool));
        let is_lost = best.zip(doubtful).is_some_and(|(best, doubtful)| doubtful >= best.key);
        if is_lost { Err(PrecisionLoss) } else { Ok(best) }
    }

    /// Replaces the rows by the open rows in `best`, reusing the numbers of those that are already here.
    pub fn replace_rows(
        self,
        pool: Embeddings<'_>,
        best: &[usize],
        state: &SelectionState,
        open: &[bool],
    ) -> Result<Self, PrecisionLoss> {
        let places: HashMap<usize, usize> = self.rows.iter().enumerate().map(|(at, &row)| (row, at)).collect();
        let (old, new): (Vec<usize>, Vec<usize>) =
            best.iter().filter(|&&row| open[row]).partition(|row| places.contains_key(row));
        let places: Vec<usize> = old.iter().map(|row| places[row]).collect();
        let mut kept = Self {
            rows: old,
            points: self.points.select(&places, pool.dim()),
            numbers: places.iter().map(|&at| self.numbers[at]).collect(),
            ..self
        };
        kept.append(Self::build(pool, &new, state)?);
        Ok(kept)
    }

    /// Adds rows whose numbers are given the same picks.
    pub fn append(&mut self, others: Self) {
        self.rows.extend(others.rows);
        self.points.append(others.points);
        self.numbers.extend(others.numbers);
    }

    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// Returns a row, from its copy if there is one.
    pub fn point(&self, pool: Embeddings<'_>, row: usize) -> Vec<f64> {
        let at = self.rows.iter().position(|&own| own == row);
        at.map_or_else(|| pool.row(row), |at| self.points.read(at..at + 1, pool.dim()))
    }

    /// Returns the numbers without their scales.
    pub fn values(&self) -> Snapshot {
        self.numbers.iter().map(|(var, second)| [var.value, second.value]).collect()
    }

    /// Restores earlier values, and drops rows that were added since.
    pub fn restore(&mut self, values: &Snapshot, dim: usize) {
        self.rows.truncate(values.len());
        self.points.truncate(values.len() * dim);
        self.numbers.truncate(values.len());
        for ((var, second), values) in self.numbers.iter_mut().zip(values) {
            [var.value, second.value] = *values;
        }
    }

    /// Computes the covariances with Σ_a f_a / σ_a, for the rule that reads them.
    pub fn standardise(&mut self, weights: Option<&[f64]>) {
        let Some(weights) = weights else { return };
        self.std_cov.resize(self.rows.len(), 0.0);
        self.points.products((weights, None), &mut self.std_cov, |c, _, out| *out = c);
    }

    fn candidate(&self, at: usize, noise_var: f64) -> Candidate<'static> {
        let (var, second) = self.numbers[at];
        let std_cov = self.std_cov.get(at).copied().unwrap_or(0.0);
        // A rule reads only one of the two numbers that the second may be.
        candidate(var.value, second.value, second.value, std_cov, noise_var)
    }

    /// Returns the open rows with their places and keys, but without their scores.
    fn keyed(&self, rule: &dyn Rule, noise_var: f64, open: impl Fn(usize) -> bool) -> Vec<(usize, ScoredRow)> {
        let places = (0..self.rows.len()).filter(|&at| open(self.rows[at]));
        let key = |at: usize| rule.key(&self.candidate(at, noise_var));
        places.map(|at| (at, ScoredRow { row: self.rows[at], key: key(at), score: 0.0 })).collect()
    }

    /// Returns the largest key that a row may have whose sum of squares has lost its digits; `None` if there is no such row.
    fn most_doubtful(&self, rule: &dyn Rule, noise_var: f64, keyed: &[(usize, ScoredRow)]) -> Option<f64> {
        let most = |&(at, _): &(usize, ScoredRow)| {
            let (_, second) = self.numbers[at];
            let sq_cov = second.value.max(0.0) + 1e-3 * LOST * second.scale;
            second.is_lost().then(|| rule.key(&Candidate { sq_cov, ..self.candidate(at, noise_var) }))
        };
        keyed.iter().filter(|_| self.is_sum).filter_map(most).reduce(f64::max)
    }

    /// Returns the best open row.
    pub fn best(
        &self,
        dim: usize,
        rule: &dyn Rule,
        noise_var: f64,
        open: impl Fn(usize) -> bool,
    ) -> Result<Option<ScoredRow>, PrecisionLoss> {
        let keyed = self.keyed(rule, noise_var, open);
        let doubtful = self.most_doubtful(rule, noise_var, &keyed);
        let Some((at, best)) = winner_at(keyed.into_iter(), |a, b| self.points.are_equal(a, b, dim)) else {
            return Ok(None);
        };
        if doubtful.is_some_and(|doubtful| doubtful >= best.key) {
            return Err(PrecisionLoss);
        }
        Ok(Some(ScoredRow { score: rule.score(&self.candidate(at, noise_var)), ..best }))
    }

    /// Updates the numbers for a pick. Fails if an open row loses its digits.
    pub fn apply(&mut self, step: &PickStep, open: impl Fn(usize) -> bool) -> Result<(), PrecisionLoss> {
        let (total, second) = (step.total, &step.second);
        let weights = match second {
            SecondNumber::None | SecondNumber::Standardised { .. } => None,
            SecondNumber::Joint { weights, .. } | SecondNumber::Squares { weights, .. } => Some(&weights[..]),
        };
        self.points.products((&step.data, weights), &mut self.numbers, |g, h, (var, number)| {
            lower_variance(var, g, total);
            match second {
                SecondNumber::None | SecondNumber::Standardised { .. } => {}
                SecondNumber::Joint { total, .. } => lower_variance(number, h, *total),
                SecondNumber::Squares { norm_sq, .. } => lower_squares(number, g, h, total, *norm_sq),
            }
        });
        let lost = |(var, second): &(Variance, Variance)| var.is_lost() || (!self.is_sum && second.is_lost());
        let mut all = self.rows.iter().zip(&self.numbers);
        if all.any(|(&row, numbers)| lost(numbers) && open(row)) { Err(PrecisionLoss) } else { Ok(()) }
    }
}
