//! Small valid files: the rows [1, 2, 3] and [4, 5, 6] with the ids `a` and `b`, in every format.
#![allow(dead_code, reason = "each test binary uses some of them")]

#[path = "../npy/mod.rs"]
mod npy_file;

use std::io::Write;
use std::sync::Arc;

use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{ArrayRef, FixedSizeListArray, LargeListArray, ListArray, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use homing_pool::Format;
use parquet::arrow::ArrowWriter;
use safetensors::Dtype;
use safetensors::tensor::TensorView;

pub use npy_file::npy;

pub const ROWS: [[f64; 3]; 2] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];

pub fn flat() -> Vec<f64> {
    ROWS.concat()
}

pub fn bytes_of<const SIZE: usize>(values: &[f64], to_bytes: impl Fn(f64) -> [u8; SIZE]) -> Vec<u8> {
    values.iter().flat_map(|&x| to_bytes(x)).collect()
}

pub fn f32_bytes(values: &[f64]) -> Vec<u8> {
    bytes_of(values, |x| (x as f32).to_le_bytes())
}

pub fn plain_npy() -> Vec<u8> {
    npy("<f4", false, "(2, 3)", &f32_bytes(&flat()))
}

pub fn npz(arrays: &[(&str, Vec<u8>)], deflated: bool) -> Vec<u8> {
    let method = if deflated { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, array) in arrays {
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(array).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

pub fn unicode(texts: &[&str]) -> Vec<u8> {
    texts.iter().flat_map(|text| text.chars().flat_map(|c| (c as u32).to_le_bytes())).collect()
}

pub fn safetensors(tensors: &[(&str, Dtype, &[usize], &[u8])]) -> Vec<u8> {
    let views =
        tensors.iter().map(|&(name, dtype, shape, data)| (name, TensorView::new(dtype, shape.to_vec(), data).unwrap()));
    safetensors::serialize(views, None).unwrap()
}

pub fn plain_safetensors() -> Vec<u8> {
    safetensors(&[("embedding", Dtype::F32, &[2, 3], &f32_bytes(&flat()))])
}

pub fn fixed_lists() -> ArrayRef {
    let rows = ROWS.iter().map(|row| Some(row.iter().map(|&x| Some(x as f32)).collect::<Vec<_>>()));
    Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(rows, 3))
}

pub fn lists() -> ArrayRef {
    let rows = ROWS.iter().map(|row| Some(row.iter().map(|&x| Some(x)).collect::<Vec<_>>()));
    Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows))
}

pub fn large_lists() -> ArrayRef {
    let rows = ROWS.iter().map(|row| Some(row.iter().map(|&x| Some(x as f32)).collect::<Vec<_>>()));
    Arc::new(LargeListArray::from_iter_primitive::<Float32Type, _, _>(rows))
}

pub fn ids() -> ArrayRef {
    Arc::new(StringArray::from(vec!["a", "b"]))
}

pub fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

pub fn parquet(batches: &[RecordBatch]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batches[0].schema(), None).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.close().unwrap();
    file
}

pub fn arrow_stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = StreamWriter::try_new(&mut file, &batches[0].schema()).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    file
}

pub fn arrow_file(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
    let mut file = Vec::new();
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut writer = FileWriter::try_new_with_options(&mut file, &batches[0].schema(), options).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    file
}

/// Returns at least one valid file of every format.
pub fn every() -> Vec<(&'static str, Format, Vec<u8>)> {
    let table = batch(vec![("id", ids()), ("embedding", fixed_lists())]);
    let ragged_capable = batch(vec![("id", ids()), ("vector", lists())]);
    let named_npy = |name| (name, plain_npy());
    let id_npy = npy("<U1", false, "(2,)", &unicode(&["a", "b"]));
    vec![
        ("plain.npy", Format::Npy, plain_npy()),
        (
            "columns.npy",
            Format::Npy,
            npy(">f8", true, "(2, 3)", &bytes_of(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0], f64::to_be_bytes)),
        ),
        ("stored.npz", Format::Npz, npz(&[named_npy("emb"), ("id", id_npy.clone())], false)),
        ("deflated.npz", Format::Npz, npz(&[named_npy("emb"), ("id", id_npy)], true)),
        ("plain.safetensors", Format::Safetensors, plain_safetensors()),
        ("fixed.parquet", Format::Parquet, parquet(std::slice::from_ref(&table))),
        ("lists.parquet", Format::Parquet, parquet(std::slice::from_ref(&ragged_capable))),
        ("stream.arrow", Format::Arrow, arrow_stream(std::slice::from_ref(&table))),
        ("file.arrow", Format::Arrow, arrow_file(std::slice::from_ref(&ragged_capable), None)),
        ("lz4.arrow", Format::Arrow, arrow_file(std::slice::from_ref(&table), Some(CompressionType::LZ4_FRAME))),
        ("zstd.arrow", Format::Arrow, arrow_file(std::slice::from_ref(&table), Some(CompressionType::ZSTD))),
        ("wide.csv", Format::Csv, b"id,x,y,z\na,1,2,3\nb,4,5,6\n".to_vec()),
        ("lists.csv", Format::Csv, b"id,emb\na,\"[1,2,3]\"\nb,\"[4, 5, 6]\"\n".to_vec()),
        ("wide.tsv", Format::Tsv, b"1.0\t2\t3\n4\t5\t6\n".to_vec()),
        ("objects.jsonl", Format::Jsonl, b"{\"id\":\"a\",\"v\":[1,2,3]}\n{\"id\":\"b\",\"v\":[4,5,6.0]}\n".to_vec()),
        ("lists.jsonl", Format::Jsonl, b"[1,2,3]\n[4,5,6]\n".to_vec()),
    ]
}
