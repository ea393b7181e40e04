//! What a selection is made from, and what is asked of it.

use crate::points::check_probabilities;
use crate::range::{Extremes, check_costs, check_count, check_extremes, check_noise, check_noise_vars, check_points};
use crate::strategy::{Batch, Space};
use crate::{Embeddings, Error, Greedy, Kernel, Linear, Points, Result, Strategy, TargetSampling};

/// The data of a selection. Only the pool is required; rules about targets need targets.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// Candidates S.
    pub pool: Points<'a>,
    /// Targets A.
    pub targets: Option<Points<'a>>,
    /// k(x, x′).
    pub kernel: &'a dyn Kernel,
    /// Pool rows that are labelled already; they are conditioned on and not picked again.
    pub observed_rows: &'a [usize],
    /// Further labelled points that are no rows of the pool.
    pub observed_points: Option<Points<'a>>,
    /// Class probabilities of every pool row.
    pub probabilities: Option<Embeddings<'a>>,
    /// ρ²(x) for every pool row, in place of [`Plan::noise`]; targets and observed points keep the latter.
    pub noise_vars: Option<&'a [f64]>,
    /// Cost of every pool row; a pick is then worth its score for its cost.
    pub costs: Option<&'a [f64]>,
    /// Group number of every pool row, for [`Plan::quotas`].
    pub groups: Option<&'a [usize]>,
    /// Pool rows that must not be picked.
    pub forbidden: &'a [usize],
}

impl<'a> Task<'a> {
    /// Choose from `pool` for `targets`, by the linear kernel.
    pub fn new(pool: impl Into<Points<'a>>, targets: Option<Points<'a>>) -> Self {
        Self {
            pool: pool.into(),
            targets,
            kernel: &Linear,
            observed_rows: &[],
            observed_points: None,
            probabilities: None,
            noise_vars: None,
            costs: None,
            groups: None,
            forbidden: &[],
        }
    }

    /// Refuses data of which a read has failed.
    pub fn check_read(&self) -> Result<()> {
        for points in [Some(self.pool), self.targets, self.observed_points].into_iter().flatten() {
            points.check_read()?;
        }
        self.kernel.check_read()?;
        self.probabilities.map_or(Ok(()), |probabilities| probabilities.check_read())
    }
}

/// The settings of a selection.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How to score and to form batches.
    pub strategy: Strategy,
    /// How many rows to pick.
    pub count: usize,
    /// Noise ρ of observations.
    pub noise: Noise,
    /// Which of the targets count in a round.
    pub target_sampling: TargetSampling,
    /// Picks a round: the targets are sampled anew, and the picks so far conditioned on, after each. None: one round.
    pub round_size: Option<usize>,
    /// Seed of everything random.
    pub seed: u64,
    /// Picks that were made in earlier calls, which this one continues: rounds and random numbers are counted from there.
    pub made: usize,
    /// When to stop before `count` picks.
    pub stop: Stop,
    /// Most picks of each group number; groups beyond the list have no limit.
    pub quotas: Vec<usize>,
    /// Most total cost.
    pub budget: Option<f64>,
    /// Whether a row may be picked again.
    pub repeat: bool,
    /// What each pick is the best of.
    pub greedy: Greedy,
    /// How the picks are computed.
    pub engine: Engine,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            strategy: "itl".parse().expect("in the table"),
            count: 1,
            noise: Noise::default(),
            target_sampling: TargetSampling::All,
            round_size: None,
            seed: 0,
            made: 0,
            stop: Stop::default(),
            quotas: Vec::new(),
            budget: None,
            repeat: false,
            greedy: Greedy::Exact,
            engine: Engine::Auto,
        }
    }
}

/// Standard deviation or variance of the observation noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// ρ² as a share of the pool's mean prior variance, mean ‖φ‖² for the linear kernel.
    Relative(f64),
    /// ρ itself.
    Std(f64),
}

impl Default for Noise {
    fn default() -> Self {
        Noise::Relative(0.01)
    }
}

/// Stopping rules; the first that applies ends the selection.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stop {
    /// The next pick would add less than this information about the targets, in nats.
    pub min_gain: Option<f64>,
    /// This share (0 to 1) of the targets' reducible variance is gone.
    pub reduced_share: Option<f64>,
}

fn same_length(what: &'static str, got: usize, expected: usize) -> Result<()> {
    if got == expected { Ok(()) } else { Err(Error::Length { what, got, expected }) }
}

fn known_rows(what: &'static str, named: &[usize], rows: usize) -> Result<()> {
    match named.iter().find(|&&row| row >= rows) {
        Some(&row) => Err(Error::NoSuchRow { what, row, rows }),
        None => Ok(()),
    }
}

fn setting(name: &'static str, value: f64, valid: bool, expected: &'static str) -> Result<()> {
    if valid { Ok(()) } else { Err(Error::Setting { name, value, expected }) }
}

/// Which engine makes sequential picks; the picks are the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Engine {
    /// The faster one.
    #[default]
    Auto,
    /// One pass over the pool a pick, in f64.
    Plain,
    /// Many picks a pass, where kernel and rule allow it.
    Speculative,
}

/// Picks that may have been made before: their number and those of this call add up.
const MOST_MADE: u64 = 1 << 53;

/// The pool's prior variances.
pub(crate) struct Survey {
    pub mean_var: f64,
    /// ‖φ‖² of every row, for the linear kernel on embeddings.
    pub norms: Option<Vec<f32>>,
}

impl Survey {
    /// Looks at every row once, and refuses one that cannot be computed with, in the pool or beside it.
    pub fn new(task: &Task<'_>) -> Result<Self> {
        let (survey, found) = Self::measure(task);
        check_extremes("pool", task.pool, task.kernel, &found)?;
        for (what, points) in [("targets", task.targets), ("observed points", task.observed_points)] {
            points.map_or(Ok(()), |points| check_points(what, points, task.kernel))?;
        }
        Ok(survey)
    }

    /// Looks at every row once; what the blocks hold at most.
    pub fn measure(task: &Task<'_>) -> (Self, Vec<Extremes>) {
        let dim = task.pool.dim();
        let blocks = task.pool.map_blocks(|start, block| {
            let (vars, extremes) = Extremes::of(task.kernel, start, block, dim);
            // What underflows is not zero.
            let single = |&var: &f64| if var > 0.0 { (var as f32).max(f32::MIN_POSITIVE) } else { 0.0 };
            (vars.iter().map(single).collect::<Vec<_>>(), vars.iter().sum::<f64>(), extremes)
        });
        let found = blocks.iter().map(|(_, _, extremes)| *extremes).collect();
        let mean_var = blocks.iter().map(|(_, sum, _)| sum).sum::<f64>() / task.pool.rows() as f64;
        let embeddings = matches!(task.pool, Points::Embeddings(_));
        let linear = task.kernel.is_linear() && embeddings;
        let norms = linear.then(|| blocks.into_iter().flat_map(|(norms, _, _)| norms).collect());
        (Self { mean_var, norms }, found)
    }
}

/// Refuses whatever cannot be right, before any work on the pool.
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
        let why = "badge measures loss gradients; name the observed examples by their pool rows, not by embeddings";
        return Err(Error::Unsupported(why));
    }
    known_rows("observed rows", task.observed_rows, rows)?;
    known_rows("forbidden rows", task.forbidden, rows)?;
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
    let made = plan.made as u64;
    setting("the number of picks made before", made as f64, made <= MOST_MADE, "it must not exceed 2⁵³")?;
    if let Some(gain) = plan.stop.min_gain {
        setting("the least gain", gain, gain >= 0.0, "it must not be negative")?;
    }
    if let Some(share) = plan.stop.reduced_share {
        setting("the share of variance", share, (0.0..=1.0).contains(&share), "it must lie between 0 and 1")?;
        if task.targets.is_none() {
            return Err(Error::Unsupported("stopping by the targets' variance needs targets"));
        }
    }
    if let Some(budget) = plan.budget {
        setting("the budget", budget, budget.is_finite() && budget > 0.0, "it must be a positive number")?;
        if task.costs.is_none() {
            return Err(Error::Unsupported(
                "a budget needs the cost of every pool row; give costs, or leave the budget out",
            ));
        }
    }
    if !plan.quotas.is_empty() && task.groups.is_none() {
        return Err(Error::Unsupported("quotas need the group of every pool row"));
    }
    if plan.repeat && strategy.batch == Batch::TopB {
        return Err(Error::Unsupported("a rule that scores once cannot repeat a row; leave repetition out"));
    }
    plan.greedy.check(plan)?;
    if plan.round_size == Some(0) {
        return Err(Error::Setting { name: "the round size", value: 0.0, expected: "it must be at least 1" });
    }
    if let Some(targets) = task.targets {
        plan.target_sampling.check(targets.rows())?;
    }
    Ok(())
}
