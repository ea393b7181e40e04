//! Folders of shards: which shards form a pool, and in which order.

use std::fs;
use std::path::Path;

use crate::samples::*;
use homing_pool::{Format, Pool, ReadOptions};

#[track_caller]
fn assert_rows(pool: &Pool) {
    assert_eq!((pool.rows(), pool.dim()), (2, 3));
    assert_eq!([pool.embeddings().row(0), pool.embeddings().row(1)], ROWS);
}

fn save_shards(directory: &Path, shards: &[(&str, Vec<u8>)]) {
    for (name, bytes) in shards {
        fs::write(directory.join(name), bytes).unwrap();
    }
}

#[test]
fn a_directory_of_shards_is_one_pool_in_the_order_of_names() {
    let table = batch(vec![("text", ids()), ("id", ids()), ("embedding", lists())]);
    let (first, second) = (table.slice(0, 1), table.slice(1, 1));
    let directory = tempfile::tempdir().unwrap();
    save_shards(
        directory.path(),
        &[
            ("data-00001-of-00002.arrow", arrow_stream(&[second])),
            ("data-00000-of-00002.arrow", arrow_stream(&[first])),
            ("cache-0123.arrow", b"another table".to_vec()),
            ("dataset_info.json", b"{}".to_vec()),
            ("state.json", b"{\"step\": 7}".to_vec()),
        ],
    );
    let pool = Pool::open(directory.path(), &ReadOptions::default()).unwrap();
    assert_rows(&pool);
    assert_eq!(pool.ids().unwrap(), ["a", "b"]);
    assert_eq!(pool.format(), Format::Arrow);
}

/// Returns the `state.json` of a dataset with these files.
fn state(names: &[&str]) -> Vec<u8> {
    let files: Vec<String> = names.iter().map(|name| format!("{{\"filename\": \"{name}\"}}")).collect();
    format!("{{\"_data_files\": [{}], \"_indices_data_files\": null}}", files.join(", ")).into_bytes()
}

#[test]
fn the_shards_of_a_dataset_are_those_that_its_state_lists_in_that_order() {
    let table = batch(vec![("id", ids()), ("embedding", lists())]);
    let directory = tempfile::tempdir().unwrap();
    save_shards(
        directory.path(),
        &[
            ("z.arrow", arrow_stream(&[table.slice(0, 1)])),
            ("a.arrow", arrow_stream(&[table.slice(1, 1)])),
            ("left-over.arrow", b"another table".to_vec()),
            ("state.json", state(&["z.arrow", "a.arrow"])),
        ],
    );
    let pool = Pool::open(directory.path(), &ReadOptions::default()).unwrap();
    assert_rows(&pool);
    assert_eq!(pool.ids().unwrap(), ["a", "b"]);
}

#[test]
fn a_shard_that_the_state_lists_and_that_is_missing_is_refused() {
    let table = batch(vec![("embedding", lists())]);
    let directory = tempfile::tempdir().unwrap();
    let refusal = |state: Vec<u8>| {
        save_shards(
            directory.path(),
            &[("a.arrow", arrow_stream(std::slice::from_ref(&table))), ("state.json", state)],
        );
        Pool::open(directory.path(), &ReadOptions::default()).unwrap_err().to_string()
    };
    let message = refusal(state(&["a.arrow", "b.arrow"]));
    assert!(message.contains("b.arrow does not exist, but") && message.contains("state.json lists it"), "{message}");
    for (listed, word) in [
        (state(&[]), "lists no data files"),
        (state(&["../a.arrow"]), "not a file name"),
        (state(&["state.json"]), "neither .arrow nor .parquet"),
        (b"{\"_data_files\": [3]}".to_vec(), "not a file name"),
        (b"{\"_data_files\": ".to_vec(), "not a valid dataset's state file"),
    ] {
        let message = refusal(listed);
        assert!(message.contains("state.json") && message.contains(word), "{message}");
    }
}

#[test]
fn a_shard_that_the_names_of_the_others_imply_must_exist() {
    let directory = tempfile::tempdir().unwrap();
    let table = arrow_stream(&[batch(vec![("embedding", lists())])]);
    save_shards(directory.path(), &[("d-00000-of-00003.arrow", table.clone()), ("d-00002-of-00003.arrow", table)]);
    let message = Pool::open(directory.path(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("lacks the shard 'd-00001-of-00003': it has 2 of 3"), "{message}");
}
