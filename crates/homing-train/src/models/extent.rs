//! Estimates of the memory that training a network needs, before the network is created.

use homing_data::fits_memory;

use super::cnn::{CHANNELS, HIDDEN};
use crate::network::CHUNK;
use crate::{Error, Result};

/// Numbers per weight: the weight, its gradient, Adam's two means, and their intermediate values in a step.
const NUMBERS_PER_WEIGHT: u64 = 6;
/// Bytes per number.
const BYTES: u64 = 4;

/// Counts of a network's numbers; none if a count overflows.
pub(super) struct Extent {
    weights: Option<u64>,
    /// Intermediate values for one example.
    between: Option<u64>,
}

impl Extent {
    /// Counts for hidden layers of the given widths and a last layer for `classes`.
    pub fn mlp(inputs: usize, widths: &[usize], classes: usize) -> Self {
        let layers = || [&[inputs], widths, &[classes]].concat();
        let weights = layers().windows(2).map(|pair| layer(pair[0], pair[1])).try_fold(0, add);
        Self { weights, between: layers().into_iter().map(|width| Some(width as u64)).try_fold(0, add) }
    }

    /// Counts for three convolutions and a hidden layer.
    pub fn cnn([channels, height, width]: [usize; 3], classes: usize) -> Self {
        let [first, _, last] = CHANNELS;
        let flat = product(&[last, height / 8, width / 8]);
        let hidden = flat.and_then(|flat| layer(usize::try_from(flat).ok()?, HIDDEN));
        // The outputs of the first convolution, before and after its activation and as a gradient, outweigh all that
        // follows.
        let parts = [product(&[channels, height, width]), product(&[3, first, height, width])];
        let weights = [hidden, layer(HIDDEN, classes)].into_iter().try_fold(0, add);
        Self { weights, between: parts.into_iter().try_fold(0, add) }
    }

    /// Refuses a network whose training does not fit into memory.
    pub fn check(&self, name: &str, shape: &[usize]) -> Result<()> {
        let numbers = self.weights.and_then(|weights| weights.checked_mul(NUMBERS_PER_WEIGHT));
        let between = self.between.and_then(|between| between.checked_mul(CHUNK[0] as u64));
        let bytes = [numbers, between].into_iter().try_fold(0, add).and_then(|numbers| numbers.checked_mul(BYTES));
        if fits_memory(bytes) {
            return Ok(());
        }
        Err(Error::NetworkMemory { network: name.into(), shape: shape.into(), bytes })
    }
}

/// Returns the number of weights and biases between two layers.
fn layer(inputs: usize, outputs: usize) -> Option<u64> {
    product(&[inputs.checked_add(1)?, outputs])
}

fn product(extents: &[usize]) -> Option<u64> {
    extents.iter().try_fold(1u64, |product, &extent| product.checked_mul(extent as u64))
}

fn add(sum: u64, term: Option<u64>) -> Option<u64> {
    sum.checked_add(term?)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::models::network;

    #[test]
    fn the_weights_are_those_of_the_networks() {
        let weights = |name: &str, shape: &[usize]| {
            network(&name.parse().unwrap(), shape, 10, &Device::flex()).unwrap().weights() as u64
        };
        assert_eq!(Extent::mlp(7, &[], 10).weights, Some(weights("linear", &[7])));
        assert_eq!(Extent::mlp(7, &[30, 20], 10).weights, Some(weights("mlp:30,20", &[7])));
        // The estimate leaves out the few weights of the convolutions, and counts a bias that the last layer does not have.
        let (estimated, counted) = (Extent::cnn([3, 64, 48], 10).weights.unwrap(), weights("cnn", &[3, 64, 48]));
        assert!(estimated < counted && counted < estimated + 100_000, "{estimated} {counted}");
    }

    #[test]
    fn counts_that_overflow_are_refused() {
        let most = usize::MAX;
        for extent in [Extent::mlp(most, &[], 2), Extent::mlp(2, &[most, most], 2), Extent::cnn([3, most, most], 2)] {
            assert!(extent.check("a", &[1]).unwrap_err().to_string().contains("more memory than any machine has"));
        }
    }
}
