//! All numbers of a diagnosis: what a pool can teach about some targets, what picks have achieved, and what is guaranteed.

use super::{
    Closeness, Duplicates, FEWEST_VALUES, NoiseFit, Offer, Prospect, Scale, closeness, duplicates, fit_noise, scale,
};
use crate::base::setters::setters;
use crate::select::select;
use crate::theory::{
    Boundary, Capacity, Constants, Model, Objective, Ratio, TrajectoryPoint, boundary, capacity, reach,
    submodularity_ratio, trajectory,
};
use crate::{Error, Kernel, Linear, Noise, Plan, Preparation, Result, SpanCoordinates, Task};

/// Share of its variance above which a target is out of reach: more than this is left even if the whole pool is labelled.
pub const OUT_OF_REACH: f64 = 0.5;

/// Closeness below which a single target has no rows like it. Single targets vary more than their mean.
const FAR: f64 = 0.4;

/// Number of targets whose trajectory is computed.
const SHOWN: usize = 12;

/// The same for a large pool, in which each target takes several passes.
const SHOWN_LARGE: usize = 6;

/// Number of rows above which a pool is large.
const LARGE: usize = 100_000;

/// Number of rounds in a trajectory.
const ROUNDS: usize = 24;

/// Number of boundary rows in a bound.
const BOUNDARY: usize = 12;

/// Variances of one target.
///
/// ```
/// use homing::diagnose::{Diagnosis, Question};
/// use homing::{Embeddings, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let diagnosis = Diagnosis::new(&Question::new(task).picks(&[1]))?;
/// let target = diagnosis.targets[0];
/// assert!(target.now < target.prior && !target.is_out_of_reach());
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct TargetReach {
    /// Row among the targets, starting at 0.
    pub row: usize,
    /// Prior variance σ²_0.
    pub prior: f64,
    /// Irreducible variance η²_S.
    pub irreducible: f64,
    /// Variance Var(f_a | y_S) with each pool row labelled once.
    pub labelled: f64,
    /// Current variance σ²_n.
    pub now: f64,
}

impl TargetReach {
    /// Returns the share of the prior variance that labels for the whole pool would leave.
    pub fn share_out_of_reach(&self) -> f64 {
        share(self.labelled, self.prior)
    }

    /// Returns the share of the prior variance that the picks have removed.
    pub fn share_reached(&self) -> f64 {
        share(self.prior - self.now, self.prior)
    }

    /// Returns whether labels for the whole pool would leave more than half of the variance.
    pub fn is_out_of_reach(&self) -> bool {
        self.share_out_of_reach() > OUT_OF_REACH
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 }
}

/// The input of a [`Diagnosis`].
///
/// ```
/// use homing::diagnose::{Diagnosis, Question};
/// use homing::{Embeddings, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let diagnosis = Diagnosis::new(&Question::new(task).picks(&[1, 2]).seed(7))?;
/// assert_eq!(diagnosis.batch, [1, 2]);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Question<'a> {
    /// The pool, the targets, and the rows that are already labelled.
    pub task: Task<'a>,
    /// Noise ρ of the observations.
    pub noise: Noise,
    /// Rows that were picked and are not yet labelled.
    pub picks: &'a [usize],
    /// Number of rows that the guarantee covers if there are no picks.
    pub count: usize,
    /// Values of every pool row, from which the noise is estimated.
    pub values: Option<&'a [f64]>,
    /// Seed for the samples from which bounds and duplicates are estimated.
    pub seed: u64,
}

impl<'a> Question<'a> {
    /// Creates a question about a task without picks, for the next ten rows.
    pub fn new(task: Task<'a>) -> Self {
        Self { task, noise: Noise::default(), picks: &[], count: 10, values: None, seed: 0 }
    }

    setters! {
        /// Sets [`Question::noise`].
        noise: Noise;
        /// Sets [`Question::picks`].
        picks: &'a [usize];
        /// Sets [`Question::count`].
        count: usize;
        /// Sets [`Question::values`].
        values: impl Into<Option<&'a [f64]>>;
        /// Sets [`Question::seed`].
        seed: u64;
    }
}

/// What a pool can teach about some targets, what picks have achieved, and what is guaranteed.
///
/// ```
/// use homing::diagnose::{Diagnosis, Question};
/// use homing::{Embeddings, Task};
///
/// let pool = [1.0, 0.0, 0.9, 0.0]; // two rows along the first axis
/// let targets = [0.8, 0.0, 0.0, 1.0]; // one target along that axis, and one that resembles no row
/// let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let diagnosis = Diagnosis::new(&Question::new(task).picks(&[0]))?;
/// assert_eq!(diagnosis.out_of_reach()[0].row, 1);
/// assert!(diagnosis.targets[0].share_reached() > 0.9);
/// # Ok::<(), homing::Error>(())
/// ```
#[non_exhaustive]
pub struct Diagnosis {
    /// Variances of each target, in order.
    pub targets: Vec<TargetReach>,
    /// Number of rows in the pool.
    pub rows: usize,
    /// Number of rows from which η² was computed. If the pool has more, η² is an upper bound.
    pub irreducible_rows: usize,
    /// Number of rows from which the labelled variances were computed. If the pool has more, they are upper bounds.
    pub labelled_rows: usize,
    /// The rows that κ is about: the picks, or the rows that ITL would pick if there are none.
    pub batch: Vec<usize>,
    /// Number of given picks.
    pub picks: usize,
    /// Number of picks that were already observed.
    pub observed_again: usize,
    /// Information I(f_A; y_B) in the batch.
    pub information: f64,
    /// Γ_n: the largest information in one more observation.
    pub objective: Objective,
    /// The best next pick; `None` if all rows are picked.
    pub next: Option<Objective>,
    /// Information capacity γ for as many rows as the batch has.
    pub capacity: Capacity,
    /// Submodularity ratio κ of the batch.
    pub ratio: Ratio,
    /// Constants of Theorem 3.1.
    pub constants: Constants,
    /// Noise variance ρ².
    pub noise_var: f64,
    /// Whether the noise is relative to the pool's variance, which is the default.
    pub noise_is_default: bool,
    /// Sizes of the pool and the targets.
    pub scale: Scale,
    /// Exact and near duplicates in the pool.
    pub duplicates: Duplicates,
    /// Whether the pool has rows like the targets; `None` for a pool of fewer than 100 rows.
    pub closeness: Option<Closeness>,
    /// What the batch does for the targets.
    pub prospect: Prospect,
    /// Whether rows could be centred, and the study of the defaults found that centring helps: under the linear kernel, for a
    /// pool of at least 100 rows that is not yet centred.
    pub may_center: bool,
    /// Noise estimated from the values, however few they are.
    pub fit: Option<NoiseFit>,
}

impl Diagnosis {
    /// Returns the noise variance that the values suggest, if there are values of at least [`FEWEST_VALUES`] rows.
    pub fn suggested_noise_var(&self) -> Option<f64> {
        self.fit.filter(|fit| fit.rows >= FEWEST_VALUES).map(|fit| fit.noise_var)
    }
}

impl Diagnosis {
    /// Computes all numbers.
    pub fn new(question: &Question<'_>) -> Result<Self> {
        Self::with_progress(question, |_| {})
    }

    /// Computes all numbers and calls `progress` with the name of each step before the step starts.
    pub fn with_progress(question: &Question<'_>, progress: impl Fn(&'static str)) -> Result<Self> {
        let &Question { task, noise, picks, count, values, seed } = question;
        if task.targets.is_none() {
            return Err(Error::NothingToDiagnose);
        }
        progress("reading the pool");
        let resolved = noise.resolve(&task);
        let usual = Preparation::usual("linear", task.pool.rows(), true);
        let may_center = usual.center && task.kernel.is_linear() && !task.pool.embeddings().is_centered();
        // Rows of unit length are alike by their cosine, whatever the kernel makes of it.
        let likeness: &dyn Kernel = if task.pool.embeddings().is_normalized() { &Linear } else { task.kernel };
        let span = SpanCoordinates::of(&task)?;
        let task = span.as_ref().map_or(task, |span| span.task(&task));
        let start = Model::new(task, resolved)?;
        let after = start.given(picks)?;
        progress("what the whole pool can teach");
        let reach = reach(&start)?;
        let (prior, now) = (start.prior_vars(), after.target_vars());
        let target = |row: usize| TargetReach {
            row,
            prior: prior[row],
            irreducible: reach.irreducible[row],
            labelled: reach.labelled[row],
            now: now[row],
        };
        progress("what the next pick would add");
        let (objective, next) = after.outlook();
        let batch = if picks.is_empty() { next_batch(&start, count, seed)? } else { picks.to_vec() };
        let information = start.given(&batch)?.information();
        progress("information capacity");
        let capacity = capacity(&start, batch.len())?;
        progress("submodularity ratio");
        let ratio = submodularity_ratio(&start, &batch, seed)?;
        progress("rows like the targets");
        let targets = task.targets.expect("targets were checked above");
        let closeness = closeness(task.pool, targets, likeness, seed);
        let prospect = Prospect::new(&start, &batch, seed)?;
        progress("duplicates, scale and noise");
        Ok(Self {
            targets: (0..prior.len()).map(target).collect(),
            rows: task.pool.rows(),
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
            noise_is_default: !matches!(noise, Noise::Std(_)),
            scale: scale(task.pool, targets, task.kernel),
            duplicates: duplicates(task.pool, task.kernel, seed),
            fit: values.map(|values| fit_noise(task.kernel, task.pool, values, seed)).transpose()?,
            closeness,
            prospect,
            may_center,
            batch,
        })
    }

    /// Says what the pool offers to the targets, if it has enough rows to tell.
    pub fn offer(&self) -> Option<Offer> {
        self.closeness.as_ref().map(Closeness::offer)
    }

    /// Returns the targets that have no rows like them, although the pool has rows like the targets as a whole: first those
    /// whose nearest rows are farthest.
    pub fn without_rows(&self) -> Vec<usize> {
        let mut far: Vec<_> =
            self.closeness.iter().flat_map(|found| &found.targets).filter(|target| target.closeness < FAR).collect();
        far.sort_by(|a, b| a.closeness.total_cmp(&b.closeness).then(a.row.cmp(&b.row)));
        far.into_iter().map(|target| target.row).collect()
    }

    /// Returns how close a target's nearest rows are, if it was looked at.
    pub fn closeness_of(&self, target: usize) -> Option<f64> {
        let found = &self.closeness.as_ref()?.targets;
        found.iter().find(|one| one.row == target).map(|one| one.closeness)
    }

    /// Returns the targets that the pool cannot teach.
    pub fn out_of_reach(&self) -> Vec<&TargetReach> {
        self.targets.iter().filter(|target| target.is_out_of_reach()).collect()
    }

    /// Returns the sum of `part` over all targets, as a share of their total prior variance.
    pub fn mean_share(&self, part: impl Fn(&TargetReach) -> f64) -> f64 {
        let total = |f: &dyn Fn(&TargetReach) -> f64| self.targets.iter().map(f).sum::<f64>();
        share(total(&part), total(&|target| target.prior))
    }

    /// Returns all targets, starting with those that the pool teaches least.
    pub fn least_reachable(&self) -> Vec<&TargetReach> {
        let mut order: Vec<&TargetReach> = self.targets.iter().collect();
        let far = |target: &TargetReach| 1.0 - self.closeness_of(target.row).unwrap_or(1.0);
        let key = |target: &TargetReach| {
            let unreachable = if target.is_out_of_reach() { target.share_out_of_reach() } else { 0.0 };
            (unreachable + far(target), target.share_out_of_reach() - target.share_reached())
        };
        let decreasing = |(a, x): (f64, f64), (b, y): (f64, f64)| b.total_cmp(&a).then(y.total_cmp(&x));
        order.sort_by(|a, b| decreasing(key(a), key(b)).then(a.row.cmp(&b.row)));
        order
    }
}

/// Returns the rows that ITL would pick next (Eq. 4).
fn next_batch(model: &Model<'_>, count: usize, seed: u64) -> Result<Vec<usize>> {
    let task = *model.task();
    let open = task.pool.rows() - model.observed().len();
    if open == 0 {
        return Ok(Vec::new());
    }
    let noise = Noise::Std(model.noise_var().sqrt());
    let plan = Plan { strategy: "itl-exact".parse()?, count: count.min(open), noise, seed, ..Plan::default() };
    Ok(select(&task, &plan)?.rows())
}

/// How picks lowered the variance of a few targets, with the bound of Theorem 3.1 and the irreducible variance.
///
/// ```
/// use homing::diagnose::{Diagnosis, Question, descent};
/// use homing::{Embeddings, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let diagnosis = Diagnosis::new(&Question::new(task).picks(&[1, 2]))?;
/// let descent = descent(&task, &diagnosis)?;
/// assert_eq!((&descent.targets[..], descent.points.len()), (&[0][..], 3)); // before, between and after the picks
/// # Ok::<(), homing::Error>(())
/// ```
pub struct Descent {
    /// The targets shown.
    pub targets: Vec<usize>,
    /// Their variances and bounds, after some of the picks.
    pub points: Vec<TrajectoryPoint>,
}

/// Replays the batch for the targets whose variance fell most and those whose variance fell least.
///
/// ```
/// use homing::diagnose::{Diagnosis, Question, descent};
/// use homing::{Embeddings, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let diagnosis = Diagnosis::new(&Question::new(task).picks(&[1, 2]))?;
/// let points = descent(&task, &diagnosis)?.points;
/// assert!(points[1].vars[0] < points[0].vars[0]);
/// # Ok::<(), homing::Error>(())
/// ```
pub fn descent(task: &Task<'_>, diagnosis: &Diagnosis) -> Result<Descent> {
    let span = SpanCoordinates::of(task)?;
    let task = &span.as_ref().map_or(*task, |span| span.task(task));
    let start = Model::new(*task, Noise::Std(diagnosis.noise_var.sqrt()))?;
    let mut order: Vec<&TargetReach> = diagnosis.targets.iter().collect();
    order.sort_by(|a, b| b.share_reached().total_cmp(&a.share_reached()).then(a.row.cmp(&b.row)));
    let most = if task.pool.rows() > LARGE { SHOWN_LARGE } else { SHOWN };
    let shown: Vec<usize> = if order.len() <= most {
        order.iter().map(|target| target.row).collect()
    } else {
        let (first, last) = (&order[..most / 2], &order[order.len() - most / 2..]);
        first.iter().chain(last).map(|target| target.row).collect()
    };
    let floor = |row: usize| {
        let target = &diagnosis.targets[row];
        target.irreducible + 0.05 * (target.prior - target.irreducible)
    };
    let boundaries: Vec<Boundary> =
        shown.iter().map(|&row| boundary(&start, row, floor(row), BOUNDARY)).collect::<Result<_>>()?;
    let picks = &diagnosis.batch;
    let kept = (picks.len() + 1).min(ROUNDS);
    let at: Vec<usize> = (0..kept).map(|i| i * picks.len() / (kept - 1).max(1)).collect();
    let points = trajectory(&start, picks, &at, &diagnosis.constants, &boundaries)?;
    Ok(Descent { targets: shown, points })
}
