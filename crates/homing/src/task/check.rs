//! Checks of all settings and inputs, before any work on the pool.

use super::range::{check_costs, check_noise, check_noise_vars};
use super::{Plan, Task};
use crate::base::range::check_count;
use crate::data::points::check_probabilities;
use crate::rules::strategy::{BatchMethod, Space};
use crate::{Error, Result};

fn same_length(what: &'static str, got: usize, expected: usize) -> Result<()> {
    if got == expected { Ok(()) } else { Err(Error::Length { what, got, expected }) }
}

fn check_rows(what: &'static str, named: &[usize], rows: usize) -> Result<()> {
    match named.iter().find(|&&row| row >= rows) {
        Some(&row) => Err(Error::NoSuchRow { what, row, rows }),
        None => Ok(()),
    }
}

fn setting(name: &'static str, value: f64, valid: bool, expected: &'static str) -> Result<()> {
    if valid { Ok(()) } else { Err(Error::Setting { name, value, expected }) }
}

/// Largest number of earlier picks, so that their number plus that of this call does not overflow.
const MOST_EARLIER: u64 = 1 << 53;

/// Refuses invalid settings and inputs, before any work on the pool.
pub(crate) fn check(task: &Task<'_>, plan: &Plan) -> Result<()> {
    let rows = task.pool.rows();
    let strategy = &plan.strategy;
    for (what, points) in [("targets", task.targets), ("observed points", task.observed_points)] {
        if let Some(points) = points {
            if points.dim() != task.pool.dim() {
                return Err(Error::Dimension { what, got: points.dim(), pool: task.pool.dim() });
            }
            points.check_finite(what)?;
        }
    }
    if strategy.needs_targets() && task.targets.is_none() {
        return Err(Error::NeedsTargets { rule: strategy.name });
    }
    match task.probabilities {
        Some(probabilities) => {
            same_length("rows of probabilities", probabilities.rows(), rows)?;
            check_probabilities(probabilities, "probabilities")?;
        }
        None if strategy.needs_probabilities() => return Err(Error::NeedsProbabilities { rule: strategy.name }),
        None => {}
    }
    if strategy.space == Space::LossGradient && task.observed_points.is_some() {
        return Err(Error::NoGradients { rule: strategy.name });
    }
    check_rows("observed rows", task.observed_rows, rows)?;
    check_rows("forbidden rows", task.forbidden, rows)?;
    if let Some(noise_vars) = task.noise_vars {
        same_length("noise variances", noise_vars.len(), rows)?;
        check_noise_vars(noise_vars)?;
    }
    if let Some(costs) = task.costs {
        same_length("costs", costs.len(), rows)?;
        check_costs(costs)?;
    }
    if let Some(groups) = task.groups {
        same_length("groups", groups.len(), rows)?;
    }
    check_noise(plan.noise)?;
    check_count("picks", plan.count)?;
    let earlier = plan.earlier_picks as u64;
    setting("the number of picks made before", earlier as f64, earlier <= MOST_EARLIER, "it must not exceed 2⁵³")?;
    if let Some(gain) = plan.stop.min_gain {
        setting("the least gain", gain, gain >= 0.0, "it must not be negative")?;
    }
    if let Some(share) = plan.stop.reduced_share {
        setting("the share of variance", share, (0.0..=1.0).contains(&share), "it must lie between 0 and 1")?;
        if task.targets.is_none() {
            return Err(Error::StopNeedsTargets);
        }
    }
    if let Some(budget) = plan.budget {
        setting("the budget", budget, budget.is_finite() && budget > 0.0, "it must be a positive number")?;
        if task.costs.is_none() {
            return Err(Error::BudgetNeedsCosts);
        }
    }
    if !plan.quotas.is_empty() && task.groups.is_none() {
        return Err(Error::QuotasNeedGroups);
    }
    if plan.repeat && strategy.batch == BatchMethod::TopB {
        return Err(Error::CannotRepeat { rule: strategy.name });
    }
    plan.greedy.check(strategy)?;
    if plan.picks_per_round == Some(0) {
        return Err(Error::Setting {
            name: "the number of picks per round",
            value: 0.0,
            expected: "it must be at least 1",
        });
    }
    if let Some(targets) = task.targets {
        plan.target_sampling.check(targets.rows())?;
    }
    Ok(())
}
