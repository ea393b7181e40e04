//! Warnings about a diagnosis that call for action.

use super::Diagnosis;

/// A property of the input that leads to poor picks.
///
/// ```
/// use homing::diagnose::{Advice, Diagnosis, Question, Warning};
/// use homing::{Embeddings, Noise, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let diagnosis = Diagnosis::new(&Question::new(task).noise(Noise::Std(5.0)))?;
/// let warnings = diagnosis.warnings();
/// assert!(matches!(warnings[0], Warning::MuchNoise(times) if times > 10.0));
/// assert_eq!(warnings[0].advice(), Some(Advice::LowerNoise));
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// ρ² is this many times the pool's mean variance: every row looks like noise.
    MuchNoise(f64),
    /// ρ² is this share of the pool's mean variance: a single label determines a direction.
    LittleNoise(f64),
    /// The values suggest another noise.
    OtherNoise {
        /// Variance of that noise, divided by ρ².
        factor: f64,
        /// Standard deviation of that noise.
        std: f64,
    },
    /// The targets' mean variance divided by the pool's is far from one.
    OtherScale(f64),
    /// One row is so large that it attracts picks.
    LargeRow,
    /// The pool's mean accounts for this share of its squared norm.
    CommonMean(f64),
    /// This many rows have no variance.
    EmptyRows(usize),
    /// This many targets have no variance.
    EmptyTargets(usize),
    /// This many picks are among the observed rows.
    ObservedAgain(usize),
    /// This share of the rows have a near-duplicate.
    NearDuplicates(f64),
}

/// A setting to change. The command line, Python and Rust each have their own name for it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Advice {
    /// Give a smaller noise.
    LowerNoise,
    /// Give a larger noise.
    RaiseNoise,
    /// Give this standard deviation of the noise.
    SetNoise(f64),
    /// Subtract the pool's mean from all embeddings.
    Center,
}

impl Warning {
    /// Returns the setting to change, if there is one.
    pub fn advice(&self) -> Option<Advice> {
        match *self {
            Warning::MuchNoise(_) => Some(Advice::LowerNoise),
            Warning::LittleNoise(_) => Some(Advice::RaiseNoise),
            Warning::OtherNoise { std, .. } => Some(Advice::SetNoise(std)),
            Warning::CommonMean(_) => Some(Advice::Center),
            _ => None,
        }
    }
}

impl Diagnosis {
    /// Returns the warnings that call for action.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let relative = self.noise_var / self.scale.mean_var;
        if relative.is_finite() && relative > 10.0 {
            warnings.push(Warning::MuchNoise(relative));
        } else if relative < 1e-6 {
            warnings.push(Warning::LittleNoise(relative));
        }
        let is_at_edge = self.fit.is_some_and(|fit| fit.is_at_edge);
        if let Some(suggested) = self.suggested_noise_var().filter(|_| !is_at_edge) {
            let factor = suggested / self.noise_var;
            if !(0.1..=10.0).contains(&factor) {
                warnings.push(Warning::OtherNoise { factor, std: suggested.sqrt() });
            }
        }
        let ratio = self.scale.target_var / self.scale.mean_var;
        let times = ratio.max(1.0 / ratio);
        if times.is_finite() && times > 10.0 {
            warnings.push(Warning::OtherScale(ratio));
        }
        if self.scale.max_var > 100.0 * self.scale.median_var && self.scale.median_var > 0.0 {
            warnings.push(Warning::LargeRow);
        }
        if self.scale.common_share > 0.5 && self.may_center {
            warnings.push(Warning::CommonMean(self.scale.common_share));
        }
        if self.scale.zero_rows > 0 {
            warnings.push(Warning::EmptyRows(self.scale.zero_rows));
        }
        let empty = self.targets.iter().filter(|target| target.prior == 0.0).count();
        if empty > 0 {
            warnings.push(Warning::EmptyTargets(empty));
        }
        if self.observed_again > 0 {
            warnings.push(Warning::ObservedAgain(self.observed_again));
        }
        if self.duplicates.near_share > 0.5 {
            warnings.push(Warning::NearDuplicates(self.duplicates.near_share));
        }
        warnings
    }
}
