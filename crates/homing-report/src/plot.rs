//! Plots: turns data into SVG paths. Each path has a class, which the style sheet colours.

use std::fmt::Write;

use serde::Serialize;

use crate::frame::{self, Frame};
use crate::scale::{AxisScale, tenth};

const LEFT: f64 = 40.0;
const TOP: f64 = 8.0;
const RIGHT: f64 = 10.0;
const BOTTOM: f64 = 34.0;
/// Margin of the clipping area: slightly more than half the widest line, because lines may run along an edge of the plot.
const STROKE: f64 = 2.0;
/// Number of shades in a heat map.
const SHADES: usize = 12;

/// A plot, ready to draw.
#[derive(Debug, Clone, Serialize)]
pub struct Plot {
    title: String,
    note: String,
    #[serde(flatten)]
    frame: Frame,
    /// Path of the area to which marks are clipped.
    clip: String,
    x_label: String,
    marks: Vec<PlotMark>,
    numbers: Vec<Label>,
    names: Vec<Label>,
    #[serde(skip)]
    scales: (AxisScale, AxisScale),
}

#[derive(Debug, Clone, Serialize)]
struct PlotMark {
    class: String,
    d: String,
}

#[derive(Debug, Clone, Serialize)]
struct Label {
    class: String,
    x: f64,
    y: f64,
    text: String,
}

/// Size of a plot, in its own units.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub width: f64,
    pub height: f64,
    /// Width reserved for names at the right ends of lines.
    pub names: f64,
}

impl Plot {
    pub fn new(title: &str, note: &str, size: Size, x: [f64; 2], y: [f64; 2], x_label: &str) -> Self {
        let right = size.width - RIGHT - size.names;
        let bottom = size.height - BOTTOM;
        let scales = (AxisScale::new(x, [LEFT, right]), AxisScale::new(y, [bottom, TOP]));
        let clip =
            format!("M{} {}H{}V{}H{}Z", LEFT - STROKE, TOP - STROKE, right + STROKE, bottom + STROKE, LEFT - STROKE);
        Self {
            title: title.into(),
            note: note.into(),
            clip,
            frame: Frame {
                width: size.width,
                height: size.height,
                left: LEFT,
                right,
                top: TOP,
                bottom,
                x_ticks: scales.0.ticks(5, |value, decimals| format!("{value:.decimals$}")),
                y_ticks: scales.1.ticks(4, |value, decimals| format!("{value:.decimals$}")),
            },
            x_label: x_label.into(),
            marks: Vec::new(),
            numbers: Vec::new(),
            names: Vec::new(),
            scales,
        }
    }

    fn at(&self, (x, y): (f64, f64)) -> [f64; 2] {
        [self.scales.0.at(x), self.scales.1.at(y)]
    }

    fn mark(&mut self, class: &str, d: String) -> &mut Self {
        self.marks.push(PlotMark { class: class.into(), d });
        self
    }

    pub fn line(&mut self, class: &str, points: &[(f64, f64)]) -> &mut Self {
        let d = frame::line(points.iter().map(|&point| self.at(point)));
        self.mark(class, d)
    }

    /// Adds a line with its name at the right end.
    pub fn named_line(&mut self, class: &str, name: &str, points: &[(f64, f64)]) -> &mut Self {
        if let Some(&(_, y)) = points.last() {
            let label =
                Label { class: class.into(), x: self.frame.right + 6.0, y: self.scales.1.at(y), text: name.into() };
            self.names.push(label);
        }
        self.line(class, points)
    }

    /// Adds the area between two lines, given as (x, low, high).
    pub fn band(&mut self, class: &str, points: &[(f64, f64, f64)]) -> &mut Self {
        let up = points.iter().map(|&(x, _, high)| (x, high));
        let down = points.iter().rev().map(|&(x, low, _)| (x, low));
        let d = frame::line(up.chain(down).map(|point| self.at(point))) + "Z";
        self.mark(class, d)
    }

    /// Adds a vertical strip over the full height.
    pub fn strip(&mut self, class: &str, x: [f64; 2]) -> &mut Self {
        let ([left, right], top, bottom) = (x.map(|x| self.scales.0.at(x)), self.frame.top, self.frame.bottom);
        self.mark(class, format!("M{left} {top}H{right}V{bottom}H{left}Z"))
    }

    /// Adds a bar just above the horizontal axis; each further `level` is a bar higher.
    pub fn ruler(&mut self, class: &str, x: [f64; 2], level: usize) -> &mut Self {
        let ([left, right], y) = (x.map(|x| self.scales.0.at(x)), self.frame.bottom - 3.0 - 7.0 * level as f64);
        self.mark(class, format!("M{left} {y}H{right}"))
    }

    pub fn dots(&mut self, class: &str, points: &[(f64, f64)]) -> &mut Self {
        let d = frame::dots(points.iter().map(|&point| self.at(point)));
        self.mark(class, d)
    }

    /// Adds circles with the numbers 1, 2, 3, …
    pub fn numbered(&mut self, points: &[(f64, f64)]) -> &mut Self {
        for (i, &point) in points.iter().enumerate().rev() {
            let [x, y] = self.at(point);
            self.numbers.push(Label { class: String::new(), x, y, text: (i + 1).to_string() });
        }
        self
    }

    /// Adds a heat map of values between 0 and 1 over the whole plot.
    ///
    /// `values` holds rows of `columns` values each, the lowest row first.
    pub fn heat(&mut self, columns: usize, values: &[f64]) -> &mut Self {
        let rows = values.len() / columns;
        let (width, height) =
            ((self.frame.right - self.frame.left) / columns as f64, (self.frame.bottom - self.frame.top) / rows as f64);
        let mut shades = vec![String::new(); SHADES];
        for (i, value) in values.iter().enumerate() {
            let shade = ((value.clamp(0.0, 1.0) * SHADES as f64) as usize).min(SHADES - 1);
            let (x, y) =
                (self.frame.left + (i % columns) as f64 * width, self.frame.bottom - (i / columns + 1) as f64 * height);
            let (x, y, w, h) = (tenth(x), tenth(y), tenth(width + 0.3), tenth(height + 0.3));
            write!(shades[shade], "M{x} {y}h{w}v{h}h-{w}z").expect("writing to a string cannot fail");
        }
        for (shade, d) in shades.into_iter().enumerate().filter(|(_, d)| !d.is_empty()) {
            self.mark(&format!("heat h{shade}"), d);
        }
        self
    }

    /// Moves the names at the ends of lines apart and returns the plot.
    pub fn finished(mut self) -> Self {
        frame::separate_labels(self.names.iter_mut().map(|name| &mut name.y), self.frame.top, self.frame.bottom);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_land_where_the_axes_say() {
        let size = Size { width: 150.0, height: 142.0, names: 0.0 };
        let mut plot = Plot::new("t", "", size, [0.0, 10.0], [0.0, 1.0], "x");
        plot.line("a", &[(0.0, 0.0), (10.0, 1.0)]).heat(2, &[0.0, 1.0, 0.5, f64::NAN]);
        assert_eq!(plot.marks[0].d, "M40 108L140 8");
        assert_eq!(plot.clip, "M38 6H142V110H38Z", "lines along the edges are not clipped");
        let shades: Vec<&str> = plot.marks[1..].iter().map(|mark| &*mark.class).collect();
        assert_eq!(shades, ["heat h0", "heat h6", "heat h11"]);
        assert!(plot.marks[1].d.starts_with("M40 58h50.3"), "{}", plot.marks[1].d);
    }

    #[test]
    fn names_do_not_overlap() {
        let size = Size { width: 200.0, height: 142.0, names: 40.0 };
        let mut plot = Plot::new("t", "", size, [0.0, 1.0], [0.0, 1.0], "x");
        for name in ["a", "b", "c"] {
            plot.named_line("l", name, &[(0.0, 1.0), (1.0, 0.0)]);
        }
        let plot = plot.finished();
        let heights: Vec<f64> = plot.names.iter().map(|name| name.y).collect();
        assert!(
            heights.windows(2).all(|pair| pair[1] - pair[0] >= frame::LABEL_HEIGHT - 0.1)
                && heights[2] <= plot.frame.bottom
        );
    }
}
