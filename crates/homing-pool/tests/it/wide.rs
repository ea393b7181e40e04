//! Tables with very many columns: matching their names takes time that is linear, not quadratic, in the number of columns.

use std::fmt::Write;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::samples::*;
use arrow_array::{ArrayRef, Float32Array, RecordBatch};
use homing_pool::{Pool, ReadOptions, RowList, read_column};

/// Returns a table of one row with the columns `c0`, `c1` and so on in reverse order.
fn csv(columns: usize) -> Vec<u8> {
    let (mut names, mut numbers) = (String::new(), String::new());
    for column in (0..columns).rev() {
        let comma = if column == 0 { "" } else { "," };
        write!(names, "c{column}{comma}").unwrap();
        write!(numbers, "{column}.5{comma}").unwrap();
    }
    format!("{names}\n{numbers}\n").into_bytes()
}

fn table(columns: usize) -> RecordBatch {
    let column =
        |column: usize| (format!("c{column}"), Arc::new(Float32Array::from(vec![column as f32 + 0.5])) as ArrayRef);
    RecordBatch::try_from_iter((0..columns).rev().map(column)).unwrap()
}

/// Opens a table of `columns` columns by their names in increasing order, checks it, and returns the time that this takes.
fn open(name: &str, bytes: &[u8], columns: usize) -> Duration {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    let start = Instant::now();
    let names: Vec<String> = (0..columns).map(|column| format!("c{column}")).collect();
    let pool = Pool::open(&path, &ReadOptions::default().side_by_side(names)).unwrap();
    let expected: Vec<f64> = (0..columns).map(|column| column as f64 + 0.5).collect();
    assert_eq!(pool.embeddings().row(0), expected, "{name}");
    assert!(matches!(RowList::open(&path).unwrap(), RowList::Embeddings(_)), "{name}");
    assert_eq!(read_column(&path, Some("c7")).unwrap(), ["7.5"], "{name}");
    start.elapsed()
}

#[test]
fn the_time_to_match_columns_is_linear_in_their_number() {
    let (few, many) = (6_250, 100_000);
    let files = |columns: usize| {
        let table = [table(columns)];
        [("p.csv", csv(columns)), ("p.arrow", arrow_stream(&table)), ("p.parquet", parquet(&table))]
    };
    for ((name, short), (_, wide)) in files(few).into_iter().zip(files(many)) {
        // Linear time makes this 16, quadratic time 256. Other work on the machine changes it by less than that.
        let ratio = open(name, &wide, many).as_secs_f64() / open(name, &short, few).as_secs_f64();
        assert!(ratio < 100.0, "{many} columns of {name} take {ratio:.0} times as long as {few}");
    }
}
