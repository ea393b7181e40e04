//! Reads safetensors files.

use std::path::Path;

use safetensors::Dtype as Stored;
use safetensors::tensor::{Metadata, TensorInfo};

use crate::format::{Beginning, FormatReader};
use crate::guard::guarded;
use crate::matrix::Float;
use crate::store::Store;
use crate::tensor::{Archive, Dtype, Header, Tensor};
use crate::{Error, Result, column, tensor};

const FORMAT: &str = "safetensors";

pub(crate) const READER: FormatReader = FormatReader {
    extensions: &["safetensors"],
    description: "a safetensors file",
    beginning: Beginning::Accepted(begins),
    in_place: true,
    pool: |path, store, options| tensor::read(path, &mut tensors(path, store)?, options),
    column: |path, bytes, name| column::array(path, &mut tensors(path, &Store::Memory(bytes.clone()))?, name),
    rows: |_, _| Ok(None),
    values: |path, bytes, reader| tensor::values(path, &mut tensors(path, &Store::Memory(bytes.clone()))?, reader),
    count: |path, store, options| tensor::count(path, &tensors(path, store)?, options),
    shard: None,
};

/// Whether `bytes` may be the length of a header and its first character.
fn begins(bytes: &[u8]) -> bool {
    const LONGEST_HEADER: u64 = 100_000_000;
    let Some(front) = bytes.first_chunk::<8>() else { return false };
    u64::from_le_bytes(*front) <= LONGEST_HEADER && bytes.get(8).is_none_or(|&byte| byte == b'{')
}

struct Tensors(Vec<(String, Tensor)>);

/// Returns the tensors in `store` in the order of their names, without copying them.
fn tensors(path: &Path, store: &Store) -> Result<Tensors> {
    let found = store.len();
    let truncated = |expected| Error::Truncated { path: path.to_owned(), expected, found };
    let front = store.first_bytes(8)?;
    let Some(length) = front.first_chunk::<8>() else { return Err(truncated(8)) };
    let start = u64::from_le_bytes(*length).saturating_add(8);
    if start > found {
        return Err(truncated(start));
    }
    let header = store.slice(8..start).bytes()?;
    let metadata: Metadata = guarded(path, FORMAT, || serde_json::from_slice(&header))?;
    let end = start.saturating_add(metadata.data_len() as u64);
    if end > found {
        return Err(truncated(end));
    }
    if end < found {
        let detail = format!("its tensors end at byte {end} but it has {found}");
        return Err(Error::malformed(path, FORMAT, &detail));
    }
    let tensor = |(name, info): (String, &TensorInfo)| {
        let header =
            Header { dtype: dtype(info.dtype), shape: info.shape.clone(), big_endian: false, column_major: false };
        let (from, to) = info.data_offsets;
        (name, Tensor { header, store: store.slice(start + from as u64..start + to as u64) })
    };
    let mut tensors: Vec<_> = metadata.tensors().into_iter().map(tensor).collect();
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(Tensors(tensors))
}

fn dtype(stored: Stored) -> Dtype {
    let integer = |size, signed| Dtype::Integer { size, signed };
    match stored {
        Stored::F16 => Dtype::Float(Float::F16),
        Stored::BF16 => Dtype::Float(Float::Bf16),
        Stored::F32 => Dtype::Float(Float::F32),
        Stored::F64 => Dtype::Float(Float::F64),
        Stored::I8 => integer(1, true),
        Stored::I16 => integer(2, true),
        Stored::I32 => integer(4, true),
        Stored::I64 => integer(8, true),
        Stored::U8 => integer(1, false),
        Stored::U16 => integer(2, false),
        Stored::U32 => integer(4, false),
        Stored::U64 => integer(8, false),
        Stored::BOOL => Dtype::Bool,
        other => Dtype::Other(other.to_string()),
    }
}

impl Archive for Tensors {
    fn headers(&self) -> Vec<(String, Header)> {
        self.0.iter().map(|(name, tensor)| (name.clone(), tensor.header.clone())).collect()
    }

    fn tensor(&mut self, position: usize) -> Result<Tensor> {
        Ok(self.0[position].1.clone())
    }
}
