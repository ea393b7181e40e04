//! Frozen convolutions with folded norms.

use burn::tensor::module::conv2d;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Device, Tensor, TensorData};

use super::design::{Design, Padding};
use super::weights::Weights;

/// A convolution with a norm, y = s · (W ∗ x) + t with s = γ/√(σ² + ε) and t = β − s·μ, computed as (s·W) ∗ x + t.
#[derive(Debug)]
pub(super) struct Conv {
    weight: Tensor<4>,
    bias: Tensor<1>,
    kernel: usize,
    stride: usize,
    groups: usize,
    padding: Padding,
}

/// Shape of a convolution.
pub(super) struct Shape {
    /// Outputs, and inputs per group.
    pub channels: [usize; 2],
    pub kernel: usize,
    pub stride: usize,
    pub groups: usize,
}

impl Conv {
    /// Builds a convolution from the layers `{name}.conv` and `{name}.norm`.
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

    /// Applies the convolution. An asymmetric border is replaced by a symmetric one that is wider by a whole number of
    /// strides; the additional outputs are left out. Padding the input itself would go through host memory on some devices.
    pub fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let [_, _, height, width] = x.dims();
        let [down, across] = [height, width].map(|extent| self.cut(extent));
        let options = ConvOptions::new([self.stride; 2], [down.zeros, across.zeros], [1; 2], self.groups);
        let y = conv2d(x, self.weight.clone(), Some(self.bias.clone()), options);
        y.narrow(2, down.first, down.count).narrow(3, across.first, across.count)
    }

    fn cut(&self, extent: usize) -> Cut {
        let (before, after) = self.padding.border(extent, self.kernel, self.stride);
        let first = (after.max(before) - before).div_ceil(self.stride);
        let count = (extent + before + after - self.kernel) / self.stride + 1;
        Cut { zeros: before + first * self.stride, first, count }
    }
}

/// A symmetric border and the range of outputs to keep.
struct Cut {
    zeros: usize,
    first: usize,
    count: usize,
}

/// Returns s·W and t.
pub(super) fn folded(weights: &Weights, name: &str, shape: &Shape, design: &Design) -> (Vec<f32>, Vec<f32>) {
    let part = |part: &str| weights.get(&format!("{name}.{part}"));
    let (scale, shift) = affine(&part, design.norm_eps);
    let filters = part("conv.weight").chunks_exact(shape.channels[1] * shape.kernel * shape.kernel).zip(&scale);
    (filters.flat_map(|(filter, scale)| filter.iter().map(move |w| w * scale)).collect(), shift)
}

/// Returns s and t, computed in f64.
fn affine<'a>(part: &impl Fn(&str) -> &'a [f32], eps: f32) -> (Vec<f32>, Vec<f32>) {
    let gain = part("norm.weight").iter().zip(part("norm.running_var"));
    let scale: Vec<f64> =
        gain.map(|(&gain, &var)| f64::from(gain) / (f64::from(var) + f64::from(eps)).sqrt()).collect();
    let means = part("norm.bias").iter().zip(part("norm.running_mean")).zip(&scale);
    let shift = means.map(|((&bias, &mean), scale)| (f64::from(bias) - scale * f64::from(mean)) as f32).collect();
    (scale.into_iter().map(|scale| scale as f32).collect(), shift)
}
