//! Prints a diagnosis as tables in a terminal.

use std::io::Write;

use anyhow::Result;
use comfy_table::{CellAlignment, Table};
use homing::diagnose::Diagnosis;
use homing_report::Fact;
use homing_report::diagnosis::{checks, facts, reach_note, verdict, warnings};

use crate::files::TaskFiles;
use crate::terminal::{cell, grouped, plain_table, short};

/// Maximum number of targets that the table lists.
const LISTED: usize = 20;

pub fn print(out: &mut impl Write, diagnosis: &Diagnosis, files: &TaskFiles) -> Result<()> {
    let id = |row: usize| cell(&files.row_name(row));
    let target_id = |row: usize| cell(&files.target_name(row));
    writeln!(out, "{}", verdict(diagnosis, target_id))?;
    writeln!(
        out,
        "Of the targets' variance, {:.0} % is out of reach, and the picks have removed {:.0} %.\n",
        100.0 * diagnosis.mean_share(|target| target.labelled),
        100.0 * diagnosis.mean_share(|target| target.prior - target.now),
    )?;
    writeln!(out, "{}", targets_table(diagnosis, files))?;
    writeln!(out, "\n{}", reach_note(diagnosis))?;
    for (title, facts) in [("Guarantees", facts(diagnosis, id)), ("Checks", checks(diagnosis))] {
        writeln!(out, "\n{title}\n{}", facts_table(&facts))?;
    }
    for warning in warnings(diagnosis, &super::advice) {
        writeln!(out, "\n{warning}")?;
    }
    Ok(())
}

fn targets_table(diagnosis: &Diagnosis, files: &TaskFiles) -> Table {
    let mut table = plain_table();
    table.set_header(["target", "prior", "irreducible", "whole pool", "now", "out of reach", "reached"]);
    for target in diagnosis.least_reachable().into_iter().take(LISTED) {
        table.add_row([
            cell(&files.target_name(target.row)),
            short(target.prior),
            short(target.irreducible),
            short(target.labelled),
            short(target.now),
            format!("{:.0} %", 100.0 * target.share_out_of_reach()),
            format!("{:.0} %", 100.0 * target.share_reached()),
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
