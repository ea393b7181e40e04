//! Computes what a report says about a selection, before rows and targets are named.

use homing::diagnose::{Diagnosis, Question};
use homing::{Explanation, Noise, Projection, Result, Selection, SpanCoordinates, Task, explain};

use crate::Map;
use crate::page::{MAX_PICKS, MAX_TARGETS};

/// Maximum number of targets that the report names for each pick.
pub(crate) const SERVED_TARGETS: usize = 3;

/// Maximum number of pool rows that the map shows.
const MAP_POOL: usize = 3000;

/// Maximum number of targets that the map shows.
const MAP_TARGETS: usize = 1000;

/// Largest product of pool rows and picks for which the report includes a diagnosis; that takes about a second.
const MAX_DIAGNOSED: usize = 1_000_000;

/// Explanation, diagnosis and map of a selection.
///
/// They say which rows and targets a report names, so their texts can be read before the report is made.
pub struct Findings<'a> {
    pub(crate) selection: &'a Selection,
    pub(crate) explanation: Explanation,
    pub(crate) diagnosis: Option<Diagnosis>,
    pub(crate) map: Map,
    pub(crate) has_targets: bool,
}

impl<'a> Findings<'a> {
    /// Explains and, if the pool is small enough, diagnoses a selection.
    pub fn new(task: &Task<'_>, selection: &'a Selection, seed: u64) -> Result<Self> {
        let span = SpanCoordinates::of(task)?;
        let task = &span.as_ref().map_or(*task, |span| span.task(task));
        let explanation = explain(task, selection)?;
        let diagnosis = diagnose(task, selection, seed)?;
        let map = map(task, selection);
        task.check_read()?;
        Ok(Self { selection, explanation, diagnosis, map, has_targets: task.targets.is_some() })
    }

    /// Returns the rows of the pool that the report names.
    pub fn rows(&self) -> Vec<usize> {
        let picks = self.selection.picks.iter().take(MAX_PICKS).map(|pick| pick.row);
        let similar = self.explanation.picks.iter().take(MAX_PICKS).filter_map(|pick| Some(pick.redundant_example?.0));
        let next = self.diagnosis.iter().filter_map(|diagnosis| Some(diagnosis.next?.row));
        distinct(picks.chain(similar).chain(next))
    }

    /// Returns the targets that the report names: those that picks serve, those that are served least, and those that are out
    /// of reach.
    pub fn target_rows(&self) -> Vec<usize> {
        let reasons = || self.explanation.picks.iter().take(MAX_PICKS);
        let served = reasons().flat_map(|pick| pick.serves.iter().take(SERVED_TARGETS)).map(|&(target, _)| target);
        let nearest = reasons().flat_map(|pick| &pick.nearest).map(|&(target, _)| target);
        let share_left = |row: usize| self.explanation.targets[row].var / self.explanation.targets[row].start_var;
        let mut least: Vec<usize> = (0..self.explanation.targets.len()).collect();
        least.sort_by(|&a, &b| share_left(b).total_cmp(&share_left(a)));
        least.truncate(MAX_TARGETS);
        let out_of_reach = self.diagnosis.iter().flat_map(|diagnosis| diagnosis.out_of_reach());
        let out_of_reach = out_of_reach.take(MAX_TARGETS).map(|target| target.row);
        distinct(served.chain(nearest).chain(least).chain(out_of_reach))
    }
}

fn distinct(rows: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut rows: Vec<usize> = rows.collect();
    rows.sort_unstable();
    rows.dedup();
    rows
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
