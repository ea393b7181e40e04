//! The curves of a selection for a notebook.

use serde::Serialize;

use crate::chart::thin;
use crate::format::{fixed, percent};
use crate::plots::{Plot, Size};
use crate::{Result, render_page};

const SIZE: Size = Size { width: 330.0, height: 190.0, names: 0.0 };

#[derive(Serialize)]
struct Curves {
    plots: Vec<Plot>,
}

/// Draws the information and the share of variance left after each pick, as HTML without a page around it.
pub fn curves(information: &[f64], variance_left: Option<&[f64]>) -> Result<String> {
    let last = |values: &[f64]| values.last().copied().unwrap_or(f64::NAN);
    let largest = information.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let note = format!("{} nats", fixed(last(information), 2));
    let mut plots = vec![curve("information", "Information", &note, 0.0, information, largest)];
    plots.extend(
        variance_left.map(|left| curve("variance", "Variance left", &percent(last(left), Some(1)), 1.0, left, 1.0)),
    );
    render_page("notebook.html", Curves { plots })
}

/// Draws the values after each pick, starting with the value before the first.
fn curve(class: &str, title: &str, note: &str, start: f64, values: &[f64], top: f64) -> Plot {
    let values: Vec<f64> = std::iter::once(start).chain(values.iter().copied()).collect();
    let picks = values.len() - 1;
    let mut plot = Plot::new(title, note, SIZE, [0.0, picks as f64], [0.0, top], "picks");
    plot.line(&format!("l {class}"), &thin(&values));
    plot
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_without_targets_has_one_curve() {
        let both = curves(&[0.5, 0.75], Some(&[0.6, 0.4])).unwrap();
        assert_eq!((both.matches("<figure").count(), both.matches("class=\"l ").count()), (2, 2));
        assert!(both.contains("0.75 nats") && both.contains("40.0%"), "{both}");
        assert_eq!(curves(&[0.5, 0.75], None).unwrap().matches("<figure").count(), 1);
    }

    #[test]
    fn numbers_that_are_not_finite_are_not_drawn() {
        let html = curves(&[0.5, f64::NAN], Some(&[f64::NAN, f64::INFINITY])).unwrap();
        assert!(!html.contains("NaN") && !html.contains("inf\"") && !html.contains("inf "), "{html}");
    }
}
