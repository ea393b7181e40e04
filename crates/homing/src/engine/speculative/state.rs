//! The state of a selection in f64: the laws and targets, and how each pick changes them.

use super::PrecisionLoss;
use crate::Wants;
use crate::base::algebra::{dot, norm_sq};
use crate::engine::numbers::lower_variance;
use crate::engine::order::ScoredRow;
use crate::law::targets::Targets;
use crate::law::{Law, LinearLaw, condense};
use crate::shard::{PickStep, SecondNumber, SquareRoot};

impl PickStep {
    pub(crate) fn scored(&self) -> ScoredRow {
        ScoredRow { row: self.row, key: self.key, score: self.score }
    }
}

/// The laws and targets at some point of the selection, all in f64.
#[derive(Clone)]
pub(crate) struct SelectionState {
    pub data: LinearLaw,
    pub joint: Option<LinearLaw>,
    pub targets: Option<Targets>,
    pub wants: Wants,
    pub noise_var: f64,
}

impl SelectionState {
    /// Creates the state at the start of a round. Returns `None` for laws that are not in weight space.
    pub fn new(
        mut data: Law<'_>,
        joint: Option<Law<'_>>,
        targets: Option<Targets>,
        wants: Wants,
        noise_var: f64,
    ) -> Option<Self> {
        // VTL depends on the targets only through ΨᵀΨ, which at most as many rows as dimensions represent exactly.
        let many = |targets: &Targets| wants.sq_cov && targets.vars.len() > targets.dim;
        let targets = targets.map(|targets| match targets {
            targets if many(&targets) => Targets::new(condense(&targets.points, targets.dim), targets.dim, &mut data),
            targets => targets,
        });
        let linear = |law: Law<'_>| match law {
            Law::Linear(law) => Some(law),
            Law::Dual(_) => None,
        };
        let joint = match joint {
            Some(joint) => Some(linear(joint)?),
            None => None,
        };
        Some(Self { data: linear(data)?, joint, targets, wants, noise_var })
    }

    /// Returns the functional by which CTL chooses the next pick, in addition to the candidates' own numbers.
    pub fn standardised(&self) -> Option<Vec<f64>> {
        let targets = self.targets.as_ref().filter(|_| self.wants.std_cov)?;
        Some(self.data.functional(&targets.standardised().collect::<Vec<_>>()))
    }

    /// Returns the functionals whose squared covariances with a candidate add up to VTL's sum.
    pub fn square_root(&self) -> Option<SquareRoot> {
        let targets = self.targets.as_ref().filter(|_| self.wants.sq_cov)?;
        let columns = self.data.root_of(&targets.points);
        let norm_sq = columns.iter().map(|column| norm_sq(column)).sum();
        Some(SquareRoot { columns, norm_sq })
    }

    /// Conditions on a chosen row `x`, and returns the step.
    pub fn observe(&mut self, x: &[f64], ScoredRow { row, key, score }: ScoredRow) -> Result<PickStep, PrecisionLoss> {
        let (standardised, target_var) = (self.standardised(), self.target_var());
        let of_joint = || self.joint.as_ref().map(|joint| joint.var_and_functional(x));
        let ((var, weights), joint_numbers) = if self.data.is_large() {
            rayon::join(|| self.data.var_and_functional(x), of_joint)
        } else {
            (self.data.var_and_functional(x), of_joint())
        };
        if var.is_lost() {
            return Err(PrecisionLoss);
        }
        let total = var.value + self.noise_var;
        let mut second = standardised.map_or(SecondNumber::None, |weights| SecondNumber::Standardised { weights });
        if let (Some(joint), Some((var, weights))) = (&mut self.joint, joint_numbers) {
            if var.is_lost() {
                return Err(PrecisionLoss);
            }
            let total = var.value + self.noise_var;
            joint.push(x, weights.clone(), self.noise_var, total);
            second = SecondNumber::Joint { weights, total };
        }
        if let Some(targets) = self.targets.as_mut().filter(|_| self.wants.sq_cov || self.wants.std_cov) {
            let covs: Vec<f64> = targets.iter().map(|a| dot(a, &weights)).collect();
            if self.wants.sq_cov {
                let terms: Vec<(f64, &[f64])> = covs.iter().copied().zip(targets.iter()).collect();
                let norm_sq = norm_sq(&covs);
                second = SecondNumber::Squares { weights: self.data.functional(&terms), norm_sq };
            }
            for (var, c) in targets.vars.iter_mut().zip(&covs) {
                lower_variance(var, *c, total);
                if var.is_lost() {
                    return Err(PrecisionLoss);
                }
            }
        }
        self.data.push(x, weights.clone(), self.noise_var, total);
        Ok(PickStep { row, key, score, data: weights, total, var: var.value, target_var, second })
    }

    /// Returns the state after the first `steps` that led from `before` to this state; `None` if the laws have been folded
    /// since.
    pub fn cut(&self, before: &Self, steps: &[PickStep]) -> Option<Self> {
        let joint = match (&self.joint, &before.joint) {
            (Some(joint), Some(before)) => Some(joint.cut(before, steps.len())?),
            _ => None,
        };
        let mut state = Self { data: self.data.cut(&before.data, steps.len())?, joint, ..before.clone() };
        if let Some(targets) = state.targets.as_mut().filter(|_| before.wants.sq_cov || before.wants.std_cov) {
            for step in steps {
                let covs: Vec<f64> = targets.iter().map(|a| dot(a, &step.data)).collect();
                targets.vars.iter_mut().zip(covs).for_each(|(var, c)| lower_variance(var, c, step.total));
            }
        }
        Some(state)
    }

    /// Brings the laws into their shortest form.
    pub fn fold(&mut self) {
        let Self { data, joint, .. } = self;
        rayon::join(|| data.rebase(), || joint.as_mut().map(LinearLaw::rebase));
    }

    /// Returns whether so many further picks fold one of the laws.
    pub fn folds_within(&self, picks: usize) -> bool {
        [Some(&self.data), self.joint.as_ref()].into_iter().flatten().any(|law| law.folds_within(picks))
    }

    pub fn target_var(&self) -> f64 {
        self.targets.as_ref().map_or(0.0, Targets::total_var)
    }
}
