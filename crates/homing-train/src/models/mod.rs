//! The networks that Homing brings.

mod cnn;
pub mod efficientnet;
mod last_block;
mod mlp;

use burn::tensor::Device;

pub use cnn::Cnn;
pub use last_block::LastBlock;
pub use mlp::Mlp;

use crate::draw::Draw;
use crate::learner::Learner;
use crate::network::Network;
use crate::{Error, Result};

/// Pixels from 0 to 255 are seen as −1 to 1.
const PIXELS: (f32, f32) = (127.5, 127.5);
const AS_THEY_ARE: (f32, f32) = (0.0, 1.0);

const NAMES: &str = "cnn, efficientnet-b0 or efficientnet-lite0 for images, linear or mlp:256,128 for rows of numbers";

/// The network of a name for examples of `shape`: `cnn`, `linear`, or `mlp:WIDTHS`.
pub fn network(name: &str, shape: &[usize], classes: usize, device: &Device) -> Result<Box<dyn Learner>> {
    let draw = &mut Draw::new(0, 0, device);
    let size = shape.iter().product();
    let scale = if shape.len() == 3 { PIXELS } else { AS_THEY_ARE };
    match (name, name.strip_prefix("mlp:").map(widths), shape) {
        ("cnn", _, &[channels, height, width]) if height >= 8 && width >= 8 => {
            Ok(Box::new(Network::new(Cnn::new([channels, height, width], classes, draw), device, scale)))
        }
        ("cnn", ..) => Err(Error::Setting(format!("cnn takes images of at least 8 × 8 pixels, these are {shape:?}"))),
        ("linear", ..) => Ok(Box::new(Network::new(Mlp::new(size, &[], classes, draw), device, scale))),
        (_, Some(Some(widths)), _) => Ok(Box::new(Network::new(Mlp::new(size, &widths, classes, draw), device, scale))),
        _ => Err(Error::Setting(format!("there is no network {name:?}; use {NAMES}"))),
    }
}

/// The last block of an EfficientNet with a head for `classes`, as a learner of feature maps.
pub fn last_block(net: &efficientnet::EfficientNet, classes: usize, device: &Device) -> Box<dyn Learner> {
    Box::new(Network::new(net.last_block(classes, &mut Draw::new(0, 0, device)), device, AS_THEY_ARE))
}

/// The same with the head of the weights' file.
pub fn pretrained(net: &efficientnet::EfficientNet, device: &Device) -> Result<Box<dyn Learner>> {
    Ok(Box::new(Network::new(net.pretrained(device)?, device, AS_THEY_ARE)))
}

/// Numbers above 0 with commas between them.
fn widths(list: &str) -> Option<Vec<usize>> {
    list.split(',').map(|width| width.trim().parse().ok().filter(|&width| width > 0)).collect()
}

/// How many outputs a network with these weights, a safetensors file, has.
pub fn outputs(weights: &[u8]) -> Result<usize> {
    let unfit = |reason: String| Error::Weights { reason };
    let tensors = safetensors::SafeTensors::deserialize(weights).map_err(|error| unfit(error.to_string()))?;
    match tensors.tensor(LAST).map(|tensor| tensor.shape().to_vec()).as_deref() {
        Ok(&[_, outputs]) => Ok(outputs),
        _ => Err(unfit(format!("they have no tensor {LAST}, inputs × outputs"))),
    }
}

/// The last layer's weights.
const LAST: &str = "last.weight";
