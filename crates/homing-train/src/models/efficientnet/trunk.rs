//! The frozen trunk: everything before the last block.

use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, Tensor, TensorData};
use rayon::prelude::*;

use super::conv::{Conv, Shape};
use super::design::{Activation, Design};
use super::layout::{self, SIDE, STEM, blocks};
use super::weights::Weights;

/// Numbers per image.
const PIXELS: usize = 3 * SIDE * SIDE;

/// The frozen part of an EfficientNet, from images to feature maps.
#[derive(Debug)]
pub struct Trunk {
    stem: Conv,
    blocks: Vec<Block>,
    activation: Activation,
    shift: Tensor<4>,
    scale: Tensor<4>,
    device: Device,
    hash: blake3::Hash,
    #[cfg(feature = "onnxruntime")]
    onnx: Option<super::onnx::Onnx>,
}

impl Trunk {
    pub(super) fn new(weights: &Weights, design: &Design, hash: blake3::Hash, device: &Device) -> Self {
        let channels = |values: [f32; 3]| Tensor::from_data(TensorData::new(values.to_vec(), [1, 3, 1, 1]), device);
        let shape = Shape { channels: [STEM, 3], kernel: 3, stride: 2, groups: 1 };
        let block = |(count, block)| Block::new(weights, count, block, design, device);
        Self {
            stem: Conv::new(weights, "stem", &shape, design, device),
            blocks: blocks().into_iter().enumerate().map(block).collect(),
            activation: design.activation,
            shift: channels(design.shift),
            scale: channels(design.scale),
            device: device.clone(),
            hash,
            #[cfg(feature = "onnxruntime")]
            onnx: None,
        }
    }

    /// Computes the maps in ONNX Runtime. They differ in their last digits, so the hash differs too.
    #[cfg(feature = "onnxruntime")]
    pub(super) fn with_onnx(self, onnx: super::onnx::Onnx) -> Self {
        let hash = blake3::keyed_hash(self.hash.as_bytes(), b"ONNX Runtime");
        Self { onnx: Some(onnx), hash, ..self }
    }

    /// Computes the feature maps of images, `[count, 3, 224, 224]`, with pixels from 0 to 255.
    pub fn forward(&self, pixels: Tensor<4>) -> Tensor<4> {
        let x = (pixels - self.shift.clone()) / self.scale.clone();
        let x = self.activation.apply(self.stem.forward(x));
        self.blocks.iter().fold(x, |x, block| block.forward(x, self.activation))
    }

    /// Computes the feature maps of images that are given as a list of pixels.
    pub fn maps(&self, pixels: Vec<f32>) -> Vec<f32> {
        #[cfg(feature = "onnxruntime")]
        if let Some(onnx) = &self.onnx {
            return onnx.maps(pixels);
        }
        if self.device == Device::flex() {
            // One image at a time, so that intermediate values stay in the cache of a core.
            pixels.par_chunks_exact(PIXELS).flat_map_iter(|image| self.at_once(image.to_vec())).collect()
        } else {
            self.at_once(pixels)
        }
    }

    fn at_once(&self, pixels: Vec<f32>) -> Vec<f32> {
        let shape = [pixels.len() / PIXELS, 3, SIDE, SIDE];
        let pixels = Tensor::from_data(TensorData::new(pixels, shape), &self.device);
        self.forward(pixels).into_data().try_into_vec().expect("every device computes in f32")
    }

    /// Returns a hash of everything that the feature maps depend on except the images.
    pub(super) fn hash(&self) -> &blake3::Hash {
        &self.hash
    }
}

#[derive(Debug)]
struct Block {
    expand: Option<Conv>,
    depthwise: Conv,
    excite: Option<Excite>,
    project: Conv,
    skips: bool,
}

impl Block {
    fn new(weights: &Weights, count: usize, block: layout::BlockLayout, design: &Design, device: &Device) -> Self {
        let (inner, inputs, outputs, kernel) = (block.inner, block.inputs, block.outputs, block.kernel);
        let name = |layer: &str| format!("blocks.{count}.{layer}");
        let conv = |layer: &str, shape: &Shape| Conv::new(weights, &name(layer), shape, design, device);
        let pointwise = |channels: [usize; 2]| Shape { channels, kernel: 1, stride: 1, groups: 1 };
        let depthwise = Shape { channels: [inner, 1], kernel, stride: block.stride, groups: inner };
        Self {
            expand: block.expands().then(|| conv("expand", &pointwise([inner, inputs]))),
            depthwise: conv("depthwise", &depthwise),
            excite: design.squeeze_excite.then(|| Excite {
                squeeze: Dense::new(weights, &name("squeeze"), [block.squeezed(), inner], device),
                excite: Dense::new(weights, &name("excite"), [inner, block.squeezed()], device),
            }),
            project: conv("project", &pointwise([outputs, inner])),
            skips: block.skips(),
        }
    }

    fn forward(&self, input: Tensor<4>, activation: Activation) -> Tensor<4> {
        let skipped = self.skips.then(|| input.clone());
        let x = match &self.expand {
            Some(expand) => activation.apply(expand.forward(input)),
            None => input,
        };
        let x = activation.apply(self.depthwise.forward(x));
        let x = match &self.excite {
            Some(excite) => excite.forward(x, activation),
            None => x,
        };
        let x = self.project.forward(x);
        match skipped {
            Some(input) => x + input,
            None => x,
        }
    }
}

/// Squeeze-excite: x · sigmoid(E · activation(S · mean(x) + s) + e), for each channel.
#[derive(Debug)]
struct Excite {
    squeeze: Dense,
    excite: Dense,
}

impl Excite {
    fn forward(&self, x: Tensor<4>, activation: Activation) -> Tensor<4> {
        let [count, channels, height, width] = x.dims();
        let mean = x.clone().reshape([count, channels, height * width]).mean_dim(2).reshape([count, channels]);
        let squeezed = activation.apply(self.squeeze.forward(mean));
        x * sigmoid(self.excite.forward(squeezed)).reshape([count, channels, 1, 1])
    }
}

/// A 1 × 1 convolution on one pixel.
#[derive(Debug)]
struct Dense {
    weight: Tensor<2>,
    bias: Tensor<2>,
}

impl Dense {
    fn new(weights: &Weights, name: &str, [outputs, inputs]: [usize; 2], device: &Device) -> Self {
        let part = |part: &str, shape: [usize; 2]| {
            let values = weights.get(&format!("{name}.{part}")).to_vec();
            Tensor::<2>::from_data(TensorData::new(values, shape), device)
        };
        Self { weight: part("weight", [outputs, inputs]).transpose(), bias: part("bias", [1, outputs]) }
    }

    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        x.matmul(self.weight.clone()) + self.bias.clone()
    }
}
