//! Maps data to coordinates, and chooses the round numbers that label an axis.

/// Linear map from an interval of the data to an interval of the drawing.
#[derive(Debug, Clone, Copy)]
pub struct AxisScale {
    domain: [f64; 2],
    range: [f64; 2],
}

impl AxisScale {
    pub fn new(domain: [f64; 2], range: [f64; 2]) -> Self {
        Self { domain, range }
    }

    /// Returns the coordinate of `value`, rounded to a tenth. An empty domain maps to the middle.
    pub fn at(&self, value: f64) -> f64 {
        let [low, high] = self.domain;
        let [start, end] = self.range;
        let share = if high > low { (value - low) / (high - low) } else { 0.5 };
        tenth(start + share * (end - start))
    }

    /// Returns labelled positions at about `count` round numbers.
    pub fn ticks(&self, count: usize, label: impl Fn(f64, usize) -> String) -> Vec<Tick> {
        let (values, decimals) = ticks(self.domain, count);
        values.into_iter().map(|value| Tick { at: self.at(value), label: label(value, decimals) }).collect()
    }
}

/// Labelled position on an axis.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Tick {
    pub at: f64,
    pub label: String,
}

/// Extends the domain to round numbers, about `count` steps apart.
pub fn rounded([low, high]: [f64; 2], count: usize) -> [f64; 2] {
    let (values, _) = ticks([low, high], count);
    let &[first, second, ..] = &values[..] else { return [low, high] };
    let (step, last) = (second - first, values[values.len() - 1]);
    let slack = 1e-6 * step;
    [if low < first - slack { first - step } else { first }, if high > last + slack { last + step } else { last }]
}

/// Returns multiples of 1, 2 or 5 × 10ⁿ within the domain, and the number of decimals that distinguishes them.
pub fn ticks([low, high]: [f64; 2], count: usize) -> (Vec<f64>, usize) {
    let rough = (high - low) / count.max(1) as f64;
    if !(rough.is_finite() && rough > 0.0) {
        return (vec![low], 0);
    }
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|unit| unit * power).into_iter().find(|&step| step >= rough * 0.999);
    let step = step.unwrap_or(10.0 * power);
    // The slack keeps an end point that rounding (also in f32) moved just outside.
    let ends = |step: f64| ((low / step - 1e-6).ceil() as i64, (high / step + 1e-6).floor() as i64);
    let few = ends(step).1 - ends(step).0 < 2;
    // Half of 1, 2 or 10, and two fifths of 5, are round numbers too.
    let step = if few { step * if (step / power - 5.0).abs() < 0.1 { 0.4 } else { 0.5 } } else { step };
    let (first, last) = ends(step);
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    ((first..=last).map(|n| n as f64 * step).collect(), decimals)
}

/// Rounds to one decimal, which is finer than any screen and short to write.
pub fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0 + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks([0.0, 1.0], 4), (vec![0.0, 0.5, 1.0], 1));
        assert_eq!(ticks([0.0, 100.0], 5).0, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks([0.0, 37.0], 4).0, [0.0, 10.0, 20.0, 30.0]);
        assert_eq!(ticks([-3.2, 4.1], 4).0, [-2.0, 0.0, 2.0, 4.0]);
        assert_eq!(ticks([0.0, 0.999_999_9], 4).0, [0.0, 0.5, 1.0]);
        assert_eq!(ticks([-4.7, 4.7], 4).0, [-4.0, -2.0, 0.0, 2.0, 4.0]);
        assert_eq!(ticks([0.0, 95.0], 3).0, [0.0, 20.0, 40.0, 60.0, 80.0]);
        assert_eq!(ticks([0.0, 0.0031], 4), (vec![0.0, 0.001, 0.002, 0.003], 3));
    }

    #[test]
    fn a_rounded_domain_holds_the_domain() {
        assert_eq!(rounded([13.0, 86.0], 5), [0.0, 100.0]);
        assert_eq!(rounded([0.0, 51.0], 5), [0.0, 60.0]);
        assert_eq!(rounded([0.0, 1.0], 5), [0.0, 1.0]);
        assert_eq!(rounded([2.0, 2.0], 5), [2.0, 2.0]);
    }

    #[test]
    fn an_axis_without_length_has_one_tick() {
        assert_eq!(ticks([2.0, 2.0], 5).0, [2.0]);
        assert_eq!(ticks([0.0, f64::NAN], 5).0, [0.0]);
        assert_eq!(AxisScale::new([2.0, 2.0], [0.0, 10.0]).at(2.0), 5.0);
    }

    #[test]
    fn ends_of_the_domain_are_ends_of_the_range() {
        let down = AxisScale::new([0.0, 4.0], [200.0, 10.0]);
        assert_eq!([0.0, 2.0, 4.0].map(|value| down.at(value)), [200.0, 105.0, 10.0]);
    }
}
