//! The few rows that picks are drafted on, with their numbers in f64.

use std::collections::HashMap;

use rayon::prelude::*;

use super::{Lost, Ranked, Second, State, Step};
use crate::algebra::dot;
use crate::embeddings::BLOCK;
use crate::law::{LOST, LinearLaw, Variance};
use crate::{Candidate, Embeddings, Points, Rule};

/// Rows that one thread takes at a time.
const SHARE: usize = 256;

/// Row numbers, and the rows' numbers given all picks. The rows themselves stay in the pool.
#[derive(Default, Clone)]
pub(crate) struct Hot {
    rows: Vec<usize>,
    numbers: Numbers,
    std_cov: Vec<f64>,
    /// Whether the second number is a sum of squares: most rows' is next to nothing, and may lose its digits.
    sums: bool,
}

/// Var f_x given D, and the rule's second number: given the targets too, or the sum of squared covariances.
#[derive(Default, Clone)]
pub(crate) struct Numbers {
    var: Vec<Variance>,
    second: Vec<Variance>,
}

const NOTHING: Variance = Variance { value: 0.0, scale: 0.0 };

impl Hot {
    /// Computes the numbers of some rows from nothing.
    pub fn build(pool: Embeddings<'_>, rows: &[usize], state: &State) -> Result<Self, Lost> {
        let dim = pool.dim();
        let root = match state.targets.as_ref().filter(|_| state.wants.sq_cov) {
            Some(targets) => state.data.root_of(&targets.points),
            None => Vec::new(),
        };
        let mut numbers = Numbers { var: vec![NOTHING; rows.len()], second: vec![NOTHING; rows.len()] };
        let vars = numbers.var.par_chunks_mut(BLOCK).zip(numbers.second.par_chunks_mut(BLOCK));
        rows.par_chunks(BLOCK).zip(vars).for_each(|(rows, (var, second))| {
            let points = Points::from(pool).gather(rows);
            let scan = |law: &LinearLaw, out: &mut [Variance]| law.scan_vars(&points, out);
            scan(&state.data, var);
            if let Some(joint) = &state.joint {
                scan(joint, second);
            }
            if !root.is_empty() {
                for (x, second) in points.chunks_exact(dim).zip(second) {
                    let value = root.iter().map(|weights| dot(weights, x).powi(2)).sum();
                    *second = Variance { value, scale: value };
                }
            }
        });
        if numbers.var.iter().chain(&numbers.second).any(|number| number.is_lost()) {
            return Err(Lost);
        }
        Ok(Self { rows: rows.to_vec(), numbers, std_cov: Vec::new(), sums: state.wants.sq_cov })
    }

    /// The `count` rows with the largest keys, from numbers that are about right once `pending` is applied to them.
    pub fn promising(
        pool: Embeddings<'_>,
        rule: &dyn Rule,
        state: &State,
        rough: &[(usize, f32, f32)],
        pending: &[Step],
        count: usize,
    ) -> Vec<usize> {
        let number = |value: f32| Variance { value: f64::from(value), scale: 0.0 };
        let mut some = Self {
            rows: rough.iter().map(|&(row, ..)| row).collect(),
            numbers: Numbers {
                var: rough.iter().map(|&(_, var, _)| number(var)).collect(),
                second: rough.iter().map(|&(.., second)| number(second)).collect(),
            },
            std_cov: Vec::new(),
            sums: state.wants.sq_cov,
        };
        for step in pending {
            // Rough numbers may fall below zero; they only have to rank.
            let _ = some.apply(pool, step);
        }
        some.standardise(pool, state.standardised().as_deref());
        let mut order: Vec<usize> = (0..some.rows.len()).collect();
        let keys: Vec<f64> = order.iter().map(|&at| rule.key(&some.candidate(at, state.noise_var))).collect();
        order.sort_unstable_by(|&a, &b| keys[b].total_cmp(&keys[a]).then(a.cmp(&b)));
        order.into_iter().take(count).map(|at| some.rows[at]).collect()
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
            stretch.standardise(pool, standardised.as_deref());
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
        let mut added = Self::build(pool, &new, state)?;
        for row in old {
            let at = known[&row];
            added.rows.push(row);
            added.numbers.var.push(self.numbers.var[at]);
            added.numbers.second.push(self.numbers.second[at]);
        }
        Ok(added)
    }

    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    pub fn open_rows(&self, open: &[bool]) -> usize {
        self.rows.iter().filter(|&&row| open[row]).count()
    }

    pub fn numbers(&self) -> Numbers {
        self.numbers.clone()
    }

    pub fn restore(&mut self, numbers: &Numbers) {
        self.numbers = numbers.clone();
    }

    /// Covariances with Σ_a f_a / σ_a, for the rule that reads them.
    pub fn standardise(&mut self, pool: Embeddings<'_>, weights: Option<&[f64]>) {
        let Some(weights) = weights else { return };
        self.std_cov.resize(self.rows.len(), 0.0);
        self.rows.par_chunks(SHARE).zip(self.std_cov.par_chunks_mut(SHARE)).for_each(|(rows, out)| {
            let mut x = vec![0.0; pool.dim()];
            for (&row, out) in rows.iter().zip(out) {
                pool.read(row..row + 1, &mut x);
                *out = dot(&x, weights);
            }
        });
    }

    fn candidate(&self, at: usize, noise_var: f64) -> Candidate<'static> {
        let var = self.numbers.var[at].value.max(0.0);
        let second = self.numbers.second[at].value.max(0.0);
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
            let second = self.numbers.second[at];
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

    /// Takes in a pick.
    pub fn apply(&mut self, pool: Embeddings<'_>, step: &Step) -> Result<(), Lost> {
        let numbers = self.numbers.var.par_chunks_mut(SHARE).zip(self.numbers.second.par_chunks_mut(SHARE));
        let lost = self.rows.par_chunks(SHARE).zip(numbers).map(|(rows, (vars, seconds))| {
            let mut x = vec![0.0; pool.dim()];
            let mut lost = false;
            for (&row, (var, second)) in rows.iter().zip(vars.iter_mut().zip(seconds)) {
                pool.read(row..row + 1, &mut x);
                let g = dot(&x, &step.data);
                var.value -= g * g / step.total;
                lost |= var.is_lost();
                match &step.second {
                    Second::None | Second::Standardised { .. } => {}
                    Second::Joint { weights, total, .. } => {
                        let g = dot(&x, weights);
                        second.value -= g * g / total;
                        lost |= second.is_lost();
                    }
                    Second::Squares { weights, norm_sq } => {
                        let (share, h) = (g / step.total, dot(&x, weights));
                        let (cross, own) = (2.0 * share * h, share * share * norm_sq);
                        second.value += own - cross;
                        second.scale = second.scale.max(cross.abs()).max(own);
                    }
                }
            }
            lost
        });
        if lost.reduce(|| false, |a, b| a | b) { Err(Lost) } else { Ok(()) }
    }
}
