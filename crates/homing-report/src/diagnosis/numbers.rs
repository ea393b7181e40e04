//! What a pool can teach about some targets, how far picks have come, and what is guaranteed: all numbers of `diagnose`.

use std::ops::ControlFlow;

use homing::theory::{
    Boundary, Capacity, Constants, Model, Objective, Ratio, Round, boundary, capacity, reach, submodularity_ratio,
    trajectory,
};
use homing::{
    Duplicates, Noise, NoiseFit, Plan, Points, Result, Scale, Span, Task, duplicates, fit_noise, scale, select,
};

use crate::text::short;

/// A target that keeps more than this share of its variance with the whole pool labelled cannot be taught by it.
pub const OUT_OF_REACH: f64 = 0.5;

/// Targets whose way down is drawn, and in a large pool, where each takes some passes.
const DRAWN: usize = 12;
const DRAWN_LARGE: usize = 6;
const LARGE: usize = 100_000;

/// Rounds that are drawn.
const ROUNDS: usize = 24;

/// Rows of a boundary that a bound is made with.
const BOUNDARY: usize = 12;

/// One target's variances.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    pub index: usize,
    /// σ²_0.
    pub prior: f64,
    /// η²_S.
    pub irreducible: f64,
    /// Var(f_a | y_S): with every row labelled once.
    pub labelled: f64,
    /// σ²_n.
    pub now: f64,
}

impl Target {
    /// Share of the prior variance that labels for the whole pool would leave.
    pub fn share_out_of_reach(&self) -> f64 {
        share(self.labelled, self.prior)
    }

    /// Share of the prior variance that the picks have taken.
    pub fn share_reached(&self) -> f64 {
        share(self.prior - self.now, self.prior)
    }

    pub fn is_out_of_reach(&self) -> bool {
        self.share_out_of_reach() > OUT_OF_REACH
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 }
}

/// A large number in a sentence.
fn rounded(x: f64) -> String {
    if x < 1e6 { format!("{x:.0}") } else { format!("{x:.0e}") }
}

/// What is asked.
pub struct Question<'a> {
    pub task: Task<'a>,
    pub noise: Noise,
    pub picks: &'a [usize],
    /// How many rows the guarantee is about where there are no picks.
    pub count: usize,
    /// Some numbers for every row of the pool, to tell the noise from.
    pub values: Option<&'a [f64]>,
    pub seed: u64,
}

/// Everything that `diagnose` says.
pub struct Diagnosis {
    pub targets: Vec<Target>,
    /// Rows that η² and the labelled variances were computed from; fewer than the pool has are an upper bound.
    pub irreducible_rows: usize,
    pub labelled_rows: usize,
    /// The rows that κ is about: the picks, or without any what ITL would pick.
    pub batch: Vec<usize>,
    pub picks: usize,
    /// Picks that were observed before.
    pub observed_again: usize,
    /// I(f_A; y_B) of the batch.
    pub information: f64,
    pub objective: Objective,
    pub next: Option<Objective>,
    pub capacity: Capacity,
    pub ratio: Ratio,
    pub constants: Constants,
    pub noise_var: f64,
    /// Whether the noise is a share of the pool's variance, as it is unless one is given.
    pub noise_is_default: bool,
    pub scale: Scale,
    pub duplicates: Duplicates,
    pub fit: Option<NoiseFit>,
}

impl Diagnosis {
    /// Answers; `tell` hears of each step.
    pub fn new(question: &Question<'_>, tell: impl Fn(&'static str)) -> Result<Self> {
        let &Question { task, noise, picks, count, values, seed } = question;
        tell("reading the pool");
        let span = Span::of(&task)?;
        let task = span.as_ref().map_or(task, |span| span.task(&task));
        let start = Model::new(task, noise)?;
        let after = start.given(picks)?;
        tell("what the whole pool can teach");
        let reach = reach(&start)?;
        let (prior, now) = (start.prior_vars(), after.target_vars());
        let target = |index: usize| Target {
            index,
            prior: prior[index],
            irreducible: reach.irreducible[index],
            labelled: reach.labelled[index],
            now: now[index],
        };
        tell("what the next pick would add");
        let (objective, next) = after.outlook();
        let batch = if picks.is_empty() { next_batch(&start, count, seed)? } else { picks.to_vec() };
        let information = start.given(&batch)?.information();
        tell("information capacity");
        let capacity = capacity(&start, batch.len())?;
        tell("the submodularity ratio");
        let ratio = submodularity_ratio(&start, &batch, seed)?;
        tell("duplicates, scale and noise");
        let targets: Points<'_> = task.targets.expect("diagnose has targets");
        Ok(Self {
            targets: (0..prior.len()).map(target).collect(),
            irreducible_rows: reach.irreducible_rows,
            labelled_rows: reach.labelled_rows,
            picks: picks.len(),
            observed_again: picks.iter().filter(|row| start.observed().contains(row)).count(),
            information,
            objective,
            next,
            capacity,
            ratio,
            constants: Constants::of(&start),
            noise_var: start.noise_var(),
            noise_is_default: matches!(noise, Noise::Relative(_)),
            scale: scale(task.pool, targets, task.kernel),
            duplicates: duplicates(task.pool, task.kernel, seed),
            fit: values.map(|values| fit_noise(task.kernel, task.pool, values, seed)).transpose()?,
            batch,
        })
    }

    pub fn out_of_reach(&self) -> Vec<&Target> {
        self.targets.iter().filter(|target| target.is_out_of_reach()).collect()
    }

    /// Share of the targets' total variance in all of which `part` is a part.
    pub fn mean_share(&self, part: impl Fn(&Target) -> f64) -> f64 {
        let total = |f: &dyn Fn(&Target) -> f64| self.targets.iter().map(f).sum::<f64>();
        share(total(&part), total(&|target| target.prior))
    }

    /// The targets that the pool teaches least come first.
    pub fn least_reachable(&self) -> Vec<&Target> {
        let mut order: Vec<&Target> = self.targets.iter().collect();
        let key = |target: &Target| (target.share_out_of_reach(), 1.0 - target.share_reached());
        let falling = |(a, x): (f64, f64), (b, y): (f64, f64)| b.total_cmp(&a).then(y.total_cmp(&x));
        order.sort_by(|a, b| falling(key(a), key(b)).then(a.index.cmp(&b.index)));
        order
    }

    /// What a reader should do something about.
    pub fn warnings(&self, rows: usize) -> Vec<String> {
        let mut warnings = Vec::new();
        let relative = self.noise_var / self.scale.mean_var;
        if relative.is_finite() && relative > 10.0 {
            warnings.push(format!(
                "The noise ρ² is {} times the pool's mean variance: every row looks like noise. Lower --noise-std.",
                rounded(relative)
            ));
        } else if relative < 1e-6 {
            warnings.push(format!(
                "The noise ρ² is {relative:.0e} of the pool's mean variance: one label settles a direction. Raise --noise-std."
            ));
        }
        if let Some(fit) = self.fit.filter(|fit| !fit.at_edge) {
            let factor = fit.noise_var / self.noise_var;
            if !(0.1..=10.0).contains(&factor) {
                let side = if factor > 1.0 { "larger" } else { "smaller" };
                let times = factor.max(1.0 / factor);
                warnings.push(format!(
                    "The values speak for a noise {} times {side} than ρ²: try --noise-std {}.",
                    rounded(times),
                    short(fit.noise_var.sqrt())
                ));
            }
        }
        let ratio = self.scale.target_var / self.scale.mean_var;
        let (larger, times) = if ratio > 1.0 { ("larger", ratio) } else { ("smaller", 1.0 / ratio) };
        if times.is_finite() && times > 10.0 {
            warnings.push(format!(
                "The targets' mean variance is {} times {larger} than the pool's; embed and scale both the same way.",
                rounded(times)
            ));
        }
        if self.scale.max_var > 100.0 * self.scale.median_var && self.scale.median_var > 0.0 {
            warnings.push(
                "The largest row has more than 100 times the median's variance and draws picks to itself; \
                 look at it, or normalise the rows."
                    .to_owned(),
            );
        }
        if self.scale.common_share > 0.5 {
            let percent = 100.0 * self.scale.common_share;
            warnings.push(format!(
                "{percent:.0} % of the pool's squared norm is its mean, which all rows share; try --center."
            ));
        }
        let zero = self.scale.zero_rows;
        if zero > 0 {
            warnings.push(format!("{zero} of {rows} rows have no variance at all: they can teach nothing."));
        }
        let empty = self.targets.iter().filter(|target| target.prior == 0.0).count();
        if empty > 0 {
            let all = self.targets.len();
            warnings
                .push(format!("{empty} of {all} targets have no variance at all: nothing can be learned about them."));
        }
        if self.observed_again > 0 {
            warnings.push(format!(
                "{} of the picks are among the observed rows: each counts as one more label.",
                self.observed_again
            ));
        }
        if self.duplicates.near_share > 0.5 {
            let percent = 100.0 * self.duplicates.near_share;
            warnings.push(format!(
                "{percent:.0} % of the rows have a near-duplicate; removing them makes the pool smaller."
            ));
        }
        warnings
    }
}

/// What ITL would pick next (Eq. 4).
fn next_batch(model: &Model<'_>, count: usize, seed: u64) -> Result<Vec<usize>> {
    let task = *model.task();
    let open = task.pool.rows() - model.observed().len();
    if open == 0 {
        return Ok(Vec::new());
    }
    let noise = Noise::Std(model.noise_var().sqrt());
    let plan = Plan { strategy: "itl-exact".parse()?, count: count.min(open), noise, seed, ..Plan::default() };
    Ok(select(&task, &plan, |_| ControlFlow::Continue(()))?.indices())
}

/// How the variance of a few targets came down, pick by pick, with the bound of Theorem 3.1 and the floor.
pub struct Descent {
    /// Target indices.
    pub shown: Vec<usize>,
    pub rounds: Vec<Round>,
}

/// Replays the batch for the targets that moved most and those that moved least.
pub fn descent(task: &Task<'_>, diagnosis: &Diagnosis) -> Result<Descent> {
    let span = Span::of(task)?;
    let task = &span.as_ref().map_or(*task, |span| span.task(task));
    let start = Model::new(*task, Noise::Std(diagnosis.noise_var.sqrt()))?;
    let mut order: Vec<&Target> = diagnosis.targets.iter().collect();
    order.sort_by(|a, b| b.share_reached().total_cmp(&a.share_reached()).then(a.index.cmp(&b.index)));
    let most = if task.pool.rows() > LARGE { DRAWN_LARGE } else { DRAWN };
    let shown: Vec<usize> = if order.len() <= most {
        order.iter().map(|target| target.index).collect()
    } else {
        let (first, last) = (&order[..most / 2], &order[order.len() - most / 2..]);
        first.iter().chain(last).map(|target| target.index).collect()
    };
    let floor = |index: usize| {
        let target = &diagnosis.targets[index];
        target.irreducible + 0.05 * (target.prior - target.irreducible)
    };
    let boundaries: Vec<Boundary> =
        shown.iter().map(|&index| boundary(&start, index, floor(index), BOUNDARY)).collect::<Result<_>>()?;
    let picks = &diagnosis.batch;
    let kept = (picks.len() + 1).min(ROUNDS);
    let at: Vec<usize> = (0..kept).map(|i| i * picks.len() / (kept - 1).max(1)).collect();
    let rounds = trajectory(&start, picks, &at, &diagnosis.constants, &boundaries)?;
    Ok(Descent { shown, rounds })
}
