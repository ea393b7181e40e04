//! Parameters in which the members of the EfficientNet family differ.

use burn::tensor::Tensor;
use burn::tensor::activation::silu;

/// The parameters of an EfficientNet of B0's size.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// Name of the network.
    pub name: &'static str,
    /// Whether blocks have squeeze-excite, which weights channels by their means over the image.
    pub squeeze_excite: bool,
    /// Activation after every norm except the last of a block.
    pub activation: Activation,
    /// Number that norms add to the variance.
    pub norm_eps: f32,
    /// Padding of the convolutions.
    pub padding: Padding,
    /// Subtracted from the pixels, 0 to 255, of each channel.
    pub shift: [f32; 3],
    /// Divisor of the difference.
    pub scale: [f32; 3],
}

impl Design {
    /// EfficientNet-B0 as torchvision, timm and NVIDIA train it.
    pub const B0: Self = Self {
        name: "efficientnet-b0",
        squeeze_excite: true,
        activation: Activation::Silu,
        norm_eps: 1e-5,
        padding: Padding::Symmetric,
        shift: [0.485 * 255.0, 0.456 * 255.0, 0.406 * 255.0],
        scale: [0.229 * 255.0, 0.224 * 255.0, 0.225 * 255.0],
    };

    /// EfficientNet-B0 with pixels from −1 to 1, as the paper's authors feed NVIDIA's weights, which were trained with the means
    /// and deviations of [`Self::B0`].
    pub const B0_HALF: Self = Self { name: "efficientnet-b0-half", shift: [127.5; 3], scale: [127.5; 3], ..Self::B0 };

    /// EfficientNet-Lite0 as TensorFlow trains it.
    pub const LITE0: Self = Self {
        name: "efficientnet-lite0",
        squeeze_excite: false,
        activation: Activation::Relu6,
        norm_eps: 1e-3,
        padding: Padding::Same,
        shift: [127.0; 3],
        scale: [128.0; 3],
    };
}

/// Activation function of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// x · sigmoid(x).
    Silu,
    /// x clamped to the range from 0 to 6.
    Relu6,
}

impl Activation {
    pub(crate) fn apply<const D: usize>(self, x: Tensor<D>) -> Tensor<D> {
        match self {
            Self::Silu => silu(x),
            Self::Relu6 => x.clamp(0.0, 6.0),
        }
    }
}

/// Zeros that a convolution puts around an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// Half a kernel on each side.
    Symmetric,
    /// The same as TensorFlow's SAME: ⌈extent/stride⌉ outputs; if the number of zeros is odd, the extra one comes last.
    Same,
}

impl Padding {
    /// Returns the number of zeros before and after `extent` pixels.
    pub(super) fn border(self, extent: usize, kernel: usize, stride: usize) -> (usize, usize) {
        match self {
            Self::Symmetric => ((kernel - 1) / 2, (kernel - 1) / 2),
            Self::Same => {
                let all = ((extent.div_ceil(stride) - 1) * stride + kernel).saturating_sub(extent);
                (all / 2, all - all / 2)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_puts_the_extra_zero_last() {
        assert_eq!(Padding::Same.border(224, 3, 2), (0, 1));
        assert_eq!(Padding::Same.border(56, 5, 2), (1, 2));
        assert_eq!(Padding::Same.border(7, 5, 2), (2, 2));
        assert_eq!(Padding::Same.border(14, 5, 1), (2, 2));
        assert_eq!(Padding::Same.border(8, 1, 2), (0, 0));
        assert_eq!(Padding::Symmetric.border(56, 5, 2), (2, 2));
    }
}
