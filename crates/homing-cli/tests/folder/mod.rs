//! A folder with a pool, in which the command runs.
#![allow(dead_code, reason = "each test binary uses some of it")]

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Output;

use assert_cmd::Command;

/// A folder with a pool of 40 × 3 numbers and 2 targets.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("pool.csv", &pool_csv(40));
        folder.write("targets.csv", "x,y,z\n0.9,0.1,0.2\n-0.1,0.8,0.3\n");
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub fn homing(&self, arguments: &str) -> Output {
        Command::cargo_bin("homing")
            .unwrap()
            .current_dir(self.0.path())
            .env("HOMING_CACHE", self.0.path().join("cache"))
            .args(arguments.split_whitespace())
            .output()
            .unwrap()
    }

    /// Runs the command, expects success, and returns standard output.
    pub fn succeeds(&self, arguments: &str) -> String {
        let output = self.homing(arguments);
        assert!(output.status.success(), "homing {arguments}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the command and expects one sentence with all of these words, exit code 2, and no new file.
    pub fn refuses(&self, arguments: &str, words: &[&str]) {
        let before = self.listing();
        let output = self.homing(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "homing {arguments}: {said}");
        assert!(output.stdout.is_empty(), "homing {arguments} wrote to standard output");
        for word in words {
            assert!(said.contains(word), "homing {arguments}: no '{word}' in: {said}");
        }
        assert_eq!(said.trim_end().lines().count(), 1, "one sentence: {said}");
        assert_eq!(self.listing(), before, "homing {arguments} left a file behind");
    }

    pub fn listing(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    }
}

/// Returns the lines of a table, each made from its number.
pub fn table(rows: usize, line: impl Fn(usize) -> String) -> String {
    (0..rows).map(line).collect()
}

pub fn pool_csv(rows: usize) -> String {
    let mut text = String::from("id,source,cost,x,y,z\n");
    for i in 0..rows {
        let t = i as f64;
        let source = ["web", "books", "chat"][i % 3];
        let (x, y, z) = ((t * 0.7).sin(), (t * 1.3).cos(), (t * 2.1).sin());
        writeln!(text, "doc-{i},{source},{},{x},{y},{z}", 1 + i % 4).unwrap();
    }
    text
}
