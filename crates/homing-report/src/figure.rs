//! Figures: plots side by side with a title, a legend and notes, as one SVG file.

use serde::Serialize;

use crate::frame::CHARACTER;
use crate::plots::{Key, Plot};
use crate::{Result, render_page};

const MARGIN: f64 = 16.0;
/// Space between plots.
const GAP: f64 = 20.0;
/// Height of the title.
const TITLE: f64 = 36.0;
/// Height of a row of the legend and of the title of a plot.
const ROW: f64 = 22.0;
/// Height of a line of notes.
const LINE: f64 = 17.0;
/// Width of a legend entry without its text: the mark and the space around the text.
const KEY: f64 = 54.0;

/// A figure that stands alone as an SVG file, in light colours or, for readers who prefer them, dark ones.
#[derive(Debug, Clone)]
pub struct Figure {
    pub title: String,
    pub keys: Vec<Key>,
    pub plots: Vec<Plot>,
    /// Paragraphs below the plots.
    pub notes: Vec<String>,
}

/// Variables of `figure.xml`.
#[derive(Serialize)]
struct FigurePage<'a> {
    title: &'a str,
    width: f64,
    height: f64,
    keys: Vec<Placed<&'a Key>>,
    plots: Vec<Placed<&'a Plot>>,
    notes: Vec<Placed<String>>,
}

#[derive(Serialize)]
struct Placed<T> {
    x: f64,
    y: f64,
    what: T,
}

impl Figure {
    /// Renders the figure as an SVG file.
    pub fn render(&self) -> Result<String> {
        let widths = self.plots.iter().map(|plot| plot.size().0 + GAP);
        let width = widths.sum::<f64>() - GAP + 2.0 * MARGIN;
        let inside = width - 2.0 * MARGIN;

        let longest = self.keys.iter().map(|key| key.text.chars().count()).max().unwrap_or(0);
        let column = KEY + CHARACTER * longest as f64;
        let columns = ((inside / column) as usize).max(1);
        let place = |(i, what)| Placed {
            x: MARGIN + (i % columns) as f64 * column,
            y: MARGIN + TITLE + (i / columns) as f64 * ROW,
            what,
        };
        let keys = self.keys.iter().enumerate().map(place).collect();

        let mut y = MARGIN + TITLE + self.keys.len().div_ceil(columns) as f64 * ROW + ROW;
        let mut x = MARGIN;
        let mut plots = Vec::new();
        for plot in &self.plots {
            plots.push(Placed { x, y, what: plot });
            x += plot.size().0 + GAP;
        }
        y += self.plots.iter().map(|plot| plot.size().1).fold(0.0, f64::max) + ROW;

        let lines = self.notes.iter().flat_map(|note| wrapped(note, (inside / CHARACTER) as usize));
        let notes: Vec<_> =
            (0..).zip(lines).map(|(i, what)| Placed { x: MARGIN, y: y + f64::from(i) * LINE, what }).collect();
        let height = y + notes.len() as f64 * LINE;
        render_page("figure.xml", FigurePage { title: &self.title, width, height, keys, plots, notes })
    }
}

/// Wraps a note into lines of at most `most` characters; a longer word has a line of its own.
fn wrapped(note: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in note.split(' ') {
        let line = lines.last_mut().expect("there is at least one line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > most {
            lines.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plots::{Size, key};

    #[test]
    fn notes_are_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("incomprehensible word", 7), ["incomprehensible", "word"]);
    }

    #[test]
    fn everything_lies_inside_and_text_is_escaped() {
        let size = Size { width: 200.0, height: 142.0, names: 0.0 };
        let plot = Plot::new("accuracy, %", "", size, [0.0, 1.0], [0.0, 1.0], "picks");
        let keys = (0..9).map(|n| key("l itl", &format!("<rule {n}>"))).collect();
        let figure =
            Figure { title: "A & B".into(), keys, plots: vec![plot.clone(), plot], notes: vec!["word ".repeat(99)] };
        let svg = figure.render().unwrap();
        assert!(svg.contains("A &amp; B") && svg.contains("&lt;rule 8&gt;") && !svg.contains("<rule"));
        let number = |text: &str| text.split('"').next().unwrap().parse::<f64>().unwrap();
        let [width, height] = ["width=\"", "height=\""].map(|name| number(svg.split(name).nth(1).unwrap()));
        let places: Vec<[f64; 2]> = svg
            .split("translate(")
            .skip(1)
            .map(|rest| {
                let mut place = rest.split(')').next().unwrap().split(' ').map(|n| n.parse().unwrap());
                [place.next().unwrap(), place.next().unwrap()]
            })
            .collect();
        assert_eq!(places.len(), 9 + 2);
        assert!(places.iter().all(|&[x, y]| x < width && y < height), "{places:?}");
    }
}
