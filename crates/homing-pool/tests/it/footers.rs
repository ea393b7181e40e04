//! Forged Parquet headers that claim more than their bytes can hold are refused at once.

use std::time::{Duration, Instant};

use homing_pool::{Format, Pool, ReadOptions};

const LIST: u8 = 0x09;
const STRUCT: u8 = 0x0c;
const TRUTH: u8 = 0x01;

fn number(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 127 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// Encodes the start of a list of `count` elements.
fn list(kind: u8, count: usize) -> Vec<u8> {
    [vec![0xf0 | kind], number(count as u64)].concat()
}

/// Encodes a named column with `children` parts.
fn column(children: u64) -> Vec<u8> {
    [vec![0x48, 1, b'a', 0x15], number(2 * children), vec![0]].concat()
}

/// Builds a file that consists of a footer only: its columns, followed by `more` fields.
fn file(columns: &[Vec<u8>], more: &[u8]) -> Vec<u8> {
    let footer = [&[0x20 | LIST], &list(STRUCT, columns.len())[..], &columns.concat(), more, &[0]].concat();
    [&b"PAR1"[..], &footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
}

fn refusal(bytes: Vec<u8>) -> String {
    let start = Instant::now();
    let message = Pool::from_bytes(Format::Parquet, bytes, &ReadOptions::default()).unwrap_err().to_string();
    assert!(start.elapsed() < Duration::from_secs(2), "{message} after {:?}", start.elapsed());
    message
}

#[test]
fn columns_that_claim_more_parts_than_there_are_columns() {
    for children in [2, 1 << 20, i32::MAX as u64, 1 << 40] {
        let message = refusal(file(&[column(children), column(0)], &[]));
        assert!(message.contains(&format!("a column claims {children} parts, but fewer")), "{message}");
    }
}

#[test]
fn columns_that_are_nested_a_million_deep() {
    let nested = vec![column(1); 1_000_000];
    let message = refusal(file(&nested, &[]));
    assert!(message.contains("its columns are nested more than 64 deep"), "{message}");
}

#[test]
fn thousands_of_lists_that_take_no_bytes() {
    let endless = [&[0x90 | LIST], &list(TRUTH, i32::MAX as usize)[..]].concat();
    let short = [0xa0 | LIST, 0x20 | TRUTH, 1, 1];
    for (fields, words) in [(endless.repeat(1000), "is longer than the"), (short.to_vec(), "list of truth values")] {
        let message = refusal(file(&[column(1), column(0)], &fields));
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn fields_of_another_type_than_they_have() {
    let rows_as_text = [0x18, 1, b'a'];
    let message = refusal(file(&[column(1), column(0)], &rows_as_text));
    assert!(message.contains("field 3 of a header has the type 8"), "{message}");
}

#[test]
fn footers_that_are_longer_than_their_files() {
    let message = refusal([&b"PAR1"[..], &100u32.to_le_bytes(), b"PAR1"].concat());
    assert!(message.contains("its footer is longer than the file"), "{message}");
}
