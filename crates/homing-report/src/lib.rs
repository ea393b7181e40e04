//! Reports of selections and diagnoses: sentences, tables, and self-contained HTML pages.
//!
//! A [`Report`] holds the data, the drawing modules turn it into coordinates, and `report.html` lays it out.
//! Ids, labels and file names are untrusted, so the template engine escapes every text. A page loads nothing
//! from elsewhere.

#![allow(missing_docs, reason = "the fields are named as the pages label them")]

mod chart;
pub mod diagnosis;
mod error;
mod figure;
mod findings;
mod format;
pub mod frame;
mod map;
mod notebook;
mod page;
mod plot;
pub mod plots;
pub mod scale;
mod selection;
pub mod text;
mod thumbnail;

use std::collections::BTreeMap;

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use serde::Serialize;

pub use chart::{Axis, Chart, chart_at};
pub use error::{Error, Result};
pub use figure::Figure;
pub use findings::Findings;
pub use notebook::curves;
pub use selection::RowDetails;
pub use thumbnail::Thumbnail;

/// Contents of the page about a selection. The page omits the sections of empty lists.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    pub title: String,
    /// One sentence, such as "100 of 200,000 rows chosen for 30 targets by itl".
    pub summary: String,
    pub provenance: Provenance,
    pub warnings: Vec<String>,
    /// Picks in the order in which they were chosen.
    pub picks: Vec<PickLine>,
    /// Curves of other rules; the page always draws the curve of the picks themselves.
    pub others: Vec<RuleCurve>,
    pub map: Option<Map>,
    pub comparison: Vec<Contender>,
    /// Explanation of the numbers in the comparison.
    pub comparison_note: String,
    pub targets: Vec<TargetLine>,
    /// Texts of the targets that the page names, by their rows.
    pub target_texts: BTreeMap<usize, String>,
    pub guarantees: Option<Guarantees>,
    /// How well a network learned from such picks.
    pub learning: Option<plots::Section>,
}

/// What the pool can teach about the targets, and what is guaranteed about the picks.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Guarantees {
    pub verdict: String,
    pub facts: Vec<Fact>,
    /// Checks of noise, scale and duplicates.
    pub checks: Vec<Fact>,
}

/// One number of a diagnosis, with its meaning.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Fact {
    pub name: String,
    pub value: String,
    pub meaning: String,
    /// How the number is known: "exact", "bound", "sample", …
    pub kind: &'static str,
    /// Place in the paper, such as "Eq. 5".
    pub place: &'static str,
}

/// Where a selection came from and how it was made.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Provenance {
    pub pool_file: String,
    pub rows: usize,
    pub dimensions: usize,
    /// Number format of the embeddings, such as "f32".
    pub number_format: String,
    pub targets_file: Option<String>,
    pub target_count: usize,
    pub rule: String,
    /// Formula of the rule, such as "½ ln((v+ρ²)/(u+ρ²))".
    pub formula: String,
    /// Place of the formula in the paper, such as "Eq. 1, Section 3".
    pub paper: String,
    /// Noise standard deviation ρ.
    pub noise_std: f64,
    pub noise_is_default: bool,
    pub seed: u64,
    /// Number of rows that were labelled before the selection.
    pub observed: usize,
    pub centred: bool,
    /// Whether rows were scaled to unit length.
    pub unit_length: bool,
    pub read_seconds: f64,
    pub choose_seconds: f64,
    pub peak_memory_bytes: Option<u64>,
    pub version: String,
}

/// One line in the table of picks.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PickLine {
    /// Rank of the pick, 1 for the first.
    pub rank: usize,
    /// Row of the pool, counted from 0.
    pub row: usize,
    pub id: String,
    /// Text that shows what the row is.
    pub text: Option<String>,
    pub score: f64,
    /// Information of this pick and all picks before it, in nats.
    pub information: f64,
    /// Information that this pick adds, in nats.
    pub gain: f64,
    /// Share of the targets' variance that is left after this pick.
    pub variance_left: Option<f64>,
    pub label: Option<String>,
    pub group: Option<String>,
    pub purpose: Option<PickPurpose>,
    pub thumbnail: Option<Thumbnail>,
}

/// What a pick contributes: the targets that it serves, and the rows that it makes redundant.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PickPurpose {
    /// Targets from which the pick removed variance, largest share first.
    pub serves: Vec<TargetShare>,
    /// Targets nearest to the pick, nearest first.
    pub nearest: Vec<TargetCosine>,
    pub redundant: Option<RedundantRows>,
}

/// A target and its share of the variance that a pick removed.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct TargetShare {
    pub target: usize,
    pub share: f64,
}

/// A target and its cosine similarity to a pick.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct TargetCosine {
    pub target: usize,
    pub cosine: f64,
}

/// Rows so similar to a pick that they add almost nothing after it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RedundantRows {
    pub count: usize,
    pub example: Option<SimilarRow>,
}

/// A row and its similarity to a pick.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SimilarRow {
    pub row: usize,
    pub id: String,
    /// Text that shows what the row is.
    pub text: Option<String>,
    pub similarity: f64,
}

/// Information and variance left after each pick of a rule; entry `i` holds after `i + 1` picks.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RuleCurve {
    pub name: String,
    pub information: Vec<f64>,
    /// Empty if there are no targets.
    pub variance_left: Vec<f64>,
}

/// Points on the two principal axes of the pool.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Map {
    /// A sample of at most about 3,000 rows.
    pub pool: Vec<[f32; 2]>,
    /// Targets in the order of their rows.
    pub targets: Vec<[f32; 2]>,
    /// Picks in the order of [`Report::picks`].
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
    /// Accuracy of a simple classifier that learned from its picks.
    pub accuracy: Option<f64>,
    /// Information of its picks about the targets, in nats.
    pub information: Option<f64>,
    /// Pictures of its first picks; the page shows at most twelve.
    pub first_picks: Vec<PickPicture>,
}

/// A picture of a pick, and whether the row belongs to the task.
#[derive(Debug, Clone, Serialize)]
pub struct PickPicture {
    pub thumbnail: Thumbnail,
    pub in_task: bool,
}

/// One line in the table of targets.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TargetLine {
    /// Row of the targets, counted from 0.
    pub row: usize,
    pub id: Option<String>,
    pub variance_before: f64,
    pub variance_left: f64,
    /// Share of the prior variance that would remain even if the whole pool were labelled.
    pub out_of_reach: Option<f64>,
    /// Rank of the pick that removed most of the target's variance.
    pub helped_most: Option<usize>,
    pub thumbnail: Option<Thumbnail>,
}

/// Renders the report as one HTML page.
pub fn render(report: &Report) -> Result<String> {
    render_page("report.html", page::page(report))
}

/// Renders the template of this name with `page` as its variables.
pub fn render_page(template: &str, page: impl Serialize) -> Result<String> {
    let mut pages = Environment::new();
    pages.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    pages.add_filter("fixed", format::fixed);
    pages.add_filter("percent", format::percent);
    pages.add_filter("width", format::width);
    pages.add_filter("compact", format::compact);
    pages.add_filter("thousands", format::thousands);
    pages.add_filter("duration", format::duration);
    pages.add_filter("memory", text::memory);
    pages.add_filter("clip", format::clip);
    pages.add_template("report.css", include_str!("report.css"))?;
    pages.add_template("report.js", include_str!("report.js"))?;
    pages.add_template("diagnosis.css", include_str!("diagnosis.css"))?;
    pages.add_template("plot.css", include_str!("plot.css"))?;
    pages.add_template("figure.css", include_str!("figure.css"))?;
    // minijinja escapes the variables of templates whose names end in .html or .xml.
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
    pages.add_template("figure.xml", include_str!("figure.xml"))?;
    pages.add_template("notebook.html", include_str!("notebook.html"))?;
    Ok(pages.get_template(template)?.render(Serde(page))?)
}

#[cfg(test)]
mod tests;
