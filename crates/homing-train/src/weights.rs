//! Weights from safetensors files, in any floating-point type.

use std::path::Path;

use half::{bf16, f16};
use homing_pool::{memory_allowed, read_file};
use safetensors::tensor::{TensorView, serialize};
use safetensors::{Dtype, SafeTensors};

use crate::{Error, Remedy, Result};

/// Limit on the bytes of a weights file if memory is not the tighter limit.
const MOST_BYTES: u64 = 8 << 30;

/// Returns the limit on the bytes of a weights file. A third of the memory is for the file, the rest for the network.
pub(crate) fn most_bytes() -> u64 {
    memory_allowed().map_or(MOST_BYTES, |allowed| MOST_BYTES.min(allowed / 3))
}

/// Reads the weights file at `path` for a network. Numbers that are not finite are refused.
pub fn read_weights(path: &Path) -> Result<Vec<u8>> {
    let bytes = single(read_file(path, most_bytes())?)?;
    for (name, tensor) in parse(&bytes)?.iter() {
        if tensor.dtype() == Dtype::F32
            && let Some(at) = numbers(&tensor).and_then(|numbers| numbers.iter().position(|number| !number.is_finite()))
        {
            return Err(Error::weights(format!("number {at} of {name} is not finite"), Remedy::SaveWeightsAgain));
        }
    }
    Ok(bytes)
}

/// Converts all floats of a safetensors file to single precision, in which networks compute.
pub(crate) fn single(bytes: Vec<u8>) -> Result<Vec<u8>> {
    let file = parse(&bytes)?;
    if file.iter().all(|(_, tensor)| tensor.dtype() == Dtype::F32) {
        return Ok(bytes);
    }
    let convert = |(name, tensor): (&str, TensorView<'_>)| {
        let (dtype, data) = match numbers(&tensor) {
            Some(numbers) => (Dtype::F32, numbers.iter().flat_map(|number| number.to_le_bytes()).collect()),
            None => (tensor.dtype(), tensor.data().to_vec()),
        };
        (name.to_owned(), dtype, tensor.shape().to_vec(), data)
    };
    let tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = file.iter().map(convert).collect();
    let views =
        tensors.iter().map(|(name, dtype, shape, data)| Ok((name, TensorView::new(*dtype, shape.clone(), data)?)));
    views.collect::<Result<Vec<_>, _>>().and_then(|views| serialize(views, None)).map_err(unreadable)
}

/// Parses a safetensors file.
pub(crate) fn parse(bytes: &[u8]) -> Result<SafeTensors<'_>> {
    SafeTensors::deserialize(bytes).map_err(unreadable)
}

/// Returns the numbers of a tensor, or none if it does not hold floats.
pub(crate) fn numbers(tensor: &TensorView<'_>) -> Option<Vec<f32>> {
    fn read<const N: usize>(data: &[u8], number: impl Fn([u8; N]) -> f32) -> Vec<f32> {
        data.as_chunks().0.iter().map(|&bytes| number(bytes)).collect()
    }
    let data = tensor.data();
    match tensor.dtype() {
        Dtype::F32 => Some(read(data, f32::from_le_bytes)),
        Dtype::F16 => Some(read(data, |bytes| f16::from_le_bytes(bytes).to_f32())),
        Dtype::BF16 => Some(read(data, |bytes| bf16::from_le_bytes(bytes).to_f32())),
        Dtype::F64 => Some(read(data, |bytes| f64::from_le_bytes(bytes) as f32)),
        _ => None,
    }
}

fn unreadable(error: impl std::fmt::Display) -> Error {
    Error::weights(format!("the file is not a safetensors file ({error})"), Remedy::SaveAsSafetensors)
}
