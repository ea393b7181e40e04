//! Rules: formulas that score a candidate from a few numbers that the engine maintains for it.

mod cosine;
mod ctl;
mod information_density;
mod itl;
mod itl_value;
mod least_confidence;
mod max_dist;
mod max_entropy;
mod max_margin;
mod nearest_each;
mod proportional;
pub(crate) mod strategy;
mod uncertainty;
mod undirected_itl;
mod uniform;
mod vtl;

use crate::shard::KeyForm;
pub use cosine::Cosine;
pub use ctl::Ctl;
pub use information_density::InformationDensity;
pub use itl::Itl;
pub use itl_value::ItlValue;
pub use least_confidence::LeastConfidence;
pub use max_dist::MaxDist;
pub use max_entropy::MaxEntropy;
pub use max_margin::MaxMargin;
pub use nearest_each::NearestEach;
pub use proportional::DistanceSquared;
pub use uncertainty::Uncertainty;
pub use undirected_itl::UndirectedItl;
pub use uniform::Uniform;
pub use vtl::Vtl;

/// A formula that scores one candidate. The candidate with the largest score is picked.
///
/// A rule knows nothing about batches, masks, seeds or files. It declares the numbers that it [`wants`](Rule::wants), and
/// the engine keeps those numbers up to date for every candidate as picks are made.
///
/// An implementation guarantees the following:
/// - [`score`](Rule::score) depends only on the candidate: engines call it for any rows, in any order, on many threads. A
///   candidate whose score is NaN is never picked before one whose score is a number.
/// - `score` reads only the numbers that [`wants`](Rule::wants) declares; all others are zero.
/// - [`key`](Rule::key) orders candidates as `score` does.
/// - [`is_monotone`](Rule::is_monotone) is true only if the score is monotone as described there, because bounds on a
///   candidate's numbers then serve as bounds on its score. It enables the fast path: many picks per pass over the pool
///   under the linear kernel. A rule that leaves it false makes the same picks with one pass per pick. The fast path also
///   requires that the rule wants `var` and at most one of `var_given_targets`, `sq_cov` and `std_cov`.
///
/// ```
/// use homing::rules::TargetNoise;
/// use homing::{BatchMethod, Candidate, Embeddings, PickMethod, Plan, Rule, Strategy, Task, Wants, select};
///
/// /// The variance that the targets explain, relative to the variance that is left: ITL is ½ ln(1 + this).
/// struct SignalToNoise;
///
/// impl Rule for SignalToNoise {
///     fn wants(&self) -> Wants {
///         Wants { var: true, var_given_targets: Some(TargetNoise::Noisy), ..Wants::default() }
///     }
///
///     fn score(&self, x: &Candidate<'_>) -> f64 {
///         (x.var - x.var_given_targets) / (x.var_given_targets + x.noise_var)
///     }
///
///     fn is_monotone(&self) -> bool {
///         true // increasing in `var`, decreasing in `var_given_targets`
///     }
/// }
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let strategy = Strategy::new("signal-to-noise", SignalToNoise, BatchMethod::Sequential, PickMethod::Largest);
/// let selection = select(&task, &Plan::default().strategy(strategy).count(2))?;
/// assert_eq!(selection.rows(), select(&task, &Plan::default().count(2))?.rows());
/// # Ok::<(), homing::Error>(())
/// ```
pub trait Rule: Send + Sync {
    /// Declares the numbers that [`Rule::score`] reads.
    fn wants(&self) -> Wants;

    /// Returns the value of picking this candidate next.
    fn score(&self, x: &Candidate<'_>) -> f64;

    /// Returns an increasing function of the score that is cheaper to compute.
    fn key(&self, x: &Candidate<'_>) -> f64 {
        self.score(x)
    }

    /// Returns whether the score is monotone in each number of a candidate with `var > 0`: decreasing in
    /// `var_given_targets`, increasing in `sq_cov` and `std_cov`, and either in `var`. Bounds on the numbers then bound the
    /// score, so many picks can share one pass.
    fn is_monotone(&self) -> bool {
        false
    }

    /// Appends the positions in a block whose key may reach `bar`.
    #[doc(hidden)]
    fn reach(&self, bar: f64, block: &BlockBounds<'_>, hits: &mut Vec<usize>) {
        for i in 0..block.var.len() {
            let (low, high) = block.candidates(i);
            // Not `>=`: a NaN must be reported.
            if !(block.is_finite(i) && self.key(&low) < bar && self.key(&high) < bar) {
                hits.push(i);
            }
        }
    }

    /// Returns the closed form of the key, if there is one. Cheap tests of many candidates need it, and so do other carriers
    /// than threads (see [`shard`](crate::shard)).
    #[doc(hidden)]
    fn form(&self) -> Option<KeyForm> {
        None
    }

    /// Returns whether the key is the mean cosine with the targets, or the cosine with the target whose turn it is. Other
    /// carriers than threads can rank rows by it.
    #[doc(hidden)]
    fn is_cosine(&self) -> bool {
        false
    }

    /// Appends the keys of a block.
    #[doc(hidden)]
    fn keys(&self, block: &BlockBounds<'_>, keys: &mut Vec<f32>) {
        if let Some(form) = self.form()
            && block.keys(form, keys)
        {
            return;
        }
        keys.extend((0..block.var.len()).map(|i| self.key(&block.candidates(i).1) as f32));
    }
}

/// Numbers of a block of candidates, in the precision in which they are stored.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Reals<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
}

impl Reals<'_> {
    fn len(&self) -> usize {
        match self {
            Reals::F32(list) => list.len(),
            Reals::F64(list) => list.len(),
        }
    }

    /// Returns the number at position `i`, or zero if none is stored.
    #[inline]
    fn get(&self, i: usize) -> f64 {
        match self {
            Reals::F32(list) => list.get(i).map_or(0.0, |&x| f64::from(x)),
            Reals::F64(list) => list.get(i).copied().unwrap_or(0.0),
        }
    }
}

/// Numbers of a block of candidates, each known up to an error times the candidate's ‖φ‖².
#[doc(hidden)]
pub struct BlockBounds<'a> {
    pub(crate) var: Reals<'a>,
    pub(crate) second: Reals<'a>,
    pub(crate) std_cov: Reals<'a>,
    pub(crate) norm_sq: Reals<'a>,
    /// Additional errors of `second`, times ‖φ‖.
    pub(crate) second_errors: &'a [f32],
    pub(crate) var_error: f64,
    pub(crate) second_error: f64,
    /// Error of `std_cov`, times ‖φ‖.
    pub(crate) std_cov_error: f64,
    pub(crate) noise_var: f64,
    /// Whether `second` is the sum of squared covariances instead of the variance given the targets.
    pub(crate) second_is_sum: bool,
}

impl BlockBounds<'_> {
    /// Returns whether any key of a block may reach `bar`. The test is cheap and may return true too often.
    pub(crate) fn may_reach(&self, form: Option<KeyForm>, bar: f32) -> bool {
        let noise_var = self.noise_var as f32;
        // A constant form lets the compiler make a loop of vector instructions.
        macro_rules! below {
            ($form:path) => {
                self.all(
                    #[inline(always)]
                    |low, high, second| $form.is_below(bar, noise_var, (low, high), second),
                )
            };
        }
        form.is_none_or(|form| !match form {
            KeyForm::Variance => below!(KeyForm::Variance),
            KeyForm::SignalRatio => below!(KeyForm::SignalRatio),
            KeyForm::InformationRatio => below!(KeyForm::InformationRatio),
            KeyForm::ValueRatio => below!(KeyForm::ValueRatio),
            KeyForm::SquaresRatio => below!(KeyForm::SquaresRatio),
            KeyForm::Correlation => below!(KeyForm::Correlation),
        })
    }

    /// Appends the keys of all candidates, computed in f32. Returns false for other precisions.
    fn keys(&self, form: KeyForm, keys: &mut Vec<f32>) -> bool {
        let (Reals::F32(vars), Reals::F32(second), Reals::F32(std_cov)) = (self.var, self.second, self.std_cov) else {
            return false;
        };
        let (noise_var, from) = (self.noise_var as f32, keys.len());
        keys.extend_from_slice(vars);
        let keys = &mut keys[from..];
        let second = if second.is_empty() { std_cov } else { second };
        macro_rules! replace {
            ($form:path) => {
                if second.is_empty() {
                    keys.iter_mut().for_each(|key| *key = $form.key(*key, 0.0, noise_var));
                } else {
                    keys.iter_mut().zip(second).for_each(|(key, second)| *key = $form.key(*key, *second, noise_var));
                }
            };
        }
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || match form {
                KeyForm::Variance => replace!(KeyForm::Variance),
                KeyForm::SignalRatio => replace!(KeyForm::SignalRatio),
                KeyForm::InformationRatio => replace!(KeyForm::InformationRatio),
                KeyForm::ValueRatio => replace!(KeyForm::ValueRatio),
                KeyForm::SquaresRatio => replace!(KeyForm::SquaresRatio),
                KeyForm::Correlation => replace!(KeyForm::Correlation),
            },
        );
        true
    }

    /// Returns whether `below` holds for all candidates. Its arguments are the least and the largest possible variance, and
    /// the most favourable second number or covariance, widened by the rounding of f32. Returns false for other precisions.
    fn all(&self, below: impl Fn(f32, f32, f32) -> bool) -> bool {
        const WIDER: f64 = 1.0 + 1e-3;
        let (Reals::F32(vars), Reals::F32(second)) = (self.var, self.second) else { return false };
        let (Reals::F32(norms), Reals::F32(std_cov)) = (self.norm_sq, self.std_cov) else { return false };
        // The arithmetic below rounds by a few ulp of ‖φ‖².
        let ulps = 4.0 * f64::from(f32::EPSILON);
        let var_error = (WIDER * (self.var_error + ulps)) as f32;
        let second_error = (WIDER * (self.second_error + ulps)) as f32;
        let std_cov_error = (WIDER * self.std_cov_error) as f32;
        let sign = if self.second_is_sum { 1.0 } else { -1.0 };
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                let mut all = finite(vars) & finite(second) & finite(std_cov);
                match (second, self.second_errors, std_cov) {
                    ([], [], []) => {
                        for (v, k) in vars.iter().zip(norms) {
                            all &= below((v - var_error * k).max(0.0), v + var_error * k, 0.0);
                        }
                    }
                    (second, [], []) => {
                        for ((v, k), s) in vars.iter().zip(norms).zip(second) {
                            let s = s + sign * second_error * k;
                            all &= below((v - var_error * k).max(0.0), v + var_error * k, s);
                        }
                    }
                    (second, errors, []) => {
                        for (((v, k), s), e) in vars.iter().zip(norms).zip(second).zip(errors) {
                            let s = s + sign * (second_error * k + 1.001 * e * k.sqrt());
                            all &= below((v - var_error * k).max(0.0), v + var_error * k, s);
                        }
                    }
                    (_, _, std_cov) => {
                        for ((v, k), c) in vars.iter().zip(norms).zip(std_cov) {
                            let c = c + c.abs() * 1e-6 + std_cov_error * k.sqrt();
                            all &= below((v - var_error * k).max(0.0), v + var_error * k, c);
                        }
                    }
                }
                all
            },
        )
    }

    fn is_finite(&self, i: usize) -> bool {
        [self.var, self.second, self.std_cov].iter().all(|list| list.get(i).is_finite())
    }

    /// Returns the most favourable candidates with the least and with the largest variance.
    #[inline]
    fn candidates(&self, i: usize) -> (Candidate<'static>, Candidate<'static>) {
        let norm_sq = self.norm_sq.get(i);
        let (var, slack) = (self.var.get(i), self.var_error * norm_sq);
        let second = self.second.get(i);
        let further = self.second_errors.get(i).map_or(0.0, |&error| 1.001 * f64::from(error) * norm_sq.sqrt());
        let second_slack = self.second_error * norm_sq + further;
        let std_cov = self.std_cov.get(i) + self.std_cov_error * norm_sq.sqrt();
        // Never zero: a score may grow without bound as the variance vanishes, and the bound must show that.
        let (low, high) = ((var - slack).max(f64::MIN_POSITIVE), (var + slack).max(f64::MIN_POSITIVE));
        let given = (second - second_slack).max(0.0);
        let candidate = |var: f64| Candidate {
            var,
            var_given_targets: if self.second_is_sum { 0.0 } else { given.min(var) },
            sq_cov: if self.second_is_sum { second + second_slack } else { 0.0 },
            std_cov,
            noise_var: self.noise_var,
            ..Candidate::default()
        };
        (candidate(low), candidate(high))
    }
}

/// Returns whether all numbers are finite. It reads all of them, because loops that end early cannot use vector instructions.
#[allow(clippy::inline_always)] // part of loops that are compiled for the vectors of this machine
#[inline(always)]
fn finite(list: &[f32]) -> bool {
    list.iter().fold(true, |all, x| all & x.is_finite())
}

/// The numbers that a rule reads from a [`Candidate`]. All others are zero.
///
/// ```
/// use homing::Wants;
///
/// let wants = Wants { var: true, std_cov: true, ..Wants::default() };
/// assert!(wants.targets()); // `std_cov` is a covariance with the targets
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "it is a set of flags")]
pub struct Wants {
    /// Whether the rule reads [`Candidate::var`].
    pub var: bool,
    /// Whether the rule reads [`Candidate::var_given_targets`], and how the targets are then observed.
    pub var_given_targets: Option<TargetNoise>,
    /// Whether the rule reads [`Candidate::sq_cov`].
    pub sq_cov: bool,
    /// Whether the rule reads [`Candidate::std_cov`].
    pub std_cov: bool,
    /// Whether the rule reads [`Candidate::nearest_sq`].
    pub nearest: bool,
    /// Whether the rule reads [`Candidate::cosine`].
    pub cosine: bool,
    /// Whether the rule reads [`Candidate::turn_cosine`].
    pub turn_cosine: bool,
    /// Whether the rule reads [`Candidate::probabilities`].
    pub probabilities: bool,
}

impl Wants {
    /// Returns whether the rule reads only variances and covariances given D, which the drafting engines maintain.
    pub(crate) fn is_conditional(self) -> bool {
        self.var && !self.nearest && !self.cosine && !self.turn_cosine && !self.probabilities
    }

    /// Returns whether the rule reads only the cosine with the target whose turn it is.
    pub(crate) fn is_turn_only(self) -> bool {
        self == Self { turn_cosine: true, ..Self::default() }
    }

    /// Returns whether the rule needs targets.
    pub fn targets(&self) -> bool {
        self.var_given_targets.is_some() || self.sq_cov || self.std_cov || self.cosine || self.turn_cosine
    }
}

/// How the targets are observed when f_x is conditioned on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetNoise {
    /// Their values f_A without noise (Eq. 1).
    Free,
    /// Noisy observations y_A with variance ρ² (Eq. 21), as in the paper's experiments.
    Noisy,
}

/// The numbers of one candidate x, given the observations D and the picks so far.
///
/// ```
/// use homing::rules::Vtl;
/// use homing::{Candidate, Rule};
///
/// let candidate = Candidate { var: 3.0, sq_cov: 2.0, noise_var: 1.0, ..Candidate::default() };
/// assert_eq!(Vtl.score(&candidate), 0.5);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Candidate<'a> {
    /// Prior variance k(x, x), before any observation.
    pub prior_var: f64,
    /// Variance Var(f_x | D).
    pub var: f64,
    /// Variance given the targets, Var(f_x | D, A).
    pub var_given_targets: f64,
    /// Sum of the squared covariances with the targets, Σ_a Cov(f_x, f_a | D)².
    pub sq_cov: f64,
    /// Sum of the standardised covariances with the targets, Σ_a Cov(f_x, f_a | D) / σ_a, where σ_a² = Var(f_a | D).
    pub std_cov: f64,
    /// Squared distance d_k² to the nearest pick or observed point; `None` before the first.
    pub nearest_sq: Option<f64>,
    /// Mean cosine of x with the targets, before any observation.
    pub cosine: f64,
    /// Cosine of x with one target: that of the first pick is the first target, that of the next pick the next one, and
    /// after the last target follows the first again.
    pub turn_cosine: f64,
    /// Class probabilities p(x).
    pub probabilities: &'a [f64],
    /// Noise variance ρ²(x) of an observation at x.
    pub noise_var: f64,
}

/// Returns a rule whose key has a closed form.
pub(crate) fn rule_with(form: KeyForm) -> &'static dyn Rule {
    match form {
        KeyForm::Variance => &Uncertainty,
        KeyForm::SignalRatio => &UndirectedItl,
        KeyForm::InformationRatio => &Itl(TargetNoise::Noisy),
        KeyForm::ValueRatio => &ItlValue,
        KeyForm::SquaresRatio => &Vtl,
        KeyForm::Correlation => &Ctl,
    }
}

/// Entropy H(p) = −Σ pᵢ ln pᵢ.
fn entropy(p: &[f64]) -> f64 {
    p.iter().filter(|&&p| p > 0.0).map(|p| -p * p.ln()).sum()
}

/// Returns the two largest entries.
fn top_two(p: &[f64]) -> (f64, f64) {
    p.iter().fold((0.0, 0.0), |(first, second), &p| if p > first { (p, first) } else { (first, f64::max(second, p)) })
}
