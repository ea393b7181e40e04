//! What the template shows: the report cut to size, with everything drawn and every maximum taken.

use serde::Serialize;

use super::chart::{Axis, Chart, chart};
use super::map::{Drawing, draw};
use super::plots::Section;
use super::{Contender, Facts, Guarantees, Pick, Report, Target, Thumbnail};

/// Rows of the table of picks.
pub const MAX_PICKS: usize = 500;
/// Rows of the table of targets.
pub const MAX_TARGETS: usize = 200;

#[derive(Debug, Serialize)]
pub struct Page<'a> {
    title: &'a str,
    version: &'a str,
    summary: &'a str,
    facts: &'a Facts,
    warnings: &'a [String],
    picks: &'a [Pick],
    pick_count: usize,
    /// The last pick, whose sums are the sums of all.
    last: Option<&'a Pick>,
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
    guarantees: Option<&'a Guarantees>,
    /// Of all targets that have one, for the cells that name targets.
    pictures: Vec<(usize, &'a Thumbnail)>,
}

/// Which optional columns some pick fills.
#[expect(clippy::struct_excessive_bools, reason = "one for each column")]
#[derive(Debug, Serialize)]
struct Columns {
    variance_left: bool,
    /// Not where the score is the information itself.
    score: bool,
    serves: bool,
    nearest: bool,
    redundant: bool,
}

/// The largest value of each column of the comparison.
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
    target: &'a Target,
    share_left: f64,
}

pub fn page(report: &Report) -> Page<'_> {
    let shown = &report.picks[..report.picks.len().min(MAX_PICKS)];
    let why = || shown.iter().filter_map(|pick| pick.why.as_ref());
    Page {
        title: &report.title,
        version: &report.facts.version,
        summary: &report.summary,
        facts: &report.facts,
        warnings: &report.warnings,
        picks: shown,
        pick_count: report.picks.len(),
        last: report.picks.last(),
        largest_gain: largest(shown.iter().map(|pick| Some(pick.gain))).unwrap_or(0.0),
        columns: Columns {
            variance_left: shown.iter().any(|pick| pick.variance_left.is_some()),
            score: shown.iter().any(|pick| (pick.score - pick.gain).abs() > 1e-6 * pick.gain.abs()),
            serves: why().any(|why| !why.serves.is_empty()),
            nearest: why().any(|why| !why.nearest.is_empty()),
            redundant: why().any(|why| why.redundant.is_some()),
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
        guarantees: report.guarantees.as_ref(),
        pictures: report.targets.iter().filter_map(|target| Some((target.index, target.thumbnail.as_ref()?))).collect(),
    }
}

fn information_chart(report: &Report) -> Option<Chart> {
    let own = report.picks.iter().map(|pick| pick.information).collect();
    let others = report.others.iter().map(|other| (&*other.name, other.information.clone()));
    chart(&Axis::Amount, std::iter::once((&*report.facts.rule, own)).chain(others).map(|line| from(0.0, line)))
}

fn variance_chart(report: &Report) -> Option<Chart> {
    let own = report.picks.iter().map_while(|pick| pick.variance_left).collect();
    let others = report.others.iter().map(|other| (&*other.name, other.variance_left.clone()));
    chart(&Axis::Share, std::iter::once((&*report.facts.rule, own)).chain(others).map(|line| from(1.0, line)))
}

/// Puts the value before the first pick in front; a line without picks stays empty.
fn from(start: f64, (name, mut values): (&str, Vec<f64>)) -> (&str, Vec<f64>) {
    if !values.is_empty() {
        values.insert(0, start);
    }
    (name, values)
}

/// The least served first: they are where more picks would help.
fn target_rows(targets: &[Target]) -> Vec<TargetRow<'_>> {
    let share_left = |target: &Target| target.variance_left / target.variance_before;
    let mut rows: Vec<_> = targets.iter().map(|target| TargetRow { target, share_left: share_left(target) }).collect();
    rows.sort_by(|a, b| b.share_left.total_cmp(&a.share_left));
    rows.truncate(MAX_TARGETS);
    rows
}

fn largest(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.flatten().filter(|value| value.is_finite()).reduce(f64::max)
}
