//! A pool in several files is the same pool as one file with the same rows.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::samples::*;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{ArrayRef, FixedSizeListArray, Float64Array, ListArray, StringArray};
use half::f16;
use homing::{Plan, STRATEGIES, Selection, Strategy, Task, select};
use homing_pool::{Access, ColumnChoice, Format, Pool, ReadOptions, count_rows, expand};
use safetensors::Dtype;
use std::sync::Arc;

const ROWS: usize = 150;
const DIM: usize = 6;

/// Numbers of rows per file, among them files without rows and with one row.
const SPLITS: [&[usize]; 5] = [&[150], &[149, 1], &[97, 0, 53], &[0, 150], &[3, 0, 1, 50, 7, 20, 68, 1]];

/// Returns the numbers of a row. Rows 75 apart are equal, so that ties lie in different files.
fn values(row: usize) -> Vec<f64> {
    let row = (row % 75) as f64;
    // Halves hold them exactly, so that every format has the same numbers.
    (0..DIM).map(|column| ((row * 37.0 + column as f64 * 11.0) % 29.0 - 14.0) / 16.0).collect()
}

fn probabilities(row: usize) -> [f64; 2] {
    let share = (row % 8) as f64 / 8.0;
    [share, 1.0 - share]
}

fn id(row: usize) -> String {
    format!("id-{row}")
}

fn kind(row: usize) -> &'static str {
    ["web", "books", "chat"][row % 3]
}

fn cost(row: usize) -> f64 {
    1.0 + (row % 4) as f64
}

fn text(row: usize) -> String {
    format!("text of {row}")
}

fn flat(rows: Range<usize>) -> Vec<f64> {
    rows.flat_map(values).collect()
}

fn array(descr: &str, rows: Range<usize>) -> Vec<u8> {
    let (shape, flat) = (format!("({}, {DIM})", rows.len()), flat(rows));
    let bytes = match descr {
        "<f2" => bytes_of(&flat, |x| f16::from_f64(x).to_le_bytes()),
        ">f4" => bytes_of(&flat, |x| (x as f32).to_be_bytes()),
        "<f8" => bytes_of(&flat, f64::to_le_bytes),
        _ => f32_bytes(&flat),
    };
    npy(descr, false, &shape, &bytes)
}

/// Returns all columns of some rows of a table.
fn columns(rows: Range<usize>, fixed: bool) -> Vec<(&'static str, ArrayRef)> {
    let texts = |text: &dyn Fn(usize) -> String| -> ArrayRef {
        Arc::new(rows.clone().map(text).map(Some).collect::<StringArray>())
    };
    let single = |row| Some(values(row).into_iter().map(|x| Some(x as f32)).collect::<Vec<_>>());
    let double = |row| Some(values(row).into_iter().map(Some).collect::<Vec<_>>());
    let embedding: ArrayRef = if fixed {
        Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(rows.clone().map(single), DIM as i32))
    } else {
        Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows.clone().map(double)))
    };
    let shares = rows.clone().map(|row| Some(probabilities(row).map(Some).to_vec()));
    vec![
        ("id", texts(&id)),
        ("text", texts(&text)),
        ("kind", texts(&|row| kind(row).to_owned())),
        ("price", Arc::new(rows.clone().map(cost).map(Some).collect::<Float64Array>())),
        ("p", Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(shares))),
        ("embedding", embedding),
    ]
}

fn tensors(rows: Range<usize>) -> Vec<u8> {
    let shares: Vec<f64> = rows.clone().flat_map(probabilities).collect();
    let prices: Vec<f64> = rows.clone().map(cost).collect();
    let (n, ids): (usize, Vec<u8>) = (rows.len(), rows.clone().flat_map(|row| (row as i64).to_le_bytes()).collect());
    safetensors(&[
        ("embedding", Dtype::F32, &[n, DIM], &f32_bytes(&flat(rows))),
        ("id", Dtype::I64, &[n], &ids),
        ("p", Dtype::F64, &[n, 2], &bytes_of(&shares, f64::to_le_bytes)),
        ("price", Dtype::F64, &[n], &bytes_of(&prices, f64::to_le_bytes)),
    ])
}

fn zipped(rows: Range<usize>) -> Vec<u8> {
    let ids: Vec<String> = rows.clone().map(|row| format!("{:>6}", id(row))).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let shares: Vec<f64> = rows.clone().flat_map(probabilities).collect();
    let n = rows.len();
    npz(
        &[
            ("emb", array("<f4", rows)),
            ("id", npy("<U6", false, &format!("({n},)"), &unicode(&ids))),
            ("p", npy("<f8", false, &format!("({n}, 2)"), &bytes_of(&shares, f64::to_le_bytes))),
        ],
        true,
    )
}

fn separated(rows: Range<usize>, between: &str) -> Vec<u8> {
    let names = (0..DIM).map(|column| format!("x{column}"));
    let header: Vec<String> = ["id", "text", "kind", "price"].map(str::to_owned).into_iter().chain(names).collect();
    let line = |row: usize| {
        let numbers = values(row).into_iter().map(|x| x.to_string());
        let texts = [id(row), text(row), kind(row).to_owned(), cost(row).to_string()];
        texts.into_iter().chain(numbers).collect::<Vec<_>>().join(between)
    };
    let lines: Vec<String> = std::iter::once(header.join(between)).chain(rows.map(line)).collect();
    (lines.join("\n") + "\n").into_bytes()
}

fn json(rows: Range<usize>) -> Vec<u8> {
    let line = |row: usize| {
        format!(
            "{{\"id\": \"{}\", \"text\": \"{}\", \"kind\": \"{}\", \"price\": {:?}, \"p\": {:?}, \"embedding\": {:?}}}\n",
            id(row),
            text(row),
            kind(row),
            cost(row),
            probabilities(row),
            values(row)
        )
    };
    // A file without rows has a blank line, because one without bytes may be a failed copy.
    if rows.is_empty() { b"\n".to_vec() } else { rows.map(line).collect::<String>().into_bytes() }
}

/// A kind of file, and how it is read.
struct Kind {
    ending: &'static str,
    write: fn(Range<usize>) -> Vec<u8>,
    /// Whether it has ids, prices and kinds of rows, and class probabilities.
    columns: [bool; 4],
}

const KINDS: [Kind; 14] = [
    Kind { ending: "f4.npy", write: |rows| array("<f4", rows), columns: [false; 4] },
    Kind { ending: "f2.npy", write: |rows| array("<f2", rows), columns: [false; 4] },
    Kind { ending: "f8.npy", write: |rows| array("<f8", rows), columns: [false; 4] },
    Kind { ending: "big.npy", write: |rows| array(">f4", rows), columns: [false; 4] },
    Kind { ending: "npz", write: zipped, columns: [true, false, false, true] },
    Kind { ending: "safetensors", write: tensors, columns: [true, true, false, true] },
    Kind { ending: "parquet", write: |rows| parquet(&[batch(columns(rows, true))]), columns: [true; 4] },
    Kind { ending: "lists.parquet", write: |rows| parquet(&[batch(columns(rows, false))]), columns: [true; 4] },
    Kind { ending: "stream.arrow", write: |rows| arrow_stream(&[batch(columns(rows, true))]), columns: [true; 4] },
    Kind { ending: "file.arrow", write: |rows| arrow_file(&[batch(columns(rows, false))], None), columns: [true; 4] },
    Kind { ending: "csv", write: |rows| separated(rows, ","), columns: [true, true, true, false] },
    Kind { ending: "semicolons.csv", write: |rows| separated(rows, ";"), columns: [true, true, true, false] },
    Kind { ending: "tsv", write: |rows| separated(rows, "\t"), columns: [true, true, true, false] },
    Kind { ending: "jsonl", write: json, columns: [true; 4] },
];

impl Kind {
    fn options(&self, access: Access) -> ReadOptions {
        let [_, price, kind, shares] = self.columns;
        let named = |is: bool, name: &str| is.then(|| name.to_owned());
        ReadOptions::default()
            .cost(named(price, "price"))
            .group(named(kind, "kind"))
            .probabilities(named(shares, "p"))
            .access(access)
    }

    /// Writes files with these numbers of rows, and returns their paths.
    fn write(&self, folder: &Path, counts: &[usize]) -> Vec<PathBuf> {
        let mut start = 0;
        let file = |(number, &count): (usize, &usize)| {
            let path = folder.join(format!("part-{number}.{}", self.ending));
            fs::write(&path, (self.write)(start..start + count)).unwrap();
            start += count;
            path
        };
        counts.iter().enumerate().map(file).collect()
    }
}

fn groups(pool: &Pool) -> Option<Vec<usize>> {
    pool.groups().map(|groups| groups.iter().map(|group| group.len() % 3).collect())
}

fn chosen(pool: &Pool, strategy: &Strategy) -> Selection {
    let targets: Vec<f64> = (0..3 * DIM).map(|i| ((i * 7) as f64 % 5.0) / 4.0 - 0.3).collect();
    let targets = homing::Embeddings::new(&targets[..], DIM).unwrap();
    let groups = groups(pool);
    let mut task = Task::new(pool.embeddings(), targets).probabilities(pool.probabilities());
    task.groups = groups.as_deref();
    task.costs = pool.costs();
    let mut plan = Plan::default().strategy(strategy.clone()).count(12).seed(5);
    if groups.is_some() {
        plan = plan.quotas([7, 7, 7]);
    }
    select(&task, &plan).unwrap()
}

#[test]
fn files_are_the_same_pool_as_one_file_in_every_format_and_for_every_rule() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let one = folder.path().join(format!("one.{}", kind.ending));
        fs::write(&one, (kind.write)(0..ROWS)).unwrap();
        let in_place = matches!(Format::of(&one).unwrap(), Format::Npy | Format::Safetensors);
        let accesses: &[Access] = if in_place { &[Access::Auto, Access::Map, Access::Read] } else { &[Access::Auto] };
        let whole = Pool::open(&one, &kind.options(Access::Auto)).unwrap();
        let strategies: Vec<Strategy> = STRATEGIES.iter().map(Strategy::from).collect();
        let usable = strategies.iter().filter(|strategy| kind.columns[3] || !strategy.needs_probabilities());
        let expected: Vec<(&Strategy, Selection)> =
            usable.map(|strategy| (strategy, chosen(&whole, strategy))).collect();
        for (split, counts) in SPLITS.iter().enumerate() {
            let parts = folder.path().join(split.to_string());
            fs::create_dir(&parts).unwrap();
            let paths = kind.write(&parts, counts);
            for &access in accesses {
                let options = kind.options(access);
                let name = format!("{} {counts:?} {access:?}", kind.ending);
                let pool = Pool::open_many(&paths, &options).unwrap();
                assert_eq!((pool.rows(), pool.dim(), pool.dtype()), (ROWS, DIM, whole.dtype()), "{name}");
                assert_eq!(
                    (pool.ids(), pool.groups(), pool.costs()),
                    (whole.ids(), whole.groups(), whole.costs()),
                    "{name}"
                );
                assert_eq!(pool.ids().is_some(), kind.columns[0]);
                assert_eq!(
                    (pool.is_read(), pool.is_mapped()),
                    (access == Access::Read, in_place && access != Access::Read && !kind.ending.starts_with("big")),
                    "{name}"
                );
                for (strategy, expected) in &expected {
                    assert_eq!(chosen(&pool, strategy), *expected, "{name} {}", strategy.name());
                }
                assert!(pool.embeddings().check_read().is_ok());
            }
            for path in [parts.clone(), parts.join("*"), parts.join(format!("part-[0-9].{}", kind.ending))] {
                let pool = Pool::open(&path, &kind.options(Access::Auto)).unwrap();
                let files = pool.files().unwrap();
                assert_eq!(
                    files.iter().map(|(path, rows)| (path.to_owned(), rows.len())).collect::<Vec<_>>(),
                    paths.iter().cloned().zip(counts.iter().copied()).collect::<Vec<_>>()
                );
                assert_eq!(pool.embeddings().row(149), values(149));
            }
            for (path, &count) in paths.iter().zip(*counts) {
                assert_eq!(count_rows(path, &kind.options(Access::Auto)).unwrap(), count, "{}", path.display());
            }
        }
    }
}

#[test]
fn columns_of_picked_rows_are_read_from_the_right_files() {
    for kind in KINDS.iter().filter(|kind| kind.columns[0] && Format::of(Path::new(kind.ending)).is_err()) {
        let folder = tempfile::tempdir().unwrap();
        let one = folder.path().join(format!("one.{}", kind.ending));
        fs::write(&one, (kind.write)(0..ROWS)).unwrap();
        let whole = Pool::open(&one, &ReadOptions::default()).unwrap();
        let names = whole.choose_columns(&ColumnChoice::All).unwrap();
        if names.is_empty() {
            continue;
        }
        let usual = whole.choose_columns(&ColumnChoice::Usual).unwrap();
        let rows = [149, 3, 4, 96, 97, 0, 148, 98];
        let expected = whole.values(&names, &rows).unwrap().to_json(&rows);
        for (split, counts) in SPLITS.iter().enumerate() {
            let parts = folder.path().join(split.to_string());
            fs::create_dir(&parts).unwrap();
            let paths = kind.write(&parts, counts);
            let pool = Pool::open(&parts, &ReadOptions::default()).unwrap();
            assert_eq!(pool.choose_columns(&ColumnChoice::All).unwrap(), names, "{}", kind.ending);
            assert_eq!(pool.choose_columns(&ColumnChoice::Usual).unwrap(), usual);
            assert_eq!(pool.values(&names, &rows).unwrap().to_json(&rows), expected, "{} {counts:?}", kind.ending);
            // A file that lost or won rows since then no longer has the rows that were picked.
            let Some(first) = counts.iter().position(|&count| count > 1) else { continue };
            fs::write(&paths[first], (kind.write)(0..counts[first] - 1)).unwrap();
            let start: usize = counts[..first].iter().sum();
            let message = pool.values(&names, &[start + counts[first] - 1]).unwrap_err().to_string();
            assert!(message.contains("has other rows or columns than when it was first read"), "{message}");
        }
    }
}

#[test]
fn a_row_is_known_by_its_file_and_its_number_there() {
    let folder = tempfile::tempdir().unwrap();
    let paths = KINDS[0].write(folder.path(), &[3, 0, 2]);
    let pool = Pool::open(folder.path(), &ReadOptions::default()).unwrap();
    let files = pool.files().unwrap();
    assert_eq!(files.place(0), (&*paths[0], 0));
    assert_eq!(files.place(2), (&*paths[0], 2));
    assert_eq!(files.place(3), (&*paths[2], 0));
    assert_eq!(files.place(4), (&*paths[2], 1));
    assert_eq!(pool.place(4).unwrap(), format!("row 1 of {}", paths[2].display()));
}

#[test]
fn a_list_names_files_in_its_own_order_and_a_pattern_sorts_them() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("below")).unwrap();
    let files = KINDS[0].write(&folder.path().join("below"), &[2, 3, 4]);
    let list = folder.path().join("pool.list");
    fs::write(&list, format!("\u{feff}below/part-2.f4.npy\r\n\n{}\n  below/part-1.f4.npy", files[0].display()))
        .unwrap();
    let order = [&files[2], &files[0], &files[1]];
    assert_eq!(expand(&list).unwrap().iter().collect::<Vec<_>>(), order);
    let pool = Pool::open(&list, &ReadOptions::default()).unwrap();
    assert_eq!((pool.rows(), pool.embeddings().row(0), pool.embeddings().row(4)), (9, values(5), values(0)));
    for pattern in ["below/*.npy", "*/*.npy", "**/*.npy", "below/part-?.f4.npy"] {
        assert_eq!(expand(&folder.path().join(pattern)).unwrap(), files, "{pattern}");
    }
    // Paths are compared byte by byte, as `sort` and Python compare them.
    for name in ["a-1.npy", "a/1.npy", "a10.npy", "a2.npy", "B.npy"] {
        fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
        fs::write(folder.path().join(name), array("<f4", 0..1)).unwrap();
    }
    let found = expand(&folder.path().join("[aB]*")).unwrap();
    let found: Vec<&str> = found.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(found, ["B.npy", "a", "a-1.npy", "a10.npy", "a2.npy"]);
    let deep: Vec<PathBuf> = expand(&folder.path().join("**/a*1*.npy")).unwrap();
    assert_eq!(deep, ["a-1.npy", "a10.npy"].map(|name| folder.path().join(name)));
    // A file whose name looks like a pattern is that file.
    let literal = folder.path().join("x[1].npy");
    fs::write(&literal, array("<f4", 7..9)).unwrap();
    assert_eq!(expand(&literal).unwrap(), std::slice::from_ref(&literal));
    assert_eq!(Pool::open(&literal, &ReadOptions::default()).unwrap().embeddings().row(0), values(7));
}

#[test]
fn what_a_folder_holds_besides_its_files_is_named() {
    let folder = tempfile::tempdir().unwrap();
    KINDS[5].write(folder.path(), &[5, 5]);
    for name in ["README.md", "_SUCCESS", ".part-0.crc", "dataset_info.json"] {
        fs::write(folder.path().join(name), "x").unwrap();
    }
    let pool = Pool::open(folder.path(), &ReadOptions::default()).unwrap();
    assert_eq!(pool.rows(), 10);
    assert_eq!(pool.files().unwrap().left_out(), [".part-0.crc", "README.md", "_SUCCESS"]);
}

#[test]
fn rows_of_json_may_have_columns_of_their_own_in_each_file() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        "{\"v\": [1, 2], \"text\": \"a\"}",
        "{\"v\": [3, 4], \"source\": \"web\"}",
        "{\"v\": [5, 6], \"text\": \"c\"}",
    ];
    for (number, line) in lines.iter().enumerate() {
        fs::write(folder.path().join(format!("{number}.jsonl")), line).unwrap();
    }
    let one = folder.path().join("one");
    fs::write(one.with_extension("jsonl"), lines.join("\n")).unwrap();
    let whole = Pool::open(&one.with_extension("jsonl"), &ReadOptions::default()).unwrap();
    let pool = Pool::open(&folder.path().join("[0-9].jsonl"), &ReadOptions::default()).unwrap();
    let [expected, found] = [&whole, &pool].map(|pool| {
        let names = pool.choose_columns(&ColumnChoice::All).unwrap();
        let rows = [0, 1, 2];
        (pool.values(&names, &rows).unwrap().to_json(&rows), names)
    });
    assert_eq!(found, expected);
}
