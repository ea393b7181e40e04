//! The main loop: score, pick, condition, repeat.

use std::ops::ControlFlow;

use super::ledger::{Ledger, open_ledger};
use super::round::Round;
use crate::engine::setup::RoundSetup;
use crate::engine::work::Work;
use crate::kernels::Product;
use crate::law::irreducible::irreducible_given;
use crate::rules::TargetNoise;
use crate::rules::strategy::{BatchMethod, Space};
use crate::task::limits::Limits;
use crate::task::range::resolve_noise;
use crate::task::survey::Survey;
use crate::{
    EndReason, Error, Kernel, Noise, Pick, Plan, Points, Result, Selection, SpanCoordinates, TargetSampling, Task,
};

/// Progress of a selection.
///
/// ```
/// use homing::{Embeddings, Plan, Progress, Task, select_with};
/// use std::ops::ControlFlow;
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let mut shares = Vec::new();
/// select_with(&task, &Plan::default().count(2), |Progress { count, pick }| {
///     shares.push(pick.rank as f64 / count as f64);
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(shares, [0.5, 1.0]);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Number of picks requested.
    pub count: usize,
    /// The latest pick.
    pub pick: &'a Pick,
}

/// Chooses rows of a task that is already checked, or of a part of one.
pub(super) fn choose(
    task: &Task<'_>,
    plan: &Plan,
    noise_var: f64,
    survey: &Survey,
    limits: Limits<'_>,
    progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Selection> {
    continue_from(&[], task, plan, noise_var, survey, limits, progress)
}

/// Chooses rows as [`choose`] does, given the first picks and their scores. Rows that are scored once are scored again.
pub(super) fn continue_from(
    made: &[(usize, f64)],
    task: &Task<'_>,
    plan: &Plan,
    noise_var: f64,
    survey: &Survey,
    mut limits: Limits<'_>,
    mut progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Selection> {
    let span = SpanCoordinates::for_picks(task, plan.count)?;
    let task = &span.as_ref().map_or(*task, |span| span.task(task));
    let strategy = &plan.strategy;
    let target_noise = strategy.wants().var_given_targets.unwrap_or(TargetNoise::Noisy);
    let mut ledger = open_ledger(task, noise_var, target_noise)?;
    let enough = variance_goal(task, plan, &ledger)?;

    // Badge uses loss gradients; the ledger stays in the space of the task.
    let gradient_kernel = task.probabilities.map(|p| Product::new(p.dim(), true));
    let (pool, kernel): (Points<'_>, &dyn Kernel) = match (strategy.space, task.probabilities, &gradient_kernel) {
        (Space::LossGradient, Some(probabilities), Some(kernel)) => {
            (Points::loss_gradient(task.pool.embeddings(), probabilities)?, kernel)
        }
        _ => (task.pool, task.kernel),
    };
    let norms = survey.norms.as_ref();
    let setup = RoundSetup { task, plan, pool, kernel, noise_var, mean_var: survey.mean_var, norms };
    let mut picks: Vec<Pick> = Vec::new();
    let mut work = Work { passes: 1, ..Work::default() };
    let picks_per_round = plan.picks_per_round.unwrap_or(plan.count);
    let is_sequential = strategy.batch == BatchMethod::Sequential;
    let mut made = made.iter().copied().filter(|_| is_sequential);
    let ended = 'rounds: loop {
        let size = picks_per_round.min(plan.count - picks.len());
        let number = ((plan.earlier_picks + picks.len()) / picks_per_round) as u64;
        let mut drawn = draw_targets(task, plan, noise_var, number)?;
        let mut round: Option<Round<'_, '_>> = None;
        let work_of = |round: &Option<Round<'_, '_>>| round.as_ref().map_or(Work::default(), Round::work);
        for i in 0..size {
            let next = if let Some((row, score)) = made.next() {
                limits.take(row);
                Some((row, score))
            } else {
                let open = || Round::open(&setup, &mut ledger, &picks, &limits, size - i, drawn.take());
                round.get_or_insert_with(open).next(&mut ledger, &picks, &mut limits)?
            };
            let Some((row, score)) = next else {
                work += work_of(&round);
                break 'rounds EndReason::Limits;
            };
            let x = task.pool.row(row);
            let noise = setup.noise_at(row);
            if plan.stop.min_gain.is_some_and(|least| ledger.gain(&x, noise) < least) {
                work += work_of(&round);
                break 'rounds EndReason::Gain;
            }
            ledger.observe(&x, noise);
            ledger.check_definite(Some(row), noise)?;
            let (information, variance_left) = (ledger.information(), ledger.variance_left());
            task.check_read()?;
            let pick = Pick { rank: picks.len() + 1, row, score, information, variance_left };
            picks.push(pick);
            let broken_off = progress(Progress { count: plan.count, pick: &pick }).is_break();
            let enough = enough.is_some_and(|goal| ledger.target_var().is_some_and(|var| var <= goal));
            let ended = match () {
                () if enough => Some(EndReason::Variance),
                () if picks.len() == plan.count => Some(EndReason::Count),
                () if broken_off => Some(EndReason::Progress),
                () => None,
            };
            if let Some(ended) = ended {
                work += work_of(&round);
                break 'rounds ended;
            }
            if let Some(round) = round.as_mut().filter(|_| i + 1 < size) {
                round.observe(row);
            }
        }
        work += work_of(&round);
    };
    if picks.is_empty() && ended == EndReason::Limits {
        return Err(Error::LimitsTooTight);
    }
    let Work { passes, probes, left_carrier } = work;
    Ok(Selection { picks, noise_var, end_reason: ended, passes, probes, left_carrier })
}

/// Returns the targets' total variance at which the requested share is removed.
fn variance_goal(task: &Task<'_>, plan: &Plan, ledger: &Ledger<'_>) -> Result<Option<f64>> {
    let (Some(share), Some(targets), Some(start)) = (plan.stop.reduced_share, task.targets, ledger.target_var()) else {
        return Ok(None);
    };
    let floor: f64 = irreducible_given(task.pool, targets, ledger.data.clone(), task.kernel)?.iter().sum();
    Ok(Some(start - share * (start - floor).max(0.0)))
}

/// Returns the targets of a round, in increasing order; `None` if the rule needs no targets.
fn draw_targets(task: &Task<'_>, plan: &Plan, noise_var: f64, round: u64) -> Result<Option<Vec<usize>>> {
    let Some(targets) = task.targets.filter(|_| plan.strategy.needs_targets()) else { return Ok(None) };
    let diverse = |strategy: &str, count: usize| -> Result<Vec<usize>> {
        let task = Task { kernel: task.kernel, ..Task::undirected(targets) };
        let noise = Noise::Std(noise_var.sqrt());
        let plan = Plan { strategy: strategy.parse()?, count, noise, ..Plan::default() };
        let (survey, _) = Survey::measure(&task);
        let noise_var = resolve_noise(&task, noise, survey.mean_var)?;
        let limits = Limits::new(&task, &plan);
        let mut rows = choose(&task, &plan, noise_var, &survey, limits, |_| ControlFlow::Continue(()))?.rows();
        rows.sort_unstable();
        Ok(rows)
    };
    match plan.target_sampling {
        TargetSampling::MaxDet(size) => diverse("undirected-itl", size).map(Some),
        TargetSampling::MaxDist(size) => diverse("max-dist", size).map(Some),
        ref sampling => {
            let mut drawn = sampling.draw(targets.rows(), plan.seed, round);
            if plan.strategy.wants().var_given_targets.is_some() {
                // Information about a set of targets does not grow if one of them is named twice.
                drawn.iter_mut().for_each(Vec::dedup);
            }
            Ok(drawn)
        }
    }
}
