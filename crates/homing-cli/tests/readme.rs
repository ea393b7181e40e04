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
    digits_as_idx(&folder.path().join("mnist"));
    let mut run = 0;
    for line in readme().lines().filter(|line| line.starts_with("homing ")) {
        // The reader of tables is the same for every format of tables; JSONL needs no writer here.
        let line = line.replace("pool.parquet", "pool.jsonl").replace("targets.parquet", "targets.jsonl");
        // A few rounds are enough to see that they run.
        let line = line.replace("--rounds 30", "--rounds 2").replace("--seeds 3", "--seeds 1");
        let line = line.replace("run mnist-main --quick", "run mnist-main --quick --rounds 2 --seeds 1");
        if cfg!(not(feature = "train"))
            && ["finetune", "embed", "digits-quick", "mnist-main"].iter().any(|name| line.contains(name))
        {
            continue;
        }
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

/// A few images of ten classes, in the files that MNIST has.
fn digits_as_idx(folder: &Path) {
    fs::create_dir(folder).unwrap();
    for (name, count) in [("train", 60u32), ("t10k", 400)] {
        let header = |magic: u32, sizes: &[u32]| -> Vec<u8> {
            [magic].iter().chain(sizes).flat_map(|number| number.to_be_bytes()).collect()
        };
        let pixel = |i: u32| if i / 784 % 10 == i % 784 / 79 { 200 } else { (i * 37 % 101) as u8 };
        let images = header(0x803, &[count, 28, 28]).into_iter().chain((0..count * 784).map(pixel));
        let labels = header(0x801, &[count]).into_iter().chain((0..count).map(|i| (i % 10) as u8));
        fs::write(folder.join(format!("{name}-images-idx3-ubyte")), images.collect::<Vec<_>>()).unwrap();
        fs::write(folder.join(format!("{name}-labels-idx1-ubyte")), labels.collect::<Vec<_>>()).unwrap();
    }
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
