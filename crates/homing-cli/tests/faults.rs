//! Full disks and killed processes: whichever step of writing fails, a file is the old one or the new one.
//!
//! `HOMING_FAULT` names the step (see `homing_pool::disk`), and the tests go through all of them.

mod folder;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use folder::Folder;

/// No command needs more steps; one that does would never end.
const MOST_STEPS: usize = 2000;

fn run(folder: &Folder, arguments: &str, fault: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_homing"));
    command.current_dir(folder.path(".")).env("HOMING_FAULT", fault).args(arguments.split_whitespace());
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Returns every file below a folder with its bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            found.extend(files(&entry.path()).into_iter().map(|(path, bytes)| (format!("{name}/{path}"), bytes)));
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// Runs a command with a fault at its first step, its second step, and so on, until no fault occurs; returns the number of faults.
fn each_step(kind: &str, mut attempt: impl FnMut(&str) -> bool) -> usize {
    (1..MOST_STEPS).find(|step| attempt(&format!("{kind}:{step}"))).expect("an end to the steps") - 1
}

/// The command writes `outputs`, which hold "old" before. Afterwards they hold that or the complete new file, whatever fails.
fn outputs_are_old_or_new(arguments: &str, outputs: &[&str]) {
    let folder = Folder::new();
    let inputs = files(&folder.path("."));
    let reset = || outputs.iter().for_each(|output| folder.write(output, "old"));
    reset();
    folder.succeeds(arguments);
    let new = files(&folder.path("."));
    for kind in ["fail", "full", "kill"] {
        let steps = each_step(kind, |fault| {
            reset();
            let output = run(&folder, arguments, fault);
            let now = files(&folder.path("."));
            for (name, bytes) in &inputs {
                assert!(now[name] == *bytes, "{arguments} with {fault} changed {name}");
            }
            for name in outputs {
                // A page says how long the work took, so its bytes vary; its end shows that it is complete.
                let page = now[*name].trim_ascii_end().ends_with(b"</html>");
                let whole = now[*name] == b"old" || now[*name] == new[*name] || page;
                assert!(whole, "{arguments} with {fault} left half of {name}");
            }
            match output.status.code() {
                Some(0) => {}
                Some(2) => {
                    let text = said(&output);
                    let last = text.trim_end().lines().last().unwrap_or_default();
                    assert!(last.starts_with("error: ") && last.contains("cannot be written"), "{fault}: {text}");
                }
                code => assert!(kind == "kill" && code.is_none(), "{fault}: {code:?}, {}", said(&output)),
            }
            if kind != "kill" {
                assert_eq!(now.len(), new.len(), "{arguments} with {fault} left {:?}", now.keys());
            }
            for name in now.keys().filter(|name| !new.contains_key(*name)) {
                assert!(name.starts_with(".homing-"), "{arguments} with {fault} left {name}");
                fs::remove_file(folder.path(name)).unwrap();
            }
            output.status.success()
        });
        assert!(steps >= 4 * outputs.len(), "{arguments} met {steps} faults only");
    }
}

const SELECT: &str = "select pool.csv --targets targets.csv --cost-column cost --group-column source -n 6 -q";

#[test]
fn picks_are_the_old_file_or_the_new_one_whatever_step_of_writing_fails() {
    for extension in ["csv", "jsonl", "parquet", "npy"] {
        outputs_are_old_or_new(&format!("{SELECT} --out picks.{extension}"), &[&format!("picks.{extension}")]);
    }
}

#[test]
fn a_report_that_fails_does_not_lose_the_picks() {
    outputs_are_old_or_new(&format!("{SELECT} --out picks.csv --report page.html"), &["picks.csv", "page.html"]);
    let folder = Folder::new();
    let arguments = format!("{SELECT} --out picks.csv --report page.html");
    let steps = each_step("fail", |fault| run(&folder, &arguments, fault).status.success());
    // The last step belongs to the report: the picks are written by then, and the sentence says so.
    fs::remove_file(folder.path("picks.csv")).unwrap();
    let output = run(&folder, &arguments, &format!("fail:{steps}"));
    assert_eq!(fs::read_to_string(folder.path("picks.csv")).unwrap().lines().count(), 7);
    assert!(said(&output).contains("the picks are in picks.csv, but the report failed"), "{}", said(&output));
}

#[test]
fn a_diagnosis_is_the_old_file_or_the_new_one_whatever_step_of_writing_fails() {
    outputs_are_old_or_new(
        "diagnose pool.csv --targets targets.csv --values cost -n 3 -q --report page.html",
        &["page.html"],
    );
}
