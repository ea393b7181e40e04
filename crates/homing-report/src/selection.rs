//! Builds the [`Report`] of a selection.

use homing::diagnose::{Diagnosis, Question};
use homing::{Explanation, Noise, Plan, Projection, Result, STRATEGIES, Selection, SpanCoordinates, Task, explain};

use crate::diagnosis::{checks, facts, verdict};
use crate::text::grouped;
use crate::{
    Guarantees, Map, PickLine, PickPurpose, Provenance, RedundantRows, Report, SimilarRow, TargetCosine, TargetLine,
    TargetShare, Thumbnail,
};

/// Maximum number of pool rows that the map shows.
const MAP_POOL: usize = 3000;

/// Maximum number of targets that the map shows.
const MAP_TARGETS: usize = 1000;

/// Maximum number of targets that the report names for each pick.
const SERVED_TARGETS: usize = 3;

/// Share of its variance above which a target counts as untouched by the picks.
const UNTOUCHED: f64 = 0.9;

/// Largest product of pool rows and picks for which the report includes a diagnosis; that takes about a second.
const MAX_DIAGNOSED: usize = 1_000_000;

/// Functions that return the ids, labels, groups and pictures of pool rows and targets.
pub struct RowDetails<'a> {
    pub id: &'a dyn Fn(usize) -> String,
    pub target_id: &'a dyn Fn(usize) -> Option<String>,
    pub label: &'a dyn Fn(usize) -> Option<String>,
    pub group: &'a dyn Fn(usize) -> Option<String>,
    pub thumbnail: &'a dyn Fn(usize) -> Option<Thumbnail>,
    pub target_thumbnail: &'a dyn Fn(usize) -> Option<Thumbnail>,
}

impl RowDetails<'_> {
    fn target_name(&self, target: usize) -> String {
        (self.target_id)(target).unwrap_or_else(|| target.to_string())
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
        let span = SpanCoordinates::of(task)?;
        let task = &span.as_ref().map_or(*task, |span| span.task(task));
        let explanation = explain(task, selection)?;
        let diagnosis = diagnose(task, selection, provenance.seed)?;
        let targets = match provenance.target_count {
            0 => String::new(),
            count => format!(" for {} targets", grouped(count)),
        };
        let (picked, rows) = (grouped(selection.picks.len()), grouped(provenance.rows));
        let map = map(task, selection);
        task.check_read()?;
        let guarantees = task.targets.map(|_| guarantees(diagnosis.as_ref(), details));
        let mut warnings = warnings(&explanation);
        if let Some(diagnosis) = diagnosis.as_ref().filter(|diagnosis| !diagnosis.out_of_reach().is_empty()) {
            warnings.push(verdict(diagnosis, |target| details.target_name(target)));
        }
        Ok(Self {
            title: "Chosen data".into(),
            summary: format!("{picked} of {rows} rows chosen{targets} by {}", provenance.rule),
            picks: pick_lines(selection, &explanation, details),
            map: Some(map),
            targets: target_lines(&explanation, diagnosis.as_ref(), details),
            guarantees,
            warnings,
            provenance,
            ..Self::default()
        })
    }
}

/// Returns what the pool can teach, or `None` if there are no targets or the computation would take long.
fn diagnose(task: &Task<'_>, selection: &Selection, seed: u64) -> Result<Option<Diagnosis>> {
    let picks = selection.rows();
    if task.targets.is_none() || picks.is_empty() || picks.len().saturating_mul(task.pool.rows()) > MAX_DIAGNOSED {
        return Ok(None);
    }
    let noise = Noise::Std(selection.noise_var.sqrt());
    let question = Question::new(*task).noise(noise).picks(&picks).count(picks.len()).seed(seed);
    Diagnosis::new(&question).map(Some)
}

fn guarantees(diagnosis: Option<&Diagnosis>, details: &RowDetails<'_>) -> Guarantees {
    let Some(diagnosis) = diagnosis else {
        let verdict = "This report has no diagnosis because the pool is large; diagnose the pool separately to see \
                       what it can teach."
            .into();
        return Guarantees { verdict, ..Guarantees::default() };
    };
    let id = |row: usize| match (details.id)(row) {
        id if id == row.to_string() => format!("row {row}"),
        id => format!("{id} (row {row})"),
    };
    Guarantees {
        verdict: verdict(diagnosis, |target| details.target_name(target)),
        facts: facts(diagnosis, id),
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
                similarity,
            });
            let serves = reasons.serves.iter().take(SERVED_TARGETS);
            PickLine {
                rank: pick.rank,
                row: pick.row,
                id: (details.id)(pick.row),
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

/// Projects pool, targets and picks onto the pool's principal axes.
fn map(task: &Task<'_>, selection: &Selection) -> Map {
    let pool = task.pool.embeddings();
    let projection = Projection::new(pool);
    let place =
        |embeddings: homing::Embeddings<'_>, row: usize| projection.apply(&embeddings.row(row)).map(|x| x as f32);
    let evenly_spaced = |rows: usize, most: usize| -> Vec<usize> {
        let shown = rows.min(most);
        (0..shown).map(|i| i * rows / shown).collect()
    };
    Map {
        pool: evenly_spaced(pool.rows(), MAP_POOL).into_iter().map(|row| place(pool, row)).collect(),
        targets: task.targets.map_or_else(Vec::new, |targets| {
            (0..targets.rows().min(MAP_TARGETS)).map(|row| place(targets.embeddings(), row)).collect()
        }),
        picks: selection.picks.iter().map(|pick| place(pool, pick.row)).collect(),
        explained: projection.explained,
    }
}
