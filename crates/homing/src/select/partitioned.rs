//! Partitioned greedy: greedy within random parts of the pool, then among their picks.

use std::ops::ControlFlow;

use rand::RngExt;

use super::picking::{Progress, choose};
use crate::base::random::{Stream, generator};
use crate::data::copies::RowCopies;
use crate::task::limits::Limits;
use crate::task::range::{check_signal, noise_var, resolve_noise};
use crate::task::survey::Survey;
use crate::{Embeddings, EndReason, Error, Greedy, Noise, Plan, Result, Selection, Task};

/// Copies of some rows, with their costs and groups.
struct PoolPart {
    rows: Vec<usize>,
    points: RowCopies,
    costs: Option<Vec<f64>>,
    groups: Option<Vec<usize>>,
}

impl PoolPart {
    fn new(task: &Task<'_>, rows: Vec<usize>) -> Self {
        let points = RowCopies::gather(task.pool, &rows);
        let costs = task.costs.map(|costs| rows.iter().map(|&row| costs[row]).collect());
        let groups = task.groups.map(|groups| rows.iter().map(|&row| groups[row]).collect());
        Self { rows, points, costs, groups }
    }

    /// Makes greedy picks among the part's rows, numbered as in the pool.
    fn select(&self, task: &Task<'_>, plan: &Plan) -> Result<Selection> {
        let part = Task {
            pool: self.points.view(task.pool.dim())?.watching_as(task.pool.embeddings()).into(),
            observed_rows: &[],
            forbidden: &[],
            costs: self.costs.as_deref(),
            groups: self.groups.as_deref(),
            ..*task
        };
        let plan = Plan { count: plan.count.min(self.rows.len()), greedy: Greedy::Exact, ..plan.clone() };
        // A part may be much smaller than the noise, even if the pool is not.
        let (survey, _) = Survey::measure(&part);
        let (noise_var, limits) = (noise_var(plan.noise, survey.mean_var), Limits::new(&part, &plan));
        let chosen = choose(&part, &plan, noise_var, &survey, limits, |_| ControlFlow::Continue(()));
        let mut selection = chosen.map_err(|error| error.in_pool(&self.rows))?;
        selection.picks.iter_mut().for_each(|pick| pick.row = self.rows[pick.row]);
        Ok(selection)
    }
}

/// Chooses rows of a task that is already checked.
pub(super) fn select(
    task: &Task<'_>,
    plan: &Plan,
    parts: usize,
    mut progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Selection> {
    if task.noise_vars.is_some() || task.probabilities.is_some() || plan.repeat {
        return Err(Error::NotPartitionable);
    }
    let limits = Limits::new(task, plan);
    let rows: Vec<usize> = (0..task.pool.rows()).filter(|&row| limits.open()[row]).collect();
    limits.check_count(plan)?;
    if parts > rows.len() {
        let expected = "it must not exceed the number of rows that may be picked";
        return Err(Error::Setting { name: "the number of parts", value: parts as f64, expected });
    }
    let mean_var = Survey::new(task)?.mean_var;
    let noise_var = resolve_noise(task, plan.noise, mean_var)?;
    check_signal(&plan.strategy, task.targets, task.kernel, mean_var, noise_var)?;
    let plan = Plan { noise: Noise::Std(noise_var.sqrt()), ..plan.clone() };
    let mut observed = task.pool.gather(&task.labelled_rows());
    if let Some(points) = task.observed_points {
        observed.extend(points.to_vec());
        points.check_read()?;
    }
    let observed_points = match observed.len() {
        0 => None,
        _ => Some(Embeddings::new(&observed[..], task.pool.dim())?.into()),
    };
    let whole = Task { observed_points, ..*task };

    let mut rng = generator(plan.seed, Stream::Parts);
    let mut shares = vec![Vec::new(); parts];
    for &row in &rows {
        shares[rng.random_range(0..parts)].push(row);
    }
    let mut best: Option<Selection> = None;
    let (mut union, mut work) = (Vec::new(), 0);
    for rows in shares {
        // A part may have no row that the quotas and the budget allow.
        if !rows.iter().any(|&row| limits.allows(row)) {
            continue;
        }
        let part = PoolPart::new(task, rows);
        task.check_read()?;
        let found = part.select(&whole, &plan)?;
        work += found.passes * part.rows.len();
        union.extend(found.rows());
        if best.as_ref().is_none_or(|best| value(&found) > value(best)) {
            best = Some(found);
        }
    }
    let Some(best) = best else {
        return Err(Error::LimitsTooTight);
    };
    union.sort_unstable();
    let mut chosen = if union.is_empty() { best.clone() } else { PoolPart::new(task, union).select(&whole, &plan)? };
    if plan.strategy.value.is_some() && value(&best) > value(&chosen) {
        chosen = best;
    }
    task.check_read()?;
    // A pass over a part counts as a share of a pass over the pool. One further pass found the noise, and one copied the
    // parts.
    chosen.passes = 2 + work.div_ceil(task.pool.rows());
    chosen.probes = 0;
    let broken_off = chosen.picks.iter().position(|pick| progress(Progress { count: plan.count, pick }).is_break());
    if let Some(at) = broken_off.filter(|at| at + 1 < chosen.picks.len()) {
        chosen.picks.truncate(at + 1);
        chosen.end_reason = EndReason::Progress;
    }
    Ok(chosen)
}

/// Returns the value of all picks together, for a rule whose scores add up to it (information, or removed variance).
fn value(selection: &Selection) -> f64 {
    selection.picks.iter().map(|pick| pick.score).sum()
}
