//! Ctrl-C and SIGTERM, sent as a terminal or a system sends them.
#![cfg(all(unix, feature = "train"))]

mod folder;

use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use folder::Folder;

const INT: i32 = 2;
const KILL: i32 = 9;
const TERM: i32 = 15;

/// Starts a command in its own process group, and waits until it works.
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

/// Sends a signal to `whom` (as `kill` names it), twice like `timeout`; returns what the command printed before it ended.
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
    assert!(said.ends_with("of 7 cells are done; the same command continues with the rest\n"), "{said}");
    for plan in plans() {
        File::open(plan.with_file_name("lock")).unwrap().try_lock().expect("nobody is at work");
    }
    let child = begun(&folder, run, || true);
    let group = format!("-{}", child.id());
    thread::sleep(Duration::from_millis(300));
    told(child, INT, &group);
    folder.succeeds(run);
}

#[cfg(target_os = "linux")]
#[test]
fn the_cells_of_an_experiment_that_is_killed_end_and_the_same_command_goes_on() {
    let folder = Folder::new();
    let cells = || fs::read_dir(folder.path("results/cells")).into_iter().flatten().flatten().map(|cell| cell.path());
    let plans = || cells().map(|cell| cell.join("plan.json")).filter(|plan| plan.exists()).count();
    let run = "experiment run digits-quick --seeds 1 --rounds 30 --jobs 2 --quiet";
    for begun_cells in [1, 2] {
        let mut child = begun(&folder, run, || plans() >= begun_cells);
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(KILL));
        // Run again at once: processes of cells that are still ending must not interfere.
        let mut next = begun(&folder, run, || plans() > begun_cells);
        let at_work = at_work(&folder);
        assert!(at_work <= 3, "two cells and the experiment, not {at_work}");
        next.kill().unwrap();
        next.wait().unwrap();
    }
    let since = Instant::now();
    while at_work(&folder) > 0 {
        assert!(since.elapsed() < Duration::from_secs(5), "a cell has outlived its experiment");
        thread::sleep(Duration::from_millis(10));
    }
    folder.succeeds(run);
    let untimed = |folder: &Folder| {
        let csv = fs::read_to_string(folder.path("results/digits-quick.csv")).unwrap();
        csv.lines().map(|line| line.split(',').take(7).collect::<Vec<_>>().join(",")).collect::<Vec<_>>()
    };
    let unbroken = Folder::new();
    unbroken.succeeds(run);
    assert_eq!(untimed(&folder), untimed(&unbroken));
}

#[cfg(target_os = "linux")]
/// Returns the processes of the command that work in a folder, except zombies.
fn at_work(folder: &Folder) -> usize {
    let root = fs::canonicalize(folder.path(".")).unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let is_ours = |process: &PathBuf| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == root);
    let lives = |process: &PathBuf| fs::read_to_string(process.join("stat")).is_ok_and(|stat| !stat.contains(") Z "));
    processes.filter(is_ours).filter(lives).count()
}

#[test]
fn a_run_says_how_to_go_on() {
    let folder = Folder::new();
    let run = |name: &str| {
        let has_begun = || folder.path(name).join("itl-0").exists();
        begun(&folder, &format!("finetune digits --task 3,6,9 --rounds 500 --run {name}"), has_begun)
    };
    let child = run("heard");
    let alone = child.id().to_string();
    let said = told(child, INT, &alone);
    assert!(said.ends_with("interrupted: `homing finetune --resume 'heard'` continues this run\n"), "{said}");
    // It also ends if nobody reads its output any more.
    let mut child = run("unheard");
    drop(child.stderr.take());
    let alone = child.id().to_string();
    told(child, TERM, &alone);
}
