//! Prints results: the figures next to those of the paper, and which of its claims hold.

use std::io::Write;

use anyhow::Result;
use comfy_table::Table;
use homing_experiment::{Experiment, Figure, LEVEL, Period, ResultTable, Verdict, holm};

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
    let with_vars = series.iter().any(|series| results.mean_vars(series).is_some());
    let mut header =
        vec!["line", "accuracy at the end", "mean accuracy", "picks from the task", "choosing", "learning"];
    if with_vars {
        header.push("mean k(x, x)");
    }
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
        if with_vars {
            let vars = results.mean_vars(series);
            row.push(vars.map_or_else(String::new, |(first, last)| format!("{first:.3e} to {last:.3e}")));
        }
        table.add_row(row);
    }
    table
}

fn judged(experiment: &Experiment, results: &ResultTable) -> Table {
    let mut table = plain_table();
    table.set_header(["claim", "of", "difference, points", "p", ""]);
    for verdict in homing_experiment::verdicts(experiment, results) {
        table.add_row([
            verdict.claim.says.clone(),
            verdict.claim.about().into(),
            difference(&verdict),
            verdict.p.map_or_else(String::new, p_value),
            verdict.says().into(),
        ]);
    }
    table
}

fn difference(verdict: &Verdict<'_>) -> String {
    verdict.difference.map_or_else(String::new, |(mean, error)| match verdict.p {
        Some(_) => format!("{mean:+.1} ± {error:.1}"),
        None => format!("{mean:+.1}"),
    })
}

fn p_value(p: f64) -> String {
    if p < 1e-4 { "< 0.0001".into() } else { format!("{p:.4}") }
}

/// Prints the verdicts on all claims of some experiments. The paper's claims are one family, whose p-values are adjusted by
/// Holm's method; a claim with an adjusted p-value below 0.05 holds in the family.
pub fn verdicts(all: &[(ResultTable, Experiment)]) -> Result<()> {
    let tested: Vec<(&Experiment, usize, Verdict<'_>)> = all
        .iter()
        .flat_map(|(results, experiment)| {
            let seeds = results.seeds();
            homing_experiment::verdicts(experiment, results)
                .into_iter()
                .map(move |verdict| (experiment, seeds, verdict))
        })
        .collect();
    let (of_paper, ours): (Vec<_>, Vec<_>) =
        tested.iter().partition(|(experiment, _, verdict)| experiment.is_of_paper(verdict.claim));
    let family: Vec<f64> = of_paper.iter().filter_map(|(.., verdict)| verdict.p).collect();
    let mut adjusted = holm(&family).into_iter();
    let mut table = plain_table();
    table.set_header(["experiment", "claim of the paper", "of", "seeds", "difference, points", "p", "p, Holm", ""]);
    let (mut alone, mut within) = (0, 0);
    for (experiment, seeds, verdict) in of_paper {
        let after = verdict.p.and_then(|_| adjusted.next());
        let says = match after {
            Some(p) if p < LEVEL => "holds",
            Some(_) if verdict.says() == "holds" => "holds by itself",
            _ => verdict.says(),
        };
        alone += usize::from(verdict.says() == "holds");
        within += usize::from(says == "holds");
        table.add_row([
            experiment.name.clone(),
            verdict.claim.says.clone(),
            verdict.claim.about().into(),
            seeds.to_string(),
            difference(verdict),
            verdict.p.map_or_else(String::new, p_value),
            after.map_or_else(String::new, p_value),
            says.into(),
        ]);
    }
    let mut out = terminal::stdout();
    writeln!(out, "{table}\n")?;
    writeln!(
        out,
        "{} claims of the paper: {alone} hold by themselves (p < {LEVEL}), {within} after Holm's correction for their number.\n",
        family.len()
    )?;
    let mut table = plain_table();
    table.set_header(["experiment", "our own claim", "of", "seeds", "difference, points", "p", ""]);
    for (experiment, seeds, verdict) in ours {
        table.add_row([
            experiment.name.clone(),
            verdict.claim.says.clone(),
            verdict.claim.about().into(),
            seeds.to_string(),
            difference(verdict),
            verdict.p.map_or_else(String::new, p_value),
            verdict.says().into(),
        ]);
    }
    writeln!(out, "{table}")?;
    Ok(())
}
