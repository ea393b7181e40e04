//! The HTML page of a run: learning curves and picks.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use homing_pool::write_beside;
use homing_report::plots::{Page, Picture, Plot, Section, Size, Strip};
use homing_train::{CurvePoint, LabelledPick, RoundResult, RunData, RunResults, RunSpec, Sigma};

use super::summary::{cells, note};
use crate::terminal::{clipped, grouped};

/// Maximum number of rounds whose pictures are shown.
const STRIPS: usize = 40;
/// Maximum number of pictures per round.
const PICTURES: usize = 24;
const SIZE: Size = Size { width: 420.0, height: 300.0, names: 76.0 };

pub fn write(path: &Path, spec: &RunSpec, data: &RunData, results: &RunResults) -> Result<()> {
    let mut sections = vec![curves(results)];
    sections.extend(pictures(data, results)?);
    let picks = results.rules[0].1.iter().map(|row| row.picks).max().unwrap_or(0);
    let summary = format!(
        "{} picked {} examples from a pool of {}, and the network learned from them. {}",
        results.rules[0].0,
        grouped(picks),
        grouped(results.pool),
        description(spec, data),
    );
    let page = Page::new(&format!("Fine-tuning on {}", name(spec)), &summary, sections);
    let html = page.render()?;
    write_beside(path, |file| file.write_all(html.as_bytes()))?;
    Ok(())
}

/// Returns the name of the data.
fn name(spec: &RunSpec) -> String {
    spec.data.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Describes the settings of a run.
fn description(spec: &RunSpec, data: &RunData) -> String {
    let (choosing, task) = (&spec.choosing, &spec.task);
    let classes =
        task.classes.as_ref().map_or_else(|| "all classes".into(), |task| format!("classes {}", task.join(", ")));
    let targets =
        task.targets.as_ref().map_or_else(String::new, |path| format!(", with the targets in {}", path.display()));
    let covariance = if choosing.sigma == Sigma::Identity { String::new() } else { format!(", Σ {}", choosing.sigma) };
    let seeds = match spec.seeds {
        1 => format!("seed {}", spec.seed),
        seeds => format!("seeds {} to {}", spec.seed, spec.seed + seeds - 1),
    };
    format!(
        "The task is {classes}{targets}. The network is {}, with {} embeddings{covariance}. There were {} rounds of {} picks from \
         {} ({seeds}); plan.json has the other settings.",
        data.network, choosing.embedding, choosing.rounds, choosing.picks_per_round, choosing.candidates
    )
}

type Figure = fn(&RoundResult) -> Option<f64>;

pub fn curves(results: &RunResults) -> Section {
    let figures: [(&str, &str, Figure); 3] = [
        ("Accuracy", "on test examples of the task", |row| row.accuracy),
        ("Picks from the task", "share of all picks so far", |row| row.task_share),
        ("Information per round", "about the targets, in nats", |row| Some(row.information)),
    ];
    let plots = figures.into_iter().filter_map(|(title, note, figure)| curve(results, title, note, figure)).collect();
    let (note, table) = (note(results), cells(results));
    Section { title: "Learning curves".into(), note, columns: 3, plots, table, ..Section::default() }
}

fn curve(results: &RunResults, title: &str, note: &str, figure: Figure) -> Option<Plot> {
    let curves: Vec<(&str, Vec<CurvePoint>)> =
        results.rules.iter().map(|(rule, rounds)| (rule.as_str(), RunResults::curve(rounds, figure))).collect();
    let points = || curves.iter().flat_map(|(_, curve)| curve);
    let most = points().map(|point| point.picks).max()?;
    let top = points().map(|point| point.mean + point.error).fold(0.0, f64::max);
    let top = if title.starts_with("Information") { top.max(1e-9) } else { 1.0 };
    let mut plot = Plot::new(title, note, SIZE, [0.0, most as f64], [0.0, top], "picks");
    for (at, (rule, curve)) in curves.iter().enumerate().rev() {
        let class = class(rule, at);
        if results.seeds() > 1 {
            let band = |point: &CurvePoint| {
                (point.picks as f64, (point.mean - point.error).max(0.0), point.mean + point.error)
            };
            let band: Vec<_> = curve.iter().map(band).collect();
            plot.band(&format!("shade {class}"), &band);
        }
        let line: Vec<_> = curve.iter().map(|point| (point.picks as f64, point.mean)).collect();
        plot.named_line(&format!("l {class}"), rule, &line);
    }
    Some(plot.finished())
}

/// Returns the style of a rule's line, which some rules have to themselves.
fn class(rule: &str, at: usize) -> &'static str {
    const OWN: [&str; 4] = ["itl", "ctl", "vtl", "random"];
    const OTHERS: [&str; 3] = ["unsa", "bound", "truth"];
    OWN.into_iter().find(|own| *own == rule).unwrap_or(OTHERS[at % OTHERS.len()])
}

/// Shows what the main rule picked, round by round, if the examples are images or texts.
fn pictures(data: &RunData, results: &RunResults) -> Result<Option<Section>> {
    let train = &data.data.train;
    let (rule, rows) = &results.rules[0];
    let Some(images) = train.images() else { return Ok(texts(data, rule, rows)) };
    let seed = rows.first().map(|row| row.seed);
    let mut strips = Vec::new();
    for row in rows.iter().filter(|row| Some(row.seed) == seed).take(STRIPS) {
        let mut pictures = Vec::new();
        let more = row.labelled.len().saturating_sub(PICTURES);
        for pick in row.labelled.iter().take(PICTURES) {
            let text = format!("{}: {}", train.ids[pick.row], label(data, pick));
            let of_task = || pick.label.is_some_and(|label| data.classes[label as usize].is_some());
            let in_task = data.in_task(pick.row).unwrap_or_else(of_task);
            pictures.push(Picture::png(&images.thumbnail(pick.row)?, text, Some(in_task)));
        }
        let more = if more > 0 { format!(", {more} more") } else { String::new() };
        strips.push(Strip { text: format!("round {}{more}", row.round), pictures });
    }
    // With one pick per round, each strip would be too short to deserve its own line.
    if strips.iter().all(|strip| strip.pictures.len() == 1) {
        let all = strips.into_iter().flat_map(|strip| strip.pictures).collect();
        strips = vec![Strip { text: "one per round".into(), pictures: all }];
    }
    let note = format!("The picks of {rule} in order. Picks from the task are framed, and others are pale.");
    Ok(Some(Section { title: "Picks".into(), note, columns: 1, strips, ..Section::default() }))
}

/// Maximum number of texts in a report.
const TEXTS: usize = 500;

/// Longest text in a report, in characters.
const LONGEST: usize = 300;

/// Lists the texts that the main rule picked, if the examples are texts.
fn texts(data: &RunData, rule: &str, rows: &[RoundResult]) -> Option<Section> {
    let train = &data.data.train;
    let seed = rows.first().filter(|_| !train.texts.is_empty())?.seed;
    let mut table = vec![["text", "label", "id", "round"].map(str::to_owned).to_vec()];
    for row in rows.iter().filter(|row| row.seed == seed) {
        for pick in &row.labelled {
            let text = clipped(&train.texts[pick.row], LONGEST);
            table.push(vec![text, label(data, pick).to_owned(), train.ids[pick.row].clone(), row.round.to_string()]);
        }
    }
    let count = table.len() - 1;
    table.truncate(TEXTS + 1);
    let more = if count > TEXTS { format!(" Of {count}, the first {TEXTS} are shown.") } else { String::new() };
    let note = format!("The picks of {rule} in order.{more}");
    Some(Section { title: "Picks".into(), note, columns: 1, table, ..Section::default() })
}

/// Returns the label that a pick was given.
fn label<'a>(data: &'a RunData, pick: &LabelledPick) -> &'a str {
    pick.label.map_or("no label", |label| &data.data.train.classes[label as usize])
}
