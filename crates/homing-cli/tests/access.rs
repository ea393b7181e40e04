//! Pools that are read block by block instead of mapped give the same picks, within the allowed memory.

mod folder;
#[path = "../../homing-pool/tests/npy/mod.rs"]
mod npy;

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::cargo::CommandCargoExt;
use folder::Folder;
use npy::npy;

/// Returns rows × dim random-looking single-precision numbers.
fn singles(rows: usize, dim: usize) -> Vec<u8> {
    let number = |i: usize| (((i * 2_654_435_761) % 1_000_003) as f32 / 500_001.5 - 1.0).to_le_bytes();
    (0..rows * dim).flat_map(number).collect()
}

/// Returns a folder with a .npy pool of 300 × 3 numbers, and probabilities of pool and targets.
fn folder() -> Folder {
    let folder = Folder::new();
    fs::write(folder.path("pool.npy"), npy("<f4", false, "(300, 3)", &singles(300, 3))).unwrap();
    let row = |i: usize| {
        let p = (i + 1) as f32 / 302.0;
        [p, 1.0 - p].map(f32::to_le_bytes).concat()
    };
    fs::write(folder.path("p.npy"), npy("<f4", false, "(300, 2)", &(0..300).flat_map(row).collect::<Vec<_>>()))
        .unwrap();
    folder.write("tp.csv", "0.3,0.7\n0.9,0.1\n");
    folder
}

#[test]
fn every_rule_and_option_picks_the_same_rows() {
    let folder = folder();
    folder.write("known.txt", "3\n4\n250\n");
    let rules = homing::STRATEGIES.iter().map(|entry| format!("--rule {} --probabilities p.npy", entry.name));
    let options = [
        "--center",
        "--kernel gaussian:1",
        "--kernel loss-gradient --probabilities p.npy --target-probabilities tp.csv",
        "--observed known.txt",
        "--observed targets.csv",
        "--stop-variance 0.9",
        "--picks-per-round 2 --target-sample 1",
    ];
    for options in rules.chain(options.map(str::to_owned)) {
        let picks = |access: &str| {
            let select = "select pool.npy --targets targets.csv -n 6 --out - --quiet";
            folder.succeeds(&format!("{select} --pool-access {access} {options}"))
        };
        let mapped = picks("map");
        assert!(mapped.lines().count() > 1, "{options}");
        assert_eq!(mapped, picks("read"), "{options}");
        assert_eq!(mapped, picks("auto"), "{options}");
    }
}

#[test]
fn the_report_tells_the_same_and_verbose_says_how_the_pool_was_had() {
    let folder = folder();
    let told = |access: &str| {
        let output = folder.homing(&format!(
            "select pool.npy --targets targets.csv -n 6 --out picks.csv --report {access}.html --verbose --pool-access {access}"
        ));
        assert!(output.status.success());
        let page = fs::read_to_string(folder.path(&format!("{access}.html"))).unwrap();
        (String::from_utf8(output.stderr).unwrap(), page.matches("<circle").count())
    };
    let (mapped, read) = (told("map"), told("read"));
    assert!(mapped.0.contains("which was mapped"), "{}", mapped.0);
    assert!(read.0.contains("which was read from its file"), "{}", read.0);
    assert_eq!(mapped.1, read.1);
    let csv = folder.homing("select pool.csv --cost-column cost --targets targets.csv -n 6 --out picks.csv --verbose");
    assert!(String::from_utf8(csv.stderr).unwrap().contains("which was held in memory"));
    let select = "select pool.csv --cost-column cost --targets targets.csv -n 6 --out o.csv";
    folder.refuses(&format!("{select} --pool-access read"), &["pool.csv", "convert it to .npy"]);
    folder.refuses(&format!("{select} --pool-access sideways"), &["sideways", "see --help"]);
}

/// Returns how many bytes a process has requested to read.
fn bytes_read(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/io")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("rchar: "))?.parse().ok()
}

/// Starts a selection with one pass per pick, far more work than the test waits for, and cuts its pool in half once `begun`
/// holds for the process and the pool's length. The run must end with one sentence that has these words, and without a file.
fn cut_in_half(access: &str, begun: impl Fn(u32, u64) -> bool, words: &[&str]) {
    let folder = folder();
    let (rows, dim) = (4000, 16);
    let file = npy("<f4", false, &format!("({rows}, {dim})"), &singles(rows, dim));
    fs::write(folder.path("pool.npy"), &file).unwrap();
    fs::write(folder.path("targets.npy"), npy("<f4", false, "(2, 16)", &singles(2, dim))).unwrap();
    let arguments = format!(
        "select pool.npy --targets targets.npy -n 3999 --rule k-means++ --pool-access {access} --out picks.csv \
         --report report.html"
    );
    let process = Command::cargo_bin("homing")
        .unwrap()
        .current_dir(folder.path(""))
        .args(arguments.split_whitespace())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !begun(process.id(), file.len() as u64) && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    File::options().write(true).open(folder.path("pool.npy")).unwrap().set_len(file.len() as u64 / 2).unwrap();
    let output = process.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty());
    assert_eq!(said.trim_end().lines().count(), 1, "one sentence: {said}");
    for word in words.iter().copied().chain([&file.len().to_string()[..], &(file.len() / 2).to_string()]) {
        assert!(said.contains(word), "no '{word}' in: {said}");
    }
    assert!(!folder.path("picks.csv").exists() && !folder.path("report.html").exists());
}

#[test]
fn a_pool_that_shrinks_in_the_middle_ends_the_run_and_leaves_no_file() {
    let passes = |process, length| bytes_read(process).is_none_or(|read| read >= 5 * length);
    cut_in_half("read", passes, &["pool.npy is cut short", "copy or write it again"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_mapped_pool_that_is_cut_short_ends_the_run_with_a_sentence_and_not_with_a_signal() {
    let mapped =
        |process, _| fs::read_to_string(format!("/proc/{process}/maps")).is_ok_and(|maps| maps.contains("/pool.npy"));
    for _ in 0..10 {
        cut_in_half("map", mapped, &["pool.npy was cut short while it was read", "--pool-access read"]);
    }
}

/// A pool of twice the address space that the process may have.
#[cfg(unix)]
#[test]
fn a_pool_larger_than_the_address_space_is_read() {
    const LIMIT_KB: usize = 350_000;
    let under_limit = |folder: &Folder, arguments: &str| {
        let program = Command::cargo_bin("homing").unwrap().get_program().to_owned();
        Command::new("sh")
            .arg("-c")
            .arg(format!("ulimit -v {LIMIT_KB} || exit 77; exec \"$0\" \"$@\""))
            .arg(program)
            .args(arguments.split_whitespace())
            .current_dir(folder.path(""))
            .output()
            .unwrap()
    };
    let folder = Folder::new();
    if under_limit(&folder, "rules").status.code() == Some(77) {
        println!("skipped: this shell cannot limit the address space (ulimit -v)");
        return;
    }
    // All rows except a few are zeros, so the file is sparse and needs no room on the disk.
    let (rows, dim) = (300_000, 512);
    let header = npy("<f4", false, &format!("({rows}, {dim})"), &[]);
    let mut file = File::create(folder.path("pool.npy")).unwrap();
    file.set_len((header.len() + rows * dim * 4) as u64).unwrap();
    file.write_all(&header).unwrap();
    let told = [7, 70_000, 150_001, 299_999];
    for (i, row) in told.into_iter().enumerate() {
        file.seek(SeekFrom::Start((header.len() + row * dim * 4) as u64)).unwrap();
        file.write_all(&singles(1 + i, dim)[i * dim * 4..]).unwrap();
    }
    drop(file);
    fs::write(folder.path("targets.npy"), npy("<f4", false, &format!("(4, {dim})"), &singles(4, dim))).unwrap();

    let select = "select pool.npy --targets targets.npy -n 2 --threads 2 --center=false --normalize=false";
    let output = under_limit(&folder, &format!("{select} --verbose --out picks.csv"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("which was read from its file"), "{said}");
    folder.succeeds(&format!("{select} --pool-access map --out mapped.csv --quiet"));
    let picks = fs::read_to_string(folder.path("picks.csv")).unwrap();
    assert_eq!(picks, fs::read_to_string(folder.path("mapped.csv")).unwrap());
    let row = |line: &str| line.split(',').nth(1).unwrap().parse().unwrap();
    assert!(picks.lines().skip(1).all(|line| told.contains(&row(line))), "zeros tell nothing: {picks}");

    // The limit takes effect.
    let output = under_limit(&folder, &format!("{select} --pool-access map --out no.csv"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("address space") && said.contains("--pool-access read"), "{said}");
    assert!(!folder.path("no.csv").exists());
    File::create(folder.path("big.parquet")).unwrap().set_len(2 * 1024 * LIMIT_KB as u64).unwrap();
    let output = under_limit(&folder, &select.replace("pool.npy", "big.parquet"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("does not fit") && said.contains("convert it to .npy or .safetensors"), "{said}");
}
