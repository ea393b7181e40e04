//! The results of a run as tables and sentences.

use comfy_table::Table;
use homing_train::{RoundResult, RunResults, mean_and_error};

use crate::terminal::{grouped, plain_table};

/// Returns a header, and the last round of each rule. Columns that would be empty are left out.
pub fn cells(results: &RunResults) -> Vec<Vec<String>> {
    let header = ["rule", "picks", "picks from the task", "accuracy", "mean accuracy of all rounds"];
    let mut cells = vec![header.map(str::to_owned).to_vec()];
    for (rule, rounds) in &results.rules {
        let last = |figure: fn(&RoundResult) -> Option<f64>| {
            let curve = RunResults::curve(rounds, figure);
            curve.last().map_or_else(String::new, |point| with_error(point.mean, point.error))
        };
        let all: Vec<f64> = rounds.iter().filter_map(|result| result.accuracy).collect();
        cells.push(vec![
            rule.clone(),
            rounds.iter().map(|result| result.picks).max().unwrap_or(0).to_string(),
            last(|result| result.task_share),
            last(|result| result.accuracy),
            percent(mean_and_error(&all).map(|(mean, _)| mean)),
        ]);
    }
    let is_used: Vec<bool> = (0..header.len()).map(|at| cells[1..].iter().any(|row| !row[at].is_empty())).collect();
    let used = |row: Vec<String>| -> Vec<String> {
        row.into_iter().zip(&is_used).filter_map(|(cell, &is_used)| is_used.then_some(cell)).collect()
    };
    cells.into_iter().map(used).collect()
}

pub fn table(results: &RunResults) -> Table {
    table_of(&cells(results))
}

/// Returns cells as a table; the first row is the header.
pub fn table_of(cells: &[Vec<String>]) -> Table {
    let mut table = plain_table();
    table.set_header(&cells[0]);
    table.add_rows(&cells[1..]);
    table
}

/// Describes the figures.
pub fn note(results: &RunResults) -> String {
    let seeds = match results.seeds() {
        1 => "One seed".to_owned(),
        seeds => format!("Means over {seeds} seeds ± one standard error"),
    };
    match results.tests {
        0 => format!("{seeds}; there is no accuracy because there are no test examples."),
        1 => format!("{seeds}; accuracy is measured on a single test example, which says little."),
        tests => format!("{seeds}; accuracy is measured on {} test examples.", grouped(tests)),
    }
}

/// Returns a share with its error, in percent.
pub fn with_error(mean: f64, error: f64) -> String {
    if error > 0.0 { format!("{:.1} ± {:.1} %", 100.0 * mean, 100.0 * error) } else { percent(Some(mean)) }
}

pub fn percent(share: Option<f64>) -> String {
    share.map_or_else(String::new, |share| format!("{:.1} %", 100.0 * share))
}
