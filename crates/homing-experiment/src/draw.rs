//! Figures of the results as SVG.

use std::io::Write;
use std::path::Path;

use homing_pool::write_beside;
use homing_report::Figure as Drawing;
use homing_report::plots::{Plot, Size, key};
use homing_report::scale::rounded;

use crate::error::{Error, Result};
use crate::experiment::{Experiment, Figure, Period, SeriesName};
use crate::table::ResultTable;

/// Styles of common rules, in colours that colour-blind readers can distinguish (Okabe and Ito, 2008).
const RULE_STYLES: [(&str, &str); 7] = [
    ("ITL", "itl"),
    ("CTL", "ctl"),
    ("Random", RANDOM),
    ("BADGE", "badge"),
    ("Cosine", "cosine"),
    ("InformationDensity", "density"),
    ("VTL", "vtl"),
];
/// Styles of other rules.
const OTHERS: [&str; 9] = ["other0", "other1", "other2", "other3", "other4", "other5", "other6", "other7", "other8"];

/// Style of random picks, whose dashes leave a line below it visible.
const RANDOM: &str = "random";

const SIZE: Size = Size { width: 400.0, height: 310.0, names: 0.0 };

/// A line of a plot: its style and its points (x, mean, standard error), in percent.
type Line = (&'static str, Vec<(f64, f64, f64)>);

/// Writes the figure of an experiment as NAME.svg.
pub fn draw(experiment: &Experiment, table: &ResultTable, folder: &Path) -> Result<()> {
    let names: Vec<String> = match experiment.varies() {
        Some(_) => experiment.lines.iter().map(|line| line.name.clone()).collect(),
        None => experiment.series().iter().map(SeriesName::label).collect(),
    };
    let styles = styles(&names);
    let drawing = Drawing {
        title: experiment.title.clone(),
        keys: names.iter().zip(&styles).map(|(name, style)| key(&format!("l {style}"), name)).collect(),
        plots: vec![
            plot(experiment, table, Figure::Accuracy, "accuracy", &styles),
            plot(experiment, table, Figure::TaskShare, "picks from the task", &styles),
        ],
        notes: notes(experiment, table),
    };
    let svg = drawing.render().map_err(|error| Error::Picture { reason: error.to_string() })?;
    Ok(write_beside(&folder.join(format!("{}.svg", experiment.name)), |file| file.write_all(svg.as_bytes()))?)
}

fn styles(names: &[String]) -> Vec<&'static str> {
    let mut others = OTHERS.into_iter().cycle();
    let mut style = |name: &String| {
        let own = RULE_STYLES.into_iter().find(|(rule, _)| rule == name).map(|(_, style)| style);
        own.or_else(|| others.next()).expect("a cycle never ends")
    };
    names.iter().map(&mut style).collect()
}

fn plot(experiment: &Experiment, table: &ResultTable, figure: Figure, title: &str, styles: &[&'static str]) -> Plot {
    let values = values(experiment);
    let mut lines = match experiment.varies() {
        Some(_) => final_values(experiment, table, figure, &values, styles),
        None => curves(experiment, table, figure, styles),
    };
    lines.sort_by_key(|(style, _)| *style == RANDOM);
    let points = || lines.iter().flat_map(|(_, points)| points);
    let least = if figure == Figure::TaskShare { 0.0 } else { 100.0 };
    let low = points().map(|&(_, mean, error)| mean - error).fold(least, f64::min);
    let high = points().map(|&(_, mean, error)| mean + error).fold(low, f64::max);
    let y = rounded([low.max(0.0), high], 5);
    let mut plot = if let Some(varied) = experiment.varies() {
        let title = format!("{title} at the end, %");
        let mut plot = Plot::new(&title, "", SIZE, [0.5, values.len() as f64 + 0.5], y, varied);
        plot.categories(&values);
        plot
    } else {
        let picks = points().map(|&(x, ..)| x).fold(0.0, f64::max);
        Plot::new(&format!("{title}, %"), "", SIZE, [0.0, picks], y, "examples picked")
    };
    for (style, points) in &lines {
        let spread: Vec<_> = points.iter().map(|&(x, mean, error)| (x, mean - error, mean + error)).collect();
        match experiment.varies() {
            Some(_) => plot.error_bars(&format!("bars {style}"), &spread),
            None => plot.band(&format!("shade {style}"), &spread),
        };
    }
    for (style, points) in &lines {
        let line: Vec<_> = points.iter().map(|&(x, mean, _)| (x, mean)).collect();
        plot.line(&format!("l {style}"), &line);
    }
    plot
}

/// Returns the mean and the standard error over the number of picks.
fn curves(experiment: &Experiment, table: &ResultTable, figure: Figure, styles: &[&'static str]) -> Vec<Line> {
    let line = |(series, &style): (SeriesName, &&'static str)| {
        let curve = table.curve(&series, figure);
        let points = curve.iter().map(|point| (point.picks as f64, 100.0 * point.mean, 100.0 * point.error));
        (style, points.collect())
    };
    experiment.series().into_iter().zip(styles).map(line).collect()
}

/// Returns the values after the last round for each value of the varied argument, one line per line of the experiment. A
/// line without a varied argument is horizontal.
fn final_values(
    experiment: &Experiment,
    table: &ResultTable,
    figure: Figure,
    values: &[String],
    styles: &[&'static str],
) -> Vec<Line> {
    let series = experiment.series();
    let mut lines = Vec::new();
    for (line, &style) in experiment.lines.iter().zip(styles) {
        let end = |value: &String| {
            let of =
                |series: &&SeriesName| series.line == line.name && (series.value == *value || series.value.is_empty());
            table.mean(series.iter().find(of)?, figure, Period::End)
        };
        let points = (1..)
            .zip(values)
            .filter_map(|(x, value)| end(value).map(|(mean, error)| (f64::from(x), 100.0 * mean, 100.0 * error)));
        lines.push((style, points.collect()));
    }
    lines
}

/// Returns the values of the varied argument, in the order of the experiment.
fn values(experiment: &Experiment) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for series in experiment.series() {
        if !series.value.is_empty() && !values.contains(&series.value) {
            values.push(series.value);
        }
    }
    values
}

fn notes(experiment: &Experiment, table: &ResultTable) -> Vec<String> {
    let spread = match table.seeds() {
        1 => "One seed.".to_owned(),
        seeds => format!("Mean and one standard error over {seeds} seeds."),
    };
    let first =
        if experiment.paper.is_empty() { spread } else { format!("{} of the paper. {spread}", experiment.paper) };
    std::iter::once(first).chain(experiment.notes.iter().cloned()).collect()
}
