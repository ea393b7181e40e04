//! The numbers that the computations accept: those whose powers and ratios f64 holds with all of their digits.

use std::ops::RangeInclusive;

use crate::base::algebra::norm;
use crate::base::range::{LEAST_SIZE, MOST_SIZE};
use crate::rules::TargetNoise;
use crate::shard::BLOCK;
use crate::{Error, Kernel, Noise, Points, Result, Strategy, Task};

/// Range of the largest squared row norm of an input.
const VARS: RangeInclusive<f64> = 1e-100..=1e100;

/// Range of the noise variances, which are divisors.
const NOISE_VARS: RangeInclusive<f64> = 1e-140..=1e140;

/// Largest ratio of signal to noise variance for which f64 has enough digits, and largest ratio of noise to signal for
/// which it has enough range.
const MOST_SIGNAL: f64 = 1e30;
const MOST_NOISE: f64 = 1e60;

/// Largest ratio of the noise variance to the variances of pool and targets. At this ratio, noisy targets change only the
/// last four digits of a variance.
const MOST_NOISE_OF_TARGETS: f64 = 1e12;

/// Refuses a noise that is not positive, or whose square is out of range.
pub(crate) fn check_noise(noise: Noise) -> Result<()> {
    const NONE: &str =
        "it must be a positive number, because an observation without noise would give infinite information";
    let (name, value, range, expected) = match noise {
        Noise::Auto => return Ok(()),
        Noise::Std(std) => {
            let ends = ["it must lie between 1e-70 and 1e70; raise it", "it must lie between 1e-70 and 1e70; lower it"];
            ("the noise", std, 1e-70..=1e70, ends)
        }
        Noise::Relative(share) => {
            let ends = ["it must lie between 1e-30 and 1e60; raise it", "it must lie between 1e-30 and 1e60; lower it"];
            ("the relative noise", share, 1e-30..=1e60, ends)
        }
    };
    let expected = match value {
        value if range.contains(&value) => return Ok(()),
        value if value > 1.0 => expected[1],
        value if value > 0.0 => expected[0],
        _ => NONE,
    };
    Err(Error::Setting { name, value, expected })
}

/// Refuses noise variances that are out of range.
pub(crate) fn check_noise_vars(values: &[f64]) -> Result<()> {
    check_each("noise variances", values, NOISE_VARS, "it must lie between 1e-140 and 1e140")
}

/// Refuses costs that scores cannot be divided by.
pub(crate) fn check_costs(values: &[f64]) -> Result<()> {
    check_each("costs", values, LEAST_SIZE..=MOST_SIZE, "it must lie between 1e-50 and 1e50; use another unit")
}

fn check_each(what: &'static str, values: &[f64], range: RangeInclusive<f64>, expected: &'static str) -> Result<()> {
    let Some(row) = values.iter().position(|value| !range.contains(value)) else { return Ok(()) };
    let value = values[row];
    let expected = if value > 0.0 { expected } else { "it must be a positive number" };
    Err(Error::BadValue { what, row, value, expected })
}

/// Returns ρ². Refuses a noise that is too small or too large relative to the pool's mean prior variance.
pub(crate) fn resolve_noise(task: &Task<'_>, noise: Noise, mean_var: f64) -> Result<f64> {
    let noise_var = noise_var(noise.resolve(task), mean_var);
    let least = task.noise_vars.map_or(noise_var, |vars| vars.iter().copied().fold(noise_var, f64::min));
    let refused = |var: f64, expected| Err(Error::Setting { name: "the noise", value: var.sqrt(), expected });
    if mean_var / least > MOST_SIGNAL {
        return refused(least, "it is more than 10¹⁵ times smaller than the embeddings; raise it");
    }
    if mean_var > 0.0 && noise_var / mean_var > MOST_NOISE {
        return refused(noise_var, "it is more than 10³⁰ times larger than the embeddings; lower it");
    }
    Ok(noise_var)
}

/// Returns ρ² of a resolved noise: absolute, or relative to the pool's mean prior variance.
pub(crate) fn noise_var(noise: Noise, mean_var: f64) -> f64 {
    match noise {
        Noise::Std(std) => std * std,
        // Rows that are all zero teach nothing under any noise.
        Noise::Relative(share) if mean_var > 0.0 => share * mean_var,
        Noise::Relative(share) => share,
        Noise::Auto => unreachable!("the noise was resolved for a task"),
    }
}

/// Refuses a noise so large that noisy targets do not change a variance measurably. A rule that subtracts the variance
/// given the targets would then score every row as zero, or as rounding errors.
pub(crate) fn check_signal(
    strategy: &Strategy,
    targets: Option<Points<'_>>,
    kernel: &dyn Kernel,
    mean_var: f64,
    noise_var: f64,
) -> Result<()> {
    let (Some(targets), Some(TargetNoise::Noisy)) = (targets, strategy.wants().var_given_targets) else {
        return Ok(());
    };
    let blocks = targets.map_blocks(|_, rows| kernel.vars(rows, targets.dim()).into_iter().fold(0.0, f64::max));
    let largest = blocks.into_iter().fold(mean_var, f64::max);
    if largest > 0.0 && noise_var > MOST_NOISE_OF_TARGETS * largest {
        let expected =
            "it is more than a million times larger than pool and targets, so every score would be zero; lower it";
        return Err(Error::Setting { name: "the noise", value: noise_var.sqrt(), expected });
    }
    Ok(())
}

/// The largest prior variance in a block of rows, and whether all its rows are valid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extremes {
    /// The row with the largest prior variance.
    row: usize,
    var: f64,
    is_sound: bool,
}

impl Extremes {
    /// Returns the prior variances of some rows, of which the first is `start`, and their extremes. The variances are zero
    /// if the kernel does not accept a row.
    pub fn of(kernel: &dyn Kernel, start: usize, rows: &[f64], dim: usize) -> (Vec<f64>, Self) {
        if !rows.chunks_exact(dim).all(|x| kernel.check_point(x).is_ok()) {
            return (vec![0.0; rows.len() / dim], Self { row: start, var: 0.0, is_sound: false });
        }
        let vars = kernel.vars(rows, dim);
        let most = |best: (usize, f64), (i, &var): (usize, &f64)| if var > best.1 { (start + i, var) } else { best };
        let (row, var) = vars.iter().enumerate().fold((start, 0.0), most);
        let is_sound = vars.iter().all(|var| (0.0..=*VARS.end()).contains(var))
            && (kernel.is_linear() || rows.iter().all(|x| x.abs() <= MOST_SIZE));
        (vars, Self { row, var, is_sound })
    }
}

impl Extremes {
    /// The extremes of a pool of which a row is invalid.
    pub fn unsound() -> Self {
        Self { row: 0, var: 0.0, is_sound: false }
    }

    /// Returns the extremes of a pool under the linear kernel, whose largest squared norm is `most`; `None` if that is too
    /// large.
    pub fn of_norms(row: usize, most: f64) -> Option<Self> {
        (most <= *VARS.end()).then_some(Self { row, var: most, is_sound: true })
    }
}

/// Refuses points that are not finite, that the kernel does not accept, or that are too large or too small as a whole.
pub(crate) fn check_points(what: &'static str, points: Points<'_>, kernel: &dyn Kernel) -> Result<()> {
    let found = points.map_blocks(|start, rows| Extremes::of(kernel, start, rows, points.dim()).1);
    check_extremes(what, points, kernel, &found)
}

/// The same check, given the extremes of every block.
pub(crate) fn check_extremes(
    what: &'static str,
    points: Points<'_>,
    kernel: &dyn Kernel,
    found: &[Extremes],
) -> Result<()> {
    points.check_read()?;
    if let Some(block) = found.iter().position(|block| !block.is_sound) {
        points.check_finite(what)?;
        let rows = block * BLOCK..points.rows().min((block + 1) * BLOCK);
        return rows.into_iter().map(|row| (row, points.row(row))).try_for_each(|(row, x)| {
            if let Err(expected) = kernel.check_point(&x) {
                return Err(Error::Point { what, row, expected });
            }
            check_row(what, row, &x, kernel)
        });
    }
    let largest = found.iter().reduce(|best, one| if one.var > best.var { one } else { best });
    match largest {
        Some(largest) if !VARS.contains(&largest.var) => check_small(what, points, kernel, largest.row),
        _ => Ok(()),
    }
}

/// Refuses a row that is too large.
fn check_row(what: &'static str, row: usize, x: &[f64], kernel: &dyn Kernel) -> Result<()> {
    let (var, norm) = (kernel.var(x), norm(x));
    if x.iter().any(|x| x.abs() > MOST_SIZE) || (kernel.is_linear() && norm > MOST_SIZE) {
        return Err(Error::Size { what, row, size: "norm", value: norm });
    }
    if var.is_nan() || var < 0.0 {
        let expected = "the kernel must give it a variance that is not negative";
        return Err(Error::BadValue { what, row, value: var, expected });
    }
    if var > *VARS.end() {
        return Err(Error::Size { what, row, size: "prior standard deviation", value: var.sqrt() });
    }
    Ok(())
}

/// Refuses points that are all too small, unless all of them are zero.
fn check_small(what: &'static str, points: Points<'_>, kernel: &dyn Kernel, row: usize) -> Result<()> {
    if !kernel.is_linear() {
        let var = kernel.var(&points.row(row));
        let (size, value) = ("prior standard deviation", var.sqrt());
        return if var > 0.0 { Err(Error::Size { what, row, size, value }) } else { Ok(()) };
    }
    // Squares may underflow where the numbers themselves do not.
    let largest = |best: (usize, f64), one: (usize, f64)| if one.1 > best.1 { one } else { best };
    let blocks = points.map_blocks(|start, rows| {
        rows.chunks_exact(points.dim()).enumerate().map(|(i, x)| (start + i, norm(x))).fold((0, 0.0), largest)
    });
    let (row, value) = blocks.into_iter().fold((0, 0.0), largest);
    if value > 0.0 { Err(Error::Size { what, row, size: "norm", value }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_positive_noise_out_of_range_is_refused_with_its_range() {
        let message = |noise| check_noise(noise).unwrap_err().to_string();
        assert_eq!(message(Noise::Std(1e160)), "the noise is 1e160; it must lie between 1e-70 and 1e70; lower it");
        assert!(message(Noise::Std(0.0)).contains("it must be a positive number"));
        assert!(message(Noise::Std(f64::NAN)).contains("it must be a positive number"));
        assert!(message(Noise::Relative(1e61)).contains("between 1e-30 and 1e60"));
    }
}
