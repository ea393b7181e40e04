//! Folders of runs: killed processes, simultaneous processes, and changed files.
#![cfg(all(unix, feature = "train"))]

mod bars;
#[path = "../../homing-train/tests/files/mod.rs"]
mod files;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use bars::{bars, ended, finetune, homing, refused, said};
use files::files;
use serde_json::{Value, json};

/// Returns a number from the environment, for longer tests on request.
fn times(variable: &str, few: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(few)
}

/// Returns pseudo-random numbers that are the same every time.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

fn resume(run: &Path) -> Command {
    let mut command = homing();
    command.arg("finetune").arg("--resume").arg(run).arg("--quiet");
    command
}

/// `HOMING_KILLS` sets how often; the default is 40 times.
#[test]
fn a_run_that_is_killed_at_any_moment_ends_with_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let data = bars(folder.path(), 4);
    let start = |run: &Path| finetune(&data, run, &["--quiet", "--against", "random", "--seeds", "2"]);
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    let since = Instant::now();
    let output = start(&whole).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let (expected, long) = (files(&whole), since.elapsed().as_millis() as usize);
    let (mut dice, mut left) = (Dice(1), times("HOMING_KILLS", 40));
    while left > 0 {
        let run = if broken.join("plan.json").exists() { resume(&broken) } else { start(&broken) };
        let mut child = { run }.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(dice.throw(long / 2 + 20) as u64));
        if child.try_wait().unwrap().is_some() {
            assert_eq!(files(&broken), expected, "{left} kills before the last");
            fs::remove_dir_all(&broken).unwrap();
            continue;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        left -= 1;
    }
    let run = if broken.join("plan.json").exists() { resume(&broken) } else { start(&broken) };
    let output = { run }.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(files(&broken), expected);
}

/// `HOMING_FAULT` lets one step of writing fail, or ends the process before it.
#[test]
fn a_run_whose_disk_fails_at_any_step_can_be_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let data = bars(folder.path(), 4);
    let start = |run: &Path| finetune(&data, run, &["--quiet", "--against", "none", "--rounds", "2"]);
    let whole = folder.path().join("whole");
    assert!(start(&whole).status().unwrap().success());
    let expected = files(&whole);
    let mut tried = 0;
    for kind in ["kill", "fail", "full"] {
        for step in (1..).step_by(times("HOMING_STRIDE", 5)) {
            let run = folder.path().join(format!("{kind}-{step}"));
            let output = start(&run).env("HOMING_FAULT", format!("{kind}:{step}")).output().unwrap();
            if output.status.success() {
                assert_eq!(files(&run), expected);
                break;
            }
            tried += 1;
            if kind != "kill" {
                assert_eq!(output.status.code(), Some(2), "{kind}:{step}: {}", said(&output));
            }
            let again = if run.join("plan.json").exists() { resume(&run) } else { start(&run) };
            let output = { again }.output().unwrap();
            assert!(output.status.success(), "{kind}:{step}: {}", said(&output));
            assert_eq!(files(&run), expected, "{kind}:{step}");
        }
    }
    assert!(tried > 20, "{tried} steps");
}

#[test]
fn of_processes_that_start_the_same_run_at_once_one_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    let data = bars(folder.path(), 4);
    for race in 0..times("HOMING_RACES", 8) {
        let run = folder.path().join(format!("run-{race}"));
        let rules = ["itl", "ctl", "random", "cosine"];
        let start = |rule: &&str| {
            let mut command = finetune(&data, &run, &["--rounds", "1", "--against", "none", "--rule", rule, "--quiet"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let children: Vec<_> = rules.iter().map(start).collect();
        let outputs: Vec<Output> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        let won: Vec<&str> =
            rules.into_iter().zip(&outputs).filter(|(_, o)| o.status.success()).map(|(r, _)| r).collect();
        assert_eq!(won.len(), 1, "{:?}", outputs.iter().map(said).collect::<Vec<_>>());
        for lost in outputs.iter().filter(|output| !output.status.success()) {
            let text = said(lost);
            assert!(text.contains("another process is using") || text.contains("already contains a run"), "{text}");
        }
        // The folder has the results of this run only.
        let results = fs::read_to_string(run.join("results.csv")).unwrap();
        assert!(results.lines().skip(1).all(|line| line.starts_with(&format!("{},", won[0]))), "{results}");
        let names: Vec<String> =
            fs::read_dir(&run).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(names.len(), 6, "{names:?}");
    }
}

#[test]
fn a_run_that_fails_before_its_first_round_is_done_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // Numbers so large that the network's outputs are not finite, which shows when the first batch is chosen.
    let line = |row: usize| format!("{}e200,{},{}\n", row + 1, row % 3, ["a", "b"][row % 2]);
    let pool = folder.path().join("pool.csv");
    fs::write(&pool, format!("x,y,label\n{}", (0..40).map(line).collect::<Vec<_>>().concat())).unwrap();
    let mut command = homing();
    command.arg("finetune").arg(&pool).args(["--task", "a,b", "--epochs", "1", "--quiet", "--run"]);
    let output = command.arg(folder.path().join("new/run")).output().unwrap();
    refused(&output, &["the network computes embeddings that are not finite; use smaller numbers"]);
    assert!(!folder.path().join("new").exists());
    // Steps so large that the weights are not finite after the first round.
    let data = bars(folder.path(), 4);
    let run = folder.path().join("empty");
    fs::create_dir(&run).unwrap();
    let output = finetune(&data, &run, &["--learning-rate", "1e30", "--quiet"]).output().unwrap();
    refused(&output, &["the network diverged in round 1", "start a run with a smaller --learning-rate"]);
    assert_eq!(fs::read_dir(&run).unwrap().count(), 0);
}

/// A finished run, whose files tests change.
struct Done {
    folder: tempfile::TempDir,
    run: PathBuf,
}

impl Done {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = bars(folder.path(), 4);
        let run = folder.path().join("run");
        let output = finetune(&data, &run, &["--against", "none", "--rounds", "3", "--quiet"]).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        Self { folder, run }
    }

    /// Returns the output of a resumed run after one value in one of its files was changed.
    fn with(&self, file: &str, pointer: &str, value: &Value) -> Output {
        let path = self.run.join(file);
        let good = fs::read(&path).unwrap();
        let mut json: Value = serde_json::from_slice(&good).unwrap();
        *json.pointer_mut(pointer).unwrap() = value.clone();
        fs::write(&path, json.to_string()).unwrap();
        let output = resume(&self.run).output().unwrap();
        fs::write(&path, good).unwrap();
        output
    }
}

#[test]
fn a_record_that_was_changed_is_refused() {
    let done = Done::new();
    let before = files(&done.run);
    for (pointer, value, word) in [
        ("/round", json!(1), "it claims to be of round 1"),
        ("/round", json!(1_000_000_000_000_000_000_u64), "it claims to be of round 1000000000000000000"),
        ("/round", json!(-1), "it is not a file of a run"),
        ("/picks/0/row", json!(120), "row 120 was picked, but it cannot be chosen"),
        ("/picks/0/row", json!(u64::MAX), "but it cannot be chosen"),
        ("/picks/0/label", json!(4), "has the class 4, but there are 4 classes"),
        ("/picks/0/label", json!(u32::MAX), "has the class 4294967295"),
        ("/picks", json!([]), "it has 0 picks, but a round has 1 to 2"),
        ("/learned", json!(77), "learned from 77 examples"),
        ("/accuracy", json!(1.5), "its accuracy is not a share"),
        ("/accuracy", Value::Null, "its accuracy is not a share"),
        ("/curve/kept", json!(3), "the network of epoch 3 was kept, but there are 2 epochs"),
    ] {
        let output = done.with("itl-3/rounds/0002.json", pointer, &value);
        refused(&output, &[word, "0002.json", "restore the files"]);
    }
    let first: Value = serde_json::from_slice(&fs::read(done.run.join("itl-3/rounds/0001.json")).unwrap()).unwrap();
    let output = done.with("itl-3/rounds/0002.json", "/picks/1/row", &first["picks"][0]["row"]);
    refused(&output, &["was picked twice"]);
    // A class that differs from that of the data.
    let label = first["picks"][0]["label"].as_u64().unwrap();
    let output = done.with("itl-3/rounds/0001.json", "/picks/0/label", &json!(1 - label.min(1)));
    refused(&output, &["itl-3"]);
    // A batch that still waits for labels.
    let row = first["picks"][0]["row"].as_u64().unwrap();
    for (pending, word) in [
        (json!({"round": 4, "picks": [], "answered": 0}), "0 picks"),
        (json!({"round": 9, "picks": first["picks"], "answered": 0}), "it is of round 9, but round 4 is the next"),
        (json!({"round": 4, "picks": first["picks"], "answered": 0}), &*format!("row {row} was picked twice")),
    ] {
        fs::write(done.run.join("itl-3/pending.json"), pending.to_string()).unwrap();
        refused(&resume(&done.run).output().unwrap(), &[word, "pending.json"]);
    }
    fs::remove_file(done.run.join("itl-3/pending.json")).unwrap();
    assert_eq!(files(&done.run), before);
}

#[test]
fn a_plan_that_was_changed_is_looked_at_like_one_that_is_typed() {
    let done = Done::new();
    let outside = done.folder.path().join("x-3");
    for (pointer, value, word) in [
        ("/version", json!("0.1.0"), "was started by version 0.1.0 of Homing"),
        ("/run/rule", json!("../../x"), "there is no rule '../../x'"),
        ("/run/against", json!(["../x"]), "'../x'"),
        ("/run/choosing/noise_std", json!(0), "the noise is 0"),
        ("/run/choosing/rounds", json!(0), "the number of rounds is 0; give --rounds"),
        ("/run/choosing/rounds", json!(2), "the plan has 2 rounds"),
        ("/run/choosing/candidates", json!("x"), "there is no source of candidates"),
        ("/run/labels", json!({"file": ""}), "the path of the labels is empty; name a file as --labels"),
        ("/run/seeds", json!(u64::MAX), "the number of seeds is 18446744073709551615"),
        ("/run/seed", json!(u64::MAX), "exceed the largest seed"),
        ("/run/task/thin_pool", json!([["0", 7.0]]), "the share of \"0\" to leave out is 7"),
        ("/run/task/pool_count", json!(0), "the number of rows of the pool is 0; give --pool-count"),
        ("/run/network/name", json!("mlp:99999999999"), "GiB of memory"),
        ("/run/network/learning_rate", json!(-1), "the learning rate is -1; give --learning-rate"),
        ("/run/data/path", json!(""), "the path of the data is empty; name a file as DATA"),
        ("/run", json!(7), "it is not a file of a run"),
    ] {
        let output = done.with("plan.json", pointer, &value);
        refused(&output, &[word]);
        assert!(!outside.exists());
    }
    let output = done.with("plan.json", "/run/choosing/noise_std", &json!(0));
    refused(&output, &["cannot be continued, so start a run in another folder"]);
}

#[test]
fn a_run_writes_through_no_link() {
    let done = Done::new();
    let victim = done.folder.path().join("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("precious"), "mine").unwrap();
    let link = |from: &str, to: &Path| {
        let from = done.run.join(from);
        let aside = done.folder.path().join("aside");
        fs::rename(&from, &aside).unwrap();
        std::os::unix::fs::symlink(to, &from).unwrap();
        let output = resume(&done.run).output().unwrap();
        fs::remove_file(&from).unwrap();
        fs::rename(&aside, &from).unwrap();
        output
    };
    refused(&link("results.csv", &victim.join("precious")), &["results.csv is not a regular file"]);
    refused(&link("lock", &victim.join("precious")), &["lock is not a regular file"]);
    refused(&link("itl-3", &victim), &["it is a symbolic link"]);
    refused(&link("itl-3/rounds", &victim), &["it is a symbolic link"]);
    refused(&link("itl-3/model.safetensors", &victim.join("precious")), &["it is a symbolic link"]);
    assert_eq!(fs::read(victim.join("precious")).unwrap(), b"mine");
    assert_eq!(fs::read_dir(&victim).unwrap().count(), 1);
}

/// Changes values, bytes and lengths anywhere in a run; `HOMING_TRIES` sets how many, and the default is 60.
#[test]
fn whatever_is_changed_in_a_run_it_goes_on_or_says_why_not() {
    let done = Done::new();
    let names = ["plan.json", "itl-3/rounds/0001.json", "itl-3/rounds/0003.json", "itl-3/model.safetensors"];
    let wild = [
        "-1",
        "0",
        "1",
        "7",
        "119",
        "120",
        "4294967296",
        "18446744073709551615",
        "1e400",
        "1e-320",
        "null",
        "[]",
        "{}",
        "\"\"",
        "\"../../x\"",
        "\"\\u0000\"",
        "true",
    ];
    let mut dice = Dice(7);
    let good_run = done.folder.path().join("good");
    copy(&done.run, &good_run);
    for _ in 0..times("HOMING_TRIES", 60) {
        let path = done.run.join(names[dice.throw(names.len())]);
        let good = fs::read(&path).unwrap();
        let mut bad = good.clone();
        match dice.throw(3) {
            0 => bad.truncate(dice.throw(good.len())),
            1 => bad[dice.throw(good.len())] ^= 1 << dice.throw(8),
            _ => {
                // One value replaces another.
                let text = String::from_utf8_lossy(&good).into_owned();
                let values: Vec<usize> = text.match_indices(": ").map(|(at, _)| at + 2).collect();
                if let Some(&at) = values.get(dice.throw(values.len().max(1))) {
                    let end = at + text[at..].find([',', '\n']).unwrap_or(0);
                    bad = format!("{}{}{}", &text[..at], wild[dice.throw(wild.len())], &text[end..]).into_bytes();
                }
            }
        }
        fs::write(&path, &bad).unwrap();
        let output = ended(&mut resume(&done.run));
        let text = said(&output);
        assert!(matches!(output.status.code(), Some(0 | 2)), "{text}\n{}", String::from_utf8_lossy(&bad));
        assert!(output.status.success() || text.trim_end().lines().count() == 1, "{text}");
        fs::remove_dir_all(&done.run).unwrap();
        copy(&good_run, &done.run);
    }
    assert!(resume(&done.run).status().unwrap().success());
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}
