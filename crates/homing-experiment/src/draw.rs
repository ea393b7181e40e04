//! Figures of the results as SVG and PNG.

use std::io::Write;
use std::path::Path;

use homing_pool::write_beside;
use kuva::backend::png::PngBackend;
use kuva::backend::svg::SvgBackend;
use kuva::plot::legend::{LegendEntry, LegendShape};
use kuva::plot::{LinePlot, TextPlot};
use kuva::render::figure::Figure as Panels;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;

use crate::error::{Error, Result};
use crate::experiment::{Experiment, Figure, Period, SeriesName};
use crate::table::ResultTable;

/// Fixed colours of common rules, which colour-blind readers can distinguish (Okabe and Ito, 2008).
const RULE_COLOURS: [(&str, &str); 7] = [
    ("ITL", "#d55e00"),
    ("CTL", "#0072b2"),
    (RANDOM, "#222222"),
    ("BADGE", "#009e73"),
    ("Cosine", "#cc79a7"),
    ("InformationDensity", "#e69f00"),
    ("VTL", "#7f7f7f"),
];
/// Colours of other rules.
const OTHERS: [&str; 9] =
    ["#56b4e9", "#8c6d31", "#5254a3", "#ad494a", "#637939", "#ce6dbd", "#17becf", "#bcbd22", "#5c1a1b"];

const RANDOM: &str = "Random";

const PANELS: [(Figure, &str); 2] = [(Figure::Accuracy, "accuracy"), (Figure::TaskShare, "picks from the task")];

/// Writes the figure of an experiment as NAME.svg and NAME.png.
pub fn draw(experiment: &Experiment, table: &ResultTable, folder: &Path) -> Result<()> {
    let series = experiment.series();
    let names: Vec<String> = match experiment.varies() {
        Some(_) => experiment.lines.iter().map(|line| line.name.clone()).collect(),
        None => series.iter().map(SeriesName::label).collect(),
    };
    let colours = colours(&names);
    let mut plots = Vec::new();
    let mut layouts = Vec::new();
    for (figure, label) in PANELS {
        let panel = match experiment.varies() {
            Some(_) => final_values(experiment, table, figure, &colours),
            None => curves(&series, table, figure, &colours),
        };
        let layout = layout(experiment, &panel);
        let layout = match experiment.varies() {
            Some(_) => with_error_range(layout, &panel).with_y_label(format!("{label} at the end, %")),
            None => layout.with_y_label(format!("{label}, %")),
        };
        layouts.push(if figure == Figure::TaskShare { layout.with_y_axis_min(0.0) } else { layout });
        plots.push(panel);
    }
    let notes = notes(experiment, table);
    plots.push(vec![Plot::Text(TextPlot::new().with_body(&notes).with_font_size(12).with_padding(4.0))]);
    layouts.push(Layout::auto_from_plots(&plots[2]));
    let legend = names.iter().zip(&colours).map(|(name, colour)| LegendEntry {
        label: name.clone(),
        color: colour.clone(),
        shape: LegendShape::Line,
        dasharray: None,
    });
    let scene = Panels::new(2, 2)
        .with_title(&experiment.title)
        .with_structure(vec![vec![0], vec![1], vec![2, 3]])
        .with_plots(plots)
        .with_layouts(layouts)
        .with_cell_size(440.0, 330.0)
        .with_row_height(1, 30.0 + 19.0 * notes.lines().count() as f64)
        .with_shared_legend_entries(legend.collect())
        .with_shared_legend_right_top()
        .render();
    let svg = SvgBackend::default().render_scene(&scene);
    write_beside(&folder.join(format!("{}.svg", experiment.name)), |file| file.write_all(svg.as_bytes()))?;
    let png = PngBackend::new().with_scale(2.0).render_scene(&scene).map_err(|reason| Error::Picture { reason })?;
    write_beside(&folder.join(format!("{}.png", experiment.name)), |file| file.write_all(&png))?;
    Ok(())
}

fn colours(names: &[String]) -> Vec<String> {
    let mut others = OTHERS.into_iter().cycle();
    let mut colour = |name: &String| {
        let own = RULE_COLOURS.into_iter().find(|(rule, _)| rule == name).map(|(_, colour)| colour);
        own.or_else(|| others.next()).expect("a cycle never ends").to_owned()
    };
    names.iter().map(&mut colour).collect()
}

/// Draws the mean and one standard error over the number of picks.
fn curves(series: &[SeriesName], table: &ResultTable, figure: Figure, colours: &[String]) -> Vec<Plot> {
    let line = |(series, colour): (&SeriesName, &String)| {
        let curve = table.curve(series, figure);
        let percent = |y: f64| 100.0 * y;
        let line = LinePlot::new()
            .with_data(curve.iter().map(|point| (point.picks as f64, percent(point.mean))))
            .with_color(colour)
            .with_stroke_width(2.0)
            .with_band(
                curve.iter().map(|point| percent(point.mean - point.error)),
                curve.iter().map(|point| percent(point.mean + point.error)),
            );
        // Dashes leave a line below it visible.
        Plot::Line(if series.line == RANDOM { line.with_dashed() } else { line })
    };
    let (random, others): (Vec<_>, Vec<_>) = series.iter().zip(colours).partition(|(series, _)| series.line == RANDOM);
    others.into_iter().chain(random).map(line).collect()
}

/// Draws the values after the last round over the varied argument, one line per line of the experiment. A line without a
/// varied argument is horizontal.
fn final_values(experiment: &Experiment, table: &ResultTable, figure: Figure, colours: &[String]) -> Vec<Plot> {
    let (series, values) = (experiment.series(), values(experiment));
    let mut plots = Vec::new();
    for (line, colour) in experiment.lines.iter().zip(colours) {
        let end = |value: &String| {
            let of =
                |series: &&SeriesName| series.line == line.name && (series.value == *value || series.value.is_empty());
            table.mean(series.iter().find(of)?, figure, Period::End)
        };
        let points: Vec<(f64, f64, f64)> = (1..)
            .zip(&values)
            .filter_map(|(x, value)| end(value).map(|(mean, error)| (f64::from(x), 100.0 * mean, 100.0 * error)))
            .collect();
        let plot = LinePlot::new()
            .with_data(points.iter().map(|&(x, mean, _)| (x, mean)))
            .with_y_err(points.iter().map(|&(.., error)| error))
            .with_color(colour)
            .with_stroke_width(2.0);
        plots.push(Plot::Line(plot));
    }
    plots
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

fn layout(experiment: &Experiment, panel: &[Plot]) -> Layout {
    let layout = Layout::auto_from_plots(panel);
    match experiment.varies() {
        Some(what) => {
            let values = values(experiment);
            let end = values.len() as f64 + 0.5;
            layout.with_x_label(what).with_x_axis_min(0.5).with_x_axis_max(end).with_x_categories(values)
        }
        None => layout.with_x_label("examples picked"),
    }
}

/// Extends the range of the y axis to the error bars, which kuva does not include.
fn with_error_range(layout: Layout, panel: &[Plot]) -> Layout {
    let lines = panel.iter().filter_map(|plot| if let Plot::Line(line) = plot { Some(line) } else { None });
    let points = lines.flat_map(|line| &line.data);
    let (low, high) = points.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), point| {
        let (below, above) = point.y_err.unwrap_or_default();
        (low.min(point.y - below), high.max(point.y + above))
    });
    if low > high {
        return layout;
    }
    let step = if high - low > 20.0 { 5.0 } else { 1.0 };
    let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
    layout.with_y_axis_min(low).with_y_axis_max(high.max(low + step))
}

fn notes(experiment: &Experiment, table: &ResultTable) -> String {
    let spread = match table.seeds() {
        1 => "One seed.".to_owned(),
        seeds => format!("Mean and one standard error over {seeds} seeds."),
    };
    let first =
        if experiment.paper.is_empty() { spread } else { format!("{} of the paper. {spread}", experiment.paper) };
    std::iter::once(&first).chain(&experiment.notes).map(|note| wrapped(note)).collect::<Vec<_>>().join("\n")
}

/// Wraps a note to the width of the panels.
fn wrapped(note: &str) -> String {
    const MOST: usize = 95;
    let mut lines = vec![String::new()];
    for word in note.split(' ') {
        let line = lines.last_mut().expect("there is at least one line");
        if line.chars().count() + word.chars().count() > MOST {
            lines.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join("\n")
}
