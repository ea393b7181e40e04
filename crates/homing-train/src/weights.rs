//! Weights from safetensors files, in whichever floats they were saved.

use std::path::Path;

use half::{bf16, f16};
use homing_pool::{memory_allowed, read_file};
use safetensors::tensor::{TensorView, serialize};
use safetensors::{Dtype, SafeTensors};

use crate::{Error, Result};

/// Most bytes of a file of weights, where there is memory for it and for the network that is made of it.
const MOST_BYTES: u64 = 8 << 30;

/// Most bytes of a file of weights.
pub(crate) fn most_bytes() -> u64 {
    memory_allowed().map_or(MOST_BYTES, |allowed| MOST_BYTES.min(allowed / 3))
}

/// The file of weights at `path`, to hand to a network; numbers that are not finite are refused.
pub fn read_weights(path: &Path) -> Result<Vec<u8>> {
    let bytes = single(read_file(path, most_bytes())?)?;
    for (name, tensor) in parse(&bytes)?.iter() {
        if tensor.dtype() == Dtype::F32
            && let Some(at) = numbers(&tensor).and_then(|numbers| numbers.iter().position(|number| !number.is_finite()))
        {
            let reason = format!("number {at} of {name} is not finite; save the weights anew");
            return Err(Error::Weights { reason });
        }
    }
    Ok(bytes)
}

/// The same file with all floats in single precision, which networks compute in.
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

/// The tensors of a safetensors file.
pub(crate) fn parse(bytes: &[u8]) -> Result<SafeTensors<'_>> {
    SafeTensors::deserialize(bytes).map_err(unreadable)
}

/// The numbers of a tensor of floats.
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
    Error::Weights { reason: format!("the file is no safetensors file ({error}); save them as one") }
}
