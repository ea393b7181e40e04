//! Files that are no pool together are refused in one sentence that names the file.

use std::fs;

use crate::samples::*;
use homing_pool::{Access, Error, Pool, ReadOptions};
use safetensors::Dtype;

/// A folder with files, and the sentences that refuse them.
struct Files(tempfile::TempDir);

impl Files {
    fn new(files: &[(&str, Vec<u8>)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, bytes) in files {
            fs::write(folder.0.path().join(name), bytes).unwrap();
        }
        folder
    }

    #[track_caller]
    fn refusal(&self, path: &str, options: &ReadOptions) -> String {
        let message = Pool::open(&self.0.path().join(path), options).unwrap_err().to_string();
        assert!(!message.contains('\n'), "{message}");
        message.replace(&format!("{}/", self.0.path().display()), "")
    }
}

#[track_caller]
fn refuses(files: &[(&str, Vec<u8>)], path: &str, words: &str) {
    let message = Files::new(files).refusal(path, &ReadOptions::default());
    assert!(message.contains(words), "{message}");
}

fn arrays(descr: &str, rows: usize, dim: usize) -> Vec<u8> {
    let size = usize::from(descr.as_bytes()[2] - b'0');
    npy(descr, false, &format!("({rows}, {dim})"), &vec![0; rows * dim * size])
}

#[test]
fn files_of_other_widths_and_types_are_refused() {
    let first = || arrays("<f4", 2, 3);
    refuses(
        &[("a.npy", first()), ("b.npy", arrays("<f4", 2, 4))],
        "*.npy",
        "b.npy does not match the files before it: its rows have 4 values but theirs have 3",
    );
    refuses(
        &[("a.npy", first()), ("b.npy", arrays("<f2", 2, 3))],
        "*.npy",
        "b.npy does not match the files before it: its values are float16 but theirs are float32",
    );
    // A file without rows matches any.
    let empty = Files::new(&[("a.npy", first()), ("b.npy", arrays("<f8", 0, 7))]);
    assert_eq!(Pool::open(&empty.0.path().join("*.npy"), &ReadOptions::default()).unwrap().rows(), 2);
    let lists = |rows: &str| format!("{{\"v\": {rows}}}\n").into_bytes();
    refuses(&[("a.jsonl", lists("[1, 2]")), ("b.jsonl", lists("[1]"))], "*", "b.jsonl does not match");
    let ragged = |columns| parquet(&[batch(columns)]);
    let wider =
        arrow_array::ListArray::from_iter_primitive::<arrow_array::types::Float64Type, _, _>([Some(vec![Some(1.0)])]);
    let wider: arrow_array::ArrayRef = std::sync::Arc::new(wider);
    refuses(
        &[("a.parquet", ragged(vec![("v", lists_of_rows())])), ("b.parquet", ragged(vec![("v", wider)]))],
        "*",
        "b.parquet does not match the files before it: its rows have 1 values but theirs have 3",
    );
    refuses(
        &[("a.parquet", ragged(vec![("v", lists_of_rows())])), ("b.parquet", ragged(vec![("v", fixed_lists())]))],
        "*",
        "b.parquet does not match the files before it",
    );
}

fn lists_of_rows() -> arrow_array::ArrayRef {
    lists()
}

#[test]
fn files_with_other_columns_are_refused() {
    let csv = |header: &str| format!("{header}\n1,2.5,3\n").into_bytes();
    for (other, words) in [
        ("id,x,z", "its embedding consists of the columns 'x', 'z', but theirs of the columns 'x', 'y'"),
        ("id,y,x", "its embedding consists of the columns 'y', 'x', but theirs of the columns 'x', 'y'"),
        ("name,x,y", "its embedding consists of the columns 'name', 'x', 'y'"),
    ] {
        refuses(&[("a.csv", csv("id,x,y")), ("b.csv", csv(other))], "*.csv", words);
    }
    refuses(
        &[("a.csv", b"id,x,y\n1,2.5,3\n".to_vec()), ("b.csv", b"1.5,2.5\n".to_vec())],
        "*.csv",
        "but theirs of the columns 'x', 'y'",
    );
    let json = |line: &str| line.as_bytes().to_vec();
    refuses(
        &[("a.jsonl", json("{\"id\": 1, \"v\": [1]}")), ("b.jsonl", json("{\"v\": [1]}"))],
        "*",
        "b.jsonl does not match the files before it: it has no ids",
    );
    refuses(
        &[("a.jsonl", json("{\"v\": [1]}")), ("b.jsonl", json("{\"w\": [1]}"))],
        "*",
        "its embeddings are in 'w' but theirs in 'v'",
    );
    let tensors = |more: bool| {
        let numbers = f32_bytes(&flat());
        let mut all = vec![("embedding", Dtype::F32, &[2, 3][..], &numbers[..])];
        let costs = f32_bytes(&[1.0, 2.0]);
        if more {
            all.push(("cost", Dtype::F32, &[2][..], &costs[..]));
        }
        safetensors(&all)
    };
    refuses(
        &[("a.safetensors", tensors(true)), ("b.safetensors", tensors(false))],
        "*",
        "b.safetensors does not match the files before it: it has no column 'cost'",
    );
    refuses(
        &[("a.safetensors", tensors(false)), ("b.safetensors", tensors(true))],
        "*",
        "it has the column 'cost', which they lack",
    );
}

#[test]
fn mixed_formats_and_folders_of_other_things_are_refused() {
    let (array, tensors) = (plain_npy(), plain_safetensors());
    for path in ["", "*"] {
        refuses(
            &[("a.npy", array.clone()), ("b.safetensors", tensors.clone())],
            path,
            "stands for files of several formats (.npy, .safetensors)",
        );
    }
    for (train, test) in [("train.npy", "test.npy"), ("train-00000-of-00001.npy", "test-00000-of-00001.npy")] {
        let words = format!("holds training data ({train}) and test data ({test}); name the files of one");
        refuses(&[(train, array.clone()), (test, array.clone())], "", &words);
    }
    // A table next to images or folders describes those.
    refuses(
        &[("a.npy", array.clone()), ("photo.jpg", vec![1])],
        "",
        "is a folder, but not one of embeddings alone (it holds 'photo.jpg')",
    );
    refuses(&[("README.md", vec![1])], "", "is a folder, but not one of embeddings alone; name a file");
    refuses(&[("a.npy", array.clone()), ("photo.jpg", vec![1])], "*", "photo.jpg has no extension that can be read");
}

#[test]
fn patterns_and_lists_that_name_no_files_are_refused() {
    let array = plain_npy();
    let files = [("a.npy", array.clone())];
    refuses(&files, "*.safetensors", "no file matches *.safetensors; check the pattern");
    refuses(&files, "[a", "is not a pattern that can be read");
    let list = |lines: &str| vec![("a.npy", array.clone()), ("pool.list", lines.as_bytes().to_vec())];
    refuses(&list("\n \n"), "pool.list", "pool.list lists no files; write one path per line");
    refuses(&list("a.npy\nb.npy\n"), "pool.list", "b.npy, which does not exist; correct the list");
    refuses(&list("a.npy\n./a.npy\n"), "pool.list", "a.npy is named twice among the files of the pool");
    refuses(&list("a.npy\n.\n"), "pool.list", "is a folder; name a file in it");
    refuses(&[("pool.list", vec![0xff])], "pool.list", "pool.list is not a valid list file: it is not UTF-8 text");
    refuses(&[], "missing.list", "missing.list does not exist; check the path");
    let error = Pool::open_many(&[], &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, Error::NoRows { .. }), "{error}");
}

#[test]
fn a_broken_file_among_many_is_named() {
    let csv = |row: &str| format!("x,y\n{row}\n").into_bytes();
    refuses(
        &[("a.csv", csv("1,2.5")), ("b.csv", csv("1,2.5\n1,2.5\n3,oops"))],
        "*.csv",
        "row 2 of b.csv has 'oops' in column 'y'",
    );
    let cut = &plain_npy()[..100];
    refuses(&[("a.npy", plain_npy()), ("b.npy", cut.to_vec())], "*.npy", "b.npy is cut short");
    refuses(&[("a.npy", plain_npy()), ("b.npy", Vec::new())], "*.npy", "b.npy is empty (0 bytes); write it again");
    refuses(
        &[("a.csv", b"x,y\n".to_vec()), ("b.csv", b"x,y\n".to_vec())],
        "*.csv",
        "*.csv has no rows; it needs at least one",
    );
}

#[test]
fn ids_that_two_files_share_are_named_with_their_places() {
    let files =
        Files::new(&[("a.csv", b"id,x,y\nu,1,2.5\nv,1,2.5\n".to_vec()), ("b.csv", b"id,x,y\nv,1,2.5\n".to_vec())]);
    let pool = Pool::open(&files.0.path().join("*.csv"), &ReadOptions::default()).unwrap();
    let message = pool.rows_of_ids(&["u".to_owned()]).unwrap_err().to_string();
    let message = message.replace(&format!("{}/", files.0.path().display()), "");
    assert_eq!(message, "id 'v' occurs in row 1 of a.csv and in row 0 of b.csv; make the ids unique");
}

#[test]
fn tables_are_not_read_by_position() {
    let files = Files::new(&[("a.csv", b"x,y\n1,2.5\n".to_vec()), ("b.csv", b"x,y\n1,2.5\n".to_vec())]);
    let message = files.refusal("*.csv", &ReadOptions::default().access(Access::Read));
    assert!(message.contains("*.csv cannot be read by position"), "{message}");
}
