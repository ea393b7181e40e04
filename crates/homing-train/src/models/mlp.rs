//! Classifiers on given embeddings.

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::Tensor;
use burn::tensor::activation::relu;

use crate::draw::{Draw, Dropout};
use crate::network::Net;

/// Any number of hidden layers with ReLU, and a last layer with a bias.
#[derive(Module, Debug)]
pub struct Mlp {
    hidden: Vec<Linear>,
    last: Linear,
}

impl Mlp {
    /// Draws a network from `inputs` numbers over hidden layers of the given widths. Without hidden layers, it is a linear
    /// classifier.
    pub fn new(inputs: usize, widths: &[usize], classes: usize, draw: &mut Draw) -> Self {
        let mut before = inputs;
        let mut layer = |&width: &usize| draw.linear(std::mem::replace(&mut before, width), width, true);
        let hidden = widths.iter().map(&mut layer).collect();
        Self { hidden, last: draw.linear(before, classes, true) }
    }
}

impl Net for Mlp {
    fn size(&self) -> usize {
        let [inputs, _] = self.hidden.first().unwrap_or(&self.last).weight.dims();
        inputs
    }

    fn hidden(&self, x: Tensor<2>, _: &mut Dropout<'_>) -> Tensor<2> {
        self.hidden.iter().fold(x, |x, layer| relu(layer.forward(x)))
    }

    fn head(&self) -> &Linear {
        &self.last
    }

    fn fresh(&self, draw: &mut Draw) -> Self {
        let widths: Vec<usize> = self.hidden.iter().map(|layer| layer.weight.dims()[1]).collect();
        let [_, classes] = self.last.weight.dims();
        Self::new(self.size(), &widths, classes, draw)
    }
}
