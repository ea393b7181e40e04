//! The settings that the study compares.

use std::fmt;
use std::str::FromStr;

use homing::{Noise, Preparation};

use super::{BUDGETS, POOL};

/// The rule against which all others are compared.
pub const BASELINE: &str = "nearest-each";

/// The program's defaults, whose kernel and noise depend on how many numbers rows have.
pub const PROGRAM: &str = "itl, the program's defaults";
/// The settings of the paper's experiments.
pub const PAPER: &str = "itl, ρ² = 0.01 ×, rows as they are";

/// Rules whose noise and preparation are varied.
const RULES: [&str; 4] = ["itl", "itl-exact", "vtl", "ctl"];

/// Noise variances ρ² that are tried, relative to the mean squared norm.
const NOISES: [f64; 5] = [0.01, 0.1, 0.3, 1.0, 3.0];

/// The kernel of rows on the sphere, centred and of unit length, and its rules and noises.
const SPHERE: &str = "gaussian:1";
const SPHERE_RULES: [&str; 2] = ["itl", "vtl"];
const SPHERE_NOISES: [f64; 4] = [0.03, 0.1, 0.3, 1.0];

/// A way of picking: a rule, the kernel, the noise, and how rows are prepared.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Name of the rule.
    pub rule: String,
    /// Name of the kernel.
    pub kernel: &'static str,
    /// ρ² relative to the pool's mean variance, which is the mean squared norm for the linear kernel; none for rules that do not use
    /// the noise.
    pub noise: Option<f64>,
    /// Whether the pool's mean is subtracted.
    pub center: bool,
    /// Whether rows are then scaled to unit length.
    pub normalize: bool,
}

impl Setting {
    fn plain(rule: &str) -> Self {
        Self { rule: rule.into(), kernel: "linear", noise: None, center: false, normalize: false }
    }

    fn on_sphere(rule: &str, kernel: &'static str, noise: Option<f64>) -> Self {
        Self { rule: rule.into(), kernel, noise, center: true, normalize: true }
    }

    /// Returns what the program does by default with many rows of `dim` numbers, if there are targets.
    pub fn of_program(dim: usize) -> Self {
        let usual = Preparation::usual("linear", POOL, true);
        let kernel = usual.kernel(POOL, dim, 100, BUDGETS[BUDGETS.len() - 1]);
        let noise = if kernel == "linear" { Noise::UNIT_ROWS } else { Noise::UNIT_ROWS_OTHER_KERNEL };
        Self { rule: "itl".into(), kernel, noise: Some(noise), center: usual.center, normalize: usual.normalize }
    }

    /// Says how rows are prepared.
    pub fn preparation(&self) -> &'static str {
        match (self.center, self.normalize) {
            (false, false) => "as they are",
            (true, false) => "centred",
            (false, true) => "of unit length",
            (true, true) => "centred and of unit length",
        }
    }
}

/// Returns all settings: the baselines, every targeted rule with every noise and preparation, and a few with a kernel on the
/// sphere. If `quick` is set, only `itl` and `vtl` are varied, with rows as they are, or centred and scaled to unit length, beside
/// the program's defaults.
pub fn settings(quick: bool) -> Vec<Setting> {
    let mut all = [BASELINE, "cosine", "random"].map(Setting::plain).to_vec();
    for rule in RULES.iter().filter(|rule| !quick || ["itl", "vtl"].contains(rule)) {
        for noise in NOISES.iter().filter(|noise| !quick || [0.01, 1.0].contains(noise)) {
            for (center, normalize) in [(false, false), (true, false), (false, true), (true, true)] {
                if !quick || center == normalize {
                    all.push(Setting { center, normalize, noise: Some(*noise), ..Setting::plain(rule) });
                }
            }
        }
    }
    let noises = |rule| SPHERE_NOISES.map(|noise| Setting::on_sphere(rule, SPHERE, Some(noise)));
    let is_quick = |setting: &Setting| *setting == Setting::of_program(1);
    all.extend(SPHERE_RULES.into_iter().flat_map(noises).filter(|setting| !quick || is_quick(setting)));
    if !quick {
        all.push(Setting::on_sphere(BASELINE, "linear", None));
    }
    all
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rule)?;
        if self.kernel != "linear" {
            write!(f, ", kernel {}", self.kernel)?;
        }
        if let Some(noise) = self.noise {
            write!(f, ", ρ² = {noise} ×")?;
        }
        if self.noise.is_some() || self.center { write!(f, ", rows {}", self.preparation()) } else { Ok(()) }
    }
}

impl FromStr for Setting {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let known = settings(false).into_iter().find(|setting| setting.to_string() == text);
        known.ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_name_of_its_own() {
        let all = settings(false);
        assert_eq!(all.len(), 3 + 4 * 5 * 4 + 2 * 4 + 1);
        for setting in &all {
            assert_eq!(setting.to_string().parse().as_ref(), Ok(setting));
        }
        assert!([12, 384].iter().all(|&dim| all.contains(&Setting::of_program(dim))));
        assert!(settings(true).iter().all(|quick| all.contains(quick)));
    }
}
