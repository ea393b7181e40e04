//! Tests of the paper's claims on the results, seed by seed.

use std::collections::BTreeMap;

use homing_train::mean_and_error;
use puruspe::betai;

use crate::experiment::{Claim, Experiment, SeriesName};
use crate::table::ResultTable;

/// Significance level: a claim holds if its p-value is below it.
pub const LEVEL: f64 = 0.05;

/// Result of testing a claim.
pub struct Verdict<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// Mean difference in percentage points and its standard error; none for claims about several lines.
    pub difference: Option<(f64, f64)>,
    /// p-value: the probability of a difference at least this clear if the claim is false; none if there are too few seeds.
    pub p: Option<f64>,
}

impl Verdict<'_> {
    /// Returns the verdict in words.
    pub fn says(&self) -> &'static str {
        match self.p {
            Some(p) if p < LEVEL => "holds",
            Some(_) => "does not hold",
            None => "too few seeds",
        }
    }
}

/// Tests all claims of an experiment.
pub fn verdicts<'a>(experiment: &'a Experiment, table: &ResultTable) -> Vec<Verdict<'a>> {
    let series = experiment.series();
    let find = |name: &String| {
        series.iter().find(|series| series.label() == *name).expect("the check of the experiment found every series")
    };
    let by_seed = |claim: &Claim, high: &String, low: &String| differences(table, claim, find(high), find(low));
    let differences =
        |claim: &Claim, high: &String, low: &String| by_seed(claim, high, low).into_values().collect::<Vec<f64>>();
    let verdict = |claim: &'a Claim| match claim {
        Claim { same: Some([one, other]), within, .. } => {
            let pairs = differences(claim, one, other);
            Verdict { claim, difference: mean_and_error(&pairs), p: p_same(&pairs, 100.0 * within) }
        }
        Claim { gap: Some([high, low]), than: Some([other_high, other_low]), within, .. } => {
            let (gap, other) = (by_seed(claim, high, low), by_seed(claim, other_high, other_low));
            let pairs: Vec<f64> = gap.iter().filter_map(|(seed, gap)| Some(gap - other.get(seed)?)).collect();
            Verdict { claim, difference: mean_and_error(&pairs), p: p_above(&pairs, -100.0 * within) }
        }
        Claim { higher: Some(high), lower, within, .. } if lower.len() == 1 => {
            let pairs = differences(claim, high, &lower[0]);
            Verdict { claim, difference: mean_and_error(&pairs), p: p_above(&pairs, -100.0 * within) }
        }
        Claim { higher: Some(high), lower, .. } => {
            let each: Option<Vec<f64>> =
                lower.iter().map(|low| p_above(&differences(claim, high, low), -100.0 * claim.within)).collect();
            let joined = if claim.every { p_every } else { p_most };
            Verdict { claim, difference: None, p: each.and_then(joined) }
        }
        _ => Verdict { claim, difference: None, p: None },
    };
    experiment.claims.iter().map(verdict).collect()
}

/// Returns `high` − `claim.times` · `low` in percentage points, for the seeds that both have.
fn differences(table: &ResultTable, claim: &Claim, high: &SeriesName, low: &SeriesName) -> BTreeMap<u64, f64> {
    let (high, low) = (table.by_seed(high, claim.of, claim.when), table.by_seed(low, claim.of, claim.when));
    high.iter().filter_map(|(&seed, value)| Some((seed, 100.0 * (value - claim.times * low.get(&seed)?)))).collect()
}

/// One-sided paired t-test: returns the probability of a mean at least this far above `floor` if the true mean is `floor`.
fn p_above(pairs: &[f64], floor: f64) -> Option<f64> {
    if pairs.len() < 2 {
        return None;
    }
    let (mean, error) = mean_and_error(pairs)?;
    let (above, degrees) = (mean - floor, (pairs.len() - 1) as f64);
    if error == 0.0 {
        return Some(if above > 0.0 { 0.0 } else { 1.0 });
    }
    let t = above / error;
    let tail = betai(degrees / 2.0, 0.5, degrees / (degrees + t * t)) / 2.0;
    Some(if t > 0.0 { tail } else { 1.0 - tail })
}

/// Two one-sided tests of equivalence: the difference is within ±`margin`.
fn p_same(pairs: &[f64], margin: f64) -> Option<f64> {
    let below: Vec<f64> = pairs.iter().map(|pair| -pair).collect();
    Some(p_above(pairs, -margin)?.max(p_above(&below, -margin)?))
}

/// Tests whether all hypotheses are true: the intersection-union test, whose p-value is the largest.
fn p_every(each: Vec<f64>) -> Option<f64> {
    each.into_iter().max_by(f64::total_cmp)
}

/// Adjusts p-values of a family of claims for their number (Holm, 1979). If all claims with an adjusted p-value below 0.05 are
/// accepted, the probability that any of them is false is at most 0.05. The order of the claims stays.
///
/// ```
/// let adjusted = homing_experiment::holm(&[0.01, 0.04, 0.03]);
/// assert_eq!(adjusted, [0.03, 0.06, 0.06]);
/// ```
pub fn holm(family: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..family.len()).collect();
    order.sort_by(|&one, &two| family[one].total_cmp(&family[two]));
    let mut adjusted = vec![0.0; family.len()];
    let mut largest = 0f64;
    for (rank, claim) in order.into_iter().enumerate() {
        largest = largest.max((family.len() - rank) as f64 * family[claim]).min(1.0);
        adjusted[claim] = largest;
    }
    adjusted
}

/// Tests whether more than half of the hypotheses are true, with a partial conjunction test (Benjamini and Heller, 2008).
fn p_most(mut each: Vec<f64>) -> Option<f64> {
    each.sort_by(f64::total_cmp);
    let (count, most) = (each.len(), each.len() / 2 + 1);
    each.get(most - 1).map(|p| ((count - most + 1) as f64 * p).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference: scipy.stats.ttest_1samp([1, 2, 3, 4, 6], 0, alternative="greater").pvalue = 0.010237937210455336.
    #[test]
    fn the_paired_test_is_students() {
        let p = p_above(&[1.0, 2.0, 3.0, 4.0, 6.0], 0.0).unwrap();
        assert!((p - 0.010_237_937_210_455).abs() < 1e-12, "{p}");
        let opposite = p_above(&[-1.0, -2.0, -3.0, -4.0, -6.0], 0.0).unwrap();
        assert!((p + opposite - 1.0).abs() < 1e-12);
        assert_eq!(p_above(&[1.0], 0.0), None);
    }

    #[test]
    fn the_same_means_within_the_margin() {
        let near = [0.1, -0.1, 0.2, -0.2, 0.05];
        assert!(p_same(&near, 2.0).unwrap() < 1e-4 && p_same(&near, 0.01).unwrap() > 0.3);
        assert!(p_same(&[5.0, 5.1, 4.9, 5.2], 2.0).unwrap() > 0.99);
    }

    /// Reference: statsmodels.stats.multitest.multipletests([0.01, 0.02, 0.015, 0.5, 0.001], method="holm")[1].
    #[test]
    fn holm_is_that_of_statsmodels() {
        let adjusted = holm(&[0.01, 0.02, 0.015, 0.5, 0.001]);
        for (got, want) in adjusted.iter().zip([0.04, 0.045, 0.045, 0.5, 0.005]) {
            assert!((got - want).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[]), [0f64; 0]);
    }

    #[test]
    fn a_claim_about_every_line_is_as_doubtful_as_its_weakest_part() {
        assert_eq!(p_every(vec![0.01, 0.2, 0.03]), Some(0.2));
    }

    #[test]
    fn most_is_more_than_half() {
        assert_eq!(p_most(vec![0.9, 0.01, 0.02]), Some(0.04));
        assert_eq!(p_most(vec![0.9, 0.8, 0.01, 0.02]), Some(1.0));
    }
}
