//! Selections and diagnoses as a reader sees them: numbers, words, and one HTML file that asks for nothing from outside.
//!
//! [`Report`] is what is known, the drawing modules turn it into coordinates, and `report.html` lays it out.
//! Ids, labels and file names are untrusted: the template engine escapes every text.

#![allow(missing_docs, reason = "the fields are the names that the pages show")]

mod chart;
pub mod diagnosis;
mod error;
mod format;
pub mod frame;
mod map;
mod page;
mod plot;
pub mod plots;
pub mod scale;
pub mod story;
pub mod text;
mod thumbnail;

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use serde::Serialize;

pub use chart::{Axis, Chart, chart_at};
pub use error::{Error, Result};
pub use thumbnail::Thumbnail;

/// Everything that a report may show. Lists may be empty; their section is then left out.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    pub title: String,
    /// One sentence: "100 of 200,000 rows chosen for 30 targets by itl".
    pub summary: String,
    pub facts: Facts,
    pub warnings: Vec<String>,
    /// In the order in which they were chosen.
    pub picks: Vec<Pick>,
    /// What other rules would have gained; the line of the picks themselves is drawn always.
    pub others: Vec<Series>,
    pub map: Option<Map>,
    pub comparison: Vec<Contender>,
    /// What the figures of the comparison are.
    pub comparison_note: String,
    pub targets: Vec<Target>,
    pub guarantees: Option<Guarantees>,
    /// How a network learned from such picks.
    pub learning: Option<plots::Section>,
}

/// What the pool can teach about the targets, and what is guaranteed of the picks.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Guarantees {
    pub verdict: String,
    pub facts: Vec<Fact>,
    /// Whether noise, scale and duplicates are sane.
    pub checks: Vec<Fact>,
}

/// One number: what it is called, its value, what it means, whether it is exact, where the paper has it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Fact {
    pub name: String,
    pub value: String,
    pub meaning: String,
    pub kind: &'static str,
    pub place: &'static str,
}

/// Where the selection came from and how it was made.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Facts {
    pub pool_file: String,
    pub rows: usize,
    pub dimensions: usize,
    /// "f32", "f16", …
    pub number_format: String,
    pub targets_file: Option<String>,
    pub target_count: usize,
    pub rule: String,
    /// "½ ln((v+ρ²)/(u+ρ²))".
    pub formula: String,
    /// Where the paper has it: "Eq. 1, Section 3".
    pub paper: String,
    /// ρ.
    pub noise_std: f64,
    pub noise_is_default: bool,
    pub seed: u64,
    /// Rows that had labels already.
    pub observed: usize,
    pub centred: bool,
    pub read_seconds: f64,
    pub choose_seconds: f64,
    pub peak_memory_bytes: Option<u64>,
    pub version: String,
}

/// A chosen row.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Pick {
    /// 1 for the first pick.
    pub rank: usize,
    /// The row of the pool, counted from 0.
    pub index: usize,
    pub id: String,
    pub score: f64,
    /// Of this pick and all before it, in nats.
    pub information: f64,
    /// Of this pick alone, in nats.
    pub gain: f64,
    /// Share of the targets' variance still there after this pick.
    pub variance_left: Option<f64>,
    pub label: Option<String>,
    pub group: Option<String>,
    pub why: Option<Why>,
    pub thumbnail: Option<Thumbnail>,
}

/// What a pick is good for.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Why {
    /// Most served first.
    pub serves: Vec<Served>,
    /// Nearest first.
    pub nearest: Vec<Near>,
    pub redundant: Option<Redundant>,
}

/// A target, and its share of the variance that a pick removed.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Served {
    pub target: usize,
    pub share: f64,
}

/// A target, and its cosine with a pick.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Near {
    pub target: usize,
    pub cosine: f64,
}

/// Rows so like a pick that they add next to nothing after it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Redundant {
    pub count: usize,
    pub example: Option<Duplicate>,
}

/// One of those rows.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Duplicate {
    pub index: usize,
    pub id: String,
    pub similarity: f64,
}

/// What a rule gained pick by pick; entry `i` holds after `i + 1` picks.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Series {
    pub name: String,
    pub information: Vec<f64>,
    /// Empty without targets.
    pub variance_left: Vec<f64>,
}

/// Points on the two principal axes of the pool.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Map {
    /// A sample, some 3,000 at most.
    pub pool: Vec<[f32; 2]>,
    /// In the order of the targets' indices.
    pub targets: Vec<[f32; 2]>,
    /// In the order of [`Report::picks`].
    pub picks: Vec<[f32; 2]>,
    /// Share of the pool's variance along each axis.
    pub explained: [f64; 2],
}

/// One rule among several that chose from the same pool.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Contender {
    pub rule: String,
    /// Share of its picks that belong to the task.
    pub task_share: Option<f64>,
    /// Of a simple classifier that learned from its picks.
    pub accuracy: Option<f64>,
    /// About the targets, in nats.
    pub information: Option<f64>,
    /// Its first picks as pictures; twelve are shown.
    pub first_picks: Vec<Sample>,
}

/// A picture of a row, and whether the row belongs to the task.
#[derive(Debug, Clone, Serialize)]
pub struct Sample {
    pub thumbnail: Thumbnail,
    pub in_task: bool,
}

/// A target, and what the picks did for it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Target {
    /// Counted from 0.
    pub index: usize,
    pub id: Option<String>,
    pub variance_before: f64,
    pub variance_left: f64,
    /// Share of the prior variance that labels for the whole pool would leave.
    pub out_of_reach: Option<f64>,
    /// Rank of the pick that removed most of its variance.
    pub helped_most: Option<usize>,
    pub thumbnail: Option<Thumbnail>,
}

/// Writes the report as one HTML page.
pub fn render(report: &Report) -> Result<String> {
    render_page("report.html", page::page(report))
}

/// Fills one of the templates.
pub fn render_page(template: &str, page: impl Serialize) -> Result<String> {
    let mut pages = Environment::new();
    pages.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    pages.add_filter("fixed", format::fixed);
    pages.add_filter("percent", format::percent);
    pages.add_filter("width", format::width);
    pages.add_filter("compact", format::compact);
    pages.add_filter("thousands", format::thousands);
    pages.add_filter("duration", format::duration);
    pages.add_filter("memory", format::memory);
    pages.add_filter("clip", format::clip);
    pages.add_template("report.css", include_str!("report.css"))?;
    pages.add_template("report.js", include_str!("report.js"))?;
    pages.add_template("diagnosis.css", include_str!("diagnosis.css"))?;
    // Names that end in .html are escaped.
    pages.add_template("base.html", include_str!("base.html"))?;
    pages.add_template("facts.html", include_str!("facts.html"))?;
    pages.add_template("chart.html", include_str!("chart.html"))?;
    pages.add_template("figures.html", include_str!("figures.html"))?;
    pages.add_template("tables.html", include_str!("tables.html"))?;
    pages.add_template("report.html", include_str!("report.html"))?;
    pages.add_template("diagnosis.html", include_str!("diagnosis.html"))?;
    pages.add_template("experiment.css", include_str!("experiment.css"))?;
    pages.add_template("plots.html", include_str!("plots.html"))?;
    pages.add_template("experiment.html", include_str!("experiment.html"))?;
    Ok(pages.get_template(template)?.render(Serde(page))?)
}

#[cfg(test)]
mod tests;
