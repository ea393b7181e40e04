//! The convolutional network of the paper's MNIST experiment.

use burn::module::Module;
use burn::nn::Linear;
use burn::nn::conv::Conv2d;
use burn::tensor::Tensor;
use burn::tensor::activation::relu;

use crate::conv::halving_convs;
use crate::draw::{Draw, Dropout};
use crate::network::Net;

/// Three 3 × 3 convolutions (32, 64, 128 channels), each with ReLU and 2 × 2 max-pooling; a hidden layer of 256; a last
/// layer without bias. The dropout rate is 0.25 before the hidden layer and 0.5 after it.
#[derive(Module, Debug)]
pub struct Cnn {
    conv1: Conv2d,
    conv2: Conv2d,
    conv3: Conv2d,
    hidden: Linear,
    last: Linear,
    #[module(skip)]
    shape: [usize; 3],
}

pub(super) const CHANNELS: [usize; 3] = [32, 64, 128];
pub(super) const HIDDEN: usize = 256;

impl Cnn {
    /// Draws a network for images of `shape`, which have at least 8 × 8 pixels.
    pub fn new(shape: [usize; 3], classes: usize, draw: &mut Draw) -> Self {
        let [first, second, third] = CHANNELS;
        Self {
            conv1: draw.conv([shape[0], first], 3, 1),
            conv2: draw.conv([first, second], 3, 1),
            conv3: draw.conv([second, third], 3, 1),
            hidden: draw.linear(third * (shape[1] / 8) * (shape[2] / 8), HIDDEN, true),
            last: draw.linear(HIDDEN, classes, false),
            shape,
        }
    }
}

impl Net for Cnn {
    fn size(&self) -> usize {
        self.shape.iter().product()
    }

    fn hidden(&self, x: Tensor<2>, dropout: &mut Dropout<'_>) -> Tensor<2> {
        let [rows, _] = x.dims();
        let [channels, height, width] = self.shape;
        let x = x.reshape([rows, channels, height, width]);
        let x = halving_convs(&[&self.conv1, &self.conv2, &self.conv3], x);
        let x = dropout.drop(x.flatten(1, 3), 0.25);
        dropout.drop(relu(self.hidden.forward(x)), 0.5)
    }

    fn head(&self) -> &Linear {
        &self.last
    }

    fn fresh(&self, draw: &mut Draw) -> Self {
        let [_, classes] = self.last.weight.dims();
        Self::new(self.shape, classes, draw)
    }
}
