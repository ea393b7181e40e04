//! Columns of a pool that its picks carry: every format keeps what it can.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, FixedSizeListArray, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray, TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field};
use homing::Pick;
use homing_pool::{ColumnChoice, PickColumns, Pool, ReadOptions, Result, RowList, RowValues, write_picks};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

const TEXTS: [&str; 4] = ["plain", "with, \"quotes\"\nand a new line", "", "=cmd()"];

fn pick(rank: usize, row: usize) -> Pick {
    Pick { rank, row, score: 0.5, information: 0.5, variance_left: Some(0.25) }
}

fn names(names: &[&str]) -> ColumnChoice {
    ColumnChoice::Named(names.iter().map(|&name| name.to_owned()).collect())
}

fn open(path: &Path) -> Pool {
    Pool::open(path, &ReadOptions::default()).unwrap()
}

fn values(pool: &Pool, choice: &ColumnChoice, rows: &[usize]) -> RowValues {
    pool.values(&pool.choose_columns(choice).unwrap(), rows).unwrap()
}

/// Writes picks of rows 1 and 3 with the chosen columns, and returns the file.
fn written(folder: &Path, pool: &Pool, choice: &ColumnChoice, name: &str) -> Result<PathBuf> {
    let values = pool.values(&pool.choose_columns(choice)?, &[1, 3])?;
    let columns = PickColumns { ids: pool.ids(), values: Some(&values), csv_safe: false };
    let path = folder.join(name);
    write_picks(&path, &[pick(1, 3), pick(2, 1)], pool.rows(), columns)?;
    Ok(path)
}

fn csv_pool(folder: &Path) -> PathBuf {
    let mut writer = csv::Writer::from_path(folder.join("pool.csv")).unwrap();
    writer.write_record(["id", "text", "score", "x", "y"]).unwrap();
    for (row, text) in TEXTS.iter().enumerate() {
        let (id, y) = (format!("r{row}"), format!("{row}.25"));
        writer.write_record([id.as_str(), text, "high", "0.5", &y]).unwrap();
    }
    writer.flush().unwrap();
    folder.join("pool.csv")
}

fn jsonl_pool(folder: &Path) -> PathBuf {
    let path = folder.join("pool.jsonl");
    let lines = [
        r#"{"id":0,"text":null,"meta":{"z":1,"a":[1.10,null]},"vector":[1,2]}"#,
        r#"{"id":1,"text":"ü","meta":{"z":2,"a":[]},"vector":[3,4]}"#,
        "",
        r#"{"id":2,"text":"third","vector":[3,5],"stars":12345678901234567890123}"#,
        r#"{"id":3,"text":"","meta":"bare","vector":[5,6],"stars":4}"#,
    ];
    fs::write(&path, lines.join("\n")).unwrap();
    path
}

fn batch() -> RecordBatch {
    let floats: Vec<Option<Vec<Option<f32>>>> = (0..4).map(|row| Some(vec![Some(1.0), Some(row as f32)])).collect();
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("b"), None, Some("<b>d</b>")]));
    let tags = ListArray::from_iter_primitive::<Int64Type, _, _>([
        Some(vec![Some(1)]),
        Some(vec![Some(2), None]),
        None,
        Some(vec![]),
    ]);
    let author = StructArray::from(vec![(
        Arc::new(Field::new("name", DataType::Utf8, true)),
        Arc::new(StringArray::from(vec!["w", "x", "y", "z"])) as ArrayRef,
    )]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from(vec![10, 11, 12, 13]))),
        ("text", texts),
        ("label", Arc::new(DictionaryArray::<Int32Type>::from_iter(["x", "y", "x", "y"]))),
        ("tags", Arc::new(tags)),
        ("author", Arc::new(author)),
        ("seen", Arc::new(BooleanArray::from(vec![true, false, true, false]))),
        ("at", Arc::new(TimestampMillisecondArray::from(vec![0, 1, 2, 86_400_000]).with_timezone("Europe/Berlin"))),
        ("emb", Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(floats, 2))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn parquet_file(path: &Path, batch: &RecordBatch) -> PathBuf {
    let mut writer = ArrowWriter::try_new(fs::File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    path.to_owned()
}

fn arrow_file(path: &Path, batch: &RecordBatch) -> PathBuf {
    let mut writer =
        arrow_ipc::writer::StreamWriter::try_new(fs::File::create(path).unwrap(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    path.to_owned()
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn read_parquet(path: &Path) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(path).unwrap()).unwrap().build().unwrap();
    let batches: Vec<RecordBatch> = reader.map(std::result::Result::unwrap).collect();
    assert_eq!(batches.len(), 1);
    batches.into_iter().next().unwrap()
}

#[test]
fn csv_keeps_quotes_commas_and_new_lines() {
    let folder = tempfile::tempdir().unwrap();
    let pool = open(&csv_pool(folder.path()));
    let path = written(folder.path(), &pool, &ColumnChoice::Usual, "picks.csv").unwrap();
    let mut reader = csv::Reader::from_path(&path).unwrap();
    assert_eq!(reader.headers().unwrap().iter().next_back(), Some("text"));
    let texts: Vec<String> = reader.records().map(|record| record.unwrap()[6].to_owned()).collect();
    assert_eq!(texts, [TEXTS[3], TEXTS[1]]);
    assert_eq!(RowList::open(&path).unwrap().rows_of(Some(&pool)).unwrap(), Some(vec![3, 1]));
    let safe = PickColumns { csv_safe: true, values: Some(&values(&pool, &ColumnChoice::Usual, &[3])), ids: None };
    write_picks(&path, &[pick(1, 3)], 4, safe).unwrap();
    assert!(fs::read_to_string(&path).unwrap().trim_end().ends_with(",'=cmd()"));
}

#[test]
fn a_name_that_picks_have_already_gets_a_suffix() {
    let folder = tempfile::tempdir().unwrap();
    let pool = open(&csv_pool(folder.path()));
    let all = pool.choose_columns(&ColumnChoice::All).unwrap();
    assert_eq!(all, ["text", "score"], "neither the id, which picks have, nor the embedding");
    let path = written(folder.path(), &pool, &ColumnChoice::All, "picks.csv").unwrap();
    let first = fs::read_to_string(&path).unwrap();
    assert!(first.starts_with("rank,index,id,score,information,variance_left,text,score_pool\n"), "{first}");
    let path = written(folder.path(), &pool, &names(&["score", "y"]), "picks.jsonl").unwrap();
    let line = &lines(&path)[0];
    assert_eq!((&line["score"], &line["score_pool"], &line["y"]), (&json!(0.5), &json!("high"), &json!("3.25")));
    let path = written(folder.path(), &pool, &names(&["score"]), "picks.parquet").unwrap();
    assert!(read_parquet(&path).column_by_name("score").is_some(), "Parquet has no score of its own");
}

#[test]
fn jsonl_keeps_nested_objects_as_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let pool = open(&jsonl_pool(folder.path()));
    assert_eq!(pool.text_column(), Some("text"), "although it is null in the first row");
    let path = written(folder.path(), &pool, &ColumnChoice::All, "picks.jsonl").unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let all: Vec<&str> = text.lines().collect();
    assert!(all[0].ends_with(r#""meta":"bare","text":"","stars":4}"#), "{text}");
    assert!(all[1].ends_with(r#""meta":{"z":2,"a":[]},"text":"ü"}"#), "{text}");
    assert_eq!(RowList::open(&path).unwrap().rows_of(Some(&pool)).unwrap(), Some(vec![3, 1]));
    let kept = values(&pool, &names(&["meta", "text", "stars"]), &[0, 2]);
    assert_eq!(kept.text(0, 0).unwrap(), r#"{"a":[1.1,null],"z":1}"#);
    assert_eq!((kept.text(1, 0), kept.text(1, 2)), (None, Some("third".to_owned())));
    assert_eq!(
        (kept.text(1, 1), kept.json(2, 0)),
        (None, None),
        "a row that was not read, and a field that is lacking"
    );
    let path = written(folder.path(), &pool, &names(&["stars", "meta"]), "picks.parquet").unwrap();
    let table = read_parquet(&path);
    assert_eq!(table.column_by_name("stars").unwrap().as_primitive::<Int64Type>().value(3), 4);
    assert_eq!(table.column_by_name("meta").unwrap().as_string::<i32>().value(1), r#"{"a":[],"z":2}"#);
}

#[test]
fn parquet_keeps_the_types_of_every_column() {
    let folder = tempfile::tempdir().unwrap();
    let batch = batch();
    for file in [
        parquet_file(&folder.path().join("pool.parquet"), &batch),
        arrow_file(&folder.path().join("pool.arrow"), &batch),
    ] {
        let pool = open(&file);
        let every = names(&["text", "label", "tags", "author", "seen", "at", "emb"]);
        let path = written(folder.path(), &pool, &every, "picks.parquet").unwrap();
        let table = read_parquet(&path);
        assert_eq!(table.num_rows(), 4, "one row per row of the pool");
        for name in ["text", "label", "tags", "author", "seen", "at", "emb"] {
            let (ours, theirs) = (table.column_by_name(name).unwrap(), batch.column_by_name(name).unwrap());
            assert_eq!(ours.data_type(), theirs.data_type(), "{name}");
            assert!(ours.is_null(0) && ours.is_null(2), "{name}: rows that were not picked are null");
            for row in [1, 3] {
                assert_eq!(&ours.slice(row, 1), &theirs.slice(row, 1), "{name}");
            }
        }
        assert_eq!(RowList::open(&path).unwrap().rows_of(Some(&pool)).unwrap(), Some(vec![1, 3]));
    }
}

#[test]
fn arrow_values_become_json() {
    let folder = tempfile::tempdir().unwrap();
    let pool = open(&parquet_file(&folder.path().join("pool.parquet"), &batch()));
    assert_eq!(pool.choose_columns(&ColumnChoice::Usual).unwrap(), ["text", "label"]);
    let path = written(folder.path(), &pool, &ColumnChoice::All, "picks.jsonl").unwrap();
    let [first, second] = &lines(&path)[..] else { panic!("two picks") };
    assert_eq!(first["id"], "13");
    assert_eq!((&first["text"], &first["label"]), (&json!("<b>d</b>"), &json!("y")));
    assert_eq!((&first["tags"], &second["tags"]), (&json!([]), &json!([2, null])));
    assert_eq!((&first["author"], &second["seen"]), (&json!({"name": "z"}), &json!(false)));
    assert_eq!(first["at"], "1970-01-02T00:00:00Z");
    assert!(first.get("emb").is_none(), "the embedding is copied only if it is named");
    let kept = values(&pool, &names(&["emb", "text"]), &[2]);
    assert_eq!((kept.json(0, 2).unwrap(), kept.text(1, 2)), (json!([1.0, 2.0]), None));
}

#[test]
fn rows_of_shards_are_counted_through() {
    let folder = tempfile::tempdir().unwrap();
    let shards = folder.path().join("set");
    fs::create_dir(&shards).unwrap();
    let batch = batch();
    arrow_file(&shards.join("a.arrow"), &batch.slice(0, 1));
    parquet_file(&shards.join("b.parquet"), &batch.slice(1, 1));
    arrow_file(&shards.join("c.arrow"), &batch.slice(2, 2));
    let pool = open(&shards);
    let kept = values(&pool, &names(&["text", "id"]), &[3, 0, 3]);
    assert_eq!(kept.names(), ["text"], "picks have the id already");
    assert_eq!((kept.text(0, 0), kept.text(0, 3)), (Some("a".to_owned()), Some("<b>d</b>".to_owned())));
}

#[test]
fn a_table_of_many_batches_yields_the_rows_that_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let rows = 10_000;
    let text: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|row| format!("text {row}"))));
    let floats = (0..rows).map(|row| Some(vec![Some(1.0), Some(row as f32)]));
    let emb: ArrayRef = Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(floats, 2));
    let batch = RecordBatch::try_from_iter([("text", text), ("emb", emb)]).unwrap();
    let pool = open(&parquet_file(&folder.path().join("pool.parquet"), &batch));
    let wanted = [0, 1023, 1024, 5000, 9999];
    let kept = values(&pool, &ColumnChoice::Usual, &wanted);
    for row in wanted {
        assert_eq!(kept.text(0, row), Some(format!("text {row}")));
    }
}

#[test]
fn arrays_have_no_columns_and_missing_columns_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool.csv");
    fs::write(&path, "0.5,1.5\n2.5,3.5\n").unwrap();
    let bare = open(&path);
    assert!(bare.choose_columns(&ColumnChoice::Usual).unwrap().is_empty());
    let message = bare.choose_columns(&ColumnChoice::All).unwrap_err().to_string();
    assert!(message.contains("has no named columns that the picks could carry; use a pool in .parquet"), "{message}");
    let pool = open(&csv_pool(folder.path()));
    let message = pool.choose_columns(&names(&["txt"])).unwrap_err().to_string();
    assert!(message.contains("has no column 'txt' (did you mean 'text'?); it has 'id', 'text'"), "{message}");
}

#[test]
fn a_file_that_lost_rows_in_the_meantime_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = csv_pool(folder.path());
    let pool = open(&path);
    fs::write(&path, "id,text,score,x,y\nr0,a,b,1,2\n").unwrap();
    let message = pool.values(&["text".to_owned()], &[3]).unwrap_err().to_string();
    assert!(message.contains("has other rows or columns than when it was first read"), "{message}");
}

#[test]
fn archives_copy_arrays_with_one_value_per_row() {
    for (name, _, bytes) in crate::samples::every().into_iter().filter(|(name, ..)| name.ends_with(".safetensors")) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let pool = open(&path);
        for column in pool.choose_columns(&ColumnChoice::All).unwrap() {
            let kept = pool.values(std::slice::from_ref(&column), &[1]).unwrap();
            assert!(kept.text(0, 1).is_some(), "{name}: {column}");
        }
    }
}

#[test]
fn a_text_column_that_is_named_is_not_part_of_the_embedding() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool.csv");
    fs::write(&path, "code,x,y\n7,0.5,1.5\n8,2.5,3.5\n").unwrap();
    assert_eq!(open(&path).dim(), 3);
    let pool = Pool::open(&path, &ReadOptions::default().text("code".to_owned())).unwrap();
    assert_eq!((pool.dim(), pool.text_column()), (2, Some("code")));
    assert_eq!(pool.choose_columns(&ColumnChoice::Usual).unwrap(), ["code"]);
}
