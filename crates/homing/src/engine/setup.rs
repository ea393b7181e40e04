//! The data from which each round starts.

use super::plain::Tracker;
use super::scoring::Scorer;
use crate::task::survey::Norms;
use crate::{Kernel, Plan, Points, Task};

/// The data from which each round starts.
pub(crate) struct RoundSetup<'s, 'a> {
    pub task: &'s Task<'a>,
    pub plan: &'s Plan,
    /// The points in which the rule measures candidates, and their kernel.
    pub pool: Points<'a>,
    pub kernel: &'a dyn Kernel,
    pub noise_var: f64,
    /// Mean prior variance of the pool.
    pub mean_var: f64,
    /// ‖φ‖² of every row, for the linear kernel.
    pub norms: Option<&'s Norms>,
}

impl RoundSetup<'_, '_> {
    /// Returns ρ² of a row.
    pub fn noise_at(&self, row: usize) -> f64 {
        self.task.noise_vars.map_or(self.noise_var, |vars| vars[row])
    }

    /// Returns the inputs for scoring rows after `picks` picks.
    pub fn scorer<'t, 'b>(
        &'t self,
        tracker: &'t Tracker<'b>,
        picks: usize,
    ) -> Scorer<'t, 'b, impl Fn(usize) -> f64 + Sync> {
        let noise_at = |row: usize| self.noise_at(row);
        let strategy = &self.plan.strategy;
        Scorer {
            strategy,
            tracker,
            rows: None,
            first: 0,
            noise_at,
            seed: self.plan.seed,
            pick: (self.plan.earlier_picks + picks) as u64,
        }
    }
}
