//! The settings of a selection.

use super::Task;
use super::greedy::Greedy;
use super::sampling::TargetSampling;
use crate::base::setters::setters;
use crate::rules::strategy::Strategy;

/// The settings of a selection.
///
/// ```
/// use homing::{Embeddings, Noise, Plan, Task, select};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let plan = Plan::default().strategy("vtl".parse()?).count(2).noise(Noise::Std(0.5));
/// assert_eq!(select(&task, &plan)?.rows(), [1, 0]);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Plan {
    /// How to score rows and form batches.
    pub strategy: Strategy,
    /// Number of rows to pick.
    pub count: usize,
    /// Noise ρ of the observations.
    pub noise: Noise,
    /// Which targets count in a round.
    pub target_sampling: TargetSampling,
    /// Picks per round. Each round samples its targets again and is conditioned on all earlier picks. `None` means one round.
    pub picks_per_round: Option<usize>,
    /// Seed for all random choices.
    pub seed: u64,
    /// Number of picks made in earlier calls that this call continues. Rounds and random numbers are counted from there.
    pub earlier_picks: usize,
    /// When to stop before `count` picks.
    pub stop: Stop,
    /// Maximum number of picks from each group. Groups beyond the end of the list have no limit.
    pub quotas: Vec<usize>,
    /// Maximum total cost of the picks.
    pub budget: Option<f64>,
    /// Whether a row may be picked more than once.
    pub repeat: bool,
    /// The set of rows of which each pick is the best.
    pub greedy: Greedy,
    /// How the picks are computed.
    pub engine: Engine,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            strategy: "itl".parse().expect("itl is in the table of strategies"),
            count: 1,
            noise: Noise::default(),
            target_sampling: TargetSampling::All,
            picks_per_round: None,
            seed: 0,
            earlier_picks: 0,
            stop: Stop::default(),
            quotas: Vec::new(),
            budget: None,
            repeat: false,
            greedy: Greedy::Exact,
            engine: Engine::Auto,
        }
    }
}

impl Plan {
    setters! {
        /// Sets [`Plan::strategy`].
        strategy: Strategy;
        /// Sets [`Plan::count`].
        count: usize;
        /// Sets [`Plan::noise`].
        noise: Noise;
        /// Sets [`Plan::target_sampling`].
        target_sampling: TargetSampling;
        /// Sets [`Plan::picks_per_round`].
        picks_per_round: impl Into<Option<usize>>;
        /// Sets [`Plan::seed`].
        seed: u64;
        /// Sets [`Plan::earlier_picks`].
        earlier_picks: usize;
        /// Sets [`Plan::stop`].
        stop: Stop;
        /// Sets [`Plan::quotas`].
        quotas: impl Into<Vec<usize>>;
        /// Sets [`Plan::budget`].
        budget: impl Into<Option<f64>>;
        /// Sets [`Plan::repeat`].
        repeat: bool;
        /// Sets [`Plan::greedy`].
        greedy: Greedy;
        /// Sets [`Plan::engine`].
        engine: Engine;
    }
}

/// Noise of the observations: a standard deviation, a relative variance, or what suits the rows.
///
/// ```
/// use homing::{Embeddings, Noise, Plan, Task, select};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// assert_eq!(select(&task, &Plan::default().noise(Noise::Std(0.5)))?.noise_var, 0.25);
/// let relative = select(&task, &Plan::default())?.noise_var; // a hundredth of the mean squared norm
/// assert!((relative - 0.01 * (1.0 + 0.82 + 1.0 + 1.04) / 4.0).abs() < 1e-8);
/// let unit = Task::new(Embeddings::new(&pool, 2)?.normalized(), Embeddings::new(&targets, 2)?.normalized());
/// assert!((select(&unit, &Plan::default())?.noise_var - 1.0).abs() < 1e-8); // as large as the rows are long
/// let kernel = homing::Gaussian::new(1.0)?; // its variances are 1
/// assert!((select(&unit.kernel(&kernel), &Plan::default())?.noise_var - 0.3).abs() < 1e-12);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Noise {
    /// What suits the rows: [`Relative`](Noise::Relative) noise of 1 for rows of unit length (see
    /// [`Embeddings::normalized`](crate::Embeddings::normalized)) under the linear kernel and of 0.3 under any other, and of 0.01,
    /// as in the paper's experiments, for all other rows.
    #[default]
    Auto,
    /// Noise variance ρ² as a share of the pool's mean prior variance, which is mean ‖φ‖² for the linear kernel.
    Relative(f64),
    /// Noise standard deviation ρ.
    Std(f64),
}

impl Noise {
    /// The default for rows of unit length under the linear kernel, as a share of their mean prior variance. The study of the
    /// defaults (`homing experiment run defaults`) found this number and the next.
    pub const UNIT_ROWS: f64 = 1.0;
    /// The default for rows of unit length under any other kernel.
    pub const UNIT_ROWS_OTHER_KERNEL: f64 = 0.3;
    /// The default for all other rows, as in the paper's experiments.
    pub const OTHER_ROWS: f64 = 0.01;

    /// Returns the noise that suits the rows of a task if none was chosen, and otherwise the chosen one.
    ///
    /// ```
    /// use homing::{Embeddings, Noise, Task};
    ///
    /// let pool = [1.0f32, 0.0, 0.9, 0.1];
    /// let task = Task::undirected(Embeddings::new(&pool, 2)?);
    /// assert_eq!(Noise::Auto.resolve(&task), Noise::Relative(0.01));
    /// assert_eq!(Noise::Std(0.5).resolve(&task), Noise::Std(0.5));
    /// # Ok::<(), homing::Error>(())
    /// ```
    #[must_use]
    pub fn resolve(self, task: &Task<'_>) -> Self {
        let share = match (task.pool.embeddings().is_normalized(), task.kernel.is_linear()) {
            (true, true) => Self::UNIT_ROWS,
            (true, false) => Self::UNIT_ROWS_OTHER_KERNEL,
            (false, _) => Self::OTHER_ROWS,
        };
        match self {
            Noise::Auto => Noise::Relative(share),
            chosen => chosen,
        }
    }
}

/// Stopping rules. The first one that applies ends the selection.
///
/// ```
/// use homing::{Embeddings, EndReason, Plan, Stop, Task, select};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let stop = Stop { reduced_share: Some(0.9), ..Stop::default() };
/// let selection = select(&task, &Plan::default().count(4).stop(stop))?;
/// assert_eq!((selection.picks.len(), selection.end_reason), (1, EndReason::Variance));
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stop {
    /// Stop if the next pick would add less than this information about the targets, in nats.
    pub min_gain: Option<f64>,
    /// Stop once this share (0 to 1) of the targets' reducible variance is removed.
    pub reduced_share: Option<f64>,
}

/// The algorithm that makes sequential picks. All engines make the same picks.
///
/// ```
/// use homing::{Embeddings, Engine, Plan, Task, select};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let rows = |engine| select(&task, &Plan::default().count(3).engine(engine)).map(|selection| selection.rows());
/// assert_eq!(rows(Engine::Plain)?, rows(Engine::Speculative)?);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Engine {
    /// The faster of the two.
    #[default]
    Auto,
    /// One pass over the pool per pick, in f64.
    Plain,
    /// Many picks per pass, if the kernel and the rule allow it.
    Speculative,
}
