//! The networks that Homing brings.

mod cnn;
pub mod efficientnet;
mod extent;
mod last_block;
mod mlp;

use burn::tensor::Device;

pub use cnn::Cnn;
pub use last_block::LastBlock;
pub use mlp::Mlp;

use extent::Extent;

use crate::draw::Draw;
use crate::learner::Learner;
use crate::network::Network;
use crate::weights::parse;
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
    let rows = |widths: &[usize], draw: &mut Draw| -> Result<Box<dyn Learner>> {
        Extent::mlp(size, widths, classes).check(name, shape)?;
        Ok(Box::new(Network::new(Mlp::new(size, widths, classes, draw), device, scale)))
    };
    match (name, name.strip_prefix("mlp:").map(widths), shape) {
        _ if classes == 0 => Err(Error::Setting("a network needs classes to tell apart; give two or more".into())),
        ("cnn", _, &[channels, height, width]) if height >= 8 && width >= 8 => {
            let shape = [channels, height, width];
            Extent::cnn(shape, classes).check(name, &shape)?;
            Ok(Box::new(Network::new(Cnn::new(shape, classes, draw), device, scale)))
        }
        ("cnn", ..) => Err(Error::Setting(format!(
            "cnn takes images of at least 8 × 8 pixels, these are {shape:?}; give --size 8 or more, or --model linear"
        ))),
        ("linear", ..) => rows(&[], draw),
        (_, Some(Some(widths)), _) => rows(&widths, draw),
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
    match parse(weights)?.tensor(LAST).map(|tensor| tensor.shape().to_vec()).as_deref() {
        Ok(&[_, outputs]) if outputs > 0 => Ok(outputs),
        _ => {
            let reason = format!("they have no tensor {LAST}, inputs × outputs; give weights that a run has left");
            Err(Error::Weights { reason })
        }
    }
}

/// The last layer's weights.
const LAST: &str = "last.weight";
