//! Small files that unpack to far more than the allowed memory are opened by a process whose address space is limited.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;
use homing_data::{OpenOptions, open};

const LIMIT_KB: usize = 350_000;
const FILE: &str = "HOMING_MEMORY_TEST";

/// Compresses `front` followed by this many megabytes of zeros.
fn zeros(path: &Path, front: &[u8], megabytes: usize) {
    let mut out = GzEncoder::new(fs::File::create(path).unwrap(), Compression::fast());
    out.write_all(front).unwrap();
    let zeros = vec![0; 1 << 20];
    (0..megabytes).for_each(|_| out.write_all(&zeros).unwrap());
    out.finish().unwrap();
}

/// Builds an .xz file whose decoder needs a dictionary of 768 MiB before its first byte.
fn xz() -> Vec<u8> {
    let checked = |bytes: &[u8]| {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        [bytes, &crc.sum().to_le_bytes()].concat()
    };
    let (stream, block) = (checked(&[0, 1]), checked(&[2, 0, 0x21, 1, 35, 0, 0, 0]));
    [b"\xfd7zXZ\0", &stream[..], &block, &[0; 64]].concat()
}

#[test]
#[ignore = "opens a file for the other test, under its limit"]
fn open_under_the_limit() {
    let Some(path) = env::var_os(FILE).map(PathBuf::from) else { return };
    let message = open(&path, &OpenOptions::default()).unwrap_err().to_string();
    println!("{message}");
    let reasons = ["do not fit into the memory that may be used", "bytes of memory to unpack"];
    assert!(reasons.iter().any(|words| message.contains(words)), "{message}");
}

#[test]
fn a_small_file_that_unpacks_to_more_than_is_allowed_is_refused_before_it_is() {
    let shell = |command: &str| {
        let mut process = Command::new("sh");
        process.arg("-c").arg(format!("ulimit -v {LIMIT_KB} || exit 77; {command}"));
        process
    };
    if shell("true").status().unwrap().code() == Some(77) {
        println!("skipped: this shell cannot limit the address space (ulimit -v)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (tiny, large) = ((8u32 << 20).to_be_bytes(), (1u32 << 30).to_be_bytes());
    let one = 1u32.to_be_bytes();
    zeros(&path("pixels.gz"), &[&[0, 0, 8, 3][..], &tiny, &one, &one].concat(), 8);
    zeros(&path("images.gz"), &[&[0, 0, 8, 3][..], &one, &large, &one].concat(), 1024);
    zeros(&path("set.tar.gz"), &[], 1024);
    fs::write(path("set.tar.xz"), xz()).unwrap();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let output = shell("exec \"$0\" \"$@\"")
            .arg(env::current_exe().unwrap())
            .args(["memory::open_under_the_limit", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env(FILE, entry.unwrap().path())
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
        println!("{printed}");
    }
}
