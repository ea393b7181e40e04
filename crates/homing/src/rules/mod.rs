//! Rules: how much a candidate is worth, from a few numbers that the engine keeps for it.

mod cosine;
mod ctl;
mod information_density;
mod itl;
mod itl_value;
mod least_confidence;
mod max_dist;
mod max_entropy;
mod max_margin;
mod proportional;
mod uncertainty;
mod undirected_itl;
mod uniform;
mod vtl;

pub use cosine::Cosine;
pub use ctl::Ctl;
pub use information_density::InformationDensity;
pub use itl::Itl;
pub use itl_value::ItlValue;
pub use least_confidence::LeastConfidence;
pub use max_dist::MaxDist;
pub use max_entropy::MaxEntropy;
pub use max_margin::MaxMargin;
pub use proportional::DistanceSquared;
pub use uncertainty::Uncertainty;
pub use undirected_itl::UndirectedItl;
pub use uniform::Uniform;
pub use vtl::Vtl;

/// A formula that scores one candidate; the largest score is picked.
///
/// A rule knows nothing of batches, masks, seeds or files. It names the numbers that it [`wants`](Rule::wants), and the
/// engine keeps those for every candidate, up to date with all picks.
pub trait Rule: Send + Sync {
    /// The numbers that [`Rule::score`] reads.
    fn wants(&self) -> Wants;

    /// What picking this candidate next is worth.
    fn score(&self, x: &Candidate<'_>) -> f64;

    /// An increasing function of the score that is cheaper to compute.
    fn key(&self, x: &Candidate<'_>) -> f64 {
        self.score(x)
    }

    /// Whether the score is monotone in each number of a candidate with `var > 0`: falling in `var_given_targets`, rising in
    /// `sq_cov` and `std_cov`, either way in `var`. Then bounds on the numbers bound the score, and many picks can share a pass.
    fn is_monotone(&self) -> bool {
        false
    }

    /// Appends the places in a block whose key may reach `bar`.
    #[doc(hidden)]
    fn reach(&self, bar: f64, block: &Bounded<'_>, hits: &mut Vec<usize>) {
        for i in 0..block.var.len() {
            let (low, high) = block.candidates(i);
            // Not `>=`: a NaN must be looked at.
            if !(block.is_finite(i) && self.key(&low) < bar && self.key(&high) < bar) {
                hits.push(i);
            }
        }
    }

    /// Whether any key of a block may reach `bar`: a cheap test that may say yes too often.
    #[doc(hidden)]
    fn may_reach(&self, _bar: f32, _block: &Bounded<'_>) -> bool {
        true
    }

    /// The keys of a block.
    #[doc(hidden)]
    fn keys(&self, block: &Bounded<'_>, keys: &mut Vec<f32>) {
        keys.extend((0..block.var.len()).map(|i| self.key(&block.candidates(i).1) as f32));
    }
}

/// Numbers of a block of candidates, in the precision that they are kept in.
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

    /// The number in place `i`; zero where nothing is kept.
    #[inline]
    fn get(&self, i: usize) -> f64 {
        match self {
            Reals::F32(list) => list.get(i).map_or(0.0, |&x| f64::from(x)),
            Reals::F64(list) => list.get(i).copied().unwrap_or(0.0),
        }
    }
}

/// The numbers of a block of candidates, each known up to an error times the candidate's ‖φ‖².
#[doc(hidden)]
pub struct Bounded<'a> {
    pub(crate) var: Reals<'a>,
    pub(crate) second: Reals<'a>,
    pub(crate) std_cov: Reals<'a>,
    pub(crate) norm_sq: Reals<'a>,
    /// Further errors of `second`, times ‖φ‖.
    pub(crate) second_errors: &'a [f32],
    pub(crate) var_error: f64,
    pub(crate) second_error: f64,
    /// Times ‖φ‖.
    pub(crate) std_cov_error: f64,
    pub(crate) noise_var: f64,
    /// Whether `second` is the sum of squared covariances, not the variance given the targets.
    pub(crate) second_is_sum: bool,
}

impl Bounded<'_> {
    /// Whether `below` holds for all candidates: of the least and the most variance, and the most favourable second number or
    /// covariance, bounds that are widened by the rounding of f32. Other precisions are not looked at.
    fn all(&self, below: impl Fn(f32, f32, f32) -> bool) -> bool {
        const WIDER: f64 = 1.0 + 1e-3;
        let (Reals::F32(vars), Reals::F32(second)) = (self.var, self.second) else { return false };
        let (Reals::F32(norms), Reals::F32(std_cov)) = (self.norm_sq, self.std_cov) else { return false };
        // The rounding here is some ulp of ‖φ‖².
        let ulps = 4.0 * f64::from(f32::EPSILON);
        let var_error = (WIDER * (self.var_error + ulps)) as f32;
        let second_error = (WIDER * (self.second_error + ulps)) as f32;
        let std_cov_error = (WIDER * self.std_cov_error) as f32;
        let sign = if self.second_is_sum { 1.0 } else { -1.0 };
        pulp::Arch::new().dispatch(|| {
            let finite = |list: &[f32]| list.iter().all(|x| x.is_finite());
            let mut all = finite(vars) && finite(second) && finite(std_cov);
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
        })
    }

    fn is_finite(&self, i: usize) -> bool {
        [self.var, self.second, self.std_cov].iter().all(|list| list.get(i).is_finite())
    }

    /// The most favourable candidates with the least and with the most variance.
    #[inline]
    fn candidates(&self, i: usize) -> (Candidate<'static>, Candidate<'static>) {
        let norm_sq = self.norm_sq.get(i);
        let (var, slack) = (self.var.get(i), self.var_error * norm_sq);
        let second = self.second.get(i);
        let further = self.second_errors.get(i).map_or(0.0, |&error| 1.001 * f64::from(error) * norm_sq.sqrt());
        let second_slack = self.second_error * norm_sq + further;
        let std_cov = self.std_cov.get(i) + self.std_cov_error * norm_sq.sqrt();
        // Never zero: a score may have no bound as the variance vanishes, and must then say so.
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

/// The numbers a rule reads from a [`Candidate`]; those not asked for are zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // a set of flags is what it is
pub struct Wants {
    /// [`Candidate::var`].
    pub var: bool,
    /// [`Candidate::var_given_targets`], and how the targets are given.
    pub var_given_targets: Option<TargetNoise>,
    /// [`Candidate::sq_cov`].
    pub sq_cov: bool,
    /// [`Candidate::std_cov`].
    pub std_cov: bool,
    /// [`Candidate::nearest_sq`].
    pub nearest: bool,
    /// [`Candidate::cosine`].
    pub cosine: bool,
    /// [`Candidate::probabilities`].
    pub probabilities: bool,
}

impl Wants {
    /// Whether the rule is about targets.
    pub fn targets(&self) -> bool {
        self.var_given_targets.is_some() || self.sq_cov || self.std_cov || self.cosine
    }
}

/// How the targets are known when f_x is conditioned on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetNoise {
    /// Their values f_A themselves (Eq. 1).
    Free,
    /// Observations y_A with noise ρ² (Eq. 21), as the paper computes it.
    Noisy,
}

/// What the engine knows of one candidate x, given the observations D and the picks so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Candidate<'a> {
    /// k(x, x), before any observation.
    pub prior_var: f64,
    /// Var(f_x | D).
    pub var: f64,
    /// Var(f_x | D, A).
    pub var_given_targets: f64,
    /// Σ_a Cov(f_x, f_a | D)².
    pub sq_cov: f64,
    /// Σ_a Cov(f_x, f_a | D) / σ_a with σ_a² = Var(f_a | D).
    pub std_cov: f64,
    /// Squared distance d_k² to the nearest pick or observed point; none before the first.
    pub nearest_sq: Option<f64>,
    /// Mean cosine of x with the targets, before any observation.
    pub cosine: f64,
    /// Class probabilities p(x).
    pub probabilities: &'a [f64],
    /// ρ²(x), the noise of an observation at x.
    pub noise_var: f64,
}

/// H(p) = −Σ pᵢ ln pᵢ.
fn entropy(p: &[f64]) -> f64 {
    p.iter().filter(|&&p| p > 0.0).map(|p| -p * p.ln()).sum()
}

/// The two largest entries.
fn top_two(p: &[f64]) -> (f64, f64) {
    p.iter().fold((0.0, 0.0), |(first, second), &p| if p > first { (p, first) } else { (first, f64::max(second, p)) })
}
