//! Small files that decode to far more than the allowed memory are refused before they are decoded.
//!
//! The tests write such files and open them in a separate process whose address space is limited.
#![cfg(unix)]

mod samples;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, FixedSizeListArray, Float32Array, Int32Array, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{DataType, Field};
use homing_pool::{Access, NumberTable, Pool, ReadOptions, RowList, read_column};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use samples::npy;

/// Memory that the process that opens the files may use; each file decodes to at least `DECODED` bytes.
const LIMIT_KB: usize = 350_000;
const DECODED: usize = 384 << 20;

const DIM: usize = 1024;
const FILE: &str = "HOMING_MEMORY_TEST";

fn batch(rows: usize) -> RecordBatch {
    let item = Arc::new(Field::new("item", DataType::Float32, false));
    let numbers = Arc::new(Float32Array::from(vec![0.5; rows * DIM]));
    let lists = FixedSizeListArray::new(item, DIM as i32, numbers, None);
    RecordBatch::try_from_iter([("x", Arc::new(lists) as ArrayRef)]).unwrap()
}

/// Returns batches that decode to more than the allowed memory.
fn batches() -> impl Iterator<Item = RecordBatch> {
    let rows = 4096;
    std::iter::repeat_n(batch(rows), DECODED / (rows * DIM * 4))
}

fn write_parquet(path: &Path, batches: impl IntoIterator<Item = RecordBatch>) {
    let mut batches = batches.into_iter().peekable();
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let schema = batches.peek().unwrap().schema();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), schema, Some(properties)).unwrap();
    batches.for_each(|batch| writer.write(&batch).unwrap());
    writer.close().unwrap();
}

fn write_arrow(path: &Path, compression: Option<CompressionType>, batches: impl IntoIterator<Item = RecordBatch>) {
    let mut batches = batches.into_iter().peekable();
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let schema = batches.peek().unwrap().schema();
    let file = File::create(path).unwrap();
    let mut writer = FileWriter::try_new_with_options(file, &schema, options).unwrap();
    batches.for_each(|batch| writer.write(&batch).unwrap());
    writer.finish().unwrap();
}

/// Returns one text of half a megabyte that 1100 rows share.
fn repeated_texts() -> (StringArray, Int32Array) {
    (StringArray::from(vec!["x".repeat(512 * 1024)]), Int32Array::from(vec![0; 1100]))
}

fn write_npz(path: &Path, shape: &str, bytes: usize) {
    let mut zip = zip::ZipWriter::new(File::create(path).unwrap());
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    zip.start_file("x.npy", options).unwrap();
    zip.write_all(&npy("<f4", false, shape, &[])).unwrap();
    let zeros = vec![0; 1 << 20];
    (0..bytes >> 20).for_each(|_| zip.write_all(&zeros).unwrap());
    zip.finish().unwrap();
}

/// Writes a text file with `count` copies of `line`.
fn write_lines(path: &Path, line: &str, count: usize) {
    let mut file = std::io::BufWriter::new(File::create(path).unwrap());
    (0..count).for_each(|_| file.write_all(line.as_bytes()).unwrap());
}

fn write_files(folder: &Path) {
    let path = |name: &str| folder.join(name);
    let rows = DECODED / (DIM * 4);
    write_parquet(&path("numbers.parquet"), batches());
    let (text, keys) = repeated_texts();
    let repeated: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys.clone(), Arc::new(text.clone())));
    let copied: ArrayRef = Arc::new(StringArray::from(vec![text.value(0); 1100]));
    let columns =
        |id: ArrayRef| RecordBatch::try_from_iter([("id", id), ("x", batch(1100).column(0).clone())]).unwrap();
    write_parquet(&path("texts.parquet"), [columns(copied)]);
    write_arrow(&path("texts.arrow"), None, [columns(repeated)]);
    write_arrow(&path("zstd.arrow"), Some(CompressionType::ZSTD), batches());
    write_arrow(&path("lz4.arrow"), Some(CompressionType::LZ4_FRAME), batches());
    write_arrow(&path("batch.arrow"), Some(CompressionType::ZSTD), [batch(rows)]);
    write_npz(&path("zeros.npz"), &format!("({rows}, {DIM})"), DECODED);
    let zeros = vec!["0"; DIM].join(",");
    write_lines(&path("zeros.jsonl"), &format!("[{zeros}]\n"), rows / 2);
    write_lines(&path("zeros.csv"), &format!("{zeros}\n"), rows / 2);
    write_lines(&path("line.jsonl"), &format!("[{zeros}"), 1);
    let mut line = File::options().append(true).open(path("line.jsonl")).unwrap();
    line.write_all(&b",0".repeat(16 << 20)).unwrap();
    line.write_all(b"]\n").unwrap();
    let header = npy("<f4", true, &format!("({}, {DIM})", rows / 2), &[]);
    let mut turned = File::create(path("turned.npy")).unwrap();
    turned.write_all(&header).unwrap();
    turned.set_len((header.len() + DECODED / 2) as u64).unwrap();
    let header = npy("|i1", false, &format!("({},)", 32 << 20), &[]);
    let mut bytes = File::create(path("bytes.npy")).unwrap();
    bytes.write_all(&header).unwrap();
    bytes.set_len((header.len() + (32 << 20)) as u64).unwrap();
    write_lines(&path("list.txt"), "1\n", 10 << 20);
}

/// Returns the error messages of all functions that can read the file at `path`.
fn refusals(path: &Path) -> Vec<String> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let text = |error: homing_pool::Error| error.to_string();
    let pool = || Pool::open(path, &ReadOptions::default()).map(drop).map_err(text);
    let rows = || RowList::open(path).map(drop).map_err(text);
    let column = |column| read_column(path, column).map(drop).map_err(text);
    let mapped = || Pool::open(path, &ReadOptions::default().access(Access::Map)).map(drop).map_err(text);
    let outcomes = match name {
        "turned.npy" => vec![mapped()],
        "texts.parquet" | "texts.arrow" => vec![pool(), rows(), column(Some("id"))],
        "bytes.npy" => vec![rows(), column(None), NumberTable::open(path).map(drop).map_err(text)],
        "list.txt" => vec![rows(), column(None)],
        _ => vec![pool(), rows()],
    };
    outcomes.into_iter().map(|outcome| outcome.expect_err(name)).collect()
}

#[test]
#[ignore = "opens a file for the other test, under its limit"]
fn open_under_the_limit() {
    let Some(path) = std::env::var_os(FILE).map(PathBuf::from) else { return };
    for message in refusals(&path) {
        println!("{message}");
        let name = path.file_name().unwrap().to_str().unwrap();
        let reasons = ["of memory when it is decoded, but", "does not fit into the memory that may be used"];
        let explained = reasons.iter().any(|words| message.contains(words));
        assert!(message.contains(name) && explained && message.contains("read block by block"), "{message}");
    }
}

#[test]
fn a_small_file_that_decodes_to_more_than_is_allowed_is_refused_before_it_is_decoded() {
    let shell = |command: &str| {
        let mut process = Command::new("sh");
        process.arg("-c").arg(format!("ulimit -v {LIMIT_KB} || exit 77; {command}"));
        process
    };
    if shell("true").status().unwrap().code() == Some(77) {
        println!("skipped: this shell cannot limit the address space (ulimit -v)");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    write_files(directory.path());
    let length = fs::metadata(directory.path().join("numbers.parquet")).unwrap().len();
    assert!(length < 100_000, "the file has {length} bytes, which is not small");
    for entry in fs::read_dir(directory.path()).unwrap() {
        let output = shell("exec \"$0\" \"$@\"")
            .arg(std::env::current_exe().unwrap())
            .args(["open_under_the_limit", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env(FILE, entry.unwrap().path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        println!("{said}");
    }
}

/// Memory that the process may use (the texts need more than half of it), and memory that it may actually take.
const TEXTS_LIMIT_KB: usize = 2_000_000;
const TEXTS_PEAK_KB: u64 = 200_000;

#[test]
#[ignore = "opens a file for the other test, under its limit"]
fn open_and_print_the_peak() {
    let Some(path) = std::env::var_os(FILE).map(PathBuf::from) else { return };
    let message = Pool::open(&path, &ReadOptions::default()).map(drop).unwrap_err().to_string();
    assert!(message.contains("of memory when it is decoded, but"), "{message}");
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak: u64 = peak.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0);
    assert!(peak < TEXTS_PEAK_KB, "{peak} kB were used before the error: {message}");
}

#[test]
fn a_long_text_for_very_many_rows_is_refused_before_it_is_copied() {
    let shell = |command: &str| {
        let mut process = Command::new("sh");
        process.arg("-c").arg(format!("ulimit -v {TEXTS_LIMIT_KB} || exit 77; {command}"));
        process
    };
    if shell("true").status().unwrap().code() == Some(77) {
        println!("skipped: this shell cannot limit the address space (ulimit -v)");
        return;
    }
    let rows = 4000;
    let words = Arc::new(StringArray::from(vec!["x".repeat(512 * 1024)]));
    let ids: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(Int32Array::from(vec![0; rows]), words));
    let item = Arc::new(Field::new("item", DataType::Float32, false));
    let lists = FixedSizeListArray::new(item, 1, Arc::new(Float32Array::from(vec![0.5; rows])), None);
    let table = RecordBatch::try_from_iter([("id", ids), ("x", Arc::new(lists) as ArrayRef)]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    write_parquet(&directory.path().join("texts.parquet"), [table.clone()]);
    write_arrow(&directory.path().join("texts.arrow"), None, [table]);
    for entry in fs::read_dir(directory.path()).unwrap() {
        let output = shell("exec \"$0\" \"$@\"")
            .arg(std::env::current_exe().unwrap())
            .args(["open_and_print_the_peak", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env(FILE, entry.unwrap().path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }
}
