//! Every format and number type reads as the same rows.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::samples::*;
use arrow_array::types::Float32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, FixedSizeListArray, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    StringViewArray,
};
use arrow_ipc::CompressionType;
use homing_pool::{Pool, ReadOptions};
use safetensors::Dtype;
use tempfile::TempDir;

fn saved(name: &str, bytes: &[u8]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    (directory, path)
}

fn open(name: &str, bytes: &[u8]) -> Pool {
    open_with(name, bytes, &ReadOptions::default())
}

fn open_with(name: &str, bytes: &[u8], options: &ReadOptions) -> Pool {
    let (_directory, path) = saved(name, bytes);
    Pool::open(&path, options).unwrap()
}

#[track_caller]
fn assert_rows(pool: &Pool) {
    assert_eq!((pool.rows(), pool.dim()), (2, 3));
    assert_eq!(pool.embeddings().row(0), ROWS[0]);
    assert_eq!(pool.embeddings().row(1), ROWS[1]);
}

#[test]
fn every_sample_reads_as_the_same_rows() {
    for (name, format, bytes) in every() {
        let pool = open(name, &bytes);
        assert_rows(&pool);
        assert_eq!(pool.format(), format, "{name}");
        assert_eq!(pool.path().file_name().unwrap(), name);
        if let Some(ids) = pool.ids() {
            assert_eq!(ids, ["a", "b"], "{name}");
        }
    }
}

#[test]
fn arrays_of_every_type_read_as_the_same_rows() {
    use half::{bf16, f16};
    let types: [(&str, &str, Vec<u8>); 8] = [
        ("<f4", "float32", bytes_of(&flat(), |x| (x as f32).to_le_bytes())),
        ("<f8", "float64", bytes_of(&flat(), f64::to_le_bytes)),
        ("<f2", "float16", bytes_of(&flat(), |x| f16::from_f64(x).to_le_bytes())),
        ("<V2", "bfloat16", bytes_of(&flat(), |x| bf16::from_f64(x).to_le_bytes())),
        ("|V2", "bfloat16", bytes_of(&flat(), |x| bf16::from_f64(x).to_le_bytes())),
        (">f4", "float32", bytes_of(&flat(), |x| (x as f32).to_be_bytes())),
        (">f8", "float64", bytes_of(&flat(), f64::to_be_bytes)),
        (">f2", "float16", bytes_of(&flat(), |x| f16::from_f64(x).to_be_bytes())),
    ];
    for (descr, dtype, data) in types {
        let pool = open("pool.npy", &npy(descr, false, "(2, 3)", &data));
        assert_rows(&pool);
        assert_eq!(pool.dtype(), dtype, "{descr}");
        assert_eq!(pool.is_mapped(), !descr.starts_with('>'), "{descr}");
    }
}

#[test]
fn column_major_arrays_are_transposed() {
    let columns = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
    for (descr, data) in [("<f4", f32_bytes(&columns)), (">f8", bytes_of(&columns, f64::to_be_bytes))] {
        let pool = open("pool.npy", &npy(descr, true, "(2, 3)", &data));
        assert_rows(&pool);
        assert!(!pool.is_mapped());
    }
}

#[test]
fn later_versions_of_npy_headers_are_read() {
    let mut file = plain_npy();
    let header = u16::from_le_bytes([file[8], file[9]]);
    for version in [2, 3] {
        file.splice(6..10, [version, 0].into_iter().chain(u32::from(header).to_le_bytes()));
        assert_rows(&open("pool.npy", &file));
        file.splice(6..12, [1, 0].into_iter().chain(header.to_le_bytes()));
    }
}

#[test]
fn a_misaligned_array_is_copied() {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    let header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n";
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header);
    assert!(!file.len().is_multiple_of(4));
    file.extend(f32_bytes(&flat()));
    let pool = open("pool.npy", &file);
    assert_rows(&pool);
    assert!(!pool.is_mapped());
}

#[test]
fn tensors_of_every_type_are_mapped() {
    use half::{bf16, f16};
    let types: [(Dtype, &str, Vec<u8>); 4] = [
        (Dtype::F32, "float32", bytes_of(&flat(), |x| (x as f32).to_le_bytes())),
        (Dtype::F64, "float64", bytes_of(&flat(), f64::to_le_bytes)),
        (Dtype::F16, "float16", bytes_of(&flat(), |x| f16::from_f64(x).to_le_bytes())),
        (Dtype::BF16, "bfloat16", bytes_of(&flat(), |x| bf16::from_f64(x).to_le_bytes())),
    ];
    for (stored, dtype, data) in types {
        let pool = open("pool.safetensors", &safetensors(&[("x", stored, &[2, 3], &data)]));
        assert_rows(&pool);
        assert_eq!(pool.dtype(), dtype);
        assert!(pool.is_mapped());
    }
}

#[test]
fn arrays_next_to_the_embeddings_are_columns() {
    let int = |values: &[i64]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let options = ReadOptions::default()
        .group("g".to_owned())
        .cost("c".to_owned())
        .label("l".to_owned())
        .probabilities("p".to_owned());
    let probabilities = bytes_of(&[0.25, 0.75, 1.0, 0.0], f64::to_le_bytes);
    let tensors = safetensors(&[
        ("x", Dtype::F32, &[2, 3], &f32_bytes(&flat())),
        ("p", Dtype::F64, &[2, 2], &probabilities),
        ("ids", Dtype::I64, &[2], &int(&[70, -7])),
        ("g", Dtype::U8, &[2], &[1, 1]),
        ("c", Dtype::F32, &[2], &f32_bytes(&[0.5, 2.0])),
        ("l", Dtype::I64, &[2], &int(&[0, 1])),
    ]);
    let arrays = npz(
        &[
            ("x", plain_npy()),
            ("p", npy("<f8", false, "(2, 2)", &probabilities)),
            ("ids", npy("<i8", false, "(2,)", &int(&[70, -7]))),
            ("g", npy("|u1", false, "(2,)", &[1, 1])),
            ("c", npy("<f4", false, "(2,)", &f32_bytes(&[0.5, 2.0]))),
            ("l", npy("<U1", false, "(2,)", &unicode(&["0", "1"]))),
        ],
        true,
    );
    for (name, bytes) in [("pool.safetensors", tensors), ("pool.npz", arrays)] {
        let pool = open_with(name, &bytes, &options);
        assert_rows(&pool);
        assert_eq!(pool.ids().unwrap(), ["70", "-7"]);
        assert_eq!(pool.groups().unwrap(), ["1", "1"]);
        assert_eq!(pool.costs().unwrap(), [0.5, 2.0]);
        assert_eq!(pool.labels().unwrap(), ["0", "1"]);
        assert_eq!(pool.probabilities().unwrap().row(0), [0.25, 0.75]);
    }
}

fn tables(batch: &RecordBatch) -> [(&'static str, Vec<u8>); 3] {
    let batch = std::slice::from_ref(batch);
    [("t.parquet", parquet(batch)), ("t.arrow", arrow_stream(batch)), ("t.arrow", arrow_file(batch, None))]
}

#[test]
fn lists_of_every_kind_read_as_rows() {
    for (column, dtype) in [(fixed_lists(), "float32"), (lists(), "float64"), (large_lists(), "float32")] {
        for (name, bytes) in tables(&batch(vec![("x", column)])) {
            let pool = open(name, &bytes);
            assert_rows(&pool);
            assert_eq!(pool.dtype(), dtype);
            assert!(!pool.is_mapped() && pool.ids().is_none());
        }
    }
}

#[test]
fn columns_of_a_table_are_read_by_name() {
    let dictionary: DictionaryArray<arrow_array::types::Int32Type> = ["p", "q"].into_iter().collect();
    let table = batch(vec![
        ("text", Arc::new(StringViewArray::from(vec!["some", "text"]))),
        ("number", Arc::new(Int64Array::from(vec![7, 8]))),
        ("kind", Arc::new(dictionary)),
        ("price", Arc::new(Int64Array::from(vec![3, 4]))),
        ("other", large_lists()),
        ("emb", lists()),
    ]);
    let options = ReadOptions::default()
        .id("number".to_owned())
        .group("text".to_owned())
        .cost("price".to_owned())
        .label("kind".to_owned())
        .probabilities("other".to_owned());
    for (name, bytes) in tables(&table) {
        let pool = open_with(name, &bytes, &options);
        assert_rows(&pool);
        assert_eq!(pool.ids().unwrap(), ["7", "8"]);
        assert_eq!(pool.groups().unwrap(), ["some", "text"]);
        assert_eq!(pool.labels().unwrap(), ["p", "q"]);
        assert_eq!(pool.costs().unwrap(), [3.0, 4.0]);
        assert_eq!(pool.probabilities().unwrap().row(1), ROWS[1]);
    }
}

#[test]
fn number_columns_side_by_side_are_rows() {
    let single = |values: [f32; 2]| Arc::new(Float32Array::from(values.to_vec())) as ArrayRef;
    let narrow =
        batch(vec![("id", ids()), ("x", single([1.0, 4.0])), ("y", single([2.0, 5.0])), ("z", single([3.0, 6.0]))]);
    let mixed = batch(vec![
        ("x", Arc::new(Int64Array::from(vec![1, 4]))),
        ("y", single([2.0, 5.0])),
        ("z", Arc::new(Float64Array::from(vec![3.0, 6.0]))),
    ]);
    for (table, dtype) in [(narrow, "float32"), (mixed, "float64")] {
        for (name, bytes) in tables(&table) {
            let pool = open(name, &bytes);
            assert_rows(&pool);
            assert_eq!(pool.dtype(), dtype);
        }
    }
}

#[test]
fn several_batches_are_concatenated() {
    let table = batch(vec![("id", ids()), ("x", lists())]);
    let twice = [table.slice(0, 1), table.slice(1, 1)];
    for bytes in
        [("t.parquet", parquet(&twice)), ("t.arrow", arrow_stream(&twice)), ("t.arrow", arrow_file(&twice, None))]
    {
        let pool = open(bytes.0, &bytes.1);
        assert_rows(&pool);
        assert_eq!(pool.ids().unwrap(), ["a", "b"]);
    }
}

#[test]
fn text_numbers_are_exact() {
    let value = 0.100_000_000_000_000_02_f64;
    for (name, text) in [("p.csv", format!("{value},2\n")), ("p.jsonl", format!("[{value},2]\n"))] {
        let pool = open(name, text.as_bytes());
        assert_eq!(pool.embeddings().row(0), [value, 2.0]);
        assert_eq!(pool.dtype(), "float64");
    }
}

#[test]
fn headers_are_distinguished_from_rows() {
    let cases = [
        ("1.0,2,3\n4,5,6\n", None),
        ("x,y,z\n1,2,3\n4,5,6\n", None),
        ("x;y;z\n1;2;3\n4;5;6\n", None),
        ("x\ty\tz\n1\t2\t3\n4\t5\t6\n", None),
        ("0,1,2\n1.0,2.0,3.0\n4.0,5.0,6.0\n", None),
        ("1,2,3\n1.0,2.0,3.0\n4.0,5.0,6.0\n", None),
        (",0,1,2\n0,1,2,3\n1,4,5,6\n", None),
        ("\u{feff}uid,x,y,z\r\n10,1,2,3\r\n\r\n11,4,5,6", Some(["10", "11"])),
        ("text, x, y, z, id\n\"a, b\", 1, 2, 3,p\nq,4,5,6,\"q,r\"\n", Some(["p", "q,r"])),
    ];
    for (text, ids) in cases {
        let pool = open("p.csv", text.as_bytes());
        assert_rows(&pool);
        assert_eq!(pool.ids().map(<[String]>::to_vec), ids.map(|ids| ids.map(str::to_owned).to_vec()), "{text}");
    }
}

#[test]
fn text_columns_are_read_by_name() {
    let options = ReadOptions::default()
        .embedding("v".to_owned())
        .group("g".to_owned())
        .cost("c".to_owned())
        .label("l".to_owned())
        .probabilities("p".to_owned());
    let csv = "g,c,l,v,p\nu,0.5,1,\"[1,2,3]\",\"[1,0]\"\nw,2,0,\"[4,5,6]\",\"[0.5,0.5]\"\n";
    let jsonl = "{\"g\":\"u\",\"c\":0.5,\"l\":1,\"v\":[1,2,3],\"p\":[1,0],\"more\":null}\n\n\
                 {\"g\":\"w\",\"c\":2,\"l\":0,\"v\":[4,5,6],\"p\":[0.5,0.5]}";
    let tsv = "g\tc\tl\tv\tp\nu\t0.5\t1\t[1,2,3]\t[1,0]\nw\t2\t0\t[4,5,6]\t[0.5,0.5]\n";
    for (name, text) in [("p.csv", csv), ("p.tsv", tsv), ("p.jsonl", jsonl)] {
        let pool = open_with(name, text.as_bytes(), &options);
        assert_rows(&pool);
        assert_eq!(pool.groups().unwrap(), ["u", "w"]);
        assert_eq!(pool.labels().unwrap(), ["1", "0"]);
        assert_eq!(pool.costs().unwrap(), [0.5, 2.0]);
        assert_eq!(pool.probabilities().unwrap().row(1), [0.5, 0.5]);
    }
}

#[test]
fn compressed_columns_of_many_rows_are_read() {
    let (rows, dim) = (1000, 64);
    let numbers: Vec<Option<Vec<Option<f32>>>> =
        (0..rows).map(|row| Some((0..dim).map(|i| Some((row * dim + i) as f32)).collect())).collect();
    let lists = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(numbers, dim);
    let table = [batch(vec![("x", Arc::new(lists))])];
    for compression in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let pool = open("p.arrow", &arrow_file(&table, Some(compression)));
        assert_eq!((pool.rows(), pool.embeddings().row(999)[63]), (1000, 63_999.0));
    }
}

#[test]
fn ids_find_their_rows() {
    let pool = open("p.csv", b"id,x,y\na,1,2\nb,3,4\nc,5,6\n");
    let ids: Vec<String> = ["c", "a"].map(str::to_owned).to_vec();
    assert_eq!(pool.rows_of_ids(&ids).unwrap(), [2, 0]);
}

#[test]
fn a_null_free_column_may_be_declared_nullable() {
    let table = batch(vec![("id", Arc::new(StringArray::from(vec![Some("a"), Some("b")]))), ("x", lists())]);
    for (name, bytes) in tables(&table) {
        assert_eq!(open(name, &bytes).ids().unwrap(), ["a", "b"]);
    }
}
