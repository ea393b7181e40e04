//! The few rows that picks are drafted on, with their numbers in f64.

use std::collections::HashMap;

use super::{Lost, Second, State, Step};
use crate::algebra::dot;
use crate::choose::TIE;
use crate::law::Variance;
use crate::{Candidate, Embeddings, Points, Rule};

/// Rows, their points, and their numbers given all picks.
#[derive(Default, Clone)]
pub(crate) struct Hot {
    rows: Vec<usize>,
    points: std::sync::Arc<Vec<f64>>,
    dim: usize,
    numbers: Numbers,
    std_cov: Vec<f64>,
}

/// Var f_x given D, and the rule's second number: given the targets too, or the sum of squared covariances.
#[derive(Default, Clone)]
pub(crate) struct Numbers {
    var: Vec<Variance>,
    second: Vec<Variance>,
}

impl Hot {
    /// Computes the numbers of some rows from nothing.
    pub fn build(pool: Embeddings<'_>, rows: &[usize], state: &State) -> Self {
        let dim = pool.dim();
        let points = Points::from(pool).gather(rows);
        let zero = Variance { value: 0.0, scale: 0.0 };
        let mut var = vec![zero; rows.len()];
        state.data.scan_vars(&points, &mut var);
        let mut second = Vec::new();
        if let Some(joint) = &state.joint {
            second = vec![zero; rows.len()];
            joint.scan_vars(&points, &mut second);
        }
        if let Some(targets) = state.targets.as_ref().filter(|_| state.wants.sq_cov) {
            let root = state.data.root_of(&targets.points);
            let sum = |x: &[f64]| root.iter().map(|weights| dot(weights, x).powi(2)).sum();
            second = points.chunks_exact(dim).map(sum).map(|value| Variance { value, scale: value }).collect();
        }
        Self { rows: rows.to_vec(), points: points.into(), dim, numbers: Numbers { var, second }, std_cov: Vec::new() }
    }

    /// Keeps the open rows that are among `best`, and adds the others of them.
    pub fn turn_over(self, pool: Embeddings<'_>, best: &[usize], state: &State, open: &[bool]) -> Self {
        let known: HashMap<usize, usize> = self.rows.iter().enumerate().map(|(at, &row)| (row, at)).collect();
        let (old, new): (Vec<usize>, Vec<usize>) = best.iter().filter(|&&row| open[row]).partition(|row| known.contains_key(row));
        let mut added = Self::build(pool, &new, state);
        let mut points = std::mem::take(&mut added.points).to_vec();
        for row in old {
            let at = known[&row];
            added.rows.push(row);
            points.extend_from_slice(self.point(at));
            added.numbers.var.push(self.numbers.var[at]);
            if let Some(&second) = self.numbers.second.get(at) {
                added.numbers.second.push(second);
            }
        }
        added.points = points.into();
        added
    }

    pub fn row(&self, at: usize) -> usize {
        self.rows[at]
    }

    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    pub fn point(&self, at: usize) -> &[f64] {
        &self.points[at * self.dim..(at + 1) * self.dim]
    }

    pub fn find(&self, row: usize) -> Option<usize> {
        self.rows.iter().position(|&known| known == row)
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
    pub fn standardise(&mut self, weights: Option<&[f64]>) {
        if let Some(weights) = weights {
            self.std_cov = self.points.chunks_exact(self.dim).map(|x| dot(x, weights)).collect();
        }
    }

    fn candidate(&self, at: usize, noise_var: f64) -> Candidate<'static> {
        let var = self.numbers.var[at].value.max(0.0);
        let second = self.numbers.second.get(at).map_or(0.0, |second| second.value.max(0.0));
        Candidate {
            var,
            var_given_targets: second.min(var),
            sq_cov: second,
            std_cov: self.std_cov.get(at).copied().unwrap_or(0.0),
            noise_var,
            ..Candidate::default()
        }
    }

    /// The best open row: its place here, key and score; ties go to the smaller row.
    pub fn best(&self, rule: &dyn Rule, noise_var: f64, open: impl Fn(usize) -> bool) -> Option<(usize, f64, f64)> {
        let keys: Vec<f64> = (0..self.rows.len())
            .map(|at| if open(self.rows[at]) { rule.key(&self.candidate(at, noise_var)) } else { f64::NAN })
            .collect();
        let leader = keys.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let at = (0..keys.len())
            .filter(|&at| keys[at] >= leader - TIE * leader.abs())
            .min_by_key(|&at| self.rows[at])?;
        Some((at, keys[at], rule.score(&self.candidate(at, noise_var))))
    }

    /// The smallest open row whose key ties with `leader`: its row, key and score.
    pub fn first_tie(
        &self,
        rule: &dyn Rule,
        noise_var: f64,
        leader: f64,
        open: impl Fn(usize) -> bool,
    ) -> Option<(usize, f64, f64)> {
        (0..self.rows.len())
            .filter(|&at| open(self.rows[at]))
            .map(|at| (at, rule.key(&self.candidate(at, noise_var))))
            .filter(|(_, key)| *key >= leader - TIE * leader.abs())
            .min_by_key(|&(at, _)| self.rows[at])
            .map(|(at, key)| (self.rows[at], key, rule.score(&self.candidate(at, noise_var))))
    }

    /// Takes in a pick.
    pub fn apply(&mut self, step: &Step) -> Result<(), Lost> {
        for (at, x) in self.points.chunks_exact(self.dim.max(1)).enumerate() {
            let g = dot(x, &step.data);
            self.numbers.var[at].value -= g * g / step.total;
            if self.numbers.var[at].is_lost() {
                return Err(Lost);
            }
            match &step.second {
                Second::None | Second::Standardised { .. } => {}
                Second::Joint { weights, total, .. } => {
                    let g = dot(x, weights);
                    self.numbers.second[at].value -= g * g / total;
                }
                Second::Squares { weights, norm_sq } => {
                    let (share, h) = (g / step.total, dot(x, weights));
                    let (cross, own) = (2.0 * share * h, share * share * norm_sq);
                    let q = &mut self.numbers.second[at];
                    q.value += own - cross;
                    q.scale = q.scale.max(cross.abs()).max(own);
                }
            }
            if self.numbers.second.get(at).is_some_and(|second| second.is_lost()) {
                return Err(Lost);
            }
        }
        Ok(())
    }
}
