//! Tests of writing picks.

use std::fs;
use std::fs::File;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{Array, RecordBatch};
use homing::Pick;
use homing_pool::{Error, PickFormat, check_picks_writable, write_picks, write_picks_csv};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

fn picks() -> [Pick; 2] {
    [
        Pick { rank: 1, row: 2, score: 0.1, information: 1e-7, variance_left: Some(0.25) },
        Pick { rank: 2, row: 0, score: -3.0, information: 1.5, variance_left: None },
    ]
}

fn ids() -> Vec<String> {
    ["plain", "with, comma", "with \"quotes\""].map(str::to_owned).to_vec()
}

#[test]
fn csv_has_one_header_and_shortest_numbers() {
    let mut out = Vec::new();
    write_picks_csv(&mut out, &picks(), None).unwrap();
    let expected = "rank,index,id,score,information,variance_left\n1,2,2,0.1,0.0000001,0.25\n2,0,0,-3,1.5,\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn csv_quotes_ids_that_need_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("picks.csv");
    write_picks(&path, &picks(), 3, Some(&ids()[..])).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().nth(1).unwrap(), "1,2,\"with \"\"quotes\"\"\",0.1,0.0000001,0.25");
}

#[test]
fn jsonl_has_the_same_keys() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("picks.jsonl");
    write_picks(&path, &picks(), 3, Some(&ids()[..])).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let second = text.lines().nth(1).unwrap();
    let expected = r#"{"rank":2,"index":0,"id":"plain","score":-3.0,"information":1.5,"variance_left":null}"#;
    assert_eq!(second, expected);
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["information"], 1e-7);
}

#[test]
fn parquet_has_a_row_for_every_row_of_the_pool() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("picks.parquet");
    write_picks(&path, &picks(), 3, None).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap().build().unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    let [table] = &batches[..] else { panic!("{batches:?}") };
    assert_eq!(
        table.schema().fields().iter().map(|f| f.name().clone()).collect::<Vec<_>>(),
        ["id", "selected", "step", "gain"]
    );
    assert_eq!(table.column(0).as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["0", "1", "2"]);
    assert_eq!(table.column(1).as_boolean().iter().flatten().collect::<Vec<_>>(), [true, false, true]);
    let step = table.column(2).as_primitive::<Int32Type>();
    assert_eq!(step.iter().collect::<Vec<_>>(), [Some(2), None, Some(1)]);
    let gain = table.column(3).as_primitive::<Float64Type>();
    assert_eq!(gain.iter().collect::<Vec<_>>(), [Some(-3.0), None, Some(0.1)]);
}

#[test]
fn parquet_of_many_rows_is_complete() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("picks.parquet");
    let pick = Pick { rank: 1, row: 149_999, score: 1.0, information: 1.0, variance_left: None };
    write_picks(&path, &[pick], 150_000, None).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap().build().unwrap();
    let mut selected = 0;
    let mut rows = 0;
    for batch in reader {
        let batch = batch.unwrap();
        rows += batch.num_rows();
        selected += batch.column(1).as_boolean().true_count();
        assert_eq!(batch.column(0).null_count(), 0);
    }
    assert_eq!((rows, selected), (150_000, 1));
}

#[test]
fn npy_has_the_indices_by_rank() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("picks.npy");
    write_picks(&path, &picks(), 3, None).unwrap();
    let file = npyz::NpyFile::new(File::open(&path).unwrap()).unwrap();
    assert_eq!(file.shape(), [2]);
    assert_eq!(file.into_vec::<i64>().unwrap(), [2, 0]);
}

#[test]
fn outputs_are_checked_before_the_selection() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    assert_eq!(check_picks_writable(&at("a.csv")).unwrap(), PickFormat::Csv);
    assert_eq!(check_picks_writable(&at("a.NDJSON")).unwrap(), PickFormat::Jsonl);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    let refusal = |name: &str| check_picks_writable(&at(name)).unwrap_err().to_string();
    assert!(refusal("a.xlsx").contains("use .csv, .jsonl, .parquet or .npy"));
    assert!(refusal("a").contains("use .csv, .jsonl, .parquet or .npy"));
    assert!(refusal("missing/a.csv").contains("its folder does not exist; create the folder"));
    fs::create_dir(at("d.csv")).unwrap();
    assert!(refusal("d.csv").contains("it is a folder"));
    fs::write(at("file"), "").unwrap();
    assert!(refusal("file/a.csv").contains("its parent is not a folder"));
}

#[cfg(unix)]
#[test]
fn a_directory_that_may_not_be_written_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o500)).unwrap();
    // The superuser may write there despite the permissions.
    if let Err(error) = check_picks_writable(&directory.path().join("a.csv")) {
        assert!(error.to_string().contains("its folder is not writable"), "{error}");
    }
}

#[test]
fn a_pick_beyond_the_pool_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("picks.parquet");
    let error = write_picks(&path, &picks(), 2, None).unwrap_err();
    assert!(matches!(error, Error::PickBeyondPool { row: 2, rows: 2, .. }), "{error}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
