//! Plots: turns data into SVG paths. Each path has a class, which the style sheet colours.

use std::fmt::Write;

use serde::Serialize;

use crate::format::clip;
use crate::frame::{self, CHARACTER, Frame};
use crate::scale::{AxisScale, Tick, tenth};

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
    /// Area to which marks are clipped: left, top, width and height.
    clip: [f64; 4],
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
        let clip = [LEFT - STROKE, TOP - STROKE, right - LEFT + 2.0 * STROKE, bottom - TOP + 2.0 * STROKE];
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
                y_ticks: scales.1.ticks(5, |value, decimals| format!("{value:.decimals$}")),
            },
            x_label: x_label.into(),
            marks: Vec::new(),
            numbers: Vec::new(),
            names: Vec::new(),
            scales,
        }
    }

    /// Returns the width and the height.
    pub fn size(&self) -> (f64, f64) {
        (self.frame.width, self.frame.height)
    }

    /// Replaces the numbers of the horizontal axis by names at 1, 2, 3, …; names are cut to the space between them.
    pub fn categories(&mut self, names: &[String]) -> &mut Self {
        let room = ((self.frame.right - self.frame.left) / names.len().max(1) as f64 / CHARACTER) as usize;
        let tick = |(x, name): (i32, &String)| Tick {
            at: self.scales.0.at(f64::from(x)),
            label: clip(name, room.saturating_sub(2).max(1)),
        };
        self.frame.x_ticks = (1..).zip(names).map(tick).collect();
        self
    }

    /// Removes the numbers of both axes.
    pub fn without_ticks(&mut self) -> &mut Self {
        self.frame.x_ticks.clear();
        self.frame.y_ticks.clear();
        self
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

    /// Adds error bars, given as (x, low, high).
    pub fn error_bars(&mut self, class: &str, points: &[(f64, f64, f64)]) -> &mut Self {
        let d = points.iter().fold(String::new(), |mut d, &(x, low, high)| {
            let ([x, low], [_, high]) = (self.at((x, low)), self.at((x, high)));
            let left = tenth(x - 4.0);
            write!(d, "M{left} {low}h8M{x} {low}V{high}M{left} {high}h8").expect("writing to a string cannot fail");
            d
        });
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

    pub fn diamonds(&mut self, class: &str, points: &[(f64, f64)]) -> &mut Self {
        let d = frame::diamonds(points.iter().map(|&point| self.at(point)));
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
        assert_eq!(plot.clip, [38.0, 6.0, 104.0, 104.0], "lines along the edges are not clipped");
        let shades: Vec<&str> = plot.marks[1..].iter().map(|mark| &*mark.class).collect();
        assert_eq!(shades, ["heat h0", "heat h6", "heat h11"]);
        assert!(plot.marks[1].d.starts_with("M40 58h50.3"), "{}", plot.marks[1].d);
    }

    #[test]
    fn categories_and_error_bars_by_hand() {
        let size = Size { width: 150.0, height: 142.0, names: 0.0 };
        let mut plot = Plot::new("t", "", size, [0.5, 2.5], [0.0, 1.0], "x");
        plot.categories(&["one".into(), "a long name".into()]).error_bars("bars", &[(1.0, 0.2, 0.6)]);
        let ticks: Vec<(f64, &str)> = plot.frame.x_ticks.iter().map(|tick| (tick.at, &*tick.label)).collect();
        assert_eq!(ticks, [(65.0, "one"), (115.0, "a lon…")]);
        assert_eq!(plot.marks[0].d, "M61 88h8M65 88V48M61 48h8");
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
