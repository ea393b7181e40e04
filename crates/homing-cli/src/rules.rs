//! `homing rules`: the table of rules.

use std::io::Write;

use homing::{STRATEGIES, Strategy};

use crate::terminal::{self, plain_table};

pub const EXAMPLES: &str = "\
Examples:
  homing rules
  homing rules | grep probabilities";

pub fn print() -> anyhow::Result<()> {
    let mut table = plain_table();
    table.set_header(["rule", "needs", "score", "chooses", "paper"]);
    for entry in STRATEGIES {
        table.add_row([entry.name, Strategy::from(entry).inputs(), entry.formula, entry.summary, entry.place]);
    }
    writeln!(terminal::stdout(), "{table}")?;
    Ok(())
}
