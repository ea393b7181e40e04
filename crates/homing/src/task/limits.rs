//! Which rows may be picked.
//!
//! [`Limits`] owns the mask. An engine that drafts picks ahead of time holds a copy of it, in which the drafted rows are
//! already closed. [`Limits::take`] closes them here when they are returned.

use super::{Plan, Task};
use crate::{Error, Result};

/// Rows that may still be picked: not forbidden, not labelled, not picked, within quota and budget.
pub(crate) struct Limits<'a> {
    open: Vec<bool>,
    groups: Option<&'a [usize]>,
    quotas: Vec<usize>,
    costs: Option<&'a [f64]>,
    budget: f64,
    spent: f64,
    repeat: bool,
}

impl<'a> Limits<'a> {
    pub fn new(task: &Task<'a>, plan: &Plan) -> Self {
        let mut open = vec![true; task.pool.rows()];
        for &row in task.forbidden {
            open[row] = false;
        }
        if !plan.repeat {
            for &row in task.observed_rows {
                open[row] = false;
            }
        }
        Self {
            open,
            groups: task.groups,
            quotas: plan.quotas.clone(),
            costs: task.costs,
            // Sums of decimal costs are off by a few ulp.
            budget: plan.budget.map_or(f64::INFINITY, |budget| budget * (1.0 + 1e-12)),
            spent: 0.0,
            repeat: plan.repeat,
        }
    }

    /// Limits that consist of a mask only.
    pub fn mask(open: Vec<bool>) -> Self {
        let (quotas, budget) = (Vec::new(), f64::INFINITY);
        Self { open, groups: None, quotas, costs: None, budget, spent: 0.0, repeat: false }
    }

    /// Returns the number of rows that are neither forbidden, labelled nor picked.
    pub fn available(&self) -> usize {
        self.open.iter().filter(|&&open| open).count()
    }

    /// Refuses a number of picks that the mask does not allow.
    pub fn check_count(&self, plan: &Plan) -> Result<()> {
        let (count, available) = (plan.count, self.available());
        match available {
            0 => Err(Error::NothingToPick),
            _ if count == 0 || (count > available && !plan.repeat) => Err(Error::Count { count, available }),
            _ => Ok(()),
        }
    }

    /// Returns whether a row may be picked now.
    pub fn allows(&self, row: usize) -> bool {
        self.open[row]
            && self.costs.is_none_or(|costs| self.spent + costs[row] <= self.budget)
            && self.groups.is_none_or(|groups| self.quotas.get(groups[row]).is_none_or(|&left| left > 0))
    }

    /// Returns whether only a mask limits the picks.
    pub fn is_mask(&self) -> bool {
        self.costs.is_none() && self.quotas.is_empty() && !self.repeat
    }

    /// Returns the mask: whether each row is still open.
    pub fn open(&self) -> &[bool] {
        &self.open
    }

    /// Marks a row as picked.
    pub fn take(&mut self, row: usize) {
        debug_assert!(self.open[row], "row {row} was already picked");
        self.open[row] = self.repeat;
        if let Some(costs) = self.costs {
            self.spent += costs[row];
        }
        if let Some(left) = self.groups.and_then(|groups| self.quotas.get_mut(groups[row])) {
            *left -= 1;
        }
    }

    /// Returns the cost of a row.
    pub fn cost(&self, row: usize) -> Option<f64> {
        self.costs.map(|costs| costs[row])
    }

    /// Returns the score per unit of cost. A negative score, as in a random race, becomes worse as the cost grows.
    pub fn per_cost(&self, row: usize, key: f64) -> f64 {
        match self.costs {
            Some(costs) if key >= 0.0 => key / costs[row],
            Some(costs) => key * costs[row],
            None => key,
        }
    }
}
