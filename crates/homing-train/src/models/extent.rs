//! How much memory a network takes, reckoned before it is made.

use homing_data::fits_memory;

use super::cnn::{CHANNELS, HIDDEN};
use crate::network::CHUNK;
use crate::{Error, Result};

/// Numbers for each weight: it, its gradient, Adam's two means and what becomes of them in a step.
const FOR_A_WEIGHT: u64 = 6;
/// Bytes of a number.
const BYTES: u64 = 4;

/// Numbers of a network; none where they are more than can be counted.
pub(super) struct Extent {
    weights: Option<u64>,
    /// Between the layers, for one example.
    between: Option<u64>,
}

impl Extent {
    /// Hidden layers of the given widths, and one for `classes`.
    pub fn mlp(inputs: usize, widths: &[usize], classes: usize) -> Self {
        let layers = || [&[inputs], widths, &[classes]].concat();
        let weights = layers().windows(2).map(|pair| layer(pair[0], pair[1])).try_fold(0, add);
        Self { weights, between: layers().into_iter().map(|width| Some(width as u64)).try_fold(0, add) }
    }

    /// Three convolutions and a hidden layer.
    pub fn cnn([channels, height, width]: [usize; 3], classes: usize) -> Self {
        let [first, _, last] = CHANNELS;
        let flat = product(&[last, height / 8, width / 8]);
        let hidden = flat.and_then(|flat| layer(usize::try_from(flat).ok()?, HIDDEN));
        // What the first convolution makes, before and behind its activation and as a gradient, is more than all that follows.
        let parts = [product(&[channels, height, width]), product(&[3, first, height, width])];
        let weights = [hidden, layer(HIDDEN, classes)].into_iter().try_fold(0, add);
        Self { weights, between: parts.into_iter().try_fold(0, add) }
    }

    /// Refuses a network that does not fit into memory while it learns.
    pub fn check(&self, name: &str, shape: &[usize]) -> Result<()> {
        let numbers = self.weights.and_then(|weights| weights.checked_mul(FOR_A_WEIGHT));
        let between = self.between.and_then(|between| between.checked_mul(CHUNK[0] as u64));
        let bytes = [numbers, between].into_iter().try_fold(0, add).and_then(|numbers| numbers.checked_mul(BYTES));
        if fits_memory(bytes) {
            return Ok(());
        }
        let much = bytes.map_or_else(
            || "more memory than there is".into(),
            |bytes| format!("at least {:.1} GB of memory, more than may be used", bytes as f64 / 1e9),
        );
        Err(Error::Setting(format!(
            "to learn, the network {name} for examples of shape {shape:?} takes {much}; use narrower layers, or smaller images with --size"
        )))
    }
}

/// Weights and biases between two layers.
fn layer(inputs: usize, outputs: usize) -> Option<u64> {
    product(&[inputs.checked_add(1)?, outputs])
}

fn product(extents: &[usize]) -> Option<u64> {
    extents.iter().try_fold(1u64, |product, &extent| product.checked_mul(extent as u64))
}

fn add(sum: u64, more: Option<u64>) -> Option<u64> {
    sum.checked_add(more?)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::models::network;

    #[test]
    fn the_weights_are_those_of_the_networks() {
        let weights = |name: &str, shape: &[usize]| network(name, shape, 10, &Device::flex()).unwrap().weights() as u64;
        assert_eq!(Extent::mlp(7, &[], 10).weights, Some(weights("linear", &[7])));
        assert_eq!(Extent::mlp(7, &[30, 20], 10).weights, Some(weights("mlp:30,20", &[7])));
        // All but the few of the convolutions, and with a bias that the last layer does not have.
        let (reckoned, counted) = (Extent::cnn([3, 64, 48], 10).weights.unwrap(), weights("cnn", &[3, 64, 48]));
        assert!(reckoned < counted && counted < reckoned + 100_000, "{reckoned} {counted}");
    }

    #[test]
    fn numbers_beyond_counting_are_refused() {
        let most = usize::MAX;
        for extent in [Extent::mlp(most, &[], 2), Extent::mlp(2, &[most, most], 2), Extent::cnn([3, most, most], 2)] {
            assert!(extent.check("a", &[1]).unwrap_err().to_string().contains("more memory than there is"));
        }
    }
}
