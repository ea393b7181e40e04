//! Tables with very many columns: matching their names takes time that is linear, not quadratic, in the number of columns.

mod samples;

use std::fmt::Write;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Float32Array, RecordBatch};
use homing_pool::{Pool, ReadOptions, RowList, read_column};
use samples::*;

const COLUMNS: usize = 100_000;

/// Returns a table of one row with the columns `c0`, `c1` and so on in reverse order.
fn csv() -> Vec<u8> {
    let (mut names, mut numbers) = (String::new(), String::new());
    for column in (0..COLUMNS).rev() {
        let comma = if column == 0 { "" } else { "," };
        write!(names, "c{column}{comma}").unwrap();
        write!(numbers, "{column}.5{comma}").unwrap();
    }
    format!("{names}\n{numbers}\n").into_bytes()
}

fn table() -> RecordBatch {
    let column =
        |column: usize| (format!("c{column}"), Arc::new(Float32Array::from(vec![column as f32 + 0.5])) as ArrayRef);
    RecordBatch::try_from_iter((0..COLUMNS).rev().map(column)).unwrap()
}

#[test]
fn a_hundred_thousand_columns_are_matched_in_seconds() {
    let directory = tempfile::tempdir().unwrap();
    let table = [table()];
    for (name, bytes) in [("p.csv", csv()), ("p.arrow", arrow_stream(&table)), ("p.parquet", parquet(&table))] {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        let start = Instant::now();
        let names: Vec<String> = (0..COLUMNS).map(|column| format!("c{column}")).collect();
        let options = ReadOptions::default().side_by_side(names);
        let pool = Pool::open(&path, &options).unwrap();
        let expected: Vec<f64> = (0..COLUMNS).map(|column| column as f64 + 0.5).collect();
        assert_eq!(pool.embeddings().row(0), expected, "{name}");
        assert!(matches!(RowList::open(&path).unwrap(), RowList::Embeddings(_)), "{name}");
        assert_eq!(read_column(&path, Some("c7")).unwrap(), ["7.5"], "{name}");
        let took = start.elapsed();
        println!("{name}: {took:?}");
        assert!(took < Duration::from_secs(20), "{name} took {took:?}");
    }
}
