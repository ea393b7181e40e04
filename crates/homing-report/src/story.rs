//! A selection as a report tells it.

use homing::{Explanation, Noise, Plan, Projection, Result, STRATEGIES, Selection, Span, Task, explain};

use crate::diagnosis::{Diagnosis, Question, checks, facts as guarantee_facts, verdict};
use crate::text::grouped;
use crate::{Duplicate, Facts, Guarantees, Map, Near, Pick, Redundant, Report, Served, Target, Thumbnail, Why};

/// Points of the pool that the map shows.
const MAP_POOL: usize = 3000;

/// Targets that the map shows.
const MAP_TARGETS: usize = 1000;

/// Targets that the report names a pick.
const SERVES: usize = 3;

/// A target that keeps more than this share of its variance has learned nothing.
const UNTOUCHED: f64 = 0.9;

/// Rows times picks up to which the guarantees are computed on the way: about a second.
const DIAGNOSED: usize = 1_000_000;

/// What rows and targets are called, and what they look like.
pub struct Story<'a> {
    pub id: &'a dyn Fn(usize) -> String,
    pub target_id: &'a dyn Fn(usize) -> Option<String>,
    pub label: &'a dyn Fn(usize) -> Option<String>,
    pub group: &'a dyn Fn(usize) -> Option<String>,
    pub thumbnail: &'a dyn Fn(usize) -> Option<Thumbnail>,
    pub target_thumbnail: &'a dyn Fn(usize) -> Option<Thumbnail>,
}

/// What the task and the plan say of themselves.
pub fn facts(task: &Task<'_>, plan: &Plan, selection: &Selection) -> Facts {
    let name = plan.strategy.name();
    let entry = STRATEGIES.iter().find(|entry| entry.name == name);
    Facts {
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
        ..Facts::default()
    }
}

/// The whole report.
pub fn tell(task: &Task<'_>, selection: &Selection, facts: Facts, story: &Story<'_>) -> Result<Report> {
    let span = Span::of(task)?;
    let task = &span.as_ref().map_or(*task, |span| span.task(task));
    let why = explain(task, selection)?;
    let diagnosis = diagnose(task, selection, facts.seed)?;
    let targets =
        if facts.target_count == 0 { String::new() } else { format!(" for {} targets", grouped(facts.target_count)) };
    let picked = grouped(selection.picks.len());
    let map = map(task, selection);
    task.check_read()?;
    let guarantees = task.targets.map(|_| guarantees(diagnosis.as_ref(), task, story));
    let mut warnings = warnings(&why);
    if let Some(diagnosis) = diagnosis.as_ref().filter(|diagnosis| !diagnosis.out_of_reach().is_empty()) {
        warnings.push(verdict(diagnosis, facts.rows, |target| target_name(story, target)));
    }
    Ok(Report {
        title: "Chosen data".into(),
        summary: format!("{picked} of {} rows chosen{targets} by {}", grouped(facts.rows), facts.rule),
        picks: picks(selection, &why, story),
        map: Some(map),
        targets: target_rows(&why, diagnosis.as_ref(), story),
        guarantees,
        warnings,
        facts,
        ..Report::default()
    })
}

/// What the pool can teach; none without targets, and where it would take long.
fn diagnose(task: &Task<'_>, selection: &Selection, seed: u64) -> Result<Option<Diagnosis>> {
    let picks = selection.indices();
    if task.targets.is_none() || picks.is_empty() || picks.len().saturating_mul(task.pool.rows()) > DIAGNOSED {
        return Ok(None);
    }
    let noise = Noise::Std(selection.noise_var.sqrt());
    let question = Question { task: *task, noise, picks: &picks, count: picks.len(), values: None, seed };
    Diagnosis::new(&question, |_| ()).map(Some)
}

fn guarantees(diagnosis: Option<&Diagnosis>, task: &Task<'_>, story: &Story<'_>) -> Guarantees {
    let rows = task.pool.rows();
    let Some(diagnosis) = diagnosis else {
        let verdict =
            "This pool is large: `homing diagnose POOL --targets FILE --picks FILE` says what it can teach.".into();
        return Guarantees { verdict, ..Guarantees::default() };
    };
    let id = |row: usize| match (story.id)(row) {
        id if id == row.to_string() => format!("row {row}"),
        id => format!("{id} (row {row})"),
    };
    Guarantees {
        verdict: verdict(diagnosis, rows, |target| target_name(story, target)),
        facts: guarantee_facts(diagnosis, id),
        checks: checks(diagnosis, rows),
    }
}

fn target_name(story: &Story<'_>, target: usize) -> String {
    (story.target_id)(target).unwrap_or_else(|| target.to_string())
}

/// What a reader should know before trusting the picks.
fn warnings(why: &Explanation) -> Vec<String> {
    let untouched = why.targets.iter().filter(|target| target.var > UNTOUCHED * target.start_var).count();
    if untouched == 0 {
        return Vec::new();
    }
    let (keep, all) = (grouped(untouched), grouped(why.targets.len()));
    vec![format!(
        "{keep} of {all} targets keep more than {:.0} % of their variance: these picks tell next to nothing about them.",
        100.0 * UNTOUCHED
    )]
}

fn picks(selection: &Selection, why: &Explanation, story: &Story<'_>) -> Vec<Pick> {
    let mut before = 0.0;
    let one = |(pick, why): (&homing::Pick, &homing::Why)| {
        let gain = pick.information - before;
        before = pick.information;
        let example =
            why.redundant_example.map(|(index, similarity)| Duplicate { index, id: (story.id)(index), similarity });
        Pick {
            rank: pick.rank,
            index: pick.index,
            id: (story.id)(pick.index),
            score: pick.score,
            information: pick.information,
            gain,
            variance_left: pick.variance_left,
            label: (story.label)(pick.index),
            group: (story.group)(pick.index),
            why: Some(Why {
                serves: why.serves.iter().take(SERVES).map(|&(target, share)| Served { target, share }).collect(),
                nearest: why.nearest.iter().map(|&(target, cosine)| Near { target, cosine }).collect(),
                redundant: (why.redundant > 0).then_some(Redundant { count: why.redundant, example }),
            }),
            thumbnail: (story.thumbnail)(pick.index),
        }
    };
    selection.picks.iter().zip(&why.picks).map(one).collect()
}

fn target_rows(why: &Explanation, diagnosis: Option<&Diagnosis>, story: &Story<'_>) -> Vec<Target> {
    let one = |(index, target): (usize, &homing::TargetStory)| Target {
        index,
        id: (story.target_id)(index),
        variance_before: target.start_var,
        variance_left: target.var,
        out_of_reach: diagnosis.map(|diagnosis| diagnosis.targets[index].share_out_of_reach()),
        helped_most: (target.best_pick > 0).then_some(target.best_pick),
        thumbnail: (story.target_thumbnail)(index),
    };
    why.targets.iter().enumerate().map(one).collect()
}

/// Pool, targets and picks on the pool's principal axes.
fn map(task: &Task<'_>, selection: &Selection) -> Map {
    let pool = task.pool.embeddings();
    let projection = Projection::new(pool);
    let place =
        |embeddings: homing::Embeddings<'_>, row: usize| projection.apply(&embeddings.row(row)).map(|x| x as f32);
    let spread = |rows: usize, most: usize| -> Vec<usize> {
        let shown = rows.min(most);
        (0..shown).map(|i| i * rows / shown).collect()
    };
    Map {
        pool: spread(pool.rows(), MAP_POOL).into_iter().map(|row| place(pool, row)).collect(),
        targets: task.targets.map_or_else(Vec::new, |targets| {
            (0..targets.rows().min(MAP_TARGETS)).map(|row| place(targets.embeddings(), row)).collect()
        }),
        picks: selection.picks.iter().map(|pick| place(pool, pick.index)).collect(),
        explained: projection.explained,
    }
}
