//! Partitioned greedy: greedy within random parts of the pool, then among their picks.

use std::ops::ControlFlow;

use rand::RngExt;

use crate::greedy::value_of;
use crate::random::{Stream, generator};
use crate::select::{Progress, noise_var};
use crate::task::{Survey, check};
use crate::{Embeddings, Error, Greedy, Noise, Pick, Plan, Points, Result, Selection, Task, select};

/// Copies of some rows, and what a task says of them.
struct Part {
    rows: Vec<usize>,
    points: Vec<f64>,
    single: Vec<f32>,
    costs: Option<Vec<f64>>,
    groups: Option<Vec<usize>>,
}

impl Part {
    fn new(task: &Task<'_>, rows: Vec<usize>) -> Self {
        let (mut points, mut single) = (Vec::new(), Vec::new());
        match task.pool {
            Points::Embeddings(pool) if pool.fits_f32() => {
                single = vec![0.0; rows.len() * pool.dim()];
                pool.gather_f32(&rows, &mut single);
            }
            pool => points = pool.gather(&rows),
        }
        let costs = task.costs.map(|costs| rows.iter().map(|&row| costs[row]).collect());
        let groups = task.groups.map(|groups| rows.iter().map(|&row| groups[row]).collect());
        Self { rows, points, single, costs, groups }
    }

    /// Greedy picks among its rows, numbered as in the pool.
    fn select(
        &self,
        task: &Task<'_>,
        plan: &Plan,
        mut progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Selection> {
        let dim = task.pool.dim();
        let pool = if self.single.is_empty() {
            Embeddings::new(&self.points[..], dim)?
        } else {
            Embeddings::new(&self.single[..], dim)?
        };
        let part = Task {
            pool: pool.into(),
            observed_rows: &[],
            forbidden: &[],
            costs: self.costs.as_deref(),
            groups: self.groups.as_deref(),
            ..*task
        };
        let plan = Plan { count: plan.count.min(self.rows.len()), greedy: Greedy::Exact, ..plan.clone() };
        let number = |pick: &Pick| Pick { index: self.rows[pick.index], ..*pick };
        let mut selection =
            select(&part, &plan, |Progress { count, pick }| progress(Progress { count, pick: &number(pick) }))?;
        selection.picks.iter_mut().for_each(|pick| *pick = number(pick));
        Ok(selection)
    }
}

pub(crate) fn select_partitioned(
    task: &Task<'_>,
    plan: &Plan,
    parts: usize,
    progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Selection> {
    check(task, plan)?;
    if task.noise_vars.is_some() || task.probabilities.is_some() || plan.repeat {
        let why = "partitioned greedy takes one noise for all rows, no probabilities and no repetition";
        return Err(Error::Unsupported(why));
    }
    let noise_var = noise_var(plan.noise, Survey::new(task)?.mean_var);
    let plan = Plan { noise: Noise::Std(noise_var.sqrt()), ..plan.clone() };
    let mut observed = task.pool.gather(task.observed_rows);
    observed.extend(task.observed_points.map(|points| points.to_vec()).unwrap_or_default());
    let observed_points = match observed.len() {
        0 => None,
        _ => Some(Embeddings::new(&observed[..], task.pool.dim())?.into()),
    };
    let whole = Task { observed_points, ..*task };

    let mut open = vec![true; task.pool.rows()];
    task.observed_rows.iter().chain(task.forbidden).for_each(|&row| open[row] = false);
    let mut rng = generator(plan.seed, Stream::Parts);
    let mut shares = vec![Vec::new(); parts];
    for row in 0..open.len() {
        let part = rng.random_range(0..parts);
        if open[row] {
            shares[part].push(row);
        }
    }
    let mut best: Option<Selection> = None;
    let (mut union, mut work) = (Vec::new(), 0);
    for rows in shares.into_iter().filter(|rows| !rows.is_empty()) {
        let part = Part::new(task, rows);
        let found = part.select(&whole, &plan, |_| ControlFlow::Continue(()))?;
        work += found.passes * part.rows.len();
        union.extend(found.indices());
        if best.as_ref().is_none_or(|best| value(&found, &plan) > value(best, &plan)) {
            best = Some(found);
        }
    }
    if union.is_empty() {
        return Err(Error::NothingToPick);
    }
    union.sort_unstable();
    let union = Part::new(task, union);
    task.check_read()?;
    let mut last = union.select(&whole, &plan, progress)?;
    // A pass over a part is a share of a pass over the pool; one more found the noise, one copied the parts.
    let passes = 2 + work.div_ceil(open.len());
    if value_of(&plan.strategy).is_some() {
        last = best.filter(|best| value(best, &plan) > value(&last, &plan)).unwrap_or(last);
    }
    Ok(Selection { passes, ..last })
}

/// What the picks of one selection are worth together, to compare with another's.
fn value(selection: &Selection, plan: &Plan) -> f64 {
    let Some(last) = selection.picks.last() else { return 0.0 };
    match last.variance_left {
        Some(left) if plan.strategy.wants().sq_cov => 1.0 - left,
        _ => last.information,
    }
}
