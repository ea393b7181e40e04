//! Variables of `report.html`: the report with long lists cut, charts drawn and maxima computed.

use std::collections::BTreeMap;

use serde::Serialize;

use super::chart::{Axis, Chart, chart};
use super::map::{Drawing, draw};
use super::plots::Section;
use super::{Contender, Guarantees, PickLine, Provenance, Report, TargetLine, Thumbnail};

/// Maximum number of rows in the table of picks.
pub const MAX_PICKS: usize = 500;
/// Maximum number of rows in the table of targets.
pub const MAX_TARGETS: usize = 200;

#[derive(Debug, Serialize)]
pub struct ReportPage<'a> {
    title: &'a str,
    version: &'a str,
    summary: &'a str,
    provenance: &'a Provenance,
    warnings: &'a [String],
    picks: &'a [PickLine],
    pick_count: usize,
    /// The last pick, whose cumulative numbers cover all picks.
    last: Option<&'a PickLine>,
    largest_gain: f64,
    columns: Columns,
    information_chart: Option<Chart>,
    variance_chart: Option<Chart>,
    map: Option<Drawing>,
    comparison: &'a [Contender],
    comparison_note: &'a str,
    best: Best,
    targets: Vec<TargetRow<'a>>,
    learning: Option<&'a Section>,
    target_count: usize,
    target_texts: &'a BTreeMap<usize, String>,
    guarantees: Option<&'a Guarantees>,
    /// Whether pictures are photos.
    photos: bool,
    /// Targets that have a picture.
    pictured: BTreeMap<usize, bool>,
    /// Pictures of the targets that have one, for the cells that name targets.
    pictures: Vec<(usize, &'a Thumbnail)>,
}

/// Which optional columns the table of picks has: those that at least one pick fills.
#[expect(clippy::struct_excessive_bools, reason = "there is one flag per column")]
#[derive(Debug, Serialize)]
struct Columns {
    variance_left: bool,
    /// False if the score of every pick equals the information that it adds.
    score: bool,
    serves: bool,
    nearest: bool,
    redundant: bool,
}

/// Largest value in each column of the comparison.
#[derive(Debug, Serialize)]
struct Best {
    task_share: Option<f64>,
    accuracy: Option<f64>,
    information: Option<f64>,
    pictured: bool,
}

#[derive(Debug, Serialize)]
struct TargetRow<'a> {
    #[serde(flatten)]
    target: &'a TargetLine,
    share_left: f64,
}

pub fn page(report: &Report) -> ReportPage<'_> {
    let shown = &report.picks[..report.picks.len().min(MAX_PICKS)];
    let purposes = || shown.iter().filter_map(|pick| pick.purpose.as_ref());
    ReportPage {
        title: &report.title,
        version: &report.provenance.version,
        summary: &report.summary,
        provenance: &report.provenance,
        warnings: &report.warnings,
        picks: shown,
        pick_count: report.picks.len(),
        last: report.picks.last(),
        largest_gain: largest(shown.iter().map(|pick| Some(pick.gain))).unwrap_or(0.0),
        columns: Columns {
            variance_left: shown.iter().any(|pick| pick.variance_left.is_some()),
            score: shown.iter().any(|pick| (pick.score - pick.gain).abs() > 1e-6 * pick.gain.abs()),
            serves: purposes().any(|purpose| !purpose.serves.is_empty()),
            // Texts of targets need room, and those that a pick serves say more.
            nearest: report.target_texts.is_empty() && purposes().any(|purpose| !purpose.nearest.is_empty()),
            redundant: purposes().any(|purpose| purpose.redundant.is_some()),
        },
        information_chart: information_chart(report),
        variance_chart: variance_chart(report),
        map: report.map.as_ref().and_then(|map| draw(map, shown)),
        comparison: &report.comparison,
        comparison_note: &report.comparison_note,
        best: Best {
            task_share: largest(report.comparison.iter().map(|rule| rule.task_share)),
            accuracy: largest(report.comparison.iter().map(|rule| rule.accuracy)),
            information: largest(report.comparison.iter().map(|rule| rule.information)),
            pictured: report.comparison.iter().any(|rule| !rule.first_picks.is_empty()),
        },
        targets: target_rows(&report.targets),
        learning: report.learning.as_ref(),
        target_count: report.targets.len(),
        target_texts: &report.target_texts,
        guarantees: report.guarantees.as_ref(),
        photos: thumbnails(report).any(Thumbnail::is_photo),
        pictured: report.targets.iter().filter(|line| line.thumbnail.is_some()).map(|line| (line.row, true)).collect(),
        pictures: report.targets.iter().filter_map(|target| Some((target.row, target.thumbnail.as_ref()?))).collect(),
    }
}

fn thumbnails(report: &Report) -> impl Iterator<Item = &Thumbnail> {
    let picks = report.picks.iter().filter_map(|pick| pick.thumbnail.as_ref());
    picks.chain(report.targets.iter().filter_map(|target| target.thumbnail.as_ref()))
}

fn information_chart(report: &Report) -> Option<Chart> {
    let own = report.picks.iter().map(|pick| pick.information).collect();
    let others = report.others.iter().map(|other| (&*other.name, other.information.clone()));
    chart(
        &Axis::Amount,
        std::iter::once((&*report.provenance.rule, own)).chain(others).map(|line| starting_at(0.0, line)),
    )
}

fn variance_chart(report: &Report) -> Option<Chart> {
    let own = report.picks.iter().map_while(|pick| pick.variance_left).collect();
    let others = report.others.iter().map(|other| (&*other.name, other.variance_left.clone()));
    chart(
        &Axis::Share,
        std::iter::once((&*report.provenance.rule, own)).chain(others).map(|line| starting_at(1.0, line)),
    )
}

/// Prepends the value before the first pick; a curve without picks stays empty.
fn starting_at(start: f64, (name, mut values): (&str, Vec<f64>)) -> (&str, Vec<f64>) {
    if !values.is_empty() {
        values.insert(0, start);
    }
    (name, values)
}

/// Lists the least served targets first, because more picks would help there.
fn target_rows(targets: &[TargetLine]) -> Vec<TargetRow<'_>> {
    let share_left = |target: &TargetLine| target.variance_left / target.variance_before;
    let mut rows: Vec<_> = targets.iter().map(|target| TargetRow { target, share_left: share_left(target) }).collect();
    rows.sort_by(|a, b| b.share_left.total_cmp(&a.share_left));
    rows.truncate(MAX_TARGETS);
    rows
}

fn largest(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.flatten().filter(|value| value.is_finite()).reduce(f64::max)
}
