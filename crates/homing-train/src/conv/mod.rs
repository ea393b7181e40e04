//! Convolution, ReLU and 2 × 2 max-pooling as one operation.
//!
//! On the CPU, burn's own three operations write every intermediate value to memory and read it again. Here, a few images at
//! a time go through one matrix product and the pooling while their values are in the cache of a core. `patches.rs` arranges
//! pixels for the product, `kernel.rs` has the forward and the backward pass on slices, and `operation.rs` makes them an
//! operation of burn. Other devices use burn's operations.

mod kernel;
mod operation;
mod patches;

use burn::backend::Dispatch;
use burn::nn::PaddingConfig2d;
use burn::nn::conv::Conv2d;
use burn::tensor::activation::relu;
use burn::tensor::module::max_pool2d;
use burn::tensor::ops::MaxPoolOptions;
use burn::tensor::{Device, Tensor};

use operation::HalvingConv;

/// Applies convolutions with stride 1, each followed by ReLU and the maximum of each 2 × 2 pixels, to images of shape
/// `[count, channels, height, width]`. An odd last row or column is left out.
pub(crate) fn halving_convs(convs: &[&Conv2d], x: Tensor<4>) -> Tensor<4> {
    if x.device() != Device::flex() {
        return convs.iter().fold(x, |x, conv| max_pool2d(relu(conv.forward(x)), MaxPoolOptions::new([2, 2])));
    }
    // The channels of a pixel lie side by side.
    let x = x.permute([0, 2, 3, 1]);
    convs.iter().fold(x, |x, conv| fused(conv, x)).permute([0, 3, 1, 2])
}

/// Applies one convolution with ReLU and max-pooling to images of shape `[count, height, width, channels]`.
fn fused(conv: &Conv2d, x: Tensor<4>) -> Tensor<4> {
    let weight = conv.weight.val();
    let bias = match &conv.bias {
        Some(bias) => bias.val(),
        None => Tensor::zeros([weight.dims()[0]], &x.device()),
    };
    let padding = padding(conv);
    Tensor::from_dispatch(<Dispatch as HalvingConv>::halving_conv(
        x.into_dispatch(),
        weight.into_dispatch(),
        bias.into_dispatch(),
        padding,
    ))
}

/// Returns the number of zeros on each side of an image.
fn padding(conv: &Conv2d) -> usize {
    assert_eq!((conv.stride, conv.dilation, conv.groups), ([1, 1], [1, 1], 1), "a plain convolution");
    match conv.padding {
        PaddingConfig2d::Valid => 0,
        PaddingConfig2d::Explicit(top, left, bottom, right) if [left, bottom, right] == [top; 3] => top,
        ref other => panic!("{other:?} is not the same number of zeros on each side"),
    }
}

#[cfg(test)]
mod tests;
