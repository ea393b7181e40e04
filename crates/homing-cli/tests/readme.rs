//! The README's commands run as they stand, and its table of rules is the program's.

#[path = "../../homing-pool/tests/npy/mod.rs"]
mod npy;

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use homing::{STRATEGIES, Strategy};
use npy::npy;

fn readme() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap()
}

#[test]
fn every_homing_command_of_the_readme_runs() {
    let folder = tempfile::tempdir().unwrap();
    let table = |rows: usize, phase: f64| -> String {
        let row = |i: usize| {
            let x: Vec<f64> = (0..4).map(|j| (phase + (i * 4 + j) as f64 * 0.77).sin()).collect();
            format!("{{\"source\": \"s{}\", \"embedding\": {x:?}}}\n", i % 9)
        };
        (0..rows).map(row).collect()
    };
    for (name, rows, phase) in [("pool", 300, 0.0), ("targets", 6, 0.4)] {
        let path = folder.path().join(name);
        fs::write(path.with_extension("jsonl"), table(rows, phase)).unwrap();
        fs::write(path.with_extension("npy"), npy("<f4", false, &format!("({rows}, 4)"), &waves(rows, phase))).unwrap();
    }
    let mut run = 0;
    for line in readme().lines().filter(|line| line.starts_with("homing ")) {
        // The reader of tables is the same for every format of tables; JSONL needs no writer here.
        let line = line.replace("pool.parquet", "pool.jsonl").replace("targets.parquet", "targets.jsonl");
        let output = Command::cargo_bin("homing")
            .unwrap()
            .current_dir(folder.path())
            .args(line.split_whitespace().skip(1))
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        run += 1;
    }
    assert!(run >= 4, "the README shows commands");
    assert!(folder.path().join("report.html").exists() && folder.path().join("picks.parquet").exists());
}

fn waves(rows: usize, phase: f64) -> Vec<u8> {
    (0..rows * 4).flat_map(|i| ((phase + i as f64 * 0.77).sin() as f32).to_le_bytes()).collect()
}

#[test]
fn the_rules_of_the_readme_are_those_of_the_table() {
    let readme = readme();
    let table = readme.split("<!-- rules -->").nth(1).unwrap().split("<!-- /rules -->").next().unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
    let want: Vec<String> = STRATEGIES
        .iter()
        .map(|entry| {
            let wants = Strategy::from(entry).inputs();
            let formula = entry.formula.replace('|', "\\|");
            format!("| `{}` | {wants} | {formula} | {} | {} |", entry.name, entry.summary, entry.place)
        })
        .collect();
    assert_eq!(rows, want, "\n{}", want.join("\n"));
}
