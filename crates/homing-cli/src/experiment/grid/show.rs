//! Prints results: the figures next to those of the paper, and which of its claims hold.

use std::io::Write;

use anyhow::Result;
use comfy_table::Table;
use homing_experiment::{Experiment, Figure, Period, ResultTable, verdicts};

use crate::finetune::with_error;
use crate::terminal::{self, plain_table};

pub fn print(experiment: &Experiment, results: &ResultTable) -> Result<()> {
    let mut out = terminal::stdout();
    let seeds = results.seeds();
    writeln!(
        out,
        "{}, {}\n",
        experiment.caption(),
        if seeds == 1 { "one seed".into() } else { format!("{seeds} seeds") }
    )?;
    writeln!(out, "{}\n", figures(experiment, results))?;
    if !experiment.claims.is_empty() {
        writeln!(out, "{}\n", judged(experiment, results))?;
    }
    for note in &experiment.notes {
        writeln!(out, "{note}")?;
    }
    Ok(())
}

/// Returns a table with a row per series, the paper's figure next to ours.
fn figures(experiment: &Experiment, results: &ResultTable) -> Table {
    let series = experiment.series();
    let with_paper = series.iter().any(|series| experiment.paper_of(series).is_some());
    let mut table = plain_table();
    let mut header =
        vec!["line", "accuracy at the end", "mean accuracy", "picks from the task", "choosing", "learning"];
    if with_paper {
        header.insert(2, "in the paper");
    }
    table.set_header(header);
    for series in &series {
        let figure = |figure, when| {
            results.mean(series, figure, when).map_or_else(String::new, |(mean, error)| with_error(mean, error))
        };
        let seconds = |s: f64| format!("{s:.3} s");
        let (choosing, learning) = results.times(series).unzip();
        let mut row = vec![
            series.label(),
            figure(Figure::Accuracy, Period::End),
            figure(Figure::Accuracy, Period::Mean),
            figure(Figure::TaskShare, Period::End),
            choosing.map_or_else(String::new, seconds),
            learning.map_or_else(String::new, seconds),
        ];
        if with_paper {
            let paper = experiment.paper_of(series).map(|[mean, error]| with_error(mean / 100.0, error / 100.0));
            row.insert(2, paper.unwrap_or_default());
        }
        table.add_row(row);
    }
    table
}

fn judged(experiment: &Experiment, results: &ResultTable) -> Table {
    let mut table = plain_table();
    table.set_header(["claim", "of", "difference, points", "p", ""]);
    for verdict in verdicts(experiment, results) {
        table.add_row([
            verdict.claim.says.clone(),
            verdict.claim.about().into(),
            verdict.difference.map_or_else(String::new, |(mean, error)| match verdict.p {
                Some(_) => format!("{mean:+.1} ± {error:.1}"),
                None => format!("{mean:+.1}"),
            }),
            verdict.p.map_or_else(String::new, |p| if p < 1e-4 { "< 0.0001".into() } else { format!("{p:.4}") }),
            verdict.says().into(),
        ]);
    }
    table
}
