//! The built-in networks.

mod cnn;
pub mod efficientnet;
mod extent;
mod last_block;
mod mlp;
mod table;

use std::ops::ControlFlow;

use burn::tensor::Device;

pub use cnn::Cnn;
pub use last_block::LastBlock;
pub use mlp::Mlp;
pub(crate) use table::network_names;
pub use table::{NETWORKS, NetworkEntry, NetworkName, learning_rate_help, network_help};

use efficientnet::{EfficientNet, Trunk, cache_folder, feature_maps};

use crate::draw::Draw;
use crate::learner::{Examples, Learner};
use crate::network::Network;
use crate::weights::parse;
use crate::{Error, Inputs, Remedy, Result};

/// Scale of inputs that are not scaled.
const UNSCALED: (f32, f32) = (0.0, 1.0);

/// Returns a network with random weights for examples of `shape`.
///
/// ```
/// use homing_train::{device, models};
///
/// let network = models::network(&"mlp:8".parse()?, &[4], 3, &device("cpu")?)?;
/// assert_eq!((network.classes(), network.weights()), (3, 4 * 8 + 8 + 8 * 3 + 3));
/// # Ok::<(), homing_train::Error>(())
/// ```
pub fn network(name: &NetworkName, shape: &[usize], classes: usize, device: &Device) -> Result<Box<dyn Learner>> {
    if classes == 0 {
        return Err(Error::NoClasses);
    }
    name.draw(shape, classes, device)
}

/// Returns the last block of an EfficientNet with a random head for `classes`, as a learner of feature maps.
pub fn last_block(net: &EfficientNet, classes: usize, device: &Device) -> Box<dyn Learner> {
    Box::new(Network::new(net.last_block(classes, &mut Draw::new(0, 0, device)), device, UNSCALED))
}

/// Returns the last block of an EfficientNet with the head in the weights file.
pub fn pretrained(net: &EfficientNet, device: &Device) -> Result<Box<dyn Learner>> {
    Ok(Box::new(Network::new(net.pretrained(device)?, device, UNSCALED)))
}

/// Returns the feature maps of all images of a set, from the user's cache or computed now. `progress` receives how many are
/// computed, and their total number.
pub fn cached_maps(trunk: &Trunk, images: &Inputs, progress: &mut dyn FnMut(usize, usize)) -> Result<Inputs> {
    let rows: Vec<usize> = (0..images.len()).collect();
    let maps = feature_maps(trunk, Examples { inputs: images, rows: &rows }, &cache_folder()?, |done| {
        progress(done, rows.len());
        ControlFlow::Continue(())
    })?;
    Ok(maps.expect("the progress function never stops the work"))
}

/// Returns the number of outputs of a network with these weights, a safetensors file.
pub fn outputs(weights: &[u8]) -> Result<usize> {
    match parse(weights)?.tensor(LAST).map(|tensor| tensor.shape().to_vec()).as_deref() {
        Ok(&[_, outputs]) if outputs > 0 => Ok(outputs),
        _ => Err(Error::weights(format!("they have no tensor {LAST} of shape inputs × outputs"), Remedy::WeightsOfRun)),
    }
}

/// Tensor of the weights of the last layer.
const LAST: &str = "last.weight";
