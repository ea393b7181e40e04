//! docs/paper-map.md: every theorem has a file and a test that exist.

use std::fs;
use std::path::{Path, PathBuf};

fn map() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/paper-map.md")).unwrap()
}

/// Finds a file that the map names.
fn find(file: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    [root.to_owned(), root.join("tests/it"), root.join("../..")]
        .into_iter()
        .map(|at| at.join(file))
        .find(|at| at.exists())
}

/// Returns the cells of a row.
fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split(" | ").map(str::trim).collect()
}

#[test]
fn every_numbered_statement_has_a_row_with_a_test() {
    let map = map();
    let statements = map.split("## Theorems").nth(1).unwrap();
    let rows: Vec<Vec<&str>> = statements.lines().filter(|line| line.starts_with("| ")).map(cells).collect();
    let expected = [
        "3.1", "3.2", "B.1", "B.2", "C.1", "C.2", "D.1", "D.2", "D.3", "D.4", "D.5", "D.6", "D.7", "D.8", "D.9",
        "D.10", "D.11", "D.12", "D.13", "F.1",
    ];
    for number in expected {
        let names = |cell: &str| {
            let stated = ["Theorem", "Lemma", "Definition", "Assumption"].iter().any(|kind| cell.contains(kind));
            stated && cell.split([' ', ',']).any(|word| word == number)
        };
        let row = rows.iter().find(|row| names(row[0])).unwrap_or_else(|| panic!("no row for {number}"));
        assert!(row[3].contains(".rs"), "{number} has no test: {row:?}");
        assert!(row[2].contains(".rs") || row[2].contains("an inequality"), "{number} has no file: {row:?}");
    }
    for equation in 1..=23 {
        let named = |cell: &str| {
            let numbers: Vec<usize> =
                cell.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
            let range = cell.contains('–') && numbers.len() == 2 && (numbers[0]..=numbers[1]).contains(&equation);
            cell.starts_with("Eq.") && (range || numbers.contains(&equation))
        };
        assert!(
            map.lines().filter(|line| line.starts_with("| ")).any(|line| named(cells(line)[0])),
            "no row for Eq. {equation}"
        );
    }
}

#[test]
fn every_file_and_test_of_the_map_exists() {
    for line in map().lines().filter(|line| line.starts_with("| ")) {
        let mut text = String::new();
        for token in line.split('`').skip(1).step_by(2) {
            let (file, item) = token.split_once(": ").map_or((token, None), |(file, item)| (file, Some(item)));
            let is_file = Path::new(file).extension().is_some_and(|extension| extension == "rs");
            if is_file {
                // A name without its folder follows one with the same folder.
                let Some(path) = find(file).or_else(|| find(&format!("src/rules/{file}"))) else {
                    panic!("no {file}: {line}")
                };
                text = fs::read_to_string(&path).unwrap();
            }
            let item = item.or((!is_file && token.len() > 20).then_some(token)).map(|item| item.trim_end_matches('…'));
            if let Some(item) = item.filter(|_| !text.is_empty()) {
                assert!(
                    text.contains(&format!("fn {item}")) || text.contains(&format!("struct {item}")),
                    "no {item} in {line}"
                );
            }
        }
    }
}
