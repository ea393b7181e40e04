//! The loop: score, pick, condition, repeat.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::choose::Limits;
use crate::irreducible::irreducible_given;
use crate::kernels::Product;
use crate::law::Law;
use crate::ledger::Ledger;
use crate::partition::select_partitioned;
use crate::range::{check_signal, settled_noise};
use crate::round::{Round, Setup};
use crate::rules::TargetNoise;
use crate::selection::{Ended, Pick, Selection};
use crate::strategy::Space;
use crate::task::{Survey, check};
use crate::{Error, Greedy, Kernel, Plan, Points, Result, Span, Task};

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
    progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Selection> {
    let selection = choose(task, plan, progress);
    // Whatever came of a failed read, an error of another kind included, is about zeros.
    task.check_read()?;
    selection
}

fn choose(
    task: &Task<'_>,
    plan: &Plan,
    mut progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Selection> {
    if let Greedy::Partitioned { parts } = plan.greedy {
        let progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()> = &mut progress;
        return select_partitioned(task, plan, parts, progress);
    }
    check(task, plan)?;
    let limits = Limits::new(task, plan);
    let available = limits.available();
    if available == 0 {
        return Err(Error::NothingToPick);
    }
    if plan.count == 0 || (plan.count > available && !plan.repeat) {
        return Err(Error::Count { count: plan.count, available });
    }
    let survey = Survey::new(task)?;
    let noise_var = settled_noise(task.noise_vars, plan.noise, survey.mean_var)?;
    check_signal(&plan.strategy, task.targets, task.kernel, survey.mean_var, noise_var)?;
    choose_from(task, plan, noise_var, &survey, limits, progress)
}

/// Chooses rows of a task that was checked, or of a part of one.
pub(crate) fn choose_from(
    task: &Task<'_>,
    plan: &Plan,
    noise_var: f64,
    survey: &Survey,
    mut limits: Limits<'_>,
    mut progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Selection> {
    let span = Span::for_picks(task, plan.count)?;
    let task = &span.as_ref().map_or(*task, |span| span.task(task));
    let strategy = &plan.strategy;
    let target_noise = strategy.wants().var_given_targets.unwrap_or(TargetNoise::Noisy);
    let mut ledger = open_ledger(task, noise_var, target_noise)?;
    let enough = variance_goal(task, plan, &ledger)?;

    // Badge sees loss gradients; the ledger keeps to the space of the task.
    let gradient_kernel = task.probabilities.map(|p| Product::new(p.dim(), true));
    let (pool, kernel): (Points<'_>, &dyn Kernel) = match (strategy.space, task.probabilities, &gradient_kernel) {
        (Space::LossGradient, Some(probabilities), Some(kernel)) => {
            (Points::loss_gradient(task.pool.embeddings(), probabilities)?, kernel)
        }
        _ => (task.pool, task.kernel),
    };
    let norms = survey.norms.as_deref();
    let setup = Setup { task, plan, pool, kernel, noise_var, mean_var: survey.mean_var, norms };
    let mut picks: Vec<Pick> = Vec::new();
    let mut passes = 1;
    let round_size = plan.round_size.unwrap_or(plan.count);
    let ended = 'rounds: loop {
        let size = round_size.min(plan.count - picks.len());
        let number = ((plan.made + picks.len()) / round_size) as u64;
        let mut round = Round::open(&setup, &mut ledger, &picks, &limits, size, number)?;
        for i in 0..size {
            let Some((index, score)) = round.next(&mut ledger, &picks, &mut limits)? else {
                passes += round.passes();
                break 'rounds Ended::Limits;
            };
            let x = task.pool.row(index);
            let noise = setup.noise_at(index);
            if plan.stop.min_gain.is_some_and(|least| ledger.gain(&x, noise) < least) {
                passes += round.passes();
                break 'rounds Ended::Gain;
            }
            ledger.observe(&x, noise);
            ledger.check_definite(Some(index), noise)?;
            let (information, variance_left) = (ledger.information(), ledger.variance_left());
            task.check_read()?;
            let pick = Pick { rank: picks.len() + 1, index, score, information, variance_left };
            picks.push(pick);
            let asked = progress(Progress { count: plan.count, pick: &pick }).is_break();
            let enough = enough.is_some_and(|goal| ledger.target_var().is_some_and(|var| var <= goal));
            let ended = match () {
                () if enough => Some(Ended::Variance),
                () if picks.len() == plan.count => Some(Ended::Count),
                () if asked => Some(Ended::Asked),
                () => None,
            };
            if let Some(ended) = ended {
                passes += round.passes();
                break 'rounds ended;
            }
            if i + 1 < size {
                round.observe(index);
            }
        }
        passes += round.passes();
    };
    if picks.is_empty() && ended == Ended::Limits {
        return Err(Error::Unsupported("quotas or the budget allow no row at all; raise them"));
    }
    Ok(Selection { picks, noise_var, ended, passes })
}

/// The law given what is labelled already, with the targets beside it.
pub(crate) fn open_ledger<'a>(task: &Task<'a>, noise_var: f64, target_noise: TargetNoise) -> Result<Ledger<'a>> {
    let mut data = Law::prior(task.kernel, task.pool.dim());
    // A row that is named twice was still labelled once.
    let rows: BTreeSet<usize> = task.observed_rows.iter().copied().collect();
    let rows: Vec<usize> = rows.into_iter().collect();
    let mut observed = task.pool.gather(&rows);
    let mut noise: Vec<f64> = rows.iter().map(|&row| task.noise_vars.map_or(noise_var, |vars| vars[row])).collect();
    if let Some(points) = task.observed_points {
        observed.extend(points.to_vec());
        noise.resize(noise.len() + points.rows(), noise_var);
    }
    if !noise.is_empty() {
        data.observe_all(&observed, &noise);
    }
    let targets = task.targets.map(|targets| (targets.to_vec(), targets.dim()));
    let ledger = Ledger::new(data, targets, target_noise, noise_var);
    ledger.check_definite(None, noise_var)?;
    Ok(ledger)
}

/// The targets' total variance at which a reduced share is reached.
fn variance_goal(task: &Task<'_>, plan: &Plan, ledger: &Ledger<'_>) -> Result<Option<f64>> {
    let (Some(share), Some(targets), Some(start)) = (plan.stop.reduced_share, task.targets, ledger.target_var()) else {
        return Ok(None);
    };
    let floor: f64 = irreducible_given(task.pool, targets, ledger.data.clone(), task.kernel)?.iter().sum();
    Ok(Some(start - share * (start - floor).max(0.0)))
}
