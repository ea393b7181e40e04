//! Partitioned greedy: greedy within random parts of the pool, then among their picks.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use rand::RngExt;

use crate::choose::Limits;
use crate::copies::Copies;
use crate::random::{Stream, generator};
use crate::range::{check_signal, noise_var, settled_noise};
use crate::select::{Progress, choose_from};
use crate::task::{Survey, check};
use crate::{Embeddings, Ended, Error, Greedy, Noise, Plan, Result, Selection, Task};

/// Copies of some rows, and what a task says of them.
struct Part {
    rows: Vec<usize>,
    points: Copies,
    costs: Option<Vec<f64>>,
    groups: Option<Vec<usize>>,
}

impl Part {
    fn new(task: &Task<'_>, rows: Vec<usize>) -> Self {
        let points = Copies::gather(task.pool, &rows);
        let costs = task.costs.map(|costs| rows.iter().map(|&row| costs[row]).collect());
        let groups = task.groups.map(|groups| rows.iter().map(|&row| groups[row]).collect());
        Self { rows, points, costs, groups }
    }

    /// Greedy picks among its rows, numbered as in the pool.
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
        // A part may be much smaller than the noise although the pool is not.
        let (survey, _) = Survey::measure(&part);
        let (noise_var, limits) = (noise_var(plan.noise, survey.mean_var), Limits::new(&part, &plan));
        let chosen = choose_from(&part, &plan, noise_var, &survey, limits, |_| ControlFlow::Continue(()));
        let mut selection = chosen.map_err(|error| error.in_pool(&self.rows))?;
        selection.picks.iter_mut().for_each(|pick| pick.index = self.rows[pick.index]);
        Ok(selection)
    }
}

pub(crate) fn select_partitioned(
    task: &Task<'_>,
    plan: &Plan,
    parts: usize,
    mut progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Selection> {
    check(task, plan)?;
    if task.noise_vars.is_some() || task.probabilities.is_some() || plan.repeat {
        let why = "partitioned greedy takes one noise for all rows, no probabilities and no repetition";
        return Err(Error::Unsupported(why));
    }
    let limits = Limits::new(task, plan);
    let rows: Vec<usize> = (0..task.pool.rows()).filter(|&row| limits.open()[row]).collect();
    if rows.is_empty() {
        return Err(Error::NothingToPick);
    }
    if plan.count == 0 || plan.count > rows.len() {
        return Err(Error::Count { count: plan.count, available: rows.len() });
    }
    if parts > rows.len() {
        let expected = "it must not exceed the rows that may be picked";
        return Err(Error::Setting { name: "the number of parts", value: parts as f64, expected });
    }
    let mean_var = Survey::new(task)?.mean_var;
    let noise_var = settled_noise(None, plan.noise, mean_var)?;
    check_signal(&plan.strategy, task.targets, task.kernel, mean_var, noise_var)?;
    let plan = Plan { noise: Noise::Std(noise_var.sqrt()), ..plan.clone() };
    // A row that is named twice was still labelled once.
    let labelled: BTreeSet<usize> = task.observed_rows.iter().copied().collect();
    let mut observed = task.pool.gather(&labelled.into_iter().collect::<Vec<_>>());
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
        // A part may hold no row that quotas and the budget allow.
        if !rows.iter().any(|&row| limits.allows(row)) {
            continue;
        }
        let part = Part::new(task, rows);
        task.check_read()?;
        let found = part.select(&whole, &plan)?;
        work += found.passes * part.rows.len();
        union.extend(found.indices());
        if best.as_ref().is_none_or(|best| value(&found) > value(best)) {
            best = Some(found);
        }
    }
    let Some(best) = best else {
        return Err(Error::Unsupported("quotas or the budget allow no row at all; raise them"));
    };
    union.sort_unstable();
    let mut chosen = if union.is_empty() { best.clone() } else { Part::new(task, union).select(&whole, &plan)? };
    if plan.strategy.value.is_some() && value(&best) > value(&chosen) {
        chosen = best;
    }
    task.check_read()?;
    // A pass over a part is a share of a pass over the pool; one more found the noise, one copied the parts.
    chosen.passes = 2 + work.div_ceil(task.pool.rows());
    let asked = chosen.picks.iter().position(|pick| progress(Progress { count: plan.count, pick }).is_break());
    if let Some(at) = asked.filter(|at| at + 1 < chosen.picks.len()) {
        chosen.picks.truncate(at + 1);
        chosen.ended = Ended::Asked;
    }
    Ok(chosen)
}

/// What the picks are worth together, for a rule whose scores add up to that (information, or variance taken away).
fn value(selection: &Selection) -> f64 {
    selection.picks.iter().map(|pick| pick.score).sum()
}
