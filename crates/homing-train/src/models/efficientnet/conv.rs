//! A frozen convolution with its norm folded into it.

use burn::tensor::module::conv2d;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Device, Tensor, TensorData};

use super::design::{Design, Padding};
use super::weights::Weights;

/// y = s · (W ∗ x) + t with s = γ/√(σ² + ε) and t = β − s·μ: (s·W) ∗ x + t.
#[derive(Debug)]
pub(super) struct Conv {
    weight: Tensor<4>,
    bias: Tensor<1>,
    kernel: usize,
    stride: usize,
    groups: usize,
    padding: Padding,
}

/// The shape of a convolution.
pub(super) struct Shape {
    /// Outputs, inputs of a group.
    pub channels: [usize; 2],
    pub kernel: usize,
    pub stride: usize,
    pub groups: usize,
}

impl Conv {
    /// The layers `{name}.conv` and `{name}.norm`.
    pub fn new(weights: &Weights, name: &str, shape: &Shape, design: &Design, device: &Device) -> Self {
        let &Shape { channels: [outputs, inputs], kernel, stride, groups } = shape;
        let (weight, bias) = folded(weights, name, shape, design);
        Self {
            weight: Tensor::from_data(TensorData::new(weight, [outputs, inputs, kernel, kernel]), device),
            bias: Tensor::from_data(TensorData::new(bias, [outputs]), device),
            kernel,
            stride,
            groups,
            padding: design.padding,
        }
    }

    /// A border with more zeros behind than before is made of a symmetric one: as wide as a whole number of strides more, and
    /// the outputs that come of that left out. Padding itself goes by way of the host's memory on some devices.
    pub fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let [_, _, height, width] = x.dims();
        let [down, across] = [height, width].map(|extent| self.cut(extent));
        let options = ConvOptions::new([self.stride; 2], [down.zeros, across.zeros], [1; 2], self.groups);
        let y = conv2d(x, self.weight.clone(), Some(self.bias.clone()), options);
        y.narrow(2, down.first, down.count).narrow(3, across.first, across.count)
    }

    fn cut(&self, extent: usize) -> Cut {
        let (before, behind) = self.padding.border(extent, self.kernel, self.stride);
        let first = (behind.max(before) - before).div_ceil(self.stride);
        let count = (extent + before + behind - self.kernel) / self.stride + 1;
        Cut { zeros: before + first * self.stride, first, count }
    }
}

/// A symmetric border, and which outputs are wanted.
struct Cut {
    zeros: usize,
    first: usize,
    count: usize,
}

/// s·W and t.
pub(super) fn folded(weights: &Weights, name: &str, shape: &Shape, design: &Design) -> (Vec<f32>, Vec<f32>) {
    let part = |part: &str| weights.get(&format!("{name}.{part}"));
    let (scale, shift) = affine(&part, design.norm_eps);
    let filters = part("conv.weight").chunks_exact(shape.channels[1] * shape.kernel * shape.kernel).zip(&scale);
    (filters.flat_map(|(filter, scale)| filter.iter().map(move |w| w * scale)).collect(), shift)
}

/// s and t, in f64 until the end.
fn affine<'a>(part: &impl Fn(&str) -> &'a [f32], eps: f32) -> (Vec<f32>, Vec<f32>) {
    let gain = part("norm.weight").iter().zip(part("norm.running_var"));
    let scale: Vec<f64> =
        gain.map(|(&gain, &var)| f64::from(gain) / (f64::from(var) + f64::from(eps)).sqrt()).collect();
    let means = part("norm.bias").iter().zip(part("norm.running_mean")).zip(&scale);
    let shift = means.map(|((&bias, &mean), scale)| (f64::from(bias) - scale * f64::from(mean)) as f32).collect();
    (scale.into_iter().map(|scale| scale as f32).collect(), shift)
}
