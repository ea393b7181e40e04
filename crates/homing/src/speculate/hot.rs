//! The few rows that picks are drafted on, with their numbers in f64.

use std::collections::HashMap;

use rayon::prelude::*;

use super::walk::Root;
use super::{Lost, Ranked, Second, State, Step};
use crate::algebra::dot;
use crate::copies::Copies;
use crate::embeddings::BLOCK;
use crate::law::{LOST, LinearLaw, Variance};
use crate::{Candidate, Embeddings, Points, Rule};

/// Some rows, and their numbers given all picks.
#[derive(Clone)]
pub(crate) struct Hot {
    rows: Vec<usize>,
    points: Copies,
    numbers: Numbers,
    std_cov: Vec<f64>,
    /// Whether the second number is a sum of squares: most rows' is next to nothing, and may lose its digits.
    sums: bool,
}

/// Var f_x given D, and the rule's second number: given the targets too, or the sum of squared covariances.
type Numbers = Vec<(Variance, Variance)>;

/// Numbers without their scales, which only grow.
pub(super) type Values = Vec<[f64; 2]>;

const NOTHING: Variance = Variance { value: 0.0, scale: 0.0 };

impl Hot {
    /// No rows.
    pub fn none(pool: Embeddings<'_>, state: &State) -> Self {
        let points = Copies::gather(pool.into(), &[]);
        Self { rows: Vec::new(), points, numbers: Vec::new(), std_cov: Vec::new(), sums: state.wants.sq_cov }
    }

    /// Computes the numbers of some rows from nothing.
    pub fn build(pool: Embeddings<'_>, rows: &[usize], state: &State) -> Result<Self, Lost> {
        let dim = pool.dim();
        let root = Root::of(state).map_or_else(Vec::new, |root| root.columns);
        let mut numbers = vec![(NOTHING, NOTHING); rows.len()];
        rows.par_chunks(BLOCK).zip(numbers.par_chunks_mut(BLOCK)).for_each(|(rows, numbers)| {
            let points = Points::from(pool).gather(rows);
            let mut found = vec![NOTHING; rows.len()];
            let mut scan = |law: &LinearLaw, to: fn(&mut (Variance, Variance)) -> &mut Variance| {
                law.scan_vars(&points, &mut found);
                numbers.iter_mut().zip(&found).for_each(|(number, found)| *to(number) = *found);
            };
            scan(&state.data, |(var, _)| var);
            if let Some(joint) = &state.joint {
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
            return Err(Lost);
        }
        Ok(Self { rows: rows.to_vec(), points: Copies::gather(pool.into(), rows), numbers, ..Self::none(pool, state) })
    }

    /// The best open row of the whole pool.
    pub fn best_of_all(
        pool: Embeddings<'_>,
        rule: &dyn Rule,
        state: &State,
        open: &[bool],
    ) -> Result<Option<Ranked>, Lost> {
        let standardised = state.standardised();
        let mut best: Option<Ranked> = None;
        for start in (0..pool.rows()).step_by(64 * BLOCK) {
            let rows: Vec<usize> = (start..pool.rows().min(start + 64 * BLOCK)).filter(|&row| open[row]).collect();
            let mut stretch = Self::build(pool, &rows, state)?;
            stretch.standardise(standardised.as_deref());
            let found = stretch.best(pool, rule, state.noise_var, |_| true)?;
            best = match (best, found) {
                (Some(best), Some(found)) if found.beats(&best, pool) => Some(found),
                (None, found) => found,
                (best, _) => best,
            };
        }
        Ok(best)
    }

    /// Keeps the open rows that are among `best`, and adds the others of them.
    pub fn turn_over(self, pool: Embeddings<'_>, best: &[usize], state: &State, open: &[bool]) -> Result<Self, Lost> {
        let known: HashMap<usize, usize> = self.rows.iter().enumerate().map(|(at, &row)| (row, at)).collect();
        let (old, new): (Vec<usize>, Vec<usize>) =
            best.iter().filter(|&&row| open[row]).partition(|row| known.contains_key(row));
        let places: Vec<usize> = old.iter().map(|row| known[row]).collect();
        let mut kept = Self {
            rows: old,
            points: self.points.select(&places, pool.dim()),
            numbers: places.iter().map(|&at| self.numbers[at]).collect(),
            ..self
        };
        kept.append(Self::build(pool, &new, state)?);
        Ok(kept)
    }

    /// Adds rows, whose numbers are given the same picks.
    pub fn append(&mut self, others: Self) {
        self.rows.extend(others.rows);
        self.points.append(others.points);
        self.numbers.extend(others.numbers);
    }

    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// The numbers without their scales.
    pub fn values(&self) -> Values {
        self.numbers.iter().map(|(var, second)| [var.value, second.value]).collect()
    }

    /// Goes back to earlier values; rows that were added since are let go.
    pub fn restore(&mut self, values: &Values, dim: usize) {
        self.rows.truncate(values.len());
        self.points.truncate(values.len() * dim);
        self.numbers.truncate(values.len());
        for ((var, second), values) in self.numbers.iter_mut().zip(values) {
            [var.value, second.value] = *values;
        }
    }

    /// Covariances with Σ_a f_a / σ_a, for the rule that reads them.
    pub fn standardise(&mut self, weights: Option<&[f64]>) {
        let Some(weights) = weights else { return };
        self.std_cov.resize(self.rows.len(), 0.0);
        self.points.products((weights, None), &mut self.std_cov, |c, _, out| *out = c);
    }

    fn candidate(&self, at: usize, noise_var: f64) -> Candidate<'static> {
        let (var, second) = self.numbers[at];
        let (var, second) = (var.value.max(0.0), second.value.max(0.0));
        Candidate {
            var,
            var_given_targets: second.min(var),
            sq_cov: second,
            std_cov: self.std_cov.get(at).copied().unwrap_or(0.0),
            noise_var,
            ..Candidate::default()
        }
    }

    /// The best open row.
    pub fn best(
        &self,
        pool: Embeddings<'_>,
        rule: &dyn Rule,
        noise_var: f64,
        open: impl Fn(usize) -> bool,
    ) -> Result<Option<Ranked>, Lost> {
        let places = || (0..self.rows.len()).filter(|&at| open(self.rows[at]));
        let ranked = |at: usize| {
            let candidate = self.candidate(at, noise_var);
            Ranked { row: self.rows[at], key: rule.key(&candidate), score: 0.0 }
        };
        let leader = places().map(ranked).max_by(|a, b| a.key.total_cmp(&b.key).then(b.row.cmp(&a.row)));
        let Some(leader) = leader else { return Ok(None) };
        let doubtful = |at: usize| {
            let (_, second) = self.numbers[at];
            let most = second.value.max(0.0) + 1e-3 * LOST * second.scale;
            second.is_lost() && rule.key(&Candidate { sq_cov: most, ..self.candidate(at, noise_var) }) >= leader.key
        };
        if self.sums && places().any(doubtful) {
            return Err(Lost);
        }
        let first = places().filter(|&at| self.rows[at] < leader.row && ranked(at).beats(&leader, pool));
        let best = first.min_by_key(|&at| self.rows[at]);
        let at = best.or_else(|| places().find(|&at| self.rows[at] == leader.row)).expect("the leader is a place");
        Ok(Some(Ranked { score: rule.score(&self.candidate(at, noise_var)), ..ranked(at) }))
    }

    /// Takes in a pick; lost when the digits of an open row are.
    pub fn apply(&mut self, step: &Step, open: impl Fn(usize) -> bool) -> Result<(), Lost> {
        let (total, second) = (step.total, &step.second);
        let weights = match second {
            Second::None | Second::Standardised { .. } => None,
            Second::Joint { weights, .. } | Second::Squares { weights, .. } => Some(&weights[..]),
        };
        self.points.products((&step.data, weights), &mut self.numbers, |g, h, (var, number)| {
            var.value -= g * g / total;
            match second {
                Second::None | Second::Standardised { .. } => {}
                Second::Joint { total, .. } => number.value -= h * h / total,
                Second::Squares { norm_sq, .. } => {
                    let share = g / total;
                    let (cross, own) = (2.0 * share * h, share * share * norm_sq);
                    number.value += own - cross;
                    number.scale = number.scale.max(cross.abs()).max(own);
                }
            }
        });
        let lost = |(var, second): &(Variance, Variance)| var.is_lost() || (!self.sums && second.is_lost());
        let mut all = self.rows.iter().zip(&self.numbers);
        if all.any(|(&row, numbers)| lost(numbers) && open(row)) { Err(Lost) } else { Ok(()) }
    }
}
