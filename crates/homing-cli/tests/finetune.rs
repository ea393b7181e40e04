//! Runs `homing finetune` and `homing embed` as processes.
#![cfg(feature = "train")]

mod bars;
#[path = "../../homing-train/tests/files/mod.rs"]
mod files;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use bars::{bars, finetune, homing, said};
use files::files;

#[test]
fn a_run_is_a_folder_with_plan_rounds_networks_results_and_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let data = bars(folder.path(), 4);
    let run = folder.path().join("run");
    // A process that is killed before its plan is written leaves this.
    fs::create_dir(&run).unwrap();
    fs::write(run.join(".homing-h4Lf00"), "{").unwrap();
    let output = finetune(&data, &run, &["--against", "random,ctl", "--seeds", "2"]).output().unwrap();
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("picks from the task") && text.contains("over 2 seeds"), "{text}");
    // If standard error is not a terminal, progress is printed as lines from time to time.
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("rounds: ")).collect();
    assert!((2..=11).contains(&lines.len()) && lines.last().unwrap().starts_with("rounds: 30 of 30 · "), "{text}");
    let names: Vec<String> = files(&run).into_keys().collect();
    for wanted in ["plan.json", "report.html", "results.csv", "itl-3/model.safetensors", "random-4/rounds/0005.json"] {
        assert!(names.iter().any(|name| name == wanted), "{wanted} in {names:?}");
    }
    assert!(names.iter().all(|name| !name.starts_with('.')), "{names:?}");
    let results = fs::read_to_string(run.join("results.csv")).unwrap();
    assert_eq!(results.lines().count(), 1 + 3 * 2 * 5);
    assert!(results.starts_with("rule,seed,round,picks,accuracy,task_share,information,mean_var\n"), "{results}");
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("Learning curves") && page.contains("png;base64,"));
    // The same folder is refused the second time, and stays unchanged.
    let before = files(&run);
    let output = finetune(&data, &run, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("continue it with `--resume"), "{}", said(&output));
    assert_eq!(files(&run), before);
}

#[test]
fn a_person_labels_may_skip_and_may_go_away() {
    let folder = tempfile::tempdir().unwrap();
    let data = bars(folder.path(), 4);
    let run = folder.path().join("run");
    let ask = |resume: bool, answers: &str| {
        let mut command = if resume { homing() } else { finetune(&data, &run, &["--ask"]) };
        if resume {
            command.arg("finetune").arg("--resume").arg(&run);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(answers.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let output = ask(false, "1\nviolet\n");
    let text = said(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("there is no class \"violet\"") && text.contains("--resume"), "{text}");
    assert!(
        text.contains("label (0, 1; s skip an example of any other class, u undo)") && !text.contains("rounds: "),
        "{text}"
    );
    // One answer is kept: nine are left, and two more take the place of those that are skipped.
    let output = ask(true, "0\ns\n1\n2\n3\n0\n1\n2\ns\n3\n0\n");
    assert!(output.status.success(), "{}", said(&output));
    let first: serde_json::Value =
        serde_json::from_slice(&fs::read(run.join("itl-3/rounds/0001.json")).unwrap()).unwrap();
    assert_eq!((&first["picks"][0]["label"], &first["picks"][1]["label"]), (&1.into(), &0.into()));
    let second: serde_json::Value =
        serde_json::from_slice(&fs::read(run.join("itl-3/rounds/0002.json")).unwrap()).unwrap();
    assert!(second["picks"][0]["label"].is_null());
}

#[test]
fn labels_come_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let data = bars(folder.path(), 4);
    let file = folder.path().join("labels.csv");
    let lines: Vec<String> = (0..120).map(|row| format!("{row},{}\n", (row + 1) % 4)).collect();
    fs::write(&file, format!("index,label\n{}", lines.concat())).unwrap();
    let run = folder.path().join("run");
    let output = finetune(&data, &run, &["--labels", file.to_str().unwrap(), "--against", "none"]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let round: serde_json::Value =
        serde_json::from_slice(&fs::read(run.join("itl-3/rounds/0001.json")).unwrap()).unwrap();
    let pick = &round["picks"][0];
    assert_eq!(pick["label"].as_u64().unwrap(), (pick["row"].as_u64().unwrap() + 1) % 4);
}

#[test]
fn a_trained_network_embeds_a_pool_that_can_be_chosen_from() {
    let folder = tempfile::tempdir().unwrap();
    let data = bars(folder.path(), 4);
    let run = folder.path().join("run");
    assert!(finetune(&data, &run, &["--against", "none"]).output().unwrap().status.success());
    let weights = run.join("itl-3/model.safetensors");
    let embed = |part: &str, kind: &str, out: &Path| {
        let mut command = homing();
        command.arg("embed").arg(&data).arg("--weights").arg(&weights);
        command.args(["--part", part, "--embedding", kind]).arg("--out").arg(out).output().unwrap()
    };
    let (pool, targets) = (folder.path().join("pool.safetensors"), folder.path().join("targets.npy"));
    for (part, kind, out) in [("train", "last-layer", &pool), ("test", "last-layer", &targets)] {
        let output = embed(part, kind, out);
        assert!(output.status.success(), "{}", said(&output));
    }
    let mut select = homing();
    select.arg("select").arg(&pool).arg("--targets").arg(&targets).args(["-n", "5"]);
    let output = select.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    // The extension is checked before any work.
    let output = homing().args(["embed", "nowhere", "--weights", "nowhere", "--out", "pool.txt"]).output().unwrap();
    assert!(said(&output).contains("must end in .safetensors or .npy"), "{}", said(&output));
    let gradients = folder.path().join("gradients.npy");
    let output = embed("test", "network-gradient:32", &gradients);
    assert!(
        said(&output).contains("network-gradient:32 embeddings of 90 examples, 32 numbers each"),
        "{}",
        said(&output)
    );
}

/// Returns the one sentence with which a run over `data` is refused. No folder may be left behind.
#[track_caller]
fn refusal(data: &Path, more: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("refused");
    let output = finetune(data, &run, more).output().unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(2), "{more:?}: {text}");
    assert!(!run.exists(), "{more:?} left a folder behind");
    assert_eq!(text.trim_end().lines().count(), 1, "{more:?}: {text}");
    text
}

/// Expects that a run over `data` with these options is refused with these words.
#[track_caller]
fn refuses(data: &Path, more: &[&str], words: &str) {
    let text = refusal(data, more);
    assert!(text.contains(words), "{more:?}: no {words:?} in: {text}");
}

#[test]
fn networks_images_and_seeds_too_large_for_memory_are_refused_and_do_not_abort() {
    let folder = tempfile::tempdir().unwrap();
    let data = &bars(folder.path(), 4);
    refuses(data, &["--model", "mlp:1000000000"], "GiB of memory, more than is available");
    refuses(data, &["--model", "mlp:18446744073709551615,3"], "more memory than any machine has");
    refuses(data, &["--size", "4000"], "GiB of memory, more than is available");
    refuses(Path::new("digits"), &["--size", "4000"], "GiB of memory, more than is available");
    refuses(data, &["--size", "5000"], "give a size from 1 to 4096");
    refuses(data, &["--seeds", "1000000000"], "give --seeds a number from 1 to 10000");
    refuses(data, &["--rounds", "18446744073709551615"], "give --rounds a number from 1 to 1000000");
}

#[test]
fn a_refused_noise_leaves_no_folder_that_can_be_neither_used_nor_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let data = &bars(folder.path(), 4);
    for (noise, shown) in [("0", "0.0"), ("1e-80", "1e-80"), ("1e80", "1e80"), ("1e160", "1e160"), ("nan", "NaN")] {
        let words = format!("the noise is {shown}; give --noise-std a number from 1e-70 to 1e70, or leave it out");
        refuses(data, &["--noise-std", noise], &words);
    }
}

#[test]
fn an_empty_pool_and_overflowing_seeds_do_not_end_in_means_over_no_seeds() {
    let folder = tempfile::tempdir().unwrap();
    let data = &bars(folder.path(), 4);
    refuses(data, &["--pool-count", "0"], "the number of rows of the pool is 0; give --pool-count at least 1");
    refuses(data, &["--thin-pool", "0:1,1:1,2:1,3:1"], "no row of the pool is left");
    refuses(data, &["--seeds", "0"], "give --seeds a number from 1 to 10000");
    refuses(data, &["--seed", "4294967295", "--seeds", "2"], "exceed the largest seed, 4294967295");
    refuses(data, &["--seed", "18446744073709551615"], "exceed the largest seed, 4294967295");
}

#[test]
fn bad_input_gets_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let data = &bars(folder.path(), 4);
    let refused = refusal;
    let missing = refused(&data.join("missing"), &[]);
    assert!(missing.contains("does not exist") && missing.contains("`homing data fetch`"), "{missing}");
    assert!(refused(&data.join("mnist"), &[]).contains("`homing data fetch mnist`"));
    assert!(refused(data, &["--task", "1"]).contains("name two or more with --task"));
    assert!(refused(data, &["--task", "7"]).contains("there is no class \"7\"; the data have 0, 1, 2, 3"));
    assert!(refused(data, &["--task", "3, 3"]).contains("\"3\" is the only class"));
    assert!(
        refused(data, &["--rounds", "0"])
            .contains("the number of rounds is 0; give --rounds a number from 1 to 1000000")
    );
    assert!(refused(data, &["--learning-rate", "nan"]).contains("learning rate"));
    assert!(refused(data, &["--condition", "--sigma", "laplace-full"]).contains("leave --condition out"));
    assert!(refused(data, &["--rule", "itll"]).contains("itl"));
    assert!(refused(data, &["--model", "resnet"]).contains("there is no network"));
    assert!(refused(data, &["--device", "tpu"]).contains("there is no device"));
    assert!(refused(data, &["--embedding", "middle"]).contains("use last-layer"));
    assert!(refused(data, &["--sigma", "laplace"]).contains("use identity"));
    assert!(refused(data, &["--candidates", "few"]).contains("sample:1000"));
    assert!(
        refused(data, &["--target-count", "500"])
            .contains("the number of targets, 500, is not between 1 and 22: 23 held-out")
    );
    assert!(
        refused(data, &["--target-count", "0"]).contains("the number of targets is 0; give --target-count at least 1")
    );
    assert!(refused(data, &["--labels", "nowhere.csv"]).contains("nowhere.csv"));
    assert!(
        refused(data, &["--picks-per-round", "0"])
            .contains("the number of picks per round is 0; give --picks-per-round at least 1")
    );
    assert!(refused(data, &["--size", "0"]).contains("the size of images is 0; give --size at least 1"));
    let digits = Path::new("digits");
    assert!(refused(digits, &["--label-column", "x"]).contains("digits holds images, which have no column of labels"));
    assert!(
        refused(data, &["--task", "0,,1"])
            .contains("a class of the task has no name; separate the classes of --task with single commas")
    );
    for option in ["--targets", "--weights", "--labels"] {
        assert!(refused(data, &[option, ""]).contains(&format!("a value is required for '{option}")));
    }
    let output = homing().args(["finetune", "--resume", "nowhere"]).output().unwrap();
    assert!(said(&output).contains("nowhere does not contain a run that can be resumed"), "{}", said(&output));
    let output = homing().args(["finetune", "--resume", "run", "--rule", "ctl"]).output().unwrap();
    assert!(said(&output).contains("--resume") && said(&output).contains("cannot be used"), "{}", said(&output));
}

/// Returns rows of two numbers around two points, with or without a column of labels.
fn table(rows: usize, labelled: bool) -> String {
    let line = |row: usize| {
        let (t, side) = (row as f64, if row.is_multiple_of(2) { 1.0 } else { -1.0 });
        let label = if labelled { [",even", ",odd"][row % 2] } else { "" };
        format!("r{row},{},{}{label}\n", side + 0.3 * t.sin(), 0.3 * (1.7 * t).cos() - side)
    };
    let header = if labelled { "id,x,y,kind\n" } else { "id,x,y\n" };
    (0..rows).map(line).fold(header.to_owned(), |text, line| text + &line)
}

#[test]
fn a_pool_without_labels_is_labelled_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("pool.csv"), table(40, false)).unwrap();
    fs::write(path("targets.csv"), table(6, false)).unwrap();
    let label = |row: usize| format!("r{row},{}\n", ["even", "odd"][row % 2]);
    let labels = |rows: &[usize]| format!("id,label\n{}", rows.iter().map(|&row| label(row)).collect::<String>());
    fs::write(path("labels.csv"), labels(&[0])).unwrap();
    let command = |arguments: &[&str]| homing().arg("finetune").args(arguments).output().unwrap();
    let run = path("run");
    let output = command(&[
        &path("pool.csv"),
        "--targets",
        &path("targets.csv"),
        "--labels",
        &path("labels.csv"),
        "--task",
        "even, odd",
        "--rounds",
        "4",
        "--epochs",
        "20",
        "--against",
        "none",
        "--run",
        &run,
    ]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("pick has no label in") && said(&output).contains("--resume"), "{}", said(&output));
    fs::write(path("labels.csv"), labels(&(0..40).collect::<Vec<_>>())).unwrap();
    let output = command(&["--resume", &run]);
    assert!(output.status.success(), "{}", said(&output));
    let picks = fs::read_to_string(path("run/picks.csv")).unwrap();
    assert!(
        picks.starts_with("rule,seed,round,rank,index,id,label,score,information\nitl,0,1,1,")
            && picks.lines().count() == 5,
        "{picks}"
    );
    assert!(picks.lines().skip(1).all(|line| line.contains(",even,") || line.contains(",odd,")), "{picks}");

    // Without the third record, the fourth would be based on another network.
    fs::remove_file(path("run/itl-0/rounds/0003.json")).unwrap();
    assert!(said(&command(&["--resume", &run])).contains("the record of round 3 is missing"));
}

#[test]
fn targets_need_no_labels_and_one_process_is_at_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("pool.csv"), table(60, true)).unwrap();
    fs::write(path("targets.csv"), table(6, false)).unwrap();
    let (pool, run) = (path("pool.csv"), path("run"));
    let common = [&pool, "--label-column", "kind", "--targets", &path("targets.csv"), "--rounds", "2", "--run", &run];
    let output = homing().arg("finetune").args(common).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let lock = fs::File::open(path("run/lock")).unwrap();
    lock.lock().unwrap();
    let output = homing().args(["finetune", "--resume", &run]).output().unwrap();
    assert!(said(&output).contains("another process is using"), "{}", said(&output));
    drop(lock);
    // Data with other labels are other data.
    fs::write(&pool, table(60, true).replacen("even", "odd", 1)).unwrap();
    let output = homing().args(["finetune", "--resume", &run]).output().unwrap();
    assert!(said(&output).contains("have changed since the run started"), "{}", said(&output));
}

/// Random picks do not depend on the targets. So where the tests are the same, the accuracies are too.
#[test]
fn with_a_reserve_all_numbers_of_targets_are_tested_on_the_same_examples() {
    let folder = tempfile::tempdir().unwrap();
    let accuracies = |name: &str, options: &[&str]| {
        let run = folder.path().join(name);
        let usual = ["finetune", "digits", "--task", "3,6,9", "--rounds", "3", "--epochs", "3", "--rule", "random"];
        let output =
            homing().args(usual).args(["--against", "none", "--quiet", "--run"]).arg(&run).args(options).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", said(&output));
        let results = fs::read_to_string(run.join("results.csv")).unwrap();
        results.lines().skip(1).map(|row| row.split(',').nth(4).unwrap().to_owned()).collect::<Vec<_>>()
    };
    let few = accuracies("few", &["--target-count", "5", "--target-reserve", "30"]);
    assert_eq!(accuracies("many", &["--target-count", "30", "--target-reserve", "30"]), few);
    assert_eq!(accuracies("many-alone", &["--target-count", "30"]), few);
    assert_ne!(accuracies("few-alone", &["--target-count", "5"]), few);
    let output = homing()
        .args([
            "finetune",
            "digits",
            "--task",
            "3,6,9",
            "--target-count",
            "9",
            "--target-reserve",
            "8",
            "--run",
            "none",
        ])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = said(&output);
    assert!(text.contains("8 held-out examples") && text.contains("choose another --target-reserve"), "{text}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_accuracy_may_be_that_of_the_examples_that_choose_the_epoch() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let output = homing()
        .args(["finetune", "digits", "--task", "3,6,9", "--rounds", "4", "--picks-per-round", "5", "--test-on-valid"])
        .args(["--keep-last-best", "--against", "none", "--quiet", "--run"])
        .arg(&run)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    for round in 1..=4 {
        let record = fs::read(run.join(format!("itl-0/rounds/{round:04}.json"))).unwrap();
        let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
        let kept = record["curve"]["kept"].as_u64().unwrap() as usize;
        let epochs = record["curve"]["epochs"].as_array().unwrap();
        assert_eq!(record["accuracy"], epochs[kept - 1]["valid"]);
        let best = epochs.iter().map(|epoch| epoch["valid"].as_f64().unwrap()).fold(0.0, f64::max);
        assert_eq!(record["accuracy"].as_f64(), Some(best));
    }
    let refused = homing()
        .args([
            "finetune",
            "digits",
            "--task",
            "3,6,9",
            "--valid-count",
            "0",
            "--test-on-valid",
            "--epochs",
            "1",
            "--run",
        ])
        .arg(folder.path().join("none"))
        .output()
        .unwrap();
    assert!(said(&refused).contains("give --valid-count 1 or more"), "{}", said(&refused));
}
