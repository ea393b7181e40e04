//! Extreme sizes, counts and dimensions: an answer within the limits, or one sentence.

mod folder;
#[path = "../../homing-pool/tests/npy/mod.rs"]
mod npy;

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::process::{Command, Output};

use assert_cmd::cargo::CommandCargoExt;
use folder::Folder;
use npy::npy;
use serde_json::Value;

/// Writes rows × dim random-looking single-precision numbers as a .npy file.
fn write_singles(folder: &Folder, name: &str, rows: usize, dim: usize, seed: u64) {
    let mut file = BufWriter::new(File::create(folder.path(name)).unwrap());
    file.write_all(&npy("<f4", false, &format!("({rows}, {dim})"), &[])).unwrap();
    let mut state = seed;
    for _ in 0..rows * dim {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = (state >> 40) as f32 / (1u32 << 23) as f32 - 1.0;
        file.write_all(&number.to_le_bytes()).unwrap();
    }
    file.into_inner().unwrap();
}

/// Returns the command with this limit of its address space, or `None` if the shell cannot limit it.
fn within(folder: &Folder, limit_kb: usize, arguments: &str) -> Option<Output> {
    let program = Command::cargo_bin("homing").unwrap().get_program().to_owned();
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!("ulimit -v {limit_kb} || exit 77; exec \"$0\" \"$@\""))
        .arg(program)
        .args(arguments.split_whitespace())
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    if output.status.code() == Some(77) {
        println!("skipped: this shell cannot limit the address space (ulimit -v)");
        return None;
    }
    assert!(output.status.success(), "homing {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    Some(output)
}

/// A matrix over the dimensions would need 80 GB.
#[cfg(unix)]
#[test]
fn a_hundred_rows_of_a_hundred_thousand_dimensions_take_matrices_of_a_hundred() {
    let folder = Folder::new();
    write_singles(&folder, "pool.npy", 100, 100_000, 1);
    write_singles(&folder, "targets.npy", 5, 100_000, 2);
    let limit_kb = 1_000_000;
    let inputs = "pool.npy --targets targets.npy --threads 2";
    let select = format!("select {inputs} -n 20 --out picks.csv --report report.html");
    let Some(_) = within(&folder, limit_kb, &select) else { return };
    let picks = fs::read_to_string(folder.path("picks.csv")).unwrap();
    assert_eq!(picks.lines().count(), 21);
    let page = fs::read_to_string(folder.path("report.html")).unwrap();
    assert!(page.contains("100,000") && page.contains("<svg"), "the page names the dimensions and has a map");

    let diagnose = format!("diagnose {inputs} --picks picks.csv --format json --report diagnosis.html");
    let told = within(&folder, limit_kb, &diagnose).unwrap().stdout;
    let json: Value = serde_json::from_slice(&told).unwrap();
    let targets = json["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 5);
    for target in targets {
        let [prior, irreducible, posterior] =
            ["prior_var", "irreducible_var", "posterior_var"].map(|key| target[key].as_f64().unwrap());
        // A hundred rows of a hundred thousand dimensions are feasible.
        assert!(prior > irreducible && irreducible > 0.99 * prior && posterior >= irreducible, "{target}");
    }
    assert!(folder.path("diagnosis.html").exists());
    let explained = within(&folder, limit_kb, &format!("explain {inputs} --picks picks.csv --format json")).unwrap();
    let json: Value = serde_json::from_slice(&explained.stdout).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 5);
    within(&folder, limit_kb, &format!("explain {inputs}")).unwrap();
}

/// `embed --embedding network-gradient` makes as many dimensions from a small network.
#[cfg(unix)]
#[test]
fn rows_of_a_quarter_of_a_million_dimensions_are_chosen_from() {
    let folder = Folder::new();
    write_singles(&folder, "pool.npy", 40, 252_416, 3);
    write_singles(&folder, "targets.npy", 3, 252_416, 4);
    let limit_kb = 1_000_000;
    let select = "select pool.npy --targets targets.npy -n 40 --threads 2 --out picks.csv --report report.html";
    let Some(_) = within(&folder, limit_kb, select) else { return };
    assert_eq!(fs::read_to_string(folder.path("picks.csv")).unwrap().lines().count(), 41);
    within(&folder, limit_kb, "diagnose pool.npy --targets targets.npy --threads 2 -n 5").unwrap();
}

/// A matrix over the rows would need 80 GB.
#[cfg(unix)]
#[test]
fn one_pick_of_a_hundred_thousand_rows_is_reported_and_diagnosed() {
    let folder = Folder::new();
    write_singles(&folder, "pool.npy", 100_000, 4, 5);
    write_singles(&folder, "targets.npy", 2, 4, 6);
    let inputs = "pool.npy --targets targets.npy --threads 2";
    let select = format!("select {inputs} -n 1 --out picks.csv --report report.html");
    let Some(_) = within(&folder, 1_000_000, &select) else { return };
    assert!(folder.path("picks.csv").exists() && folder.path("report.html").exists());
    let told = within(&folder, 1_000_000, &format!("diagnose {inputs} --picks picks.csv --format json")).unwrap();
    let json: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!((&json["kappa"]["lower"], &json["kappa"]["upper"]), (&Value::from(1.0), &Value::from(1.0)));
    assert_eq!(json["gamma"]["lower"], json["gamma"]["upper"]);
}

const SELECT: &str = "select pool.csv --targets targets.csv --cost-column cost --out picks.csv";

#[test]
fn counts_that_nobody_can_wait_for_are_refused() {
    let folder = Folder::new();
    for count in ["1000000000000", "18446744073709551615", "100000001"] {
        let words = [count, "picks were requested", "request fewer"];
        folder.refuses(&format!("{SELECT} -n {count} --repeat"), &words);
        folder.refuses(&format!("{SELECT} -n {count}"), &words);
    }
    folder.refuses(&format!("{SELECT} -n 1e12 --repeat"), &["1e12", "see --help"]);
    folder.refuses(&format!("{SELECT} -n 99999999999999999999"), &["99999999999999999999", "see --help"]);
    folder.refuses(&format!("{SELECT} -n 2 --greedy partitioned:18446744073709551615"), &["number of parts"]);
    folder.refuses(&format!("{SELECT} -n 2 --target-sample max-det:18446744073709551615"), &["cannot pick"]);
    folder.refuses(&format!("{SELECT} -n 2 --target-sample 18446744073709551615"), &["cannot pick"]);
    let round = "--picks-per-round 18446744073709551615 --seed 18446744073709551615";
    folder.succeeds(&format!("{SELECT} -n 2 {round} --quiet"));
    folder.write("bare.csv", "x,y,z\n1,0.5,0\n0.2,-1,0.3\n0,0.4,0.6\n");
    folder.succeeds("diagnose bare.csv --targets targets.csv -n 18446744073709551615 --quiet");
    folder.succeeds("explain bare.csv --targets targets.csv --max-rows 18446744073709551615");
}

#[test]
fn more_threads_than_anyone_has_are_refused() {
    let folder = Folder::new();
    for threads in ["0", "1025", "5000", "18446744073709551615"] {
        folder.refuses(&format!("{SELECT} -n 2 --threads {threads}"), &["--threads", "at least 1 and at most 1,024"]);
    }
    folder.succeeds(&format!("{SELECT} -n 2 --threads 1024 --quiet"));
    let help: Vec<String> = folder.succeeds("select --help").split_whitespace().map(str::to_owned).collect();
    assert!(help.join(" ").contains("at most four per core are started"));
}

#[test]
fn target_weights_of_any_size_draw_targets() {
    let folder = Folder::new();
    let select =
        "select pool.csv --targets weighted.csv --target-weight-column w --target-sample 1 --cost-column cost -n 3";
    for (weights, words) in [
        (["1e308", "1e308"], None),
        (["1e-320", "1e-320"], None),
        (["1", "nan"], Some("row 1 of the target weights is NaN")),
        (["inf", "1"], Some("row 0 of the target weights is inf")),
        (["0", "0"], Some("not all zero")),
    ] {
        let [a, b] = weights;
        folder.write("weighted.csv", &format!("x,y,z,w\n0.9,0.1,0.2,{a}\n-0.1,0.8,0.3,{b}\n"));
        match words {
            Some(words) => folder.refuses(&format!("{select} --out picks.csv"), &[words]),
            None => drop(folder.succeeds(&format!("{select} --quiet"))),
        }
    }
}

#[test]
fn embeddings_and_noise_beyond_the_range_are_told_it() {
    let folder = Folder::new();
    let write = |name: &str, factor: f64, rows: usize| {
        let mut text = String::from("x,y,z\n");
        for i in 0..rows {
            let t = i as f64 + 1.0;
            writeln!(text, "{},{},{}", factor * t.sin(), factor * t.cos(), factor * (2.0 * t).sin()).unwrap();
        }
        folder.write(name, &text);
    };
    for (factor, rule) in [(1e80, "vtl"), (1e155, "itl"), (1e-95, "itl"), (1e-200, "cosine")] {
        write("large.csv", factor, 10);
        write("near.csv", factor, 2);
        let select = format!("select large.csv --targets near.csv -n 3 --rule {rule} --out picks.csv");
        folder.refuses(&select, &["of the pool has norm", "between 1e-50 and 1e50", "by one factor"]);
        folder.refuses("diagnose large.csv --targets near.csv", &["of the pool has norm", "between 1e-50 and 1e50"]);
    }
    write("large.csv", 1e160, 10);
    write("near.csv", 1e160, 2);
    let select = "select large.csv --targets near.csv -n 3 --out picks.csv --kernel matern:2.5:1";
    folder.refuses(select, &["of the pool has norm", "between 1e-50 and 1e50"]);
    folder.refuses(&format!("{SELECT} -n 2 --kernel gaussian:1e160"), &["the length scale is 1e160", "between 1e-50"]);
    folder.refuses(
        &format!("{SELECT} -n 2 --noise-std 1e160"),
        &["the noise is 1e160; it must lie between 1e-70 and 1e70"],
    );
    folder.refuses(
        &format!("{SELECT} -n 2 --noise-std 1e12"),
        &["the noise is", "every score would be zero", "lower it"],
    );
    let output = folder.homing(&format!("{SELECT} -n 2 --rule vtl --noise-std 1e12"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && said.contains("warning: the noise is so large compared with the rows"),
        "{said}"
    );
    folder.write("small.csv", "x,y,z\n9e-9,1e-9,2e-9\n");
    let output = folder.homing("select pool.csv --targets small.csv --cost-column cost -n 2");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && said.contains("warning: the targets are so small compared with the noise"),
        "{said}"
    );
    let costs = fs::read_to_string(folder.path("pool.csv")).unwrap().replace("doc-4,books,1,", "doc-4,books,1e-320,");
    folder.write("pool.csv", &costs);
    folder.refuses(&format!("{SELECT} -n 2"), &["row 4 of the costs is 1e-320", "between 1e-50 and 1e50"]);
}

/// Each cause is printed once, wherever it comes from.
#[test]
fn what_is_wrong_is_said_once() {
    let folder = Folder::new();
    let mut text = String::from("x,y,class\n");
    for i in 0..40 {
        let x = if i == 30 { "inf".to_owned() } else { i.to_string() };
        writeln!(text, "{x},{},{}", i % 7, ["up", "down"][i % 2]).unwrap();
    }
    folder.write("data.csv", &text);
    let output = folder.homing("finetune data.csv --label-column class --task up --rounds 1 --run run");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("data.csv cannot be used for training: row 30 of the data set holds"), "{said}");
    assert_eq!(said.matches("remove or repair that row").count(), 1, "{said}");
}
