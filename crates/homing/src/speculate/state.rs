//! Where a selection stands, in f64: the laws and targets, and what each pick changes them by.

use super::{Lost, Ranked};
use crate::algebra::{dot, norm_sq};
use crate::law::{Law, LinearLaw, condense};
use crate::tracker::Targets;
use crate::{Embeddings, Wants};

/// One pick, drafted or made: the functionals that it changes the candidates' numbers by.
#[derive(Clone)]
pub(crate) struct Step {
    pub row: usize,
    pub key: f64,
    pub score: f64,
    /// Σφ under the law given D, and Var f + ρ²; Var f alone.
    pub data: Vec<f64>,
    pub total: f64,
    pub var: f64,
    /// Σ_a Var f_a before it.
    pub target_var: f64,
    pub second: Second,
}

/// What a step holds for the rule's second number.
#[derive(Clone)]
pub(crate) enum Second {
    None,
    /// Σ_A φ and its total under the law given the targets too (ITL).
    Joint {
        weights: Vec<f64>,
        total: f64,
    },
    /// Σ_a c_a f_a with c the pick's covariances with the targets, and ‖c‖² (VTL).
    Squares {
        weights: Vec<f64>,
        norm_sq: f64,
    },
    /// Σ_a f_a / σ_a before this pick: what it was chosen by (CTL).
    Standardised {
        weights: Vec<f64>,
    },
}

impl Second {
    pub fn weights(&self) -> Option<&[f64]> {
        match self {
            Second::None => None,
            Second::Joint { weights, .. } | Second::Squares { weights, .. } | Second::Standardised { weights } => {
                Some(weights)
            }
        }
    }
}

/// The laws and targets at some point of the selection; all in f64.
#[derive(Clone)]
pub(crate) struct State {
    pub data: LinearLaw,
    pub joint: Option<LinearLaw>,
    pub targets: Option<Targets>,
    pub wants: Wants,
    pub noise_var: f64,
}

impl State {
    /// None for laws that are not in weight space.
    pub fn new(
        mut data: Law<'_>,
        joint: Option<Law<'_>>,
        targets: Option<Targets>,
        wants: Wants,
        noise_var: f64,
    ) -> Option<Self> {
        // VTL sees the targets through ΨᵀΨ alone, and no more rows than dimensions say all of that.
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

    /// What the next pick is chosen by beside the candidates' own numbers (CTL).
    pub fn standardised(&self) -> Option<Vec<f64>> {
        let targets = self.targets.as_ref().filter(|_| self.wants.std_cov)?;
        Some(self.data.functional(&targets.standardised().collect::<Vec<_>>()))
    }

    /// Observes a chosen row.
    pub fn observe(&mut self, pool: Embeddings<'_>, Ranked { row, key, score }: Ranked) -> Result<Step, Lost> {
        let x = &pool.row(row)[..];
        let (standardised, target_var) = (self.standardised(), self.target_var());
        let var = self.data.var(x);
        if var.is_lost() {
            return Err(Lost);
        }
        let total = var.value + self.noise_var;
        let weights = self.data.functional(&[(1.0, x)]);
        let mut second = standardised.map_or(Second::None, |weights| Second::Standardised { weights });
        if let Some(joint) = &mut self.joint {
            let var = joint.var(x);
            if var.is_lost() {
                return Err(Lost);
            }
            let (total, weights) = (var.value + self.noise_var, joint.functional(&[(1.0, x)]));
            joint.push(x, weights.clone(), self.noise_var, total);
            second = Second::Joint { weights, total };
        }
        if let Some(targets) = self.targets.as_mut().filter(|_| self.wants.sq_cov || self.wants.std_cov) {
            let covs: Vec<f64> = targets.iter().map(|a| dot(a, &weights)).collect();
            if self.wants.sq_cov {
                let terms: Vec<(f64, &[f64])> = covs.iter().copied().zip(targets.iter()).collect();
                let norm_sq = norm_sq(&covs);
                second = Second::Squares { weights: self.data.functional(&terms), norm_sq };
            }
            for (var, c) in targets.vars.iter_mut().zip(&covs) {
                var.value -= c * c / total;
                if var.is_lost() {
                    return Err(Lost);
                }
            }
        }
        self.data.push(x, weights.clone(), self.noise_var, total);
        Ok(Step { row, key, score, data: weights, total, var: var.value, target_var, second })
    }

    /// Brings the laws into their shortest form.
    pub fn fold(&mut self) {
        self.data.rebase();
        if let Some(joint) = &mut self.joint {
            joint.rebase();
        }
    }

    pub fn target_var(&self) -> f64 {
        self.targets.as_ref().map_or(0.0, Targets::total_var)
    }
}
