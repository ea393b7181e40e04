//! Results as people read them: figures beside the paper's, and what became of its claims.

use std::io::Write;

use anyhow::Result;
use comfy_table::Table;

use super::claims;
use super::plan::{Figure, Plan, When};
use super::tidy::Tidy;
use crate::finetune::with_error;
use crate::terminal::{self, plain_table};

pub fn print(plan: &Plan, tidy: &Tidy) -> Result<()> {
    let mut out = terminal::stdout();
    let seeds = tidy.seeds();
    writeln!(out, "{}, {}\n", plan.caption(), if seeds == 1 { "one seed".into() } else { format!("{seeds} seeds") })?;
    writeln!(out, "{}\n", figures(plan, tidy))?;
    if !plan.claims.is_empty() {
        writeln!(out, "{}\n", judged(plan, tidy))?;
    }
    for note in &plan.notes {
        writeln!(out, "{note}")?;
    }
    Ok(())
}

/// A row for every series, the paper's figure beside ours.
fn figures(plan: &Plan, tidy: &Tidy) -> Table {
    let series = plan.series();
    let with_paper = series.iter().any(|series| plan.paper_of(series).is_some());
    let mut table = plain_table();
    let mut header =
        vec!["line", "accuracy at the end", "mean accuracy", "picks from the task", "choosing", "learning"];
    if with_paper {
        header.insert(2, "in the paper");
    }
    table.set_header(header);
    for series in &series {
        let figure = |figure, when| {
            tidy.mean(series, figure, when).map_or_else(String::new, |(mean, error)| with_error(mean, error))
        };
        let seconds = |s: f64| format!("{s:.3} s");
        let (choosing, learning) = tidy.times(series).unzip();
        let mut row = vec![
            series.label(),
            figure(Figure::Accuracy, When::End),
            figure(Figure::Accuracy, When::Mean),
            figure(Figure::TaskShare, When::End),
            choosing.map_or_else(String::new, seconds),
            learning.map_or_else(String::new, seconds),
        ];
        if with_paper {
            let paper = plan.paper_of(series).map(|[mean, error]| with_error(mean / 100.0, error / 100.0));
            row.insert(2, paper.unwrap_or_default());
        }
        table.add_row(row);
    }
    table
}

fn judged(plan: &Plan, tidy: &Tidy) -> Table {
    let mut table = plain_table();
    table.set_header(["claim", "of", "difference, points", "p", ""]);
    for verdict in claims::verdicts(plan, tidy) {
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
