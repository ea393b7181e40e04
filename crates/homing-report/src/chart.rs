//! Line charts over the number of picks.

use serde::Serialize;

use super::format::{fixed, percent, thousands};
use super::frame::{self, Frame};
use super::scale::{AxisScale, tenth};

const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 244.0;
const LEFT: f64 = 42.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = HEIGHT - 34.0;
/// Maximum number of points on a line; a reader could not distinguish more.
const MAX_POINTS: usize = 200;

/// A line chart, ready to draw.
#[derive(Debug, Serialize)]
pub struct Chart {
    #[serde(flatten)]
    frame: Frame,
    x_max: f64,
    lines: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    name: String,
    path: String,
    /// Numbers of picks, separated by spaces; the script that follows the pointer reads this and the next two fields.
    xs: String,
    /// Values as text.
    ys: String,
    /// Heights in the drawing.
    heights: String,
    end: [f64; 2],
    last: String,
    label_y: f64,
}

/// Range and labels of the vertical axis.
pub enum Axis {
    /// The axis runs from zero, or the smallest value if that is negative, to the largest value.
    Amount,
    /// The axis runs from 0 to 100 %.
    Share,
}

/// Draws one line per named series, in which `values[i]` is the value after `i` picks.
///
/// Returns `None` if there is nothing to draw.
pub fn chart<'a>(axis: &Axis, series: impl IntoIterator<Item = (&'a str, Vec<f64>)>) -> Option<Chart> {
    chart_at(axis, series.into_iter().map(|(name, values)| (name, thin(&values))))
}

/// Draws one line per named series of (picks, value) pairs.
pub fn chart_at<'a>(axis: &Axis, series: impl IntoIterator<Item = (&'a str, Vec<(f64, f64)>)>) -> Option<Chart> {
    let series: Vec<_> = series.into_iter().filter(|(_, points)| points.len() > 1).collect();
    let points = || series.iter().flat_map(|(_, points)| points);
    let x_max = points().map(|&(x, _)| x).reduce(f64::max)?;
    let y_domain = match axis {
        Axis::Share => [0.0, 1.0],
        Axis::Amount => points().fold([0.0, 0.0], |[low, high], &(_, y)| [y.min(low), y.max(high)]),
    };
    let name_length = series.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let label_room = if series.len() > 1 { 7.0 * name_length.min(18) as f64 + 12.0 } else { 12.0 };
    let right = tenth(WIDTH - label_room);

    let x = AxisScale::new([0.0, x_max], [LEFT, right]);
    let y = AxisScale::new(y_domain, [BOTTOM, TOP]);
    let mut lines: Vec<Line> = series.iter().map(|(name, points)| line(name, points, axis, x, y)).collect();
    frame::separate_labels(lines.iter_mut().map(|line| &mut line.label_y), TOP, BOTTOM - 3.0);
    let frame = Frame {
        width: WIDTH,
        height: HEIGHT,
        left: LEFT,
        right,
        top: TOP,
        bottom: BOTTOM,
        x_ticks: x.ticks(5.min(x_max as usize), |value, _| thousands(value as u64)),
        y_ticks: match axis {
            Axis::Share => y.ticks(5, |value, _| format!("{:.0}%", 100.0 * value)),
            Axis::Amount => y.ticks(5, |value, decimals| format!("{value:.decimals$}")),
        },
    };
    Some(Chart { frame, x_max, lines })
}

fn line(name: &str, points: &[(f64, f64)], axis: &Axis, x: AxisScale, y: AxisScale) -> Line {
    let text = |value: f64| match axis {
        Axis::Share => percent(value, Some(1)),
        Axis::Amount => fixed(value, 2),
    };
    let joined = |number: &dyn Fn(&(f64, f64)) -> String| points.iter().map(number).collect::<Vec<_>>().join(" ");
    let &(last_x, last_y) = points.last().expect("a line has at least two points");
    Line {
        name: name.to_owned(),
        path: frame::line(points.iter().map(|&(px, py)| [x.at(px), y.at(py)])),
        xs: joined(&|&(px, _)| px.to_string()),
        ys: joined(&|&(_, py)| text(py)),
        heights: joined(&|&(_, py)| y.at(py).to_string()),
        end: [x.at(last_x), y.at(last_y)],
        last: text(last_y),
        label_y: y.at(last_y),
    }
}

/// Pairs each value with its number of picks. A long series keeps evenly spaced values, including the first and the last.
pub fn thin(values: &[f64]) -> Vec<(f64, f64)> {
    let kept = values.len().min(MAX_POINTS);
    (0..kept)
        .map(|n| n * (values.len() - 1) / (kept - 1).max(1))
        .map(|index| (index as f64, values[index]))
        .filter(|(_, value)| value.is_finite())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_series_are_thinned_and_keep_their_ends() {
        let values: Vec<f64> = (0..10_001).map(f64::from).collect();
        let points = thin(&values);
        assert_eq!(points.len(), MAX_POINTS);
        assert_eq!((points[0], points[MAX_POINTS - 1]), ((0.0, 0.0), (10_000.0, 10_000.0)));
        assert_eq!(thin(&[0.0, f64::NAN, 2.0]), [(0.0, 0.0), (2.0, 2.0)]);
        assert!(thin(&[]).is_empty());
    }

    #[test]
    fn names_of_lines_that_end_together_do_not_overlap() {
        let series = ["a", "b", "c"].map(|name| (name, vec![1.0, 0.0]));
        let chart = chart(&Axis::Share, series).unwrap();
        let mut heights: Vec<f64> = chart.lines.iter().map(|line| line.label_y).collect();
        heights.sort_by(f64::total_cmp);
        assert!(heights.windows(2).all(|pair| pair[1] - pair[0] >= frame::LABEL_HEIGHT - 0.1));
        assert!(heights[2] <= BOTTOM);
    }

    #[test]
    fn a_chart_needs_something_to_draw() {
        assert!(chart(&Axis::Amount, [("a", vec![0.0])]).is_none());
        assert!(chart(&Axis::Amount, []).is_none());
    }
}
