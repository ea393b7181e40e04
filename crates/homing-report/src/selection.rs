//! Builds the [`Report`] of a selection.

use homing::diagnose::Diagnosis;
use homing::{Explanation, Plan, Result, STRATEGIES, Selection, Task};

use crate::diagnosis::{checks, facts, verdict};
use crate::findings::SERVED_TARGETS;
use crate::format::clip;
use crate::text::grouped;
use crate::{
    Findings, Guarantees, PickLine, PickPurpose, Provenance, RedundantRows, Report, SimilarRow, TargetCosine,
    TargetLine, TargetShare, Thumbnail,
};

/// Share of its variance above which a target counts as untouched by the picks.
const UNTOUCHED: f64 = 0.9;

/// Maximum number of characters of a text within a sentence.
const SENTENCE_TEXT: usize = 60;

/// Functions that return the ids, texts, labels, groups and pictures of pool rows and targets.
///
/// Texts are needed only for the rows that [`Findings`] lists.
pub struct RowDetails<'a> {
    pub id: &'a dyn Fn(usize) -> String,
    pub target_id: &'a dyn Fn(usize) -> Option<String>,
    pub text: &'a dyn Fn(usize) -> Option<String>,
    pub target_text: &'a dyn Fn(usize) -> Option<String>,
    pub label: &'a dyn Fn(usize) -> Option<String>,
    pub group: &'a dyn Fn(usize) -> Option<String>,
    pub thumbnail: &'a dyn Fn(usize) -> Option<Thumbnail>,
    pub target_thumbnail: &'a dyn Fn(usize) -> Option<Thumbnail>,
}

impl RowDetails<'_> {
    fn target_name(&self, target: usize) -> String {
        let id = (self.target_id)(target).unwrap_or_else(|| target.to_string());
        match (self.target_text)(target) {
            Some(text) => format!("{id} {}", quoted(&text)),
            None => id,
        }
    }

    fn row_name(&self, row: usize) -> String {
        let id = match (self.id)(row) {
            id if id == row.to_string() => format!("row {row}"),
            id => format!("{id} (row {row})"),
        };
        (self.text)(row).map_or_else(|| id.clone(), |text| format!("{} ({id})", quoted(&text)))
    }
}

impl Provenance {
    /// Fills in what the task, the plan and the selection determine; the caller adds file names and times.
    pub fn new(task: &Task<'_>, plan: &Plan, selection: &Selection) -> Self {
        let name = plan.strategy.name();
        let entry = STRATEGIES.iter().find(|entry| entry.name == name);
        Self {
            rows: task.pool.rows(),
            dimensions: task.pool.embeddings().dim(),
            target_count: task.targets.map_or(0, |targets| targets.rows()),
            rule: name.into(),
            formula: entry.map_or("", |entry| entry.formula).into(),
            paper: entry.map_or("", |entry| entry.place).into(),
            noise_std: selection.noise_var.sqrt(),
            seed: plan.seed,
            observed: task.observed_rows.len() + task.observed_points.map_or(0, |points| points.rows()),
            version: env!("CARGO_PKG_VERSION").into(),
            ..Self::default()
        }
    }
}

impl Report {
    /// Explains and, if the pool is small enough, diagnoses a selection.
    pub fn new(
        task: &Task<'_>,
        selection: &Selection,
        provenance: Provenance,
        details: &RowDetails<'_>,
    ) -> Result<Self> {
        Ok(Self::of_findings(&Findings::new(task, selection, provenance.seed)?, provenance, details))
    }

    /// Returns the report of what was found about a selection.
    pub fn of_findings(findings: &Findings<'_>, provenance: Provenance, details: &RowDetails<'_>) -> Self {
        let Findings { selection, explanation, diagnosis, map, has_targets } = findings;
        let targets = match provenance.target_count {
            0 => String::new(),
            count => format!(" for {} targets", grouped(count)),
        };
        let (picked, rows) = (grouped(selection.picks.len()), grouped(provenance.rows));
        let mut warnings = warnings(explanation);
        if let Some(diagnosis) = diagnosis.as_ref().filter(|diagnosis| !diagnosis.out_of_reach().is_empty()) {
            warnings.push(verdict(diagnosis, |target| details.target_name(target)));
        }
        let target_texts = findings.target_rows().into_iter();
        Self {
            title: "Chosen data".into(),
            summary: format!("{picked} of {rows} rows chosen{targets} by {}", provenance.rule),
            picks: pick_lines(selection, explanation, details),
            map: Some(map.clone()),
            targets: target_lines(explanation, diagnosis.as_ref(), details),
            target_texts: target_texts.filter_map(|row| Some((row, (details.target_text)(row)?))).collect(),
            guarantees: has_targets.then(|| guarantees(diagnosis.as_ref(), details)),
            warnings,
            provenance,
            ..Self::default()
        }
    }
}

/// Returns a text in quotes, shortened for a sentence.
fn quoted(text: &str) -> String {
    format!("\"{}\"", clip(text, SENTENCE_TEXT))
}

fn guarantees(diagnosis: Option<&Diagnosis>, details: &RowDetails<'_>) -> Guarantees {
    let Some(diagnosis) = diagnosis else {
        let verdict = "This report has no diagnosis because the pool is large; diagnose the pool separately to see \
                       what it can teach."
            .into();
        return Guarantees { verdict, ..Guarantees::default() };
    };
    Guarantees {
        verdict: verdict(diagnosis, |target| details.target_name(target)),
        facts: facts(diagnosis, |row| details.row_name(row)),
        checks: checks(diagnosis),
    }
}

/// Warns about targets that the picks hardly touch.
fn warnings(explanation: &Explanation) -> Vec<String> {
    let untouched = explanation.targets.iter().filter(|target| target.var > UNTOUCHED * target.start_var).count();
    if untouched == 0 {
        return Vec::new();
    }
    let (keep, all) = (grouped(untouched), grouped(explanation.targets.len()));
    vec![format!(
        "{keep} of {all} targets keep more than {:.0} % of their variance: these picks say almost nothing about them.",
        100.0 * UNTOUCHED
    )]
}

fn pick_lines(selection: &Selection, explanation: &Explanation, details: &RowDetails<'_>) -> Vec<PickLine> {
    let mut information_before = 0.0;
    let pairs = selection.picks.iter().zip(&explanation.picks);
    pairs
        .map(|(pick, reasons)| {
            let gain = pick.information - information_before;
            information_before = pick.information;
            let example = reasons.redundant_example.map(|(row, similarity)| SimilarRow {
                row,
                id: (details.id)(row),
                text: (details.text)(row),
                similarity,
            });
            let serves = reasons.serves.iter().take(SERVED_TARGETS);
            PickLine {
                rank: pick.rank,
                row: pick.row,
                id: (details.id)(pick.row),
                text: (details.text)(pick.row),
                score: pick.score,
                information: pick.information,
                gain,
                variance_left: pick.variance_left,
                label: (details.label)(pick.row),
                group: (details.group)(pick.row),
                purpose: Some(PickPurpose {
                    serves: serves.map(|&(target, share)| TargetShare { target, share }).collect(),
                    nearest: reasons.nearest.iter().map(|&(target, cosine)| TargetCosine { target, cosine }).collect(),
                    redundant: (reasons.redundant > 0).then_some(RedundantRows { count: reasons.redundant, example }),
                }),
                thumbnail: (details.thumbnail)(pick.row),
            }
        })
        .collect()
}

fn target_lines(explanation: &Explanation, diagnosis: Option<&Diagnosis>, details: &RowDetails<'_>) -> Vec<TargetLine> {
    let targets = explanation.targets.iter().enumerate();
    targets
        .map(|(row, target)| TargetLine {
            row,
            id: (details.target_id)(row),
            variance_before: target.start_var,
            variance_left: target.var,
            out_of_reach: diagnosis.map(|diagnosis| diagnosis.targets[row].share_out_of_reach()),
            helped_most: (target.best_pick > 0).then_some(target.best_pick),
            thumbnail: (details.target_thumbnail)(row),
        })
        .collect()
}
