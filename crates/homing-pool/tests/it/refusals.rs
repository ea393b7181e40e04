//! Every bad input is refused with one sentence that names the file and the remedy.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::samples::*;
use arrow_array::types::Float32Type;
use arrow_array::{
    ArrayRef, BinaryArray, FixedSizeListArray, Float32Array, Int64Array, ListArray, RecordBatch, StringArray,
};
use arrow_ipc::CompressionType;
use arrow_schema::{DataType, Field, Schema};
use homing_pool::{Pool, ReadOptions};
use safetensors::Dtype;

fn refusal_with(name: &str, bytes: &[u8], options: &ReadOptions) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    let message = Pool::open(&path, options).unwrap_err().to_string();
    assert!(message.contains(&path.display().to_string()), "no path: {message}");
    message.replace(&path.display().to_string(), name)
}

#[track_caller]
fn assert_refused(name: &str, bytes: &[u8], words: &[&str]) {
    assert_refused_with(name, bytes, &ReadOptions::default(), words);
}

#[track_caller]
fn assert_refused_with(name: &str, bytes: &[u8], options: &ReadOptions, words: &[&str]) {
    let message = refusal_with(name, bytes, options);
    assert!(!message.contains('\n'), "{message}");
    for word in words {
        assert!(message.contains(word), "no {word:?} in: {message}");
    }
}

/// Replaces every `from` in `bytes` with `to`, which has the same length.
fn with(from: &str, to: &str, mut bytes: Vec<u8>) -> Vec<u8> {
    while let Some(at) = bytes.windows(from.len()).position(|window| window == from.as_bytes()) {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    bytes
}

fn refusal_of(path: &Path) -> String {
    Pool::open(path, &ReadOptions::default()).unwrap_err().to_string()
}

#[test]
fn paths_that_are_not_files() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["missing.npy", "missing", "missing.xyz"] {
        assert!(refusal_of(&directory.path().join(name)).contains("does not exist; check the path"));
    }
    let message = refusal_of(directory.path());
    assert!(message.contains("is a folder, but not one of embeddings alone; name a file"), "{message}");
    fs::create_dir_all(directory.path().join("train")).unwrap();
    fs::create_dir_all(directory.path().join("test")).unwrap();
    let message = refusal_of(directory.path());
    assert!(message.contains("(it holds 'test', 'train')"), "{message}");
    fs::write(directory.path().join("pool.xyz"), "1").unwrap();
    let message = refusal_of(&directory.path().join("pool.xyz"));
    assert!(message.contains("no extension that can be read; use one of .npy, .npz"), "{message}");
}

#[cfg(unix)]
#[test]
fn files_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pool.npy");
    fs::write(&path, plain_npy()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser may read it despite the permissions.
    if fs::File::open(&path).is_err() {
        assert!(refusal_of(&path).contains("permission denied"));
    }
}

#[test]
fn empty_files() {
    for extension in ["npy", "npz", "safetensors", "parquet", "arrow", "csv", "tsv", "jsonl"] {
        assert_refused(&format!("pool.{extension}"), b"", &["is empty (0 bytes)", "write it again"]);
    }
}

#[test]
fn files_of_another_format() {
    let parquet = parquet(&[batch(vec![("x", lists())])]);
    assert_refused("p.npy", &parquet, &["is not a NumPy .npy file", "looks like a Parquet file", "extension"]);
    assert_refused("p.csv", &parquet, &["is not a table of text", "Parquet"]);
    assert_refused("p.jsonl", &plain_npy(), &["JSON lines", "NumPy"]);
    assert_refused("p.parquet", &plain_npy(), &["is not a Parquet file", "NumPy .npy"]);
    assert_refused("p.arrow", b"x,y\n1,2\n", &["is not an Arrow file", "looks like text"]);
    assert_refused("p.safetensors", b"x,y\n1,2\n1,2\n", &["is not a safetensors file", "looks like text"]);
    assert_refused("p.npz", &plain_safetensors(), &["is not a NumPy .npz file", "safetensors"]);
    assert_refused("p.npy", b"\x80\x04\x95rest", &["Python pickle"]);
    assert_refused("p.npy", b"version https://git-lfs.github.com/spec/v1\n", &["Git LFS", "git lfs pull"]);
    assert_refused("p.csv", b"\xff\xfex\0,\0y\0", &["is not a table of text"]);
    assert_refused("p.npy", b"\x01\x02\x03", &["bytes of no known format"]);
}

#[test]
fn files_that_are_cut_short() {
    let npy = plain_npy();
    let whole = npy.len();
    assert_refused("p.npy", &npy[..whole - 1], &[&format!("requires {whole} bytes but it has {}", whole - 1)]);
    assert_refused("p.npy", &npy[..20], &["is cut short", "bytes but it has 20"]);
    assert_refused("p.npy", &npy[..7], &["is cut short"]);
    let tensors = plain_safetensors();
    let whole = tensors.len();
    assert_refused("p.safetensors", &tensors[..whole - 4], &["cut short", &whole.to_string()]);
    assert_refused("p.safetensors", &tensors[..20], &["cut short", "has 20"]);
    let table = [batch(vec![("x", fixed_lists())])];
    let file = parquet(&table);
    assert_refused("p.parquet", &file[..file.len() - 9], &["not a valid Parquet file", "cut short"]);
    let file = arrow_stream(&table);
    assert_refused("p.arrow", &file[..file.len() - 20], &["cut short", "bytes but it has"]);
    let file = npz(&[("x", plain_npy())], true);
    assert_refused("p.npz", &file[..file.len() - 9], &["not a valid .npz file"]);
}

#[test]
fn headers_that_promise_the_impossible() {
    for shape in ["(1000000000000000000, 4)", "(18446744073709551615, 18446744073709551615)", "(3, 99999)"] {
        assert_refused("p.npy", &npy("<f4", false, shape, &[0; 24]), &["is cut short", "requires"]);
    }
    assert_refused("p.npy", &npy("<f4", false, "(99999999999999999999, 1)", &[0; 24]), &["not a valid .npy file"]);
    assert_refused("p.npy", &npy("<f4", false, "(-1, 4)", &[0; 24]), &["not a valid .npy file"]);
    let deep = "(".repeat(3000);
    assert_refused("p.npy", &npy("<f4", false, &deep, &[0; 24]), &["nested too deeply"]);
    let bomb = npz(&[("x", npy("<f4", false, "(1000000000000, 4)", &[0; 24]))], true);
    assert_refused("p.npz", &bomb, &["'x' is cut short"]);
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend([0xff; 8]);
    assert_refused("p.npy", &long, &["header is 4294967295 bytes long"]);
    let mut wrong = plain_npy();
    wrong[6] = 9;
    assert_refused("p.npy", &wrong, &["version"]);
}

#[test]
fn compressed_columns_that_claim_the_impossible() {
    let table = [batch(vec![("x", lists())])];
    for compression in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let mut file = arrow_file(&table, Some(compression));
        // Such a short column is stored uncompressed, which a length of -1 indicates.
        let claim = file.windows(8).position(|window| window == [0xff; 8]).unwrap();
        file[claim..claim + 8].copy_from_slice(&(1u64 << 50).to_le_bytes());
        assert_refused("p.arrow", &file, &["not a valid Arrow file", "impossible length"]);
    }
}

#[test]
fn arrays_of_another_shape() {
    let data = f32_bytes(&flat());
    assert_refused("p.npy", &npy("<f4", false, "(6,)", &data), &["shape (6,)", "two dimensions"]);
    assert_refused("p.npy", &npy("<f4", false, "(1, 2, 3)", &data), &["shape (1, 2, 3)", "two dimensions"]);
    assert_refused("p.npy", &npy("<f4", false, "()", &data), &["shape ()"]);
    assert_refused("p.npy", &npy("<f4", false, "(0, 3)", &[]), &["has no rows"]);
    assert_refused("p.npy", &npy("<f4", false, "(3, 0)", &[]), &["rows without values"]);
    let flat = safetensors(&[("x", Dtype::F32, &[6], &data)]);
    assert_refused("p.safetensors", &flat, &["'x (float32 of shape (6,))'", "`ReadOptions::embedding`"]);
}

#[test]
fn numbers_of_another_type() {
    let zeros = [0u8; 96];
    for (descr, name) in [
        ("<i8", "int64"),
        ("|u1", "uint8"),
        ("|b1", "bool"),
        ("<c8", "complex64"),
        ("<f16", "float128"),
        ("<U2", "text"),
        ("|O", "object"),
    ] {
        let words = [&format!("unsupported type {name}; convert to float32") as &str];
        assert_refused("p.npy", &npy(descr, false, "(2, 3)", &zeros), &words);
    }
    let integers = safetensors(&[("x", Dtype::I64, &[2, 3], &zeros[..48])]);
    assert_refused("p.safetensors", &integers, &["unsupported type int64; convert to float32"]);
    let rows = [Some(vec![Some(1), Some(2)])];
    let lists = ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>(rows);
    let table = parquet(&[batch(vec![("embedding", Arc::new(lists))])]);
    assert_refused("p.parquet", &table, &["unsupported type int64; convert to float32"]);
}

fn ragged() -> ArrayRef {
    let rows =
        [vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0]].map(|row| Some(row.into_iter().map(Some).collect::<Vec<_>>()));
    Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(rows))
}

#[test]
fn rows_of_another_length() {
    let words = ["row 2 of", "has 1 values but the rows before it have 2"];
    let table = [batch(vec![("x", ragged())])];
    assert_refused("p.parquet", &parquet(&table), &words);
    assert_refused("p.arrow", &arrow_stream(&table), &words);
    assert_refused("p.csv", b"2,1\n3,4\n5\n", &words);
    assert_refused("p.csv", b"x,y\n1,2\n3,4\n5\n", &words);
    assert_refused("p.csv", b"e\n\"[1,2]\"\n\"[3,4]\"\n[5]\n", &words);
    assert_refused("p.jsonl", b"[1,2]\n[3,4]\n[5]\n", &words);
    assert_refused("p.jsonl", b"{\"v\":[1,2]}\n{\"v\":[3,4]}\n{\"v\":[5]}\n", &words);
    assert_refused("p.csv", b"x,y\n1\n", &["row 0 of", "has 1 values but the header before it has 2"]);
    let split = [table[0].slice(0, 2), table[0].slice(2, 1)];
    assert_refused("p.arrow", &arrow_stream(&split), &words);
    assert_refused("p.parquet", &parquet(&split), &words);
}

#[test]
fn rows_without_a_value() {
    let fixed = |rows: [Option<Vec<Option<f32>>>; 2]| {
        Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(rows, 2)) as ArrayRef
    };
    let whole = || Some(vec![Some(1.0), Some(2.0)]);
    for column in [fixed([whole(), None]), fixed([whole(), Some(vec![Some(1.0), None])])] {
        let table = [batch(vec![("x", column)])];
        assert_refused("p.parquet", &parquet(&table), &["row 1 of", "no value in column 'x'"]);
        assert_refused("p.arrow", &arrow_stream(&table), &["row 1 of", "no value in column 'x'"]);
    }
    let ids: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
    let table = [batch(vec![("id", ids), ("x", lists())])];
    assert_refused("p.parquet", &parquet(&table), &["row 1 of", "no value in column 'id'", "remove or fill"]);
    assert_refused("p.csv", b"x,y\n1,2\n3,\n", &["row 1 of", "no value in column 'y'"]);
    assert_refused("p.jsonl", b"{\"v\":[1]}\n{\"w\":[1]}\n", &["row 1 of", "no value in column 'v'"]);
    assert_refused("p.jsonl", b"{\"v\":[1]}\n{\"v\":null}\n", &["row 1 of", "no value in column 'v'"]);
}

#[test]
fn cells_that_are_not_numbers() {
    let mut text = "x,y\n".to_owned();
    text.push_str(&"1,2\n".repeat(150));
    text.push_str("1,oops\n");
    assert_refused("p.csv", text.as_bytes(), &["row 150 of", "'oops' in column 'y'", "not a number"]);
    assert_refused("p.jsonl", b"[1,2]\n[1,\"x\"]\n", &["row 1 of", "not a list of numbers"]);
    assert_refused("p.jsonl", b"[1,2]\n[1,\n", &["row 1 of", "not JSON"]);
    assert_refused("p.jsonl", b"{\"v\":[1]}\n[1]\n", &["row 1 of", "not an object"]);
    assert_refused("p.jsonl", b"{\"v\":[1]}\n{\"v\":[null]}\n", &["row 1 of", "not a list of numbers"]);
    assert_refused("p.csv", b"e\n[1]\n[oops]\n", &["row 1 of", "'[oops]' is not a JSON list"]);
    assert_refused("p.csv", b"x,y\n1,2\n\xe9,3\n", &["row 1 of", "not UTF-8"]);
}

#[test]
fn tables_without_rows() {
    let table = batch(vec![("x", lists())]).slice(0, 0);
    assert_refused("p.parquet", &parquet(std::slice::from_ref(&table)), &["has no rows"]);
    assert_refused("p.arrow", &arrow_stream(&[table]), &["has no rows"]);
    assert_refused("p.csv", b"x,y\n", &["has no rows"]);
    assert_refused("p.jsonl", b"\n\n", &["has no rows"]);
    assert_refused("p.jsonl", b"[]\n", &["rows without values"]);
}

#[test]
fn ambiguous_or_missing_embeddings() {
    let table = parquet(&[batch(vec![("left", lists()), ("right", large_lists())])]);
    assert_refused("p.parquet", &table, &["several columns", "'left', 'right'", "`ReadOptions::embedding`"]);
    let table = parquet(&[batch(vec![("text", ids())])]);
    assert_refused("p.parquet", &table, &["no column of embeddings", "'text (Utf8)'", "`ReadOptions::embedding`"]);
    assert_refused("p.csv", b"text\nhello\n", &["no column of embeddings", "'text (text)'"]);
    assert_refused("p.jsonl", b"{\"a\":1,\"b\":2}\n", &["no column of embeddings", "'a (a number)'"]);
}

#[test]
fn columns_that_do_not_fit_their_use() {
    let table = parquet(&[batch(vec![("text", ids()), ("x", lists())])]);
    let ask = |options: ReadOptions, words: &[&str]| assert_refused_with("p.parquet", &table, &options, words);
    let options = ReadOptions::default;
    ask(options().embedding("nope".to_owned()), &["no column 'nope'", "it has 'text', 'x'"]);
    ask(options().id("nope".to_owned()), &["no column 'nope'"]);
    ask(options().embedding("text".to_owned()), &["column 'text'", "is Utf8", "lists of floats"]);
    ask(options().cost("text".to_owned()), &["column 'text'", "costs are numbers"]);
    ask(options().group("x".to_owned()), &["column 'x'", "groups are"]);
    ask(options().probabilities("text".to_owned()), &["probabilities are"]);
    let bare = options().id("id".to_owned());
    assert_refused_with("p.npy", &plain_npy(), &bare, &["no columns", "'id'", ".npz, .safetensors or .parquet"]);
    assert_refused_with("p.jsonl", b"[1]\n", &bare, &["no columns", "'id'"]);
}

#[test]
fn a_first_line_that_may_be_names_or_a_row_is_refused() {
    for text in ["0,1,2\n3,4,5\n", "1,2,3\n4,5,6\n", "1,2\n0.5,7\n", "0,1\n", "1;2\n3;4\n"] {
        assert_refused("p.csv", text.as_bytes(), &["the first line of p.csv", "names of its columns or a row", "1.0"]);
    }
}

#[test]
fn numbers_with_a_decimal_comma_are_refused_and_not_left_out() {
    for text in ["x;y;z\n1;2;0,5\n3;4;1,5\n", "0,5;1,5\n2,5;3,5\n"] {
        assert_refused("p.csv", text.as_bytes(), &["decimal comma", "write them with a point"]);
    }
}

#[test]
fn two_columns_of_one_name_are_refused_in_every_format() {
    let columns = vec![Field::new("x", DataType::Float32, false), Field::new("x", DataType::Float32, false)];
    let numbers = |first: f32| Arc::new(Float32Array::from(vec![first, first])) as ArrayRef;
    let table = RecordBatch::try_new(Arc::new(Schema::new(columns)), vec![numbers(1.0), numbers(2.0)]).unwrap();
    let words = ["two columns called 'x'", "columns 1 and 2", "rename one"];
    assert_refused("p.parquet", &parquet(std::slice::from_ref(&table)), &words);
    assert_refused("p.arrow", &arrow_stream(&[table]), &words);
    assert_refused("p.csv", b"x,x\n1,2\n", &words);
    assert_refused("p.tsv", b"x\tx\n1\t2\n", &words);
    assert_refused("p.jsonl", b"{\"v\":[1]}\n{\"v\":[1],\"v\":[2]}\n", &["row 1 of", "'v' occurs twice"]);
    let archive = npz(&[("first", plain_npy()), ("other", plain_npy())], false);
    let archive = with("other.npy", "first.npy", archive);
    assert_refused("p.npz", &archive, &["two of its arrays have the same name"]);
}

#[test]
fn ids_that_cannot_be_read_are_refused_and_not_replaced_by_row_numbers() {
    let words = ["column 'id'", "but ids are texts or numbers; convert it, or name another column"];
    let rows = [Some(vec![Some(1)]), Some(vec![Some(2)])];
    let odd: ArrayRef = Arc::new(ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>(rows));
    let table = [batch(vec![("id", odd), ("x", lists())])];
    assert_refused("p.parquet", &parquet(&table), &words);
    assert_refused("p.arrow", &arrow_stream(&table), &words);
    let objects = npz(&[("x", plain_npy()), ("id", npy("|O", false, "(2,)", &[0; 16]))], false);
    assert_refused("p.npz", &objects, &["object of shape (2,)", words[0], words[1]]);
    assert_refused("p.jsonl", b"{\"id\":{\"$oid\":\"a\"},\"v\":[1]}\n", &["an object", words[0], words[1]]);
    assert_refused("p.csv", b"id,x,y\n[1],2,3\n", &["lists", words[0], words[1]]);
    let bytes: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"a", b"\xff"]));
    let table = [batch(vec![("id", bytes), ("x", lists())])];
    for (name, file) in [("p.parquet", parquet(&table)), ("p.arrow", arrow_stream(&table))] {
        assert_refused(name, &file, &["row 1 of", "column 'id' has no text"]);
    }
}

#[test]
fn names_within_a_type_are_escaped_in_messages() {
    let item = Arc::new(Field::new("\u{1b}[31m\n", DataType::Float32, false));
    let lists = FixedSizeListArray::new(item, 1, Arc::new(Float32Array::from(vec![1.0])), None);
    let table = [batch(vec![("x", Arc::new(lists))])];
    let options = ReadOptions::default().label("x".to_owned());
    let message = refusal_with("p.arrow", &arrow_stream(&table), &options);
    assert!(message.contains("FixedSizeList") && !message.chars().any(char::is_control), "{message:?}");
}

#[test]
fn an_arrow_stream_that_ends_between_two_batches_is_refused() {
    let table = batch(vec![("x", lists())]);
    let (two, end) = (arrow_stream(&[table.clone(), table.clone()]), 8);
    // A stream of one batch without its end marker equals the stream of two batches cut after the first.
    let one = arrow_stream(&[table]).len() - end;
    assert_refused("p.arrow", &two[..one], &["not a valid Arrow file", "does not end as one"]);
    assert_refused("p.arrow", &two[..two.len() - end], &["does not end as one, so it was cut short"]);
}

#[test]
fn arrays_of_another_length_than_the_embeddings() {
    let three = Int64Array::from(vec![1, 2, 3]);
    let data: Vec<u8> = three.values().iter().flat_map(|x| x.to_le_bytes()).collect();
    let tensors = safetensors(&[("x", Dtype::F32, &[2, 3], &f32_bytes(&flat())), ("id", Dtype::I64, &[3], &data)]);
    assert_refused("p.safetensors", &tensors, &["column 'id'", "3 values for 2 rows"]);
}

#[test]
fn shards_that_do_not_match() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(directory.path().join(name), bytes).unwrap();
    write("data-0.arrow", &arrow_stream(&[batch(vec![("x", lists())])]));
    write("data-1.arrow", &arrow_stream(&[batch(vec![("x", large_lists())])]));
    let message = refusal_of(directory.path());
    assert!(message.contains("data-1.arrow does not match the files before it"), "{message}");
    write("data-1.arrow", b"not arrow");
    assert!(refusal_of(directory.path()).contains("data-1.arrow is not an Arrow file"));
    write("state.json", b"{\"_indices_data_files\": [{\"filename\": \"indices.arrow\"}]}");
    let message = refusal_of(directory.path());
    assert!(message.contains("call flatten_indices() before save_to_disk()"), "{message}");
}

#[test]
fn ids_that_do_not_name_one_row() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("p.csv");
    let ask = |text: &str, id: &str| {
        fs::write(&path, text).unwrap();
        let pool = Pool::open(&path, &ReadOptions::default()).unwrap();
        pool.rows_of_ids(&[id.to_owned()]).unwrap_err().to_string()
    };
    assert!(ask("id,x,y\na,1,2\nb,1,2\na,3,4\n", "b").contains("id 'a' occurs in rows 0 and 2"));
    assert!(ask("id,x,y\na,1,2\n", "c").contains("id 'c' is not in"));
    assert!(ask("x,y\n1,2\n", "c").contains("has no ids"));
}

#[test]
fn a_quote_that_is_never_closed_does_not_swallow_the_lines_below_it() {
    let table = b"a,b,text\n1,2,ok\n3,4,\"open\n5,6,s\n7,9,u\n";
    assert_refused("q.csv", table, &["line 3 of q.csv opens a quote that is never closed", "close it"]);
    assert_refused("q.csv", b"a,b,text\r\n\r\n1,2,\"x\r\n3,4,y\r\n", &["line 3 of q.csv opens a quote"]);
    // The open quote may also leave its record with too few fields.
    assert_refused("q.csv", b"a,b\n1,2\n\"3,4\n5,6\n", &["line 3 of q.csv opens a quote"]);
    assert_refused("q.csv", b"\"a,b\n1,2\n3,4\n", &["line 1 of q.csv opens a quote"]);
    assert_refused("q.tsv", b"a\tb\tc\n1\t2\t\"u\n3\t4\tv\n", &["line 2 of q.tsv opens a quote"]);
}

#[test]
fn a_column_of_numbers_is_not_left_out_because_of_one_other_cell() {
    let expected = ["'NA'", "in which most cells are numbers", "left out of the embedding", "`label`"];
    assert_refused(
        "p.csv",
        b"a,b,c\n1,2,0.5\n3,4,NA\n5,6,0.25\n",
        &[&["row 1 of p.csv", "'c'"], &expected[..]].concat(),
    );
    assert_refused("p.csv", b"a,b\n1,0.5\n3,NA\n5,0.5\n", &expected);
    let quoted = b"a,b,c\n1,2,\"0,5\"\n3,4,\"0,25\"\n";
    assert_refused("p.csv", quoted, &["column 'c' of p.csv holds numbers with a decimal comma"]);
    let mut late = "a,b,c\n".to_owned() + &"1.5,2.5,\n".repeat(120);
    late.push_str("3.5,4.5,0.5\n");
    assert_refused("p.csv", late.as_bytes(), &["row 120 of p.csv has '0.5' in column 'c'", "blank in the first rows"]);
}

#[test]
fn columns_of_texts_next_to_numbers_are_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("p.csv");
    let label = || ReadOptions::default().label("c".to_owned());
    let late = "a,b,c\n".to_owned() + &"1,2,\n".repeat(120) + "3,4,words\n";
    for (table, options) in [
        ("a,b,c\n1,2,one\n3,4,2\n", ReadOptions::default()),
        ("a,b,c\n1,2,2024-01-02\n3,4,2024-01-03\n", ReadOptions::default()),
        ("a,b,id\n1,2,7\n3,4,8\n3,4,x9\n", ReadOptions::default()),
        ("a,b,c\n1,2,7\n3,4,8\n3,4,NA\n", label()),
        ("a,b,c\n1,2,\n3,4,\n", ReadOptions::default()),
        (late.as_str(), ReadOptions::default()),
        ("a, b ,c\n 1, 2,u\n3 ,4, v\n", ReadOptions::default()),
        ("Unnamed: 0,a,b\nx,1,2\n1,3,4\n2,3,4\n", ReadOptions::default()),
    ] {
        fs::write(&path, table).unwrap();
        assert_eq!(Pool::open(&path, &options).unwrap().dim(), 2, "{table}");
    }
    // If a column of lists is the embedding, mixed values in other columns do not matter.
    fs::write(&path, "x,c,d\n\"[1,2]\",\"0,5\",1\n\"[3,4]\",1,2\n\"[3,4]\",1,NA\n\"[3,4]\",1,1\n").unwrap();
    assert_eq!(Pool::open(&path, &ReadOptions::default()).unwrap().dim(), 2);
}

#[test]
fn whole_numbers_above_other_numbers_are_not_mistaken_for_a_row() {
    for names in ["1990,1991,1992", "10,20,30", "3,2,1"] {
        let table = format!("{names}\n0.5,0.1,0.2\n0.25,0.5,0.75\n");
        assert_refused("p.csv", table.as_bytes(), &[names, "may be names of its columns or a row of numbers"]);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("p.csv");
    for (table, rows) in [
        ("001,002,003\n0.5,0.1,0.2\n", 1),
        ("10,20,30\n0.5,0.1,7\n", 2),
        ("10,20,30\n", 1),
        ("7,7,7\n0.5,0.1,0.2\n", 2),
    ] {
        fs::write(&path, table).unwrap();
        assert_eq!(Pool::open(&path, &ReadOptions::default()).unwrap().rows(), rows, "{table}");
    }
}

#[test]
fn ids_with_too_many_digits_are_refused_and_not_rounded() {
    let line = |id: &str| format!("{{\"id\":{id},\"x\":[1.0,2.0]}}\n");
    let expected = ["row 1 of p.jsonl cannot be read", "more digits than can be preserved", "as a text, in quotes"];
    for id in ["123456789012345678901", "-123456789012345678901"] {
        assert_refused("p.jsonl", (line("7") + &line(id)).as_bytes(), &expected);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("p.jsonl");
    fs::write(&path, line("18446744073709551615") + &line("\"123456789012345678901\"") + &line("-7")).unwrap();
    let pool = Pool::open(&path, &ReadOptions::default()).unwrap();
    assert_eq!(pool.ids().unwrap(), ["18446744073709551615", "123456789012345678901", "-7"]);
    for list in ["7\n123456789012345678901\n", "{\"id\":7}\n{\"id\":123456789012345678901}\n"] {
        fs::write(&path, list).unwrap();
        let message = homing_pool::RowList::open(&path).unwrap_err().to_string();
        assert!(message.contains("more digits than can be preserved"), "{message}");
    }
}

#[test]
fn a_nul_byte_in_a_text_table_is_reported() {
    assert_refused("p.csv", b"a,b,some words\n1,2,\0\n", &["p.csv is not a table of text: it holds a NUL byte"]);
    assert_refused("p.csv", b"\xff\xfea\0,\0b\0", &["it is UTF-16 text, but only UTF-8 can be read"]);
}

#[test]
fn the_message_about_ids_that_are_lists_says_lists() {
    let lists = ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>([Some(vec![Some(1)])]);
    let floats = ListArray::from_iter_primitive::<Float32Type, _, _>([Some(vec![Some(1.0)])]);
    let batch = RecordBatch::try_from_iter([("id", Arc::new(lists) as ArrayRef), ("x", Arc::new(floats) as ArrayRef)]);
    assert_refused(
        "p.parquet",
        &parquet(&[batch.unwrap()]),
        &["column 'id' of p.parquet is lists of int64, but ids are"],
    );
}

#[test]
fn the_row_numbers_that_pandas_writes_are_left_out_in_every_format() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["__index_level_0__", "Unnamed: 0"] {
        let numbers = || Arc::new(Int64Array::from(vec![0, 1])) as ArrayRef;
        let floats = || Arc::new(Float32Array::from(vec![0.5, 1.5])) as ArrayRef;
        let batch = [RecordBatch::try_from_iter([(name, numbers()), ("a", floats()), ("b", floats())]).unwrap()];
        let csv = format!("{name},a,b\n0,0.5,0.5\n1,1.5,1.5\n").into_bytes();
        for (file, bytes) in [("p.parquet", parquet(&batch)), ("p.arrow", arrow_stream(&batch)), ("p.csv", csv)] {
            let path = directory.path().join(file);
            fs::write(&path, bytes).unwrap();
            assert_eq!(Pool::open(&path, &ReadOptions::default()).unwrap().dim(), 2, "{file}: {name}");
        }
    }
}
