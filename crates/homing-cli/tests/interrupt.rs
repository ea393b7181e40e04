//! Ctrl-C and SIGTERM, sent to the command as a terminal or a system would.
#![cfg(all(unix, feature = "train"))]

mod folder;

use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use folder::Folder;

const INT: i32 = 2;
const TERM: i32 = 15;

/// A command that has begun its work, in a process group of its own.
fn begun(folder: &Folder, arguments: &str, is_begun: impl Fn() -> bool) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_homing"));
    command.current_dir(folder.path(".")).args(arguments.split_whitespace()).process_group(0);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while !is_begun() {
        assert!(child.try_wait().unwrap().is_none(), "homing {arguments} ended by itself");
        thread::sleep(Duration::from_millis(10));
    }
    child
}

/// Sends a signal to `whom`, as `kill` names it, twice as `timeout` does; what the command said on leaving.
fn told(child: Child, signal: i32, whom: &str) -> String {
    let sent = Command::new("kill").args([&format!("-{signal}"), "--", whom, whom]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.signal(), Some(signal), "{said}");
    said
}

#[test]
fn a_grid_says_how_to_go_on_leaves_no_cell_at_work_and_goes_on() {
    let folder = Folder::new();
    let plans = || -> Vec<PathBuf> {
        let cells = fs::read_dir(folder.path("results/cells")).into_iter().flatten().flatten();
        cells.map(|cell| cell.path().join("plan.json")).filter(|plan| plan.exists()).collect()
    };
    let run = "experiment run digits-quick --seeds 1 --rounds 20 --jobs 2";
    let child = begun(&folder, run, || plans().len() >= 2);
    let alone = child.id().to_string();
    let said = told(child, TERM, &alone);
    assert!(said.ends_with("of 7 cells are done; the same command goes on with the rest\n"), "{said}");
    for plan in plans() {
        File::open(plan.with_file_name("lock")).unwrap().try_lock().expect("nobody is at work");
    }
    let child = begun(&folder, run, || true);
    let group = format!("-{}", child.id());
    thread::sleep(Duration::from_millis(300));
    told(child, INT, &group);
    folder.succeeds(run);
}

#[test]
fn a_run_says_how_to_go_on() {
    let folder = Folder::new();
    let run = |name: &str| {
        let has_begun = || fs::read_dir(folder.path(name)).is_ok_and(|entries| entries.count() > 1);
        begun(&folder, &format!("finetune digits --task 3,6,9 --rounds 500 --run {name}"), has_begun)
    };
    let child = run("heard");
    let alone = child.id().to_string();
    let said = told(child, INT, &alone);
    assert!(said.ends_with("interrupted: `homing finetune --resume 'heard'` goes on\n"), "{said}");
    // Where nobody listens any more, it ends all the same.
    let mut child = run("unheard");
    drop(child.stderr.take());
    let alone = child.id().to_string();
    told(child, TERM, &alone);
}
