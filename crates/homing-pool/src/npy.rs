//! Reads NumPy's .npy files.

use std::path::Path;

use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, TypeStr};

use crate::format::{Beginning, FormatReader};
use crate::guard::guarded;
use crate::matrix::Float;
use crate::pool::{Contents, RowColumns};
use crate::store::Store;
use crate::table_columns::TableColumns;
use crate::tensor::{Dtype, Header, Tensor};
use crate::{Error, ReadOptions, Result, column, row_files};

pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";
const FORMAT: &str = ".npy";

pub(crate) const READER: FormatReader = FormatReader {
    extensions: &["npy"],
    description: "a NumPy .npy file",
    beginning: Beginning::Magic(&[(MAGIC, "a NumPy .npy file")]),
    in_place: true,
    pool: read,
    column: |path, bytes, _| column::one_dimensional(path, &tensor(path, &Store::Memory(bytes.clone()))?),
    rows: row_files::array,
    values: |path, _, _| Err(Error::NothingToCopy { path: path.to_owned() }),
    count: |path, store, _| Ok(tensor(path, store)?.header.shape.first().copied().unwrap_or(0)),
    shard: None,
};

/// Maximum number of bytes of a header; NumPy itself refuses longer ones.
const LONGEST_HEADER: usize = 10_000;

/// Maximum number of levels of nesting in a header. Parsing takes exponential time in the depth; arrays of records need
/// four levels.
const DEEPEST_HEADER: usize = 6;

fn read(path: &Path, store: &Store, options: &ReadOptions) -> Result<Contents> {
    if let Some(name) = options.first_name() {
        return Err(Error::NoColumns { path: path.to_owned(), name: crate::message::quoted(name) });
    }
    let embeddings = tensor(path, store)?.into_matrix(path)?;
    Ok(Contents {
        embeddings,
        columns: RowColumns::default(),
        side_by_side: Vec::new(),
        ignored_numbers: Vec::new(),
        in_memory: None,
        table: TableColumns::default(),
    })
}

/// Returns the array in `store` without copying it.
pub(crate) fn tensor(path: &Path, store: &Store) -> Result<Tensor> {
    let (header, start) = header(path, &store.first_bytes(12 + LONGEST_HEADER as u64)?)?;
    let start = start as u64;
    if header.dtype.size().is_none() {
        return Err(Error::Dtype { path: path.to_owned(), dtype: header.dtype.name() });
    }
    let expected = header.byte_len().map_or(u64::MAX, |length| length as u64).saturating_add(start);
    if expected > store.len() {
        return Err(Error::Truncated { path: path.to_owned(), expected, found: store.len() });
    }
    Ok(Tensor { header, store: store.slice(start..expected) })
}

/// Reads the header at the start of `bytes`, and returns it with its length.
pub(crate) fn header(path: &Path, bytes: &[u8]) -> Result<(Header, usize)> {
    let malformed = |detail: &str| Error::malformed(path, FORMAT, detail);
    let cut_short = |expected: usize| Error::Truncated {
        path: path.to_owned(),
        expected: expected as u64,
        found: bytes.len() as u64,
    };
    let (start, length) = match *bytes {
        [_, _, _, _, _, _, 1, _, low, high, ..] => (10, usize::from(u16::from_le_bytes([low, high]))),
        [_, _, _, _, _, _, 2 | 3, _, a, b, c, d, ..] => (12, u32::from_le_bytes([a, b, c, d]) as usize),
        [_, _, _, _, _, _, 1..=3, ..] | [_, _, _, _, _, _] => return Err(cut_short(12)),
        _ => return Err(malformed("its version is not 1, 2 or 3")),
    };
    if length > LONGEST_HEADER {
        return Err(malformed(&format!("its header is {length} bytes long")));
    }
    let Some(text) = bytes.get(start..start + length) else { return Err(cut_short(start + length)) };
    if depth(text) > DEEPEST_HEADER {
        return Err(malformed("its header is nested too deeply"));
    }
    let parsed = guarded(path, FORMAT, || NpyHeader::from_reader(&bytes[..start + length]))?;
    let shape = parsed
        .shape()
        .iter()
        .map(|&extent| usize::try_from(extent).map_err(|_| malformed("its shape is too large")))
        .collect::<Result<Vec<usize>>>()?;
    let (dtype, big_endian) = match parsed.dtype() {
        DType::Plain(plain) => (dtype(&plain), plain.endianness() == Endianness::Big),
        _ => (Dtype::Other("record".to_owned()), false),
    };
    Ok((Header { dtype, shape, big_endian, column_major: parsed.order() == Order::Fortran }, start + length))
}

fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for byte in text {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn dtype(plain: &TypeStr) -> Dtype {
    let size = usize::try_from(plain.size_field()).unwrap_or(usize::MAX);
    match (plain.type_char(), size) {
        (TypeChar::Float, 2) => Dtype::Float(Float::F16),
        (TypeChar::Float, 4) => Dtype::Float(Float::F32),
        (TypeChar::Float, 8) => Dtype::Float(Float::F64),
        // NumPy saves the bfloat16 of ml_dtypes as two raw bytes.
        (TypeChar::RawData, 2) => Dtype::Float(Float::Bf16),
        (TypeChar::Int, 1..=8) => Dtype::Integer { size, signed: true },
        (TypeChar::Uint, 1..=8) => Dtype::Integer { size, signed: false },
        (TypeChar::Bool, 1) => Dtype::Bool,
        (TypeChar::UnicodeStr, 1..) => Dtype::Unicode(size),
        (TypeChar::ByteStr, 1..) => Dtype::Ascii(size),
        (TypeChar::Object, _) => Dtype::Other("object".to_owned()),
        (TypeChar::Complex, _) => Dtype::Other(format!("complex{}", size.saturating_mul(8))),
        (TypeChar::Float, _) => Dtype::Other(format!("float{}", size.saturating_mul(8))),
        _ => Dtype::Other(plain.to_string()),
    }
}
