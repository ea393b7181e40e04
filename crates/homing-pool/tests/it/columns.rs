//! Tests of reading one column of a file as texts.

use std::fs;
use std::sync::Arc;

use crate::samples::*;
use arrow_array::{ArrayRef, Int64Array, StringArray};
use homing_pool::{Pool, ReadOptions, read_column};

fn column(name: &str, bytes: &[u8], asked: Option<&str>) -> Result<Vec<String>, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    read_column(&path, asked).map_err(|error| error.to_string())
}

#[test]
fn tables_of_text() {
    for bytes in ["label\ncat\n\"\"\ndog\n", "x,label\n1,cat\n2,\n3,dog\n"] {
        assert_eq!(column("a.csv", bytes.as_bytes(), None).unwrap(), ["cat", "", "dog"]);
    }
    assert_eq!(column("a.csv", b"cat\ndog\n", None).unwrap(), ["cat", "dog"]);
    assert_eq!(column("a.csv", b"cat\n", None).unwrap(), ["cat"]);
    assert_eq!(column("a.csv", b"4\n2\n", None).unwrap(), ["4", "2"]);
    assert_eq!(column("a.csv", b"digit\n4\n2\n", None).unwrap(), ["4", "2"]);
    assert_eq!(column("a.csv", b"a,b\nx,y\n", Some("b")).unwrap(), ["y"]);
    assert_eq!(column("a.txt", b"cat\n\ndog\n", None).unwrap(), ["cat", "", "dog"]);
    assert_eq!(column("a.jsonl", b"\"cat\"\n3\nnull\n", None).unwrap(), ["cat", "3", ""]);
    let objects = b"{\"label\":\"cat\",\"n\":1}\n{\"n\":2}\n";
    assert_eq!(column("a.jsonl", objects, None).unwrap(), ["cat", ""]);
    assert_eq!(column("a.jsonl", objects, Some("n")).unwrap(), ["1", "2"]);
}

#[test]
fn columns_of_arrow_and_parquet() {
    let labels: ArrayRef = Arc::new(StringArray::from(vec![Some("cat"), None]));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![7, 8]));
    let batch = batch(vec![("n", numbers), ("label", labels)]);
    for (name, bytes) in [("a.parquet", parquet(std::slice::from_ref(&batch))), ("a.arrow", arrow_stream(&[batch]))] {
        assert_eq!(column(name, &bytes, None).unwrap(), ["cat", ""]);
        assert_eq!(column(name, &bytes, Some("n")).unwrap(), ["7", "8"]);
        let message = column(name, &bytes, Some("m")).unwrap_err();
        assert!(message.contains("no column 'm'; it has 'n', 'label'"), "{message}");
    }
}

#[test]
fn an_ambiguous_label_column_must_be_named() {
    let message = column("a.csv", b"a,b\nx,y\n", None).unwrap_err();
    assert!(message.contains("no column 'label'; it has 'a', 'b'"), "{message}");
    let message = column("a.npy", &plain_npy(), None).unwrap_err();
    assert!(message.contains("labels are texts or numbers"), "{message}");
}

#[test]
fn labels_may_be_blank_where_that_is_allowed() {
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes) in [
        ("a.csv", &b"a,b,label\n1,2,cat\n3,4,\n"[..]),
        ("a.jsonl", b"{\"v\":[1.0],\"label\":\"cat\"}\n{\"v\":[2.0]}\n"),
    ] {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        let options = ReadOptions::default().label("label".to_owned());
        assert!(Pool::open(&path, &options).unwrap_err().to_string().contains("row 1"));
        let pool = Pool::open(&path, &options.blank_labels(true)).unwrap();
        assert_eq!(pool.labels().unwrap(), ["cat", ""]);
    }
}
