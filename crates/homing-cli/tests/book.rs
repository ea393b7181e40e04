//! The book's table of rules is the program's. `docs/test` runs the commands of the README and of the book.

use std::fs;
use std::path::Path;

use homing::{STRATEGIES, Strategy};

#[test]
fn the_rules_of_the_book_are_those_of_the_table() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/rules.md");
    let page = fs::read_to_string(page).unwrap();
    let table = page.split("<!-- rules -->").nth(1).unwrap().split("<!-- /rules -->").next().unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
    let want: Vec<String> = STRATEGIES
        .iter()
        .map(|entry| {
            let inputs = Strategy::from(entry).inputs();
            let formula = entry.formula.replace('|', "\\|");
            format!("| `{}` | {inputs} | {formula} | {} | {} |", entry.name, entry.summary, entry.place)
        })
        .collect();
    assert_eq!(rows, want, "\n{}", want.join("\n"));
}
