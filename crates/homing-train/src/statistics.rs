//! Means and standard errors over seeds.

use std::collections::BTreeMap;

/// Returns the mean and its standard error, or none if there are no values.
pub fn mean_and_error(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / count)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((mean, if values.len() > 1 { (squares / (count - 1.0) / count).sqrt() } else { 0.0 }))
}

/// A measurement in one round with one seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Number of the round, counted from 1.
    pub round: usize,
    /// Picks so far.
    pub picks: usize,
    /// The measured value, if there is one.
    pub value: Option<f64>,
}

/// Mean over all seeds after a number of picks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Picks so far.
    pub picks: usize,
    /// The mean.
    pub mean: f64,
    /// Standard error of the mean.
    pub error: f64,
}

/// Averages a measurement over the seeds, round by round. Rounds without any value are left out.
///
/// ```
/// use homing_train::{Observation, learning_curve};
///
/// let seed = |accuracy| Observation { round: 1, picks: 5, value: Some(accuracy) };
/// let curve = learning_curve([seed(0.5), seed(0.7)]);
/// assert_eq!((curve[0].picks, curve[0].mean), (5, 0.6));
/// ```
pub fn learning_curve(observations: impl IntoIterator<Item = Observation>) -> Vec<CurvePoint> {
    let mut rounds: BTreeMap<usize, (usize, Vec<f64>)> = BTreeMap::new();
    for Observation { round, picks, value } in observations {
        rounds.entry(round).or_insert((picks, Vec::new())).1.extend(value);
    }
    let point = |(picks, values): (usize, Vec<f64>)| {
        let (mean, error) = mean_and_error(&values)?;
        Some(CurvePoint { picks, mean, error })
    };
    rounds.into_values().filter_map(point).collect()
}
