//! Row lists of every kind: indices, ids, picks and embeddings.

use std::fs;
use std::sync::Arc;

use crate::samples::*;
use arrow_array::{BooleanArray, Int32Array, Int64Array};
use homing::Pick;
use homing_pool::{Pool, ReadOptions, Result, RowList, write_picks};

fn open(name: &str, bytes: &[u8]) -> Result<RowList> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    RowList::open(&path)
}

#[track_caller]
fn assert_indices(name: &str, bytes: &[u8], expected: &[usize]) {
    match open(name, bytes).unwrap() {
        RowList::Rows(rows) => assert_eq!(rows, expected, "{name}"),
        other => panic!("{name}: {other:?}"),
    }
}

#[track_caller]
fn assert_numbers(name: &str, bytes: &[u8], expected: &[usize]) {
    match open(name, bytes).unwrap() {
        RowList::Numbers { path, numbers } => {
            assert_eq!(numbers, expected, "{name}");
            assert!(path.ends_with(name));
        }
        other => panic!("{name}: {other:?}"),
    }
}

#[track_caller]
fn assert_named(name: &str, bytes: &[u8], expected: &[usize], expected_ids: &[&str]) {
    match open(name, bytes).unwrap() {
        RowList::RowsAndIds { rows, ids } => {
            assert_eq!((&rows[..], &ids[..]), (expected, &texts(expected_ids)[..]));
        }
        other => panic!("{name}: {other:?}"),
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
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
fn written_picks_can_be_read() {
    let pick = |rank, row| Pick { rank, row, score: 0.5, information: 1.0, variance_left: None };
    let picks = [pick(1, 4), pick(2, 0), pick(3, 3)];
    let directory = tempfile::tempdir().unwrap();
    for name in ["p.csv", "p.jsonl", "p.parquet", "p.npy"] {
        let path = directory.path().join(name);
        write_picks(&path, &picks, 5, None).unwrap();
        match RowList::open(&path).unwrap() {
            RowList::Rows(rows) if name == "p.npy" => assert_eq!(rows, [4, 0, 3]),
            RowList::RowsAndIds { rows, ids } if name == "p.parquet" => {
                assert_eq!((rows, ids), (vec![0, 3, 4], texts(&["0", "3", "4"])));
            }
            RowList::RowsAndIds { rows, ids } => {
                assert_eq!((rows, ids), (vec![4, 0, 3], texts(&["4", "0", "3"])), "{name}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn indices() {
    assert_indices("r.csv", b"index,score\n3,0.5\n1,0.2\n", &[3, 1]);
    assert_indices("r.csv", b"index\n", &[]);
    assert_indices("r.txt", b"index\n3\n\n 1 \r\n", &[3, 1]);
    assert_indices("r.jsonl", b"{\"index\":3}\n{\"index\":1}\n", &[3, 1]);
    let index = Arc::new(Int32Array::from(vec![3, 1]));
    let table = [batch(vec![("text", ids()), ("index", index)])];
    assert_indices("r.parquet", &parquet(&table), &[3, 1]);
    assert_indices("r.arrow", &arrow_stream(&table), &[3, 1]);
    let selected = Arc::new(BooleanArray::from(vec![false, true]));
    let table = [batch(vec![("text", ids()), ("selected", selected)])];
    assert_indices("r.parquet", &parquet(&[table[0].clone(), table[0].clone()]), &[1, 3]);
    assert_indices("r.arrow", &arrow_stream(&table), &[1]);
}

#[test]
fn numbers_without_a_header() {
    assert_numbers("r.csv", b"3\n1\n", &[3, 1]);
    assert_numbers("r.txt", b"3\n\n 1 \r\n", &[3, 1]);
    assert_numbers("r.jsonl", b"3\n1\n", &[3, 1]);
    assert_indices("r.npy", &npy("<i8", false, "(2,)", &[3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]), &[3, 1]);
    assert_indices("r.npy", &npy("|u1", false, "(2,)", &[3, 1]), &[3, 1]);
    // If one entry is not written as a row index, all entries are ids.
    assert_ids("r.txt", b"3\n01\n", &["3", "01"]);
    assert_ids("r.txt", b"3\n+1\n", &["3", "+1"]);
}

#[test]
fn indices_with_ids() {
    assert_named("r.csv", b"id,index\na,3\nb,1\n", &[3, 1], &["a", "b"]);
    assert_named("r.csv", b"id;index\na;3\nb;1\n", &[3, 1], &["a", "b"]);
    assert_named("r.tsv", b"index\tid\n3\ta\n1\tb\n", &[3, 1], &["a", "b"]);
    let lines = b"{\"index\":3,\"id\":\"a\"}\n{\"index\":1,\"id\":\"b\"}\n";
    assert_named("r.jsonl", lines, &[3, 1], &["a", "b"]);
    assert_refused("r.jsonl", b"{\"index\":3,\"id\":\"a\"}\n{\"index\":1}\n", &["row 1 of", "no value in column 'id'"]);
    let index = Arc::new(Int32Array::from(vec![3, 1]));
    let table = [batch(vec![("id", ids()), ("index", index)])];
    assert_named("r.parquet", &parquet(&table), &[3, 1], &["a", "b"]);
    assert_named("r.arrow", &arrow_stream(&table), &[3, 1], &["a", "b"]);
    let selected = Arc::new(BooleanArray::from(vec![false, true]));
    let table = [batch(vec![("id", ids()), ("selected", selected)])];
    assert_named("r.parquet", &parquet(&[table[0].clone(), table[0].clone()]), &[1, 3], &["b", "b"]);
    assert_named("r.arrow", &arrow_stream(&table), &[1], &["b"]);
}

/// Returns a pool with these ids, and the directory that holds its file.
fn pool(ids: &[&str]) -> (Pool, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pool.csv");
    let rows: Vec<String> = ids.iter().map(|id| format!("{id},0.5,1.5")).collect();
    fs::write(&path, format!("id,x,y\n{}\n", rows.join("\n"))).unwrap();
    (Pool::open(&path, &ReadOptions::default()).unwrap(), directory)
}

#[test]
fn numbers_that_are_ids_of_the_pool_are_not_mistaken_for_row_indices() {
    let list = |text: &str| ["r.txt", "r.csv", "r.jsonl"].map(|name| open(name, text.as_bytes()).unwrap());
    let rows = |ids: &[&str], text: &str| -> Vec<Result<Vec<usize>, String>> {
        let (pool, _directory) = pool(ids);
        list(text).map(|list| list.rows_of(Some(&pool)).map(Option::unwrap).map_err(|error| error.to_string())).to_vec()
    };
    let same = |ids: &[&str], text: &str, expected: &[usize]| {
        assert!(rows(ids, text).iter().all(|rows| rows.as_deref() == Ok(expected)), "{ids:?} {text:?}");
    };
    // Ids that are not row indices, row indices that are not ids, and numbers that are both.
    same(&["18", "19", "20"], "20\n18\n", &[2, 0]);
    same(&["a", "b", "c"], "2\n0\n", &[2, 0]);
    same(&["0", "1", "2"], "2\n0\n", &[2, 0]);
    same(&["2", "1", "0"], "1\n", &[1]);
    for (ids, text, reason) in [
        // All are ids, and all are indices of other rows.
        (["1", "2", "0"], "1\n", "(1 is the id of row 0)"),
        // Some are ids; the others may be ids that have left the pool.
        (["7", "0", "2"], "2\n0\n1\n", "(0 is the id of row 1)"),
        (["0", "1", "3"], "0\n1\n2\n", "(2 is not an id of it, but others are)"),
        // None is an id, but all ids are numbers.
        (["10", "11", "12"], "2\n", "(2 is not an id of it, although all its ids are whole numbers)"),
    ] {
        for rows in rows(&ids, text) {
            let message = rows.unwrap_err();
            assert!(message.contains(reason) && message.contains("first line is `index` or `id`"), "{message}");
        }
    }
    let message = rows(&["18", "19", "20"], "18\n21\n").remove(0).unwrap_err();
    assert!(message.contains("id '21' is not in"), "{message}");
    // A first line `index` or `id` resolves the ambiguity.
    let (pool, _directory) = pool(&["1", "2", "0"]);
    for (text, expected) in [("index\n1\n", 1), ("id\n1\n", 0)] {
        for name in ["r.txt", "r.csv"] {
            let list = open(name, text.as_bytes()).unwrap();
            assert_eq!(list.rows_of(Some(&pool)).unwrap().unwrap(), [expected], "{name}: {text:?}");
        }
    }
}

#[test]
fn picks_of_a_reordered_pool_are_found_by_their_ids_in_every_format() {
    let pick = |rank, row| Pick { rank, row, score: 0.5, information: 1.0, variance_left: None };
    let (before, _first) = pool(&["a", "b", "c", "d"]);
    let (after, _second) = pool(&["d", "c", "b", "a"]);
    let directory = tempfile::tempdir().unwrap();
    for name in ["p.csv", "p.jsonl", "p.parquet"] {
        let path = directory.path().join(name);
        write_picks(&path, &[pick(1, 0), pick(2, 1)], 4, before.ids()).unwrap();
        let rows = |pool: &Pool| RowList::open(&path).unwrap().rows_of(Some(pool)).unwrap().unwrap();
        assert_eq!(rows(&before), [0, 1], "{name}");
        assert_eq!(rows(&after), [3, 2], "{name}");
    }
}

#[test]
fn picks_of_a_pool_with_ids_are_not_rows_of_a_pool_without_ids() {
    let (with_ids, directory) = pool(&["a", "b", "c"]);
    let path = directory.path().join("no-ids.csv");
    fs::write(&path, "x,y\n0.5,1.5\n2.5,3.5\n").unwrap();
    let without = Pool::open(&path, &ReadOptions::default()).unwrap();
    let picks = directory.path().join("picks.csv");
    let pick = [Pick { rank: 1, row: 1, score: 0.5, information: 1.0, variance_left: None }];
    let rows = || RowList::open(&picks).unwrap().rows_of(Some(&without));
    write_picks(&picks, &pick, 3, with_ids.ids()).unwrap();
    let message = rows().unwrap_err().to_string();
    assert!(message.contains("no-ids.csv has no ids to look up rows by"), "{message}");
    write_picks(&picks, &pick, 3, None).unwrap();
    assert_eq!(rows().unwrap(), Some(vec![1]));
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
        ("r.csv", b"1.0,2,3\n4,5,6\n".to_vec()),
        ("r.jsonl", b"[1,2,3]\n[4,5,6]\n".to_vec()),
        ("r.jsonl", b"{\"v\":[1,2,3]}\n{\"v\":[4,5,6]}\n".to_vec()),
    ];
    for (name, bytes) in files {
        let RowList::Embeddings(pool) = open(name, &bytes).unwrap() else { panic!("{name}") };
        assert_eq!(pool.embeddings().row(1), ROWS[1], "{name}");
    }
}

#[test]
fn files_that_name_no_rows_are_refused() {
    assert_refused("r.csv", b"index\n3\n-1\n", &["row 1 of", "'-1'", "whole number from 0"]);
    assert_refused("r.jsonl", b"{\"index\":1.5}\n", &["row 0 of", "'1.5'", "whole number"]);
    assert_refused("r.jsonl", b"{\"index\":1}\n{}\n", &["row 1 of", "no value in column 'index'"]);
    assert_refused("r.npy", &npy("<i8", false, "(1,)", &[0xff; 8]), &["'-1'", "whole number"]);
    assert_refused("r.npy", &npy("<f4", false, "(2,)", &[0; 8]), &["does not name rows", "float32 of shape (2,)"]);
    assert_refused("r.npy", &npy("<i4", false, "(1, 2)", &[0; 8]), &["unsupported type int32"]);
    assert_refused(
        "r.parquet",
        &parquet(&[batch(vec![("text", ids())])]),
        &["neither a column index or id, nor embeddings"],
    );
    let index = Arc::new(Int64Array::from(vec![Some(1), None]));
    assert_refused(
        "r.parquet",
        &parquet(&[batch(vec![("index", index)])]),
        &["row 1 of", "no value in column 'index'"],
    );
    assert_refused("r.csv", b"index,id,id\n1,a,b\n", &["two columns called 'id'"]);
    assert_refused("r.jsonl", b"{\"index\":1,\"index\":2}\n", &["row 0 of", "'index' occurs twice"]);
    assert_refused("r.txt", b"\xff\xfe\0", &["does not name rows", "UTF-8"]);
    assert_refused("r.xyz", b"1\n", &["no extension"]);
}

#[test]
fn picks_find_their_rows_if_ids_differ_only_by_spaces() {
    let pick = |rank, row| Pick { rank, row, score: 0.5, information: 1.0, variance_left: None };
    let (before, _first) = pool(&["x", " x", "y", "x\t"]);
    let (after, _second) = pool(&["y", " x", "x\t", "x"]);
    assert_eq!(before.ids().unwrap(), ["x", " x", "y", "x\t"]);
    let directory = tempfile::tempdir().unwrap();
    for name in ["p.csv", "p.jsonl", "p.parquet"] {
        let path = directory.path().join(name);
        write_picks(&path, &[pick(1, 1), pick(2, 3)], 4, before.ids()).unwrap();
        let rows = |pool: &Pool| RowList::open(&path).unwrap().rows_of(Some(pool)).unwrap().unwrap();
        assert_eq!((rows(&before), rows(&after)), (vec![1, 3], vec![1, 2]), "{name}");
    }
    for name in ["r.txt", "r.csv"] {
        assert_eq!(open(name, b" x\n").unwrap().rows_of(Some(&before)).unwrap().unwrap(), [1], "{name}");
        let message = open(name, b"id\ny \n").unwrap().rows_of(Some(&before)).unwrap_err().to_string();
        assert!(message.starts_with("id 'y', with spaces around it, is not in"), "{message}");
        assert_eq!(open(name, b" index \n 1 \n").unwrap().rows_of(Some(&before)).unwrap().unwrap(), [1], "{name}");
    }
}

#[test]
fn several_files_name_the_rows_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let open = |files: &[(&str, &str)]| {
        for entry in fs::read_dir(folder.path()).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        RowList::open(&folder.path().join("*.*"))
    };
    let picks = |rows: &[usize]| rows.iter().fold("index,id\n".to_owned(), |all, row| format!("{all}{row},r{row}\n"));
    match open(&[("a.csv", &picks(&[3, 1])), ("b.csv", &picks(&[])), ("c.csv", &picks(&[7]))]).unwrap() {
        RowList::RowsAndIds { rows, ids } => assert_eq!((rows, ids), (vec![3, 1, 7], texts(&["r3", "r1", "r7"]))),
        other => panic!("{other:?}"),
    }
    assert!(
        matches!(open(&[("a.txt", "3\n"), ("b.txt", "5\n")]).unwrap(), RowList::Numbers { numbers, .. } if numbers == [3, 5])
    );
    assert!(matches!(open(&[("a.txt", "x\n"), ("b.txt", "id\n5\n")]).unwrap(), RowList::Ids(ids) if ids == ["x", "5"]));
    let points = open(&[("a.csv", "x,y\n1,2.5\n"), ("b.csv", "x,y\n"), ("c.csv", "x,y\n3,4.5\n")]).unwrap();
    assert!(matches!(points, RowList::Embeddings(pool) if pool.rows() == 2 && pool.embeddings().row(1) == [3.0, 4.5]));
    let message = open(&[("a.txt", "3\n"), ("b.txt", "x\n")]).unwrap_err().to_string();
    assert!(message.contains("b.txt does not name rows: the files before it do so in another way"), "{message}");
}
