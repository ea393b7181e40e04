//! Prints a diagnosis as tables in a terminal.

use std::io::Write;

use anyhow::Result;
use comfy_table::{CellAlignment, Table};
use homing::diagnose::{Advice, Diagnosis, TargetReach};
use homing_report::Fact;
use homing_report::diagnosis::{DEFINITIONS, checks, facts, prospects, reach_note, verdict, warnings};

use crate::files::TaskFiles;
use crate::terminal::{cell, grouped, plain_table, short, text_width};
use crate::texts::RowTexts;

/// Maximum number of targets that the table lists.
const LISTED: usize = 20;

/// Maximum number of characters of a text within a sentence.
const SENTENCE_TEXT: usize = 40;

pub fn print(
    out: &mut impl Write,
    diagnosis: &Diagnosis,
    files: &TaskFiles,
    texts: &RowTexts,
    advice: &dyn Fn(Advice) -> String,
) -> Result<()> {
    let id = |row: usize| cell(&texts.row_name(files, row, SENTENCE_TEXT));
    let target_id = |row: usize| cell(&texts.target_name(files, row, SENTENCE_TEXT));
    writeln!(out, "{}", verdict(diagnosis, target_id))?;
    let percent = |part: fn(&TargetReach) -> f64| 100.0 * diagnosis.mean_share(part);
    let removed = match diagnosis.picks {
        0 => String::new(),
        _ => format!(", and the picks have removed {:.0} %", percent(|target| target.prior - target.now)),
    };
    writeln!(out, "Of the targets' variance, {:.0} % is out of reach{removed}.\n", percent(|target| target.labelled))?;
    for warning in warnings(diagnosis, advice) {
        writeln!(out, "{warning}\n")?;
    }
    writeln!(out, "What picks can do\n{}\n", facts_table(&prospects(diagnosis)))?;
    writeln!(out, "{}", targets_table(diagnosis, files, texts))?;
    writeln!(out, "\n{}", reach_note(diagnosis))?;
    for (title, facts) in [("Checks", checks(diagnosis)), ("Guarantees", facts(diagnosis, id))] {
        writeln!(out, "\n{title}\n{}", facts_table(&facts))?;
    }
    writeln!(out, "\nWhat the words mean")?;
    for definition in DEFINITIONS {
        writeln!(out, "  {definition}")?;
    }
    Ok(())
}

fn targets_table(diagnosis: &Diagnosis, files: &TaskFiles, texts: &RowTexts) -> Table {
    // The numbers take about 83 characters.
    let width = text_width(83);
    let mut table = plain_table();
    table.set_header(["target", "closeness", "reached", "out of reach", "prior", "now", "whole pool", "irreducible"]);
    for target in diagnosis.least_reachable().into_iter().take(LISTED) {
        table.add_row([
            cell(&texts.target_name(files, target.row, width)),
            diagnosis.closeness_of(target.row).map_or_else(|| "–".to_owned(), |closeness| format!("{closeness:.2}")),
            format!("{:.0} %", 100.0 * target.share_reached()),
            format!("{:.0} %", 100.0 * target.share_out_of_reach()),
            short(target.prior),
            short(target.now),
            short(target.labelled),
            short(target.irreducible),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    if diagnosis.targets.len() > LISTED {
        table.add_row(["…".to_owned(), format!("{} more", grouped(diagnosis.targets.len() - LISTED))]);
    }
    table
}

fn facts_table(facts: &[Fact]) -> Table {
    let mut table = plain_table();
    for fact in facts {
        table.add_row([&*fact.name, &*fact.value, fact.kind, fact.place, &*fact.meaning]);
    }
    table
}
