//! `homing rules`: the strategy table.

use std::io::Write;

use homing::{STRATEGIES, Strategy};

use crate::terminal::plain_table;

pub fn print() -> anyhow::Result<()> {
    let mut table = plain_table();
    table.set_header(["rule", "wants", "score", "picks what is", "paper"]);
    for entry in STRATEGIES {
        let strategy = Strategy::from(entry);
        let wants = match (strategy.needs_targets(), strategy.needs_probabilities()) {
            (true, true) => "targets, probabilities",
            (true, false) => "targets",
            (false, true) => "probabilities",
            (false, false) => "–",
        };
        table.add_row([entry.name, wants, entry.formula, entry.summary, entry.place]);
    }
    writeln!(std::io::stdout(), "{table}")?;
    Ok(())
}
