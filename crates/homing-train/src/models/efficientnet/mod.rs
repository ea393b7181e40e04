//! EfficientNet-B0 and EfficientNet-Lite0, with weights from a file.
//!
//! All blocks except the last are frozen ([`Trunk`]). Their [`feature_maps`] are computed once and kept on disk. They are
//! the inputs of [`LastBlock`], which is trainable.

mod conv;
mod design;
mod layout;
mod maps;
mod names;
#[cfg(feature = "onnxruntime")]
mod onnx;
mod trunk;
mod weights;

use std::path::Path;

use burn::module::Param;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor, TensorData};
use homing_pool::read_file;

pub use design::{Activation, Design, Padding};
pub use layout::{MAPS, SIDE};
pub use maps::{cache_folder, feature_maps};
pub use trunk::Trunk;

use super::last_block::{LastBlock, Start};
use crate::device::device;
use crate::draw::Draw;
use crate::weights::most_bytes;
use crate::{Error, Remedy, Result};
use layout::{MAP, WIDTH};
use weights::Weights;

/// A design with its weights.
#[derive(Debug)]
pub struct EfficientNet {
    design: Design,
    weights: Weights,
    hash: blake3::Hash,
}

impl EfficientNet {
    /// Reads the weights of a safetensors file with the tensor names of torchvision, timm, efficientnet_pytorch or NVIDIA's
    /// DeepLearningExamples, whose norms add 10⁻³ to the variance whatever the design says.
    pub fn open(path: &Path, design: Design) -> Result<Self> {
        let bytes = read_file(path, most_bytes())?;
        Self::from_bytes(&bytes, design)
    }

    /// Reads the weights from the bytes of a safetensors file.
    pub fn from_bytes(bytes: &[u8], mut design: Design) -> Result<Self> {
        let weights = Weights::read(bytes, &design)?;
        design.norm_eps = weights.norm_eps;
        let mut hasher = blake3::Hasher::new();
        hasher.update(format!("{design:?}").as_bytes()).update(bytes);
        Ok(Self { design, weights, hash: hasher.finalize() })
    }

    /// Returns the name of the design.
    pub fn name(&self) -> &'static str {
        self.design.name
    }

    /// Returns the frozen part.
    pub fn trunk(&self, device: &Device) -> Trunk {
        Trunk::new(&self.weights, &self.design, self.hash, device)
    }

    /// Returns the frozen part on a device. On the CPU it runs in ONNX Runtime if ORT_DYLIB_PATH names its library.
    pub fn trunk_on(&self, name: &str) -> Result<Trunk> {
        #[cfg(feature = "onnxruntime")]
        if let Some(path) = std::env::var_os("ORT_DYLIB_PATH").filter(|_| name == "cpu") {
            return self.trunk_in_onnx(Path::new(&path));
        }
        Ok(self.trunk(&device(name)?))
    }

    /// Returns the frozen part, which runs in ONNX Runtime with the library at `path`.
    #[cfg(feature = "onnxruntime")]
    pub fn trunk_in_onnx(&self, path: &Path) -> Result<Trunk> {
        Ok(self.trunk(&Device::flex()).with_onnx(onnx::Onnx::new(path, &self.weights, &self.design)?))
    }

    /// Returns the trainable part with a random head for `classes`.
    pub fn last_block(&self, classes: usize, draw: &mut Draw) -> LastBlock {
        LastBlock::new(self.start(), draw.linear(WIDTH, classes, true), draw.device())
    }

    /// Returns the trainable part with the head in the file, or an error if the file has none.
    pub fn pretrained(&self, device: &Device) -> Result<LastBlock> {
        let part = |part: &str| self.weights.find(&format!("classifier.{part}"));
        let (Some(weight), Some(bias)) = (part("weight"), part("bias")) else {
            return Err(Error::weights("they have no classifier", Remedy::WeightsWithClassifier));
        };
        let classes = bias.len();
        if weight.len() != classes * WIDTH {
            let reason = format!("the classifier has {} rows but {classes} biases", weight.len() / WIDTH);
            return Err(Error::weights(reason, Remedy::SaveWeightsAgain));
        }
        let mut head: Linear = LinearConfig::new(WIDTH, classes).init(device);
        let rows = Tensor::<2>::from_data(TensorData::new(weight.to_vec(), [classes, WIDTH]), device);
        head.weight = Param::from_tensor(rows.transpose());
        head.bias = Some(Param::from_tensor(Tensor::from_data(TensorData::new(bias.to_vec(), [classes]), device)));
        Ok(LastBlock::new(self.start(), head, device))
    }

    fn start(&self) -> Start {
        let part = |part: &str| self.weights.get(&format!("last.{part}")).to_vec();
        let rows = part("conv.weight");
        let deviation = |var: f32| (f64::from(var) + f64::from(self.design.norm_eps)).sqrt() as f32;
        Start {
            conv: (0..MAP).flat_map(|input| rows.iter().skip(input).step_by(MAP).copied()).collect(),
            shape: [MAP, WIDTH],
            gain: part("norm.weight"),
            bias: part("norm.bias"),
            mean: part("norm.running_mean"),
            deviation: part("norm.running_var").into_iter().map(deviation).collect(),
            positions: MAPS[1] * MAPS[2],
            activation: self.design.activation,
        }
    }
}
