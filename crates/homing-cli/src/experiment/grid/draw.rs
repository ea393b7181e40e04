//! Figures of results as SVG and PNG.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, anyhow};
use homing_pool::write_beside;
use kuva::backend::png::PngBackend;
use kuva::backend::svg::SvgBackend;
use kuva::plot::legend::{LegendEntry, LegendShape};
use kuva::plot::{LinePlot, TextPlot};
use kuva::render::figure::Figure as Panels;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;

use super::plan::{Figure, Plan, Series, When};
use super::tidy::Tidy;

/// Distinct for the colour-blind (Okabe and Ito, 2008), and the same wherever a rule appears.
const OWN: [(&str, &str); 7] = [
    ("ITL", "#d55e00"),
    ("CTL", "#0072b2"),
    (RANDOM, "#222222"),
    ("BADGE", "#009e73"),
    ("Cosine", "#cc79a7"),
    ("InformationDensity", "#e69f00"),
    ("VTL", "#7f7f7f"),
];
const OTHERS: [&str; 9] =
    ["#56b4e9", "#8c6d31", "#5254a3", "#ad494a", "#637939", "#ce6dbd", "#17becf", "#bcbd22", "#5c1a1b"];

const RANDOM: &str = "Random";

const PANELS: [(Figure, &str); 2] = [(Figure::Accuracy, "accuracy"), (Figure::TaskShare, "picks from the task")];

/// Writes NAME.svg and NAME.png.
pub fn draw(plan: &Plan, tidy: &Tidy, folder: &Path) -> Result<()> {
    let series = plan.series();
    let names: Vec<String> = match plan.varies() {
        Some(_) => plan.lines.iter().map(|line| line.name.clone()).collect(),
        None => series.iter().map(Series::label).collect(),
    };
    let colours = colours(&names);
    let mut plots = Vec::new();
    let mut layouts = Vec::new();
    for (figure, label) in PANELS {
        let panel = match plan.varies() {
            Some(_) => ends(plan, tidy, figure, &colours),
            None => curves(&series, tidy, figure, &colours),
        };
        let layout = layout(plan, &panel);
        let layout = match plan.varies() {
            Some(_) => around(layout, &panel).with_y_label(format!("{label} at the end, %")),
            None => layout.with_y_label(format!("{label}, %")),
        };
        layouts.push(if figure == Figure::TaskShare { layout.with_y_axis_min(0.0) } else { layout });
        plots.push(panel);
    }
    let notes = notes(plan, tidy);
    plots.push(vec![Plot::Text(TextPlot::new().with_body(&notes).with_font_size(12).with_padding(4.0))]);
    layouts.push(Layout::auto_from_plots(&plots[2]));
    let legend = names.iter().zip(&colours).map(|(name, colour)| LegendEntry {
        label: name.clone(),
        color: colour.clone(),
        shape: LegendShape::Line,
        dasharray: None,
    });
    let scene = Panels::new(2, 2)
        .with_title(&plan.title)
        .with_structure(vec![vec![0], vec![1], vec![2, 3]])
        .with_plots(plots)
        .with_layouts(layouts)
        .with_cell_size(440.0, 330.0)
        .with_row_height(1, 30.0 + 19.0 * notes.lines().count() as f64)
        .with_shared_legend_entries(legend.collect())
        .with_shared_legend_right_top()
        .render();
    let svg = SvgBackend::default().render_scene(&scene);
    write_beside(&folder.join(format!("{}.svg", plan.name)), |file| file.write_all(svg.as_bytes()))?;
    let png = PngBackend::new().with_scale(2.0).render_scene(&scene).map_err(|error| anyhow!(error))?;
    write_beside(&folder.join(format!("{}.png", plan.name)), |file| file.write_all(&png))?;
    Ok(())
}

fn colours(names: &[String]) -> Vec<String> {
    let mut others = OTHERS.into_iter().cycle();
    let mut colour = |name: &String| {
        let own = OWN.into_iter().find(|(own, _)| own == name).map(|(_, colour)| colour);
        own.or_else(|| others.next()).expect("a cycle").to_owned()
    };
    names.iter().map(&mut colour).collect()
}

/// Mean and one standard error, pick by pick.
fn curves(series: &[Series], tidy: &Tidy, figure: Figure, colours: &[String]) -> Vec<Plot> {
    let line = |(series, colour): (&Series, &String)| {
        let curve = tidy.curve(series, figure);
        let percent = |y: f64| 100.0 * y;
        let line = LinePlot::new()
            .with_data(curve.iter().map(|&(x, mean, _)| (x, percent(mean))))
            .with_color(colour)
            .with_stroke_width(2.0)
            .with_band(
                curve.iter().map(|&(_, mean, error)| percent(mean - error)),
                curve.iter().map(|&(_, mean, error)| percent(mean + error)),
            );
        // Where it lies on another line, both are seen.
        Plot::Line(if series.line == RANDOM { line.with_dashed() } else { line })
    };
    let (random, others): (Vec<_>, Vec<_>) = series.iter().zip(colours).partition(|(series, _)| series.line == RANDOM);
    others.into_iter().chain(random).map(line).collect()
}

/// The last round against what varies, a line a line of the plan; those that do not vary are level.
fn ends(plan: &Plan, tidy: &Tidy, figure: Figure, colours: &[String]) -> Vec<Plot> {
    let (series, values) = (plan.series(), values(plan));
    let mut plots = Vec::new();
    for (line, colour) in plan.lines.iter().zip(colours) {
        let end = |value: &String| {
            let of = |series: &&Series| series.line == line.name && (series.value == *value || series.value.is_empty());
            tidy.mean(series.iter().find(of)?, figure, When::End)
        };
        let points: Vec<(f64, f64, f64)> = (1..)
            .zip(&values)
            .filter_map(|(x, value)| end(value).map(|(mean, error)| (f64::from(x), 100.0 * mean, 100.0 * error)))
            .collect();
        let drawn = LinePlot::new()
            .with_data(points.iter().map(|&(x, mean, _)| (x, mean)))
            .with_y_err(points.iter().map(|&(.., error)| error))
            .with_color(colour)
            .with_stroke_width(2.0);
        plots.push(Plot::Line(drawn));
    }
    plots
}

/// Everything that what varies is set to, in the order of the plan.
pub fn values(plan: &Plan) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for series in plan.series() {
        if !series.value.is_empty() && !values.contains(&series.value) {
            values.push(series.value);
        }
    }
    values
}

fn layout(plan: &Plan, panel: &[Plot]) -> Layout {
    let layout = Layout::auto_from_plots(panel);
    match plan.varies() {
        Some(what) => {
            let values = values(plan);
            let end = values.len() as f64 + 0.5;
            layout.with_x_label(what).with_x_axis_min(0.5).with_x_axis_max(end).with_x_categories(values)
        }
        None => layout.with_x_label("examples picked"),
    }
}

/// With room for the errors, which a panel's own range leaves out.
fn around(layout: Layout, panel: &[Plot]) -> Layout {
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

fn notes(plan: &Plan, tidy: &Tidy) -> String {
    let spread = match tidy.seeds() {
        1 => "One seed.".to_owned(),
        seeds => format!("Mean and one standard error over {seeds} seeds."),
    };
    let first = if plan.paper.is_empty() { spread } else { format!("{} of the paper. {spread}", plan.paper) };
    std::iter::once(&first).chain(&plan.notes).map(|note| wrapped(note)).collect::<Vec<_>>().join("\n")
}

/// In lines that fit under the panels.
fn wrapped(note: &str) -> String {
    const MOST: usize = 95;
    let mut lines = vec![String::new()];
    for word in note.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if line.chars().count() + word.chars().count() > MOST {
            lines.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join("\n")
}
