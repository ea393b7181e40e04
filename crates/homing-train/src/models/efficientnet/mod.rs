//! EfficientNet-B0 and -Lite0: one implementation, weights from a file.
//!
//! All but the last block is frozen ([`Trunk`]); its [`feature_maps`] are computed once and kept on disk, and are what
//! [`LastBlock`], a network that learns, is shown.

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
pub use maps::{cache_folder, feature_maps};
pub use trunk::{MAPS, SIDE, Trunk};

use super::last_block::{LastBlock, Start};
use crate::draw::Draw;
use crate::weights::most_bytes;
use crate::{Error, Result};
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
    /// With the weights of a safetensors file, named as torchvision, timm or efficientnet_pytorch name them.
    pub fn open(path: &Path, design: Design) -> Result<Self> {
        let bytes = read_file(path, most_bytes())?;
        Self::from_bytes(&bytes, design)
    }

    /// The same of a file's bytes.
    pub fn from_bytes(bytes: &[u8], design: Design) -> Result<Self> {
        let weights = Weights::read(bytes, &design)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(format!("{design:?}").as_bytes()).update(bytes);
        Ok(Self { design, weights, hash: hasher.finalize() })
    }

    /// What the design is called.
    pub fn name(&self) -> &'static str {
        self.design.name
    }

    /// The frozen part.
    pub fn trunk(&self, device: &Device) -> Trunk {
        Trunk::new(&self.weights, &self.design, self.hash, device)
    }

    /// The frozen part, with feature maps made by ONNX Runtime, whose library is at `path`.
    #[cfg(feature = "onnxruntime")]
    pub fn trunk_in_onnx(&self, path: &Path) -> Result<Trunk> {
        Ok(self.trunk(&Device::flex()).with_onnx(onnx::Onnx::new(path, &self.weights, &self.design)?))
    }

    /// The part that learns, with a head for `classes` drawn at random.
    pub fn last_block(&self, classes: usize, draw: &mut Draw) -> LastBlock {
        LastBlock::new(self.start(), draw.linear(WIDTH, classes, true), draw.device())
    }

    /// The last block with the head of the file, which may have none.
    pub fn pretrained(&self, device: &Device) -> Result<LastBlock> {
        let part = |part: &str| self.weights.find(&format!("classifier.{part}"));
        let (Some(weight), Some(bias)) = (part("weight"), part("bias")) else {
            return Err(Error::Weights { reason: "they have no classifier; draw one".into() });
        };
        let classes = bias.len();
        if weight.len() != classes * WIDTH {
            let reason = format!("the classifier has {} rows but {classes} biases", weight.len() / WIDTH);
            return Err(Error::Weights { reason });
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
