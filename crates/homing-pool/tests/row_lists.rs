//! Rows of a pool, named in every way.

mod samples;

use std::fs;
use std::sync::Arc;

use arrow_array::{BooleanArray, Int32Array, Int64Array};
use homing::Pick;
use homing_pool::{Result, RowList, write_picks};
use samples::*;

fn open(name: &str, bytes: &[u8]) -> Result<RowList> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    RowList::open(&path)
}

#[track_caller]
fn assert_indices(name: &str, bytes: &[u8], expected: &[usize]) {
    match open(name, bytes).unwrap() {
        RowList::Indices(indices) => assert_eq!(indices, expected, "{name}"),
        other => panic!("{name}: {other:?}"),
    }
}

#[track_caller]
fn assert_ids(name: &str, bytes: &[u8], expected: &[&str]) {
    match open(name, bytes).unwrap() {
        RowList::Ids(ids) => assert_eq!(ids, expected, "{name}"),
        other => panic!("{name}: {other:?}"),
    }
}

#[track_caller]
fn assert_refused(name: &str, bytes: &[u8], words: &[&str]) {
    let message = open(name, bytes).unwrap_err().to_string();
    assert!(words.iter().all(|word| message.contains(word)), "{message}");
}

#[test]
fn our_own_picks_read_back() {
    let pick = |rank, index| Pick { rank, index, score: 0.5, information: 1.0, variance_left: None };
    let picks = [pick(1, 4), pick(2, 0), pick(3, 3)];
    let directory = tempfile::tempdir().unwrap();
    for name in ["p.csv", "p.jsonl", "p.parquet", "p.npy"] {
        let path = directory.path().join(name);
        write_picks(&path, &picks, 5, None).unwrap();
        let mut indices = match RowList::open(&path).unwrap() {
            RowList::Indices(indices) => indices,
            RowList::Named { indices, ids } => {
                assert_eq!(ids, ["4", "0", "3"], "{name}");
                indices
            }
            other => panic!("{name}: {other:?}"),
        };
        if name == "p.parquet" {
            indices.sort_unstable();
            assert_eq!(indices, [0, 3, 4]);
        } else {
            assert_eq!(indices, [4, 0, 3], "{name}");
        }
    }
}

#[test]
fn indices() {
    assert_indices("r.csv", b"index,score\n3,0.5\n1,0.2\n", &[3, 1]);
    assert_indices("r.csv", b"index\n", &[]);
    assert_indices("r.csv", b"3\n1\n", &[3, 1]);
    assert_indices("r.txt", b"3\n\n 1 \r\n", &[3, 1]);
    assert_indices("r.jsonl", b"{\"index\":3}\n{\"index\":1}\n", &[3, 1]);
    assert_indices("r.jsonl", b"3\n1\n", &[3, 1]);
    assert_indices("r.npy", &npy("<i8", false, "(2,)", &[3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]), &[3, 1]);
    assert_indices("r.npy", &npy("|u1", false, "(2,)", &[3, 1]), &[3, 1]);
    let index = Arc::new(Int32Array::from(vec![3, 1]));
    let table = [batch(vec![("id", ids()), ("index", index)])];
    assert_indices("r.parquet", &parquet(&table), &[3, 1]);
    assert_indices("r.arrow", &arrow_stream(&table), &[3, 1]);
    let selected = Arc::new(BooleanArray::from(vec![false, true]));
    let table = [batch(vec![("id", ids()), ("selected", selected)])];
    assert_indices("r.parquet", &parquet(&[table[0].clone(), table[0].clone()]), &[1, 3]);
    assert_indices("r.arrow", &arrow_stream(&table), &[1]);
}

#[test]
fn indices_with_ids_beside_them() {
    for (name, bytes) in [
        ("r.csv", &b"id,index\na,3\nb,1\n"[..]),
        ("r.tsv", b"index\tid\n3\ta\n1\tb\n"),
        ("r.jsonl", b"{\"index\":3,\"id\":\"a\"}\n{\"index\":1,\"id\":\"b\"}\n"),
    ] {
        let RowList::Named { indices, ids } = open(name, bytes).unwrap() else { panic!("{name}") };
        assert_eq!((indices, ids), (vec![3, 1], vec!["a".to_owned(), "b".to_owned()]), "{name}");
    }
}

#[test]
fn ids_as_text() {
    assert_ids("r.csv", b"text,id\nt,a\nu,b\n", &["a", "b"]);
    assert_ids("r.csv", b"a\nb\n", &["a", "b"]);
    assert_ids("r.csv", b"id\n7\n", &["7"]);
    assert_ids("r.txt", b"a\n5\n", &["a", "5"]);
    assert_ids("r.jsonl", b"{\"id\":\"a\"}\n{\"id\":5}\n", &["a", "5"]);
    assert_ids("r.jsonl", b"\"a\"\n\"b\"\n", &["a", "b"]);
    assert_ids("r.npy", &npy("<U1", false, "(2,)", &unicode(&["a", "b"])), &["a", "b"]);
    let table = [batch(vec![("id", ids())])];
    assert_ids("r.parquet", &parquet(&table), &["a", "b"]);
    assert_ids("r.arrow", &arrow_file(&table, None), &["a", "b"]);
}

#[test]
fn embeddings_of_their_own() {
    let lists = batch(vec![("x", lists())]);
    let files = [
        ("r.npy", plain_npy()),
        ("r.safetensors", plain_safetensors()),
        ("r.npz", npz(&[("x", plain_npy())], false)),
        ("r.parquet", parquet(std::slice::from_ref(&lists))),
        ("r.arrow", arrow_stream(&[lists])),
        ("r.csv", b"1,2,3\n4,5,6\n".to_vec()),
        ("r.jsonl", b"[1,2,3]\n[4,5,6]\n".to_vec()),
        ("r.jsonl", b"{\"v\":[1,2,3]}\n{\"v\":[4,5,6]}\n".to_vec()),
    ];
    for (name, bytes) in files {
        let RowList::Embeddings(pool) = open(name, &bytes).unwrap() else { panic!("{name}") };
        assert_eq!(pool.embeddings().row(1), ROWS[1], "{name}");
    }
}

#[test]
fn what_names_no_rows_is_refused() {
    assert_refused("r.csv", b"index\n3\n-1\n", &["row 1 of", "'-1'", "whole number from 0"]);
    assert_refused("r.jsonl", b"{\"index\":1.5}\n", &["row 0 of", "'1.5'", "whole number"]);
    assert_refused("r.jsonl", b"{\"index\":1}\n{}\n", &["row 1 of", "no value in column 'index'"]);
    assert_refused("r.npy", &npy("<i8", false, "(1,)", &[0xff; 8]), &["'-1'", "whole number"]);
    assert_refused("r.npy", &npy("<f4", false, "(2,)", &[0; 8]), &["does not name rows", "float32 of shape (2,)"]);
    assert_refused("r.npy", &npy("<i4", false, "(1, 2)", &[0; 8]), &["unsupported type int32"]);
    assert_refused("r.parquet", &parquet(&[batch(vec![("text", ids())])]), &["no column of embeddings"]);
    let index = Arc::new(Int64Array::from(vec![Some(1), None]));
    assert_refused(
        "r.parquet",
        &parquet(&[batch(vec![("index", index)])]),
        &["row 1 of", "no value in column 'index'"],
    );
    assert_refused("r.txt", b"\xff\xfe\0", &["does not name rows", "UTF-8"]);
    assert_refused("r.xyz", b"1\n", &["no extension"]);
}
