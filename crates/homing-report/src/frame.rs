//! Elements that every chart shares: a frame with axes, paths through points, labels that do not overlap.

use std::fmt::Write;

use serde::Serialize;

use super::scale::{Tick, tenth};

/// Vertical space that a label takes.
pub const LABEL_HEIGHT: f64 = 14.0;

/// Approximate width of a character of a label.
pub const CHARACTER: f64 = 6.6;

/// Drawing area and the ticks on its axes.
#[derive(Debug, Clone, Serialize)]
pub struct Frame {
    pub width: f64,
    pub height: f64,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    pub x_ticks: Vec<Tick>,
    pub y_ticks: Vec<Tick>,
}

/// Returns an SVG path that connects the points.
pub fn line(points: impl IntoIterator<Item = [f64; 2]>) -> String {
    shapes(points, |i| if i == 0 { ("M", "") } else { ("L", "") })
}

/// Returns an SVG path with a dot at each point; dots are round if the line caps are.
pub fn dots(points: impl IntoIterator<Item = [f64; 2]>) -> String {
    shapes(points, |_| ("M", "h0"))
}

/// Returns an SVG path with a diamond around each point.
pub fn diamonds(points: impl IntoIterator<Item = [f64; 2]>) -> String {
    shapes(points, |_| ("M", "m0-5l5 5-5 5-5-5z"))
}

fn shapes(
    points: impl IntoIterator<Item = [f64; 2]>,
    around: impl Fn(usize) -> (&'static str, &'static str),
) -> String {
    points.into_iter().enumerate().fold(String::new(), |mut path, (i, [x, y])| {
        let (before, after) = around(i);
        write!(path, "{before}{x} {y}{after}").expect("writing to a string cannot fail");
        path
    })
}

/// Moves labels at these heights apart: first down from the top, then back up from the bottom.
pub fn separate_labels<'h>(heights: impl IntoIterator<Item = &'h mut f64>, top: f64, bottom: f64) {
    let mut heights: Vec<&mut f64> = heights.into_iter().collect();
    heights.sort_by(|a, b| a.total_cmp(b));
    let mut lowest = top;
    for height in &mut heights {
        **height = height.max(lowest);
        lowest = **height + LABEL_HEIGHT;
    }
    let mut highest = bottom;
    for height in heights.iter_mut().rev() {
        **height = tenth(height.min(highest));
        highest = **height - LABEL_HEIGHT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_at_the_same_height_are_separated_and_stay_inside() {
        for at in [0.0, 50.0, 100.0] {
            let mut heights = [at; 3];
            separate_labels(&mut heights, 0.0, 100.0);
            heights.sort_by(f64::total_cmp);
            assert!(heights.windows(2).all(|pair| pair[1] - pair[0] >= LABEL_HEIGHT - 0.1), "{heights:?}");
            assert!(heights[0] >= 0.0 && heights[2] <= 100.0, "{heights:?}");
        }
    }

    #[test]
    fn paths_by_hand() {
        assert_eq!(line([[0.0, 1.5], [2.0, 3.0]]), "M0 1.5L2 3");
        assert_eq!(dots([[0.0, 1.5], [2.0, 3.0]]), "M0 1.5h0M2 3h0");
    }
}
