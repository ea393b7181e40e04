//! The page of a run: learning curves, what was picked, what it told.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use homing_pool::write_beside;
use homing_report::plots::{Page, Picture, Plot, Section, Size, Strip};

use super::Asked;
use super::results::{Curve, Results, Row};
use super::setup::Setup;
use crate::terminal::grouped;

/// Rounds, and picks of one, whose pictures are shown.
const STRIPS: usize = 40;
const PICTURES: usize = 24;
const SIZE: Size = Size { width: 420.0, height: 300.0, names: 76.0 };

pub fn write(path: &Path, asked: &Asked, setup: &Setup, results: &Results) -> Result<()> {
    let mut sections = vec![curves(results)];
    sections.extend(pictures(setup, results)?);
    let picks = results.rules[0].1.iter().map(|row| row.picks).max().unwrap_or(0);
    let summary = format!(
        "{} examples picked by {} from a pool of {}, and what the network learned from them. {}",
        grouped(picks),
        results.rules[0].0,
        grouped(results.pool),
        asked.words(&setup.network()),
    );
    let page = Page::new(&format!("Fine-tuning on {}", asked.name()), &summary, sections);
    let html = page.render()?;
    write_beside(path, |file| file.write_all(html.as_bytes()))?;
    Ok(())
}

type Figure = fn(&Row) -> Option<f64>;

pub fn curves(results: &Results) -> Section {
    let figures: [(&str, &str, Figure); 3] = [
        ("Accuracy", "on test examples of the task", |row| row.accuracy),
        ("Picks from the task", "share of all picks so far", |row| row.share),
        ("Information of a round", "about the targets, in nats", |row| Some(row.information)),
    ];
    let plots = figures.into_iter().filter_map(|(title, note, figure)| curve(results, title, note, figure)).collect();
    let note = results.note();
    Section { title: "Learning curves".into(), note, columns: 3, plots, table: results.cells(), ..Section::default() }
}

fn curve(results: &Results, title: &str, note: &str, figure: Figure) -> Option<Plot> {
    let curves: Vec<(&str, Curve)> =
        results.rules.iter().map(|(rule, rows)| (rule.as_str(), Results::curve(rows, figure))).collect();
    let most = curves.iter().flat_map(|(_, curve)| curve).map(|&(picks, ..)| picks).max()?;
    let top = curves.iter().flat_map(|(_, curve)| curve).map(|&(_, mean, error)| mean + error).fold(0.0, f64::max);
    let top = if title.starts_with("Information") { top.max(1e-9) } else { 1.0 };
    let mut plot = Plot::new(title, note, SIZE, [0.0, most as f64], [0.0, top], "picks");
    for (at, (rule, curve)) in curves.iter().enumerate().rev() {
        let class = class(rule, at);
        if results.seeds() > 1 {
            let band: Vec<_> = curve.iter().map(|&(x, mean, e)| (x as f64, (mean - e).max(0.0), mean + e)).collect();
            plot.band(&format!("shade {class}"), &band);
        }
        let line: Vec<_> = curve.iter().map(|&(x, mean, _)| (x as f64, mean)).collect();
        plot.named_line(&format!("l {class}"), rule, &line);
    }
    Some(plot.finished())
}

/// The style of a rule's line: its own where it has one.
fn class(rule: &str, at: usize) -> &'static str {
    const OWN: [&str; 4] = ["itl", "ctl", "vtl", "random"];
    const OTHERS: [&str; 3] = ["unsa", "bound", "truth"];
    OWN.into_iter().find(|own| *own == rule).unwrap_or(OTHERS[at % OTHERS.len()])
}

/// What the main rule picked, round by round, where the examples are images.
fn pictures(setup: &Setup, results: &Results) -> Result<Option<Section>> {
    let train = &setup.data.train;
    if train.inputs.shape().len() != 3 {
        return Ok(None);
    }
    let (rule, rows) = &results.rules[0];
    let seed = rows.first().map(|row| row.seed);
    let mut strips = Vec::new();
    for row in rows.iter().filter(|row| Some(row.seed) == seed).take(STRIPS) {
        let mut pictures = Vec::new();
        let more = row.rows.len().saturating_sub(PICTURES);
        for &picked in row.rows.iter().take(PICTURES) {
            let label = train.labels[picked].map_or("no label", |label| &train.classes[label as usize]);
            let text = format!("{}: {label}", train.ids[picked]);
            pictures.push(Picture::png(&train.inputs.thumbnail(picked)?, text, setup.in_task(picked)));
        }
        let more = if more > 0 { format!(", {more} more") } else { String::new() };
        strips.push(Strip { text: format!("round {}{more}", row.round), pictures });
    }
    // A pick a round is a strip too short to be worth its line.
    if strips.iter().all(|strip| strip.pictures.len() == 1) {
        let all = strips.into_iter().flat_map(|strip| strip.pictures).collect();
        strips = vec![Strip { text: "one a round".into(), pictures: all }];
    }
    let note = format!("What {rule} picked, in order; framed where it is of the task, pale where it is not.");
    Ok(Some(Section { title: "Picks".into(), note, columns: 1, strips, ..Section::default() }))
}
