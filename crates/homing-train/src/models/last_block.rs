//! The last block of an EfficientNet, which is trainable.

use std::sync::Arc;

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Device, Tensor, TensorData};

use super::efficientnet::Activation;
use crate::draw::{Draw, Dropout};
use crate::network::Net;

/// Maps feature maps to classes: a 1 × 1 convolution W (320 → 1,280), a norm with frozen statistics μ, σ and trainable γ, β,
/// an activation, the mean over all positions, which is h(x), and a last layer with a bias.
#[derive(Module, Debug)]
pub struct LastBlock {
    /// Inputs × outputs.
    conv: Param<Tensor<2>>,
    gain: Param<Tensor<1>>,
    bias: Param<Tensor<1>>,
    mean: Tensor<1>,
    deviation: Tensor<1>,
    last: Linear,
    #[module(skip)]
    start: Arc<Start>,
}

/// Initial weights of the block.
#[derive(Clone, Debug)]
pub(super) struct Start {
    /// Weights of the convolution row by row, inputs × outputs.
    pub conv: Vec<f32>,
    /// Shape of `conv`.
    pub shape: [usize; 2],
    pub gain: Vec<f32>,
    pub bias: Vec<f32>,
    pub mean: Vec<f32>,
    /// √(σ² + ε).
    pub deviation: Vec<f32>,
    /// Pixels of a feature map.
    pub positions: usize,
    pub activation: Activation,
}

impl LastBlock {
    pub(super) fn new(start: impl Into<Arc<Start>>, last: Linear, device: &Device) -> Self {
        let start = start.into();
        let vector = |values: &[f32]| Tensor::from_data(TensorData::new(values.to_vec(), [values.len()]), device);
        Self {
            conv: Param::from_tensor(Tensor::from_data(TensorData::new(start.conv.clone(), start.shape), device)),
            gain: Param::from_tensor(vector(&start.gain)),
            bias: Param::from_tensor(vector(&start.bias)),
            mean: vector(&start.mean),
            deviation: vector(&start.deviation),
            last,
            start,
        }
    }
}

impl Net for LastBlock {
    fn size(&self) -> usize {
        self.start.shape[0] * self.start.positions
    }

    fn hidden(&self, x: Tensor<2>, _: &mut Dropout<'_>) -> Tensor<2> {
        let ([inputs, outputs], positions) = (self.start.shape, self.start.positions);
        let [rows, _] = x.dims();
        // The norm is folded into the matrix, which is smaller than the output: γ(Wx − μ)/σ + β = (γ/σ·W)x + (β − γ/σ·μ).
        let scale = self.gain.val() / self.deviation.clone();
        let shift = self.bias.val() - scale.clone() * self.mean.clone();
        let matrix = self.conv.val() * scale.unsqueeze_dim::<2>(0);
        let x = x.reshape([rows, inputs, positions]).swap_dims(1, 2).reshape([rows * positions, inputs]);
        let y = self.start.activation.apply(x.matmul(matrix) + shift.unsqueeze_dim::<2>(0));
        y.reshape([rows, positions, outputs]).mean_dim(1).reshape([rows, outputs])
    }

    fn head(&self) -> &Linear {
        &self.last
    }

    fn fresh(&self, draw: &mut Draw) -> Self {
        let [width, classes] = self.last.weight.dims();
        Self::new(self.start.clone(), draw.linear(width, classes, true), &self.mean.device())
    }
}
