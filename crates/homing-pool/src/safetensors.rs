//! Safetensors files.

use std::path::Path;

use bytes::Bytes;
use safetensors::{Dtype as Stored, SafeTensors};

use crate::guard::guarded;
use crate::matrix::Float;
use crate::pool::Contents;
use crate::tensor::{Archive, Dtype, Header, Tensor};
use crate::{Error, ReadOptions, Result};

const FORMAT: &str = "safetensors";

pub(crate) fn read(path: &Path, bytes: &Bytes, options: &ReadOptions) -> Result<Contents> {
    let mut tensors = guarded(path, FORMAT, || tensors(bytes)).map_err(|error| explained(path, bytes, error))?;
    tensors.0.sort_by(|a, b| a.0.cmp(&b.0));
    crate::tensor::read(path, &mut tensors, options)
}

struct Tensors(Vec<(String, Tensor)>);

fn tensors(bytes: &Bytes) -> Result<Tensors, safetensors::SafeTensorError> {
    let file = SafeTensors::deserialize(bytes)?;
    let tensors = file.iter().map(|(name, view)| {
        let header =
            Header { dtype: dtype(view.dtype()), shape: view.shape().to_vec(), big_endian: false, column_major: false };
        (name.to_owned(), Tensor { header, bytes: bytes.slice_ref(view.data()) })
    });
    Ok(Tensors(tensors.collect()))
}

/// A file that ends before its last tensor gets its own message.
fn explained(path: &Path, bytes: &[u8], error: Error) -> Error {
    let Some(front) = bytes.first_chunk::<8>() else { return error };
    let data_start = u64::from_le_bytes(*front).saturating_add(8);
    let found = bytes.len() as u64;
    let truncated = |expected| Error::Truncated { path: path.to_owned(), expected, found };
    if data_start > found {
        return truncated(data_start);
    }
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..data_start as usize]).unwrap_or_default();
    let ends = header.as_object().into_iter().flat_map(|tensors| tensors.values());
    let data = ends.filter_map(|tensor| tensor.get("data_offsets")?.get(1)?.as_u64()).max();
    match data.map(|data| data.saturating_add(data_start)) {
        Some(expected) if expected > found => truncated(expected),
        _ => error,
    }
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
