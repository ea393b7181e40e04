//! The settings that the study compares.

use std::fmt;
use std::str::FromStr;

/// The rule against which all others are compared.
pub const BASELINE: &str = "nearest-each";

/// Rules whose noise and preparation are varied.
const RULES: [&str; 4] = ["itl", "itl-exact", "vtl", "ctl"];

/// Noise variances ρ² that are tried, relative to the mean squared norm.
const NOISES: [f64; 4] = [0.01, 0.1, 1.0, 10.0];

/// A way of picking: a rule, the noise, and how rows are prepared.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Name of the rule.
    pub rule: String,
    /// ρ² relative to the mean squared norm; none for rules that do not use the noise.
    pub noise: Option<f64>,
    /// Whether the pool's mean is subtracted.
    pub center: bool,
    /// Whether rows are then scaled to unit length.
    pub normalize: bool,
}

impl Setting {
    fn plain(rule: &str) -> Self {
        Self { rule: rule.into(), noise: None, center: false, normalize: false }
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

/// Returns all settings: the baselines, and every targeted rule with every noise and preparation. If `quick` is set, only `itl` and
/// `vtl` are varied, and rows are used as they are, or centred and scaled to unit length.
pub fn settings(quick: bool) -> Vec<Setting> {
    let mut all = [BASELINE, "cosine", "random"].map(Setting::plain).to_vec();
    for rule in RULES.iter().filter(|rule| !quick || ["itl", "vtl"].contains(rule)) {
        for noise in NOISES.iter().filter(|noise| !quick || [0.01, 1.0].contains(noise)) {
            for (center, normalize) in [(false, false), (true, false), (false, true), (true, true)] {
                if !quick || center == normalize {
                    all.push(Setting { rule: (*rule).into(), noise: Some(*noise), center, normalize });
                }
            }
        }
    }
    all
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.noise {
            None => f.write_str(&self.rule),
            Some(noise) => write!(f, "{}, ρ² = {noise} ×, rows {}", self.rule, self.preparation()),
        }
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
        assert_eq!(all.len(), 3 + 4 * 4 * 4);
        for setting in &all {
            assert_eq!(setting.to_string().parse().as_ref(), Ok(setting));
        }
        assert!(settings(true).iter().all(|quick| all.contains(quick)));
    }
}
