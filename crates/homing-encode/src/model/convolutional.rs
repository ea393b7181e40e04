//! Convolutional encoders of images: ConvNeXt and ResNet.

use std::ops::Range;
use std::path::Path;

use homing_data::RgbPixels;

use super::config::Config;
use super::layers::{Activation, Linear, Norm};
use super::name_of;
use super::pictures::{Preprocessing, embed_images};
use super::weights::Weights;
use crate::{Encoder, ItemKind, Items, Result};

/// Families of models that can be read.
pub(crate) const FAMILIES: [&str; 2] = ["convnext", "resnet"];

/// A feature map: the values of all channels at each place, row by row.
struct Map {
    height: usize,
    width: usize,
    channels: usize,
    values: Vec<f32>,
}

/// A convolution with a stride, whose input is padded with zeros.
struct Convolution {
    linear: Linear,
    side: usize,
    stride: usize,
    padding: usize,
}

impl Convolution {
    /// Takes a kernel of `[outputs, inputs, side, side]` and folds the factors and shifts of its outputs into it.
    fn new(kernel: &[f32], inputs: usize, side: usize, fold: &[(f32, f32)], (stride, padding): (usize, usize)) -> Self {
        let plane = side * side;
        let mut weight = Vec::with_capacity(kernel.len());
        for (row, (factor, _)) in kernel.chunks_exact(inputs * plane).zip(fold) {
            weight.extend((0..plane).flat_map(|at| (0..inputs).map(move |input| row[input * plane + at] * factor)));
        }
        let bias = fold.iter().map(|&(_, shift)| shift).collect();
        Self { linear: Linear::new(weight, Some(bias), inputs * plane), side, stride, padding }
    }

    fn apply(&self, map: &Map) -> Map {
        let extent = |side: usize| (side + 2 * self.padding).saturating_sub(self.side) / self.stride + 1;
        let (height, width, channels) = (extent(map.height), extent(map.width), map.channels);
        let mut patches = vec![0.0; height * width * self.side * self.side * channels];
        for (place, patch) in patches.chunks_exact_mut(self.side * self.side * channels).enumerate() {
            let (top, left) = (place / width * self.stride, place % width * self.stride);
            for (at, to) in patch.chunks_exact_mut(channels).enumerate() {
                let (y, x) = (top + at / self.side, left + at % self.side);
                if let (Some(y), Some(x)) = (y.checked_sub(self.padding), x.checked_sub(self.padding))
                    && y < map.height
                    && x < map.width
                {
                    to.copy_from_slice(&map.values[(y * map.width + x) * channels..][..channels]);
                }
            }
        }
        Map { height, width, channels: self.linear.outputs(), values: self.linear.apply(&patches) }
    }
}

/// A network from an image to the numbers of its channels.
enum Network {
    ConvNext { stem: (Convolution, Norm), stages: Vec<ConvNextStage>, norm: Norm, activation: Activation },
    ResNet { stem: Convolution, blocks: Vec<ResNetBlock>, activation: Activation },
}

struct ConvNextStage {
    downsampling: Option<(Norm, Convolution)>,
    blocks: Vec<ConvNextBlock>,
}

struct ConvNextBlock {
    /// The depthwise kernel, one number per place and channel, and the shift of each channel.
    depthwise: (Vec<f32>, Vec<f32>),
    norm: Norm,
    up: Linear,
    down: Linear,
    scale: Option<Vec<f32>>,
}

struct ResNetBlock {
    layers: Vec<Convolution>,
    shortcut: Option<Convolution>,
}

/// Side of the depthwise kernels of ConvNeXt.
const DEPTHWISE: usize = 7;

/// A convolutional encoder.
pub(crate) struct ConvolutionalModel {
    name: String,
    fingerprint: String,
    preprocessing: Preprocessing,
    network: Network,
    dim: usize,
}

impl ConvolutionalModel {
    pub(crate) fn open(folder: &Path, config: &Config, family: &str) -> Result<Self> {
        let mut weights = Weights::open(folder)?;
        let sizes = config.sizes("hidden_sizes")?;
        let depths = config.sizes("depths")?;
        if sizes.len() != depths.len() {
            return Err(config.wrong("its hidden_sizes and depths have different lengths".to_owned()));
        }
        let network = match family {
            "convnext" => convnext(&mut weights, config, &sizes, &depths)?,
            _ => resnet(&mut weights, config, &sizes, &depths)?,
        };
        let dim = sizes[sizes.len() - 1];
        let preprocessing = Preprocessing::open(folder, 224)?;
        let fingerprint = format!("{} {preprocessing:?} {}", weights.fingerprint.to_hex(), config.value());
        Ok(Self { name: name_of(folder), fingerprint, preprocessing, network, dim })
    }

    fn embed(&self, image: RgbPixels) -> Vec<f32> {
        let (height, width, values) = self.preprocessing.apply(image);
        self.network.apply(&Map { height, width, channels: 3, values })
    }
}

/// Epsilon of all normalisations of ConvNeXt except the last one, whose epsilon the configuration sets.
const EPSILON: f32 = 1e-6;

fn convnext(weights: &mut Weights, config: &Config, sizes: &[usize], depths: &[usize]) -> Result<Network> {
    let prefix = weights.prefix("embeddings.patch_embeddings.weight")?;
    let patch = config.size(&["patch_size"])?;
    let plain =
        |weights: &mut Weights, name: &str, inputs: usize, outputs: usize, side: usize| -> Result<Convolution> {
            let kernel = weights.take(&format!("{name}.weight"), &[outputs, inputs, side, side])?;
            let bias = weights.take(&format!("{name}.bias"), &[outputs])?;
            let fold: Vec<(f32, f32)> = bias.into_iter().map(|shift| (1.0, shift)).collect();
            Ok(Convolution::new(&kernel, inputs, side, &fold, (side, 0)))
        };
    let stem = plain(weights, &format!("{prefix}embeddings.patch_embeddings"), 3, sizes[0], patch)?;
    let stem = (stem, weights.norm(&format!("{prefix}embeddings.layernorm"), sizes[0], EPSILON)?);
    let mut stages = Vec::new();
    for (number, (&size, &depth)) in sizes.iter().zip(depths).enumerate() {
        let at = format!("{prefix}encoder.stages.{number}");
        let downsampling = if weights.has(&format!("{at}.downsampling_layer.0.weight")) {
            let before = sizes[number.saturating_sub(1)];
            let norm = weights.norm(&format!("{at}.downsampling_layer.0"), before, EPSILON)?;
            Some((norm, plain(weights, &format!("{at}.downsampling_layer.1"), before, size, 2)?))
        } else {
            None
        };
        let mut blocks = Vec::new();
        for layer in 0..depth {
            let at = format!("{at}.layers.{layer}");
            let kernel = weights.take(&format!("{at}.dwconv.weight"), &[size, 1, DEPTHWISE, DEPTHWISE])?;
            let scale = format!("{at}.layer_scale_parameter");
            let scale = if weights.has(&scale) { Some(weights.take(&scale, &[size])?) } else { None };
            blocks.push(ConvNextBlock {
                depthwise: (by_place(&kernel), weights.take(&format!("{at}.dwconv.bias"), &[size])?),
                norm: weights.norm(&format!("{at}.layernorm"), size, EPSILON)?,
                up: weights.linear(&format!("{at}.pwconv1"), size, 4 * size)?,
                down: weights.linear(&format!("{at}.pwconv2"), 4 * size, size)?,
                scale,
            });
        }
        stages.push(ConvNextStage { downsampling, blocks });
    }
    let last = sizes[sizes.len() - 1];
    let norm =
        weights.norm(&format!("{prefix}layernorm"), last, config.float("layer_norm_eps").unwrap_or(1e-12) as f32)?;
    Ok(Network::ConvNext { stem, stages, norm, activation: config.activation("hidden_act", "gelu")? })
}

fn resnet(weights: &mut Weights, config: &Config, sizes: &[usize], depths: &[usize]) -> Result<Network> {
    let prefix = weights.prefix("embedder.embedder.convolution.weight")?;
    let start = config.size(&["embedding_size"])?;
    let stem = normalized(weights, &format!("{prefix}embedder.embedder"), (3, start, 7), 2)?;
    let is_bottleneck = config.text("layer_type").unwrap_or("bottleneck") == "bottleneck";
    let strides_first = config.flag("downsample_in_bottleneck").unwrap_or(false);
    let mut blocks = Vec::new();
    let mut inputs = start;
    for (stage, (&size, &depth)) in sizes.iter().zip(depths).enumerate() {
        for layer in 0..depth {
            let is_smaller = layer == 0 && (stage > 0 || config.flag("downsample_in_first_stage").unwrap_or(false));
            let stride = if is_smaller { 2 } else { 1 };
            let at = format!("{prefix}encoder.stages.{stage}.layers.{layer}");
            // Inputs, outputs, side and stride of each convolution.
            let shapes = if is_bottleneck {
                let (inner, first, second) = if strides_first { (size / 4, stride, 1) } else { (size / 4, 1, stride) };
                vec![(inputs, inner, 1, first), (inner, inner, 3, second), (inner, size, 1, 1)]
            } else {
                vec![(inputs, size, 3, stride), (size, size, 3, 1)]
            };
            let mut layers = Vec::new();
            for (number, (inputs, outputs, side, stride)) in shapes.into_iter().enumerate() {
                layers.push(normalized(weights, &format!("{at}.layer.{number}"), (inputs, outputs, side), stride)?);
            }
            let shortcut = if weights.has(&format!("{at}.shortcut.convolution.weight")) {
                Some(normalized(weights, &format!("{at}.shortcut"), (inputs, size, 1), stride)?)
            } else {
                None
            };
            blocks.push(ResNetBlock { layers, shortcut });
            inputs = size;
        }
    }
    Ok(Network::ResNet { stem, blocks, activation: config.activation("hidden_act", "relu")? })
}

/// Takes a convolution and the batch normalisation that follows it, as one convolution.
fn normalized(
    weights: &mut Weights,
    name: &str,
    (inputs, outputs, side): (usize, usize, usize),
    stride: usize,
) -> Result<Convolution> {
    const BATCH_EPSILON: f32 = 1e-5;
    let kernel = weights.take(&format!("{name}.convolution.weight"), &[outputs, inputs, side, side])?;
    let mut of = |part: &str| weights.take(&format!("{name}.normalization.{part}"), &[outputs]);
    let (scale, shift, mean, variance) = (of("weight")?, of("bias")?, of("running_mean")?, of("running_var")?);
    let fold: Vec<(f32, f32)> = (0..outputs)
        .map(|output| {
            let factor = scale[output] / (variance[output] + BATCH_EPSILON).sqrt();
            (factor, shift[output] - mean[output] * factor)
        })
        .collect();
    Ok(Convolution::new(&kernel, inputs, side, &fold, (stride, side / 2)))
}

/// Reorders a kernel of `[channels, places]` place by place.
fn by_place(kernel: &[f32]) -> Vec<f32> {
    let plane = DEPTHWISE * DEPTHWISE;
    (0..plane).flat_map(|place| kernel.iter().skip(place).step_by(plane).copied()).collect()
}

impl Network {
    /// Returns the mean of each channel over all places, normalised if the network does that.
    fn apply(&self, image: &Map) -> Vec<f32> {
        match self {
            Self::ConvNext { stem, stages, norm, activation } => {
                let mut map = stem.0.apply(image);
                stem.1.apply(&mut map.values);
                for stage in stages {
                    if let Some((norm, convolution)) = &stage.downsampling {
                        norm.apply(&mut map.values);
                        map = convolution.apply(&map);
                    }
                    stage.blocks.iter().for_each(|block| block.apply(&mut map, *activation));
                }
                norm.applied(&map.mean())
            }
            Self::ResNet { stem, blocks, activation } => {
                let mut map = stem.apply(image);
                activation.apply(&mut map.values);
                map = map.largest();
                for block in blocks {
                    map = block.apply(&map, *activation);
                }
                map.mean()
            }
        }
    }
}

impl ConvNextBlock {
    fn apply(&self, map: &mut Map, activation: Activation) {
        let mut hidden = map.depthwise(&self.depthwise.0, &self.depthwise.1);
        self.norm.apply(&mut hidden);
        let mut hidden = self.up.apply(&hidden);
        activation.apply(&mut hidden);
        let more = self.down.apply(&hidden);
        let scale = |at: usize| self.scale.as_ref().map_or(1.0, |scale| scale[at % map.channels]);
        map.values.iter_mut().zip(more).enumerate().for_each(|(at, (value, more))| *value += scale(at) * more);
    }
}

impl ResNetBlock {
    fn apply(&self, map: &Map, activation: Activation) -> Map {
        let mut out: Option<Map> = None;
        for layer in &self.layers {
            if let Some(before) = &mut out {
                activation.apply(&mut before.values);
            }
            out = Some(layer.apply(out.as_ref().unwrap_or(map)));
        }
        let mut out = out.expect("a block has layers");
        let shortcut = self.shortcut.as_ref().map(|shortcut| shortcut.apply(map));
        let before = &shortcut.as_ref().unwrap_or(map).values;
        out.values.iter_mut().zip(before).for_each(|(value, before)| *value += before);
        activation.apply(&mut out.values);
        out
    }
}

impl Map {
    fn mean(&self) -> Vec<f32> {
        let places = (self.height * self.width).max(1) as f32;
        let mut mean = vec![0.0; self.channels];
        for place in self.values.chunks_exact(self.channels) {
            mean.iter_mut().zip(place).for_each(|(mean, value)| *mean += value / places);
        }
        mean
    }

    /// Convolves each channel on its own.
    fn depthwise(&self, kernel: &[f32], shift: &[f32]) -> Vec<f32> {
        let reach = DEPTHWISE / 2;
        let mut out = Vec::with_capacity(self.values.len());
        for y in 0..self.height {
            for x in 0..self.width {
                let mut sum = shift.to_vec();
                for (place, weights) in kernel.chunks_exact(self.channels).enumerate() {
                    let (y, x) = (y + place / DEPTHWISE, x + place % DEPTHWISE);
                    if (reach..self.height + reach).contains(&y) && (reach..self.width + reach).contains(&x) {
                        let from = &self.values[((y - reach) * self.width + x - reach) * self.channels..];
                        sum.iter_mut().zip(weights).zip(from).for_each(|((sum, weight), value)| *sum += weight * value);
                    }
                }
                out.extend(sum);
            }
        }
        out
    }

    /// Takes the largest of 3 × 3 values, at every second place.
    fn largest(&self) -> Self {
        let (height, width) = (self.height.div_ceil(2), self.width.div_ceil(2));
        let mut values = vec![f32::NEG_INFINITY; height * width * self.channels];
        for (place, out) in values.chunks_exact_mut(self.channels).enumerate() {
            let (top, left) = (2 * (place / width), 2 * (place % width));
            for y in top.saturating_sub(1)..(top + 2).min(self.height) {
                for x in left.saturating_sub(1)..(left + 2).min(self.width) {
                    let from = &self.values[(y * self.width + x) * self.channels..];
                    out.iter_mut().zip(from).for_each(|(out, &value)| *out = out.max(value));
                }
            }
        }
        Self { height, width, channels: self.channels, values }
    }
}

impl Encoder for ConvolutionalModel {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn kind(&self) -> ItemKind {
        ItemKind::Images
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn fingerprint(&self) -> Option<String> {
        Some(blake3::hash(self.fingerprint.as_bytes()).to_hex().to_string())
    }

    fn encode(&self, items: &Items, rows: Range<usize>) -> Result<Vec<f32>> {
        embed_images(items, rows, self.dim, |image| self.embed(image))
    }
}
