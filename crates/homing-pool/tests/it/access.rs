//! Reading a pool by position gives the same results as mapping it.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;

use crate::samples::*;
use half::{bf16, f16};
use homing::{Embeddings, Plan, Selection, Task, select, select_with};
use homing_pool::{Access, Pool, ReadOptions};
use safetensors::Dtype;

const ROWS: usize = 600;
/// Number of columns, large enough for a block of rows to be read in several pieces.
const DIM: usize = 700;

/// Returns irregular numbers that no short float format represents exactly.
fn numbers(count: usize) -> Vec<f64> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    (0..count).map(|_| next()).collect()
}

/// Returns files with every number type in every format that is used in place, with their names.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let all = numbers(ROWS * DIM);
    let shape = format!("({ROWS}, {DIM})");
    let little: [(&str, Dtype, Vec<u8>); 4] = [
        ("<f4", Dtype::F32, bytes_of(&all, |x| (x as f32).to_le_bytes())),
        ("<f8", Dtype::F64, bytes_of(&all, f64::to_le_bytes)),
        ("<f2", Dtype::F16, bytes_of(&all, |x| f16::from_f64(x).to_le_bytes())),
        ("<V2", Dtype::BF16, bytes_of(&all, |x| bf16::from_f64(x).to_le_bytes())),
    ];
    let big: [(&str, Vec<u8>); 3] = [
        (">f4", bytes_of(&all, |x| (x as f32).to_be_bytes())),
        (">f8", bytes_of(&all, f64::to_be_bytes)),
        (">f2", bytes_of(&all, |x| f16::from_f64(x).to_be_bytes())),
    ];
    let mut files = Vec::new();
    for (descr, dtype, data) in &little {
        files.push(("pool.npy", npy(descr, false, &shape, data)));
        // The data before and after the tensor must not leak into it.
        let other = ("a", Dtype::U8, &[3][..], &[1, 2, 3][..]);
        files.push(("pool.safetensors", safetensors(&[other, ("x", *dtype, &[ROWS, DIM], data)])));
    }
    files.extend(big.iter().map(|(descr, data)| ("pool.npy", npy(descr, false, &shape, data))));
    files
}

fn open(path: &Path, access: Access) -> Pool {
    Pool::open(path, &ReadOptions::default().access(access)).unwrap()
}

fn all_rows(embeddings: Embeddings<'_>) -> Vec<f64> {
    let mut out = vec![0.0; embeddings.rows() * embeddings.dim()];
    embeddings.read(0..embeddings.rows(), &mut out);
    out
}

fn chosen(pool: Embeddings<'_>, targets: Embeddings<'_>, rule: &str) -> Selection {
    let plan = Plan::default().strategy(rule.parse().unwrap()).count(5);
    select(&Task::new(pool, targets), &plan).unwrap()
}

#[test]
fn every_type_has_the_same_numbers_and_the_same_picks() {
    let directory = tempfile::tempdir().unwrap();
    let targets = numbers(3 * DIM);
    let targets = Embeddings::new(&targets[..], DIM).unwrap();
    for (name, bytes) in files() {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        let (mapped, read) = (open(&path, Access::Map), open(&path, Access::Read));
        assert!(read.is_read() && !read.is_mapped() && !mapped.is_read());
        assert_eq!((mapped.dtype(), mapped.rows(), mapped.dim()), (read.dtype(), read.rows(), read.dim()));
        assert_eq!(all_rows(mapped.embeddings()), all_rows(read.embeddings()), "{name} {}", read.dtype());
        for row in [0, 255, 256, ROWS - 1] {
            assert_eq!(mapped.embeddings().row(row), read.embeddings().row(row));
        }
        assert_eq!(mapped.embeddings().entry(311, 5), read.embeddings().entry(311, 5));
        for rule in ["itl", "vtl", "undirected-itl", "max-dist"] {
            let picks = |pool: &Pool| chosen(pool.embeddings(), targets, rule);
            assert_eq!(picks(&mapped), picks(&read), "{name} {} {rule}", read.dtype());
        }
        assert!(read.embeddings().check_read().is_ok());
    }
}

#[test]
fn columns_next_to_the_embeddings_are_read_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pool.safetensors");
    let int = |values: &[i64]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let file = safetensors(&[
        ("x", Dtype::F32, &[2, 3], &f32_bytes(&flat())),
        ("id", Dtype::I64, &[2], &int(&[7, -8])),
        ("c", Dtype::F64, &[2], &bytes_of(&[0.5, 2.0], f64::to_le_bytes)),
        ("p", Dtype::F64, &[2, 2], &bytes_of(&[0.25, 0.75, 1.0, 0.0], f64::to_le_bytes)),
    ]);
    fs::write(&path, file).unwrap();
    let options = ReadOptions::default()
        .cost("c".to_owned())
        .probabilities("p".to_owned())
        .embedding("x".to_owned())
        .access(Access::Read);
    let pool = Pool::open(&path, &options).unwrap();
    assert!(pool.is_read());
    assert_eq!(pool.embeddings().row(1), [4.0, 5.0, 6.0]);
    assert_eq!(pool.ids().unwrap(), ["7", "-8"]);
    assert_eq!(pool.costs().unwrap(), [0.5, 2.0]);
    assert_eq!(pool.probabilities().unwrap().row(0), [0.25, 0.75]);
}

#[test]
fn a_misaligned_array_needs_no_copy_when_it_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pool.npy");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    let header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n";
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header);
    file.extend(f32_bytes(&flat()));
    fs::write(&path, file).unwrap();
    let pool = open(&path, Access::Read);
    assert!(pool.is_read());
    assert_eq!(all_rows(pool.embeddings()), flat());
}

#[test]
fn a_small_file_is_mapped_by_default() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pool.npy");
    fs::write(&path, plain_npy()).unwrap();
    assert!(open(&path, Access::Auto).is_mapped());
}

#[test]
fn files_that_cannot_be_read_by_position_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let options = ReadOptions::default().access(Access::Read);
    let refusal = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        Pool::open(&path, &options).unwrap_err().to_string()
    };
    for (name, _, bytes) in every().into_iter().filter(|(name, ..)| !name.ends_with("npy")) {
        if !name.ends_with("safetensors") {
            let message = refusal(name, &bytes);
            assert!(message.contains(name) && message.contains("convert it to .npy or .safetensors"), "{message}");
        }
    }
    let message = Pool::open(&directory.path().join("*.arrow"), &options).unwrap_err().to_string();
    assert!(message.contains("convert it to .npy"), "{message}");
    let columns = npy("<f4", true, "(2, 3)", &f32_bytes(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    let message = refusal("columns.npy", &columns);
    assert!(message.contains("column by column") && message.contains("ascontiguousarray"), "{message}");
    // The errors of the readers do not depend on how the bytes are accessed.
    assert!(refusal("p.npy", &plain_npy()[..plain_npy().len() - 1]).contains("is cut short"));
    assert!(refusal("p.npy", b"").contains("is empty"));
    assert!(refusal("p.npy", b"x,y\n1,2\n").contains("looks like text"));
    let tensors = plain_safetensors();
    assert!(refusal("p.safetensors", &tensors[..tensors.len() - 4]).contains("cut short"));
    assert!(refusal("p.safetensors", &[&tensors[..], &[0; 4]].concat()).contains("not a valid safetensors file"));
}

#[test]
fn a_file_that_shrinks_under_a_selection_fails_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pool.npy");
    let (rows, dim) = (5000, 8);
    let file = npy("<f4", false, &format!("({rows}, {dim})"), &f32_bytes(&numbers(rows * dim)));
    let whole = file.len() as u64;
    let targets = numbers(3 * dim);
    let targets = Embeddings::new(&targets[..], dim).unwrap();
    for rule in ["itl", "max-dist", "k-means++"] {
        fs::write(&path, &file).unwrap();
        let pool = open(&path, Access::Read);
        let plan = Plan::default().strategy(rule.parse().unwrap()).count(200);
        let mut picks_reported = 0;
        let outcome = select_with(&Task::new(pool.embeddings(), targets), &plan, |_| {
            picks_reported += 1;
            if picks_reported == 3 {
                File::options().write(true).open(&path).unwrap().set_len(whole - 4000).unwrap();
            }
            ControlFlow::Continue(())
        });
        let message = outcome.unwrap_err().to_string();
        let want = format!("cut short: its header requires {whole} bytes but it has {}", whole - 4000);
        assert!(message.contains(&want) && message.contains("pool.npy") && !message.contains('\n'), "{message}");
        assert!((3..200).contains(&picks_reported), "{rule}: {picks_reported} picks were reported");
        assert!(pool.embeddings().check_finite("pool").is_err());
    }
}
