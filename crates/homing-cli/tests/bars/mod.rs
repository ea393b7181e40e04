//! Small images, and commands that learn from them.
#![allow(dead_code, reason = "each test binary uses some of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

pub fn homing() -> Command {
    Command::new(env!("CARGO_BIN_EXE_homing"))
}

/// Writes images of 8 × 8 pixels, whose bright row shows their class, as MNIST's four files to a folder of their own.
pub fn bars(folder: &Path, classes: usize) -> PathBuf {
    let folder = folder.join("data");
    fs::create_dir_all(&folder).unwrap();
    let mut state = 1u32;
    let mut noise = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8 / 3
    };
    for (name, count) in [("train", 120usize), ("t10k", 90)] {
        let (mut images, mut labels) = (vec![0, 0, 8, 3], vec![0, 0, 8, 1]);
        for number in [count, 8, 8] {
            images.extend((number as u32).to_be_bytes());
        }
        labels.extend((count as u32).to_be_bytes());
        for row in 0..count {
            let class = row % classes;
            labels.push(class as u8);
            images.extend((0..64).map(|at| if at / 8 == class * 8 / classes { 160 } else { 0 } + noise()));
        }
        fs::write(folder.join(format!("{name}-images-idx3-ubyte")), images).unwrap();
        fs::write(folder.join(format!("{name}-labels-idx1-ubyte")), labels).unwrap();
    }
    folder
}

const SMALL: [&str; 16] = [
    "--task",
    "0,1",
    "--target-count",
    "4",
    "--rounds",
    "5",
    "--picks-per-round",
    "2",
    "--candidates",
    "sample:30",
    "--epochs",
    "2",
    "--noise-std",
    "0.1",
    "--seed",
    "3",
];

/// Returns the command of a small run.
pub fn finetune(data: &Path, run: &Path, more: &[&str]) -> Command {
    let mut command = homing();
    let others = SMALL.chunks(2).filter(|pair| !more.contains(&pair[0])).flatten();
    command.arg("finetune").arg(data).args(others).args(more).arg("--run").arg(run);
    command
}

/// Returns everything that a command has printed.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Expects one sentence with these words, and exit code 2.
#[track_caller]
pub fn refused(output: &Output, words: &[&str]) {
    let text = said(output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    words.iter().for_each(|word| assert!(text.contains(word), "no {word:?} in: {text}"));
}

/// Returns the output of a command that must not hang.
#[track_caller]
pub fn ended(command: &mut Command) -> Output {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let since = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if since.elapsed() > Duration::from_mins(1) {
            child.kill().unwrap();
            panic!("{command:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}
