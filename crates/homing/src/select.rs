//! The loop: score, pick, condition, repeat.

use std::ops::ControlFlow;

use crate::choose::{Limits, take_best, take_top};
use crate::irreducible::irreducible_vars;
use crate::kernels::Product;
use crate::law::Law;
use crate::ledger::{Ledger, given_targets};
use crate::rules::TargetNoise;
use crate::selection::{Ended, Pick, Selection};
use crate::strategy::{Batch, Space};
use crate::task::check;
use crate::tracker::{Targets, Tracker};
use crate::{Error, Kernel, Noise, Plan, Points, Result, TargetSampling, Task};

/// How far a selection is.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Picks asked for.
    pub count: usize,
    /// The pick just made.
    pub pick: &'a Pick,
}

/// Chooses rows of the pool.
///
/// `progress` is told every pick and may say stop; the picks so far are returned then.
pub fn select(
    task: &Task<'_>,
    plan: &Plan,
    mut progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Selection> {
    check(task, plan)?;
    let mut limits = Limits::new(task, plan);
    let available = limits.available();
    if plan.count == 0 || available == 0 || (plan.count > available && !plan.repeat) {
        return Err(Error::Count { count: plan.count, available });
    }
    let noise_var = noise_var(task, plan.noise);
    let noise_at = |row: usize| task.noise_vars.map_or(noise_var, |vars| vars[row]);
    let strategy = &plan.strategy;
    let target_noise = strategy.wants().var_given_targets.unwrap_or(TargetNoise::Noisy);
    let mut ledger = open_ledger(task, noise_var, target_noise);
    let enough = variance_goal(task, plan, &ledger)?;

    // Badge sees loss gradients; the ledger keeps to the space of the task.
    let gradient_kernel = task.probabilities.map(|p| Product::new(p.dim(), true));
    let (pool, kernel): (Points<'_>, &dyn Kernel) = match (strategy.space, task.probabilities, &gradient_kernel) {
        (Space::LossGradient, Some(probabilities), Some(kernel)) => {
            (Points::loss_gradient(task.pool.embeddings(), probabilities)?, kernel)
        }
        _ => (task.pool, task.kernel),
    };

    let mut picks: Vec<Pick> = Vec::with_capacity(plan.count);
    let round_size = plan.round_size.unwrap_or(plan.count);
    for round in 0.. {
        let size = round_size.min(plan.count - picks.len());
        let mut tracker = open_round(task, plan, pool, kernel, &mut ledger, &picks, noise_var, round)?;
        let first = picks.len() as u64;
        let mut top = match strategy.batch {
            Batch::TopB => take_top(strategy, &tracker, &mut limits, noise_at, plan.seed, first, size),
            Batch::Sequential => Vec::new(),
        }
        .into_iter();
        for i in 0..size {
            let next = match strategy.batch {
                Batch::TopB => top.next(),
                Batch::Sequential => take_best(strategy, &tracker, &mut limits, noise_at, plan.seed, first + i as u64),
            };
            let end = |picks, ended| Ok(Selection { picks, noise_var, ended });
            let Some((index, score)) = next else { return end(picks, Ended::Limits) };
            let x = task.pool.row(index);
            if plan.stop.min_gain.is_some_and(|least| ledger.gain(&x, noise_at(index)) < least) {
                return end(picks, Ended::Gain);
            }
            ledger.observe(&x, noise_at(index));
            let (information, variance_left) = (ledger.information(), ledger.variance_left());
            let pick = Pick { rank: picks.len() + 1, index, score, information, variance_left };
            picks.push(pick);
            if enough.is_some_and(|goal| ledger.target_var().is_some_and(|var| var <= goal)) {
                return end(picks, Ended::Variance);
            }
            let asked = progress(Progress { count: plan.count, pick: &pick }).is_break();
            if picks.len() == plan.count {
                return end(picks, Ended::Count);
            }
            if asked {
                return end(picks, Ended::Asked);
            }
            if strategy.batch == Batch::Sequential && i + 1 < size {
                tracker.observe(index, noise_at(index));
            }
        }
    }
    unreachable!("the last round makes the last pick")
}

/// ρ² of the plan: given, or relative to the pool's mean prior variance.
fn noise_var(task: &Task<'_>, noise: Noise) -> f64 {
    match noise {
        Noise::Std(std) => std * std,
        Noise::Relative(share) => {
            let mean = task.pool.mean_of(|x| task.kernel.var(x));
            // Rows that are all zero teach nothing under any noise.
            if mean > 0.0 { share * mean } else { share }
        }
    }
}

/// The law given what is labelled already, with the targets beside it.
pub(crate) fn open_ledger<'a>(task: &Task<'a>, noise_var: f64, target_noise: TargetNoise) -> Ledger<'a> {
    let mut data = Law::prior(task.kernel, task.pool.dim());
    let mut observed = task.pool.gather(task.observed_rows);
    let mut noise: Vec<f64> =
        task.observed_rows.iter().map(|&row| task.noise_vars.map_or(noise_var, |vars| vars[row])).collect();
    if let Some(points) = task.observed_points {
        observed.extend(points.to_vec());
        noise.resize(noise.len() + points.rows(), noise_var);
    }
    if !noise.is_empty() {
        data.observe_all(&observed, &noise);
    }
    let targets = task.targets.map(|targets| (targets.to_vec(), targets.dim()));
    Ledger::new(data, targets, target_noise, noise_var)
}

/// The targets' total variance at which a reduced share is reached.
fn variance_goal(task: &Task<'_>, plan: &Plan, ledger: &Ledger<'_>) -> Result<Option<f64>> {
    let (Some(share), Some(targets), Some(start)) = (plan.stop.reduced_share, task.targets, ledger.target_var()) else {
        return Ok(None);
    };
    let floor: f64 = irreducible_vars(task.pool, targets, task.kernel)?.iter().sum();
    Ok(Some(start - share * (start - floor).max(0.0)))
}

/// The candidates' numbers at the start of a round, with D and all picks so far conditioned on.
#[allow(clippy::too_many_arguments)]
fn open_round<'a, 'l: 'a>(
    task: &Task<'a>,
    plan: &Plan,
    pool: Points<'a>,
    kernel: &'a dyn Kernel,
    ledger: &mut Ledger<'l>,
    picks: &[Pick],
    noise_var: f64,
    round: u64,
) -> Result<Tracker<'a>> {
    let wants = plan.strategy.wants();
    let targets = match task.targets.filter(|_| wants.targets()) {
        Some(all) => {
            let rows = plan.target_sampling.draw(all, task.kernel, plan.noise, plan.seed, round)?;
            Some(Targets::new(all.gather(&rows), all.dim(), &mut ledger.data))
        }
        None => None,
    };
    let joint = match (&targets, wants.var_given_targets) {
        (Some(_), Some(_)) if plan.target_sampling == TargetSampling::All => ledger.joint.clone(),
        (Some(targets), Some(noise)) => {
            Some(given_targets(&ledger.data, &targets.points, targets.dim, noise, noise_var))
        }
        _ => None,
    };
    let near = if wants.nearest {
        let rows: Vec<usize> = task.observed_rows.iter().copied().chain(picks.iter().map(|p| p.index)).collect();
        let mut near = pool.gather(&rows);
        near.extend(task.observed_points.map(|points| points.to_vec()).unwrap_or_default());
        near
    } else {
        Vec::new()
    };
    Ok(Tracker::new(pool, kernel, wants, task.probabilities, targets, ledger.data.clone(), joint, &near))
}
