//! Encoders of images: ViT, DINOv2, and the image halves of CLIP and SigLIP.

use std::ops::Range;
use std::path::Path;

use super::config::Config;
use super::layers::{Activation, Linear, Norm};
use super::name_of;
use super::pictures::{Preprocessing, embed_images};
use super::transformer::{Block, Transformer};
use super::weights::Weights;
use crate::{Encoder, ItemKind, Items, Result};

/// Families of models that can be read.
pub(crate) const FAMILIES: [&str; 7] =
    ["vit", "dinov2", "clip", "clip_vision_model", "siglip", "siglip_vision_model", "deit"];

/// Names of the tensors of a family of models.
struct Names {
    patches: &'static str,
    positions: &'static str,
    /// The token that stands for the whole image, if there is one.
    class: Option<&'static str>,
    before: Option<&'static str>,
    behind: &'static str,
    blocks: &'static str,
    attention: [&'static str; 3],
    mix: &'static str,
    up: &'static str,
    down: &'static str,
    norms: [&'static str; 2],
}

const VIT: Names = Names {
    patches: "embeddings.patch_embeddings.projection",
    positions: "embeddings.position_embeddings",
    class: Some("embeddings.cls_token"),
    before: None,
    behind: "layernorm",
    blocks: "encoder.layer",
    attention: ["attention.attention.query", "attention.attention.key", "attention.attention.value"],
    mix: "attention.output.dense",
    up: "intermediate.dense",
    down: "output.dense",
    norms: ["layernorm_before", "layernorm_after"],
};

const DINOV2: Names = Names { up: "mlp.fc1", down: "mlp.fc2", norms: ["norm1", "norm2"], ..VIT };

const CLIP: Names = Names {
    patches: "embeddings.patch_embedding",
    positions: "embeddings.position_embedding.weight",
    class: Some("embeddings.class_embedding"),
    before: Some("pre_layrnorm"),
    behind: "post_layernorm",
    blocks: "encoder.layers",
    attention: ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
    mix: "self_attn.out_proj",
    up: "mlp.fc1",
    down: "mlp.fc2",
    norms: ["layer_norm1", "layer_norm2"],
};

const SIGLIP: Names = Names { class: None, before: None, ..CLIP };

/// How the outputs for all patches are combined into the embedding of an image.
enum Head {
    /// The output for the token of the whole image is normalised, then projected if the model has a projection.
    Class(Option<Linear>),
    /// Attention of one learned query to all patches, then two layers (SigLIP).
    Attention(Box<AttentionHead>),
}

struct AttentionHead {
    query: Vec<f32>,
    keys_values: Linear,
    mix: Linear,
    norm: Norm,
    up: Linear,
    down: Linear,
}

/// An encoder that splits images into patches.
pub(crate) struct ImageModel {
    name: String,
    fingerprint: String,
    preprocessing: Preprocessing,
    patch: usize,
    patches: Linear,
    class: Option<Vec<f32>>,
    /// Position embedding of the token for the whole image, then those of the patches, row by row.
    positions: Vec<f32>,
    before: Option<Norm>,
    transformer: Transformer,
    behind: Norm,
    head: Head,
    dim: usize,
}

impl ImageModel {
    #[allow(clippy::too_many_lines, reason = "it lists the parts of a model in their order")]
    pub(crate) fn open(folder: &Path, config: &Config, family: &str) -> Result<Self> {
        let names = match family {
            "dinov2" => &DINOV2,
            "clip" | "clip_vision_model" => &CLIP,
            "siglip" | "siglip_vision_model" => &SIGLIP,
            _ => &VIT,
        };
        let whole = config;
        let config = &config.part("vision_config");
        let mut weights = Weights::open(folder)?;
        let prefix = weights.prefix(&format!("{}.weight", names.patches))?;
        let width = config.size(&["hidden_size"])?;
        let heads = config.size(&["num_attention_heads"])?;
        if !width.is_multiple_of(heads) {
            return Err(config.wrong(format!("{heads} heads cannot share {width} numbers")));
        }
        if config.flag("use_swiglu_ffn") == Some(true) {
            return Err(config.wrong("its use_swiglu_ffn is not supported".to_owned()));
        }
        let (patch, side) = (config.size(&["patch_size"])?, config.size(&["image_size"])?);
        let usual_epsilon = if names.before.is_some() {
            1e-5
        } else if family == "vit" {
            1e-12
        } else {
            1e-6
        };
        let epsilon = config.float("layer_norm_eps").unwrap_or(usual_epsilon) as f32;
        let inner = match config.find_size("intermediate_size") {
            Some(inner) => inner,
            None => width * config.size(&["mlp_ratio"])?,
        };
        let usual = match names.blocks {
            _ if std::ptr::eq(names, &CLIP) => "quick_gelu",
            _ if std::ptr::eq(names, &SIGLIP) => "gelu_pytorch_tanh",
            _ => "gelu",
        };
        let activation = config.activation("hidden_act", usual)?;
        let mut blocks = Vec::new();
        for number in 0..config.size(&["num_hidden_layers"])? {
            let at = |part: &str| format!("{prefix}{}.{number}.{part}", names.blocks);
            let attention = names.attention.map(|name| weights.linear(&at(name), width, width));
            let scale = at("layer_scale1.lambda1");
            let scales = if weights.has(&scale) {
                Some([weights.take(&scale, &[width])?, weights.take(&at("layer_scale2.lambda1"), &[width])?])
            } else {
                None
            };
            blocks.push(Block {
                attention: Linear::joined(attention.into_iter().collect::<Result<_>>()?),
                mix: weights.linear(&at(names.mix), width, width)?,
                up: weights.linear(&at(names.up), width, inner)?,
                down: weights.linear(&at(names.down), inner, width)?,
                first_norm: weights.norm(&at(names.norms[0]), width, epsilon)?,
                second_norm: weights.norm(&at(names.norms[1]), width, epsilon)?,
                scales,
            });
        }
        let transformer = Transformer { blocks, heads, width, activation, normalizes_first: true, distances: None };
        let (shape, kernel) = weights.take_any(&format!("{prefix}{}.weight", names.patches))?;
        if shape != [width, 3, patch, patch] {
            return Err(config.wrong(format!("its patches have the shape {shape:?}")));
        }
        let bias = format!("{prefix}{}.bias", names.patches);
        let bias = if weights.has(&bias) { Some(weights.take(&bias, &[width])?) } else { None };
        let patches = Linear::new(by_pixel(&kernel, patch), bias, 3 * patch * patch);
        let class =
            names.class.map(|name| weights.take_any(&format!("{prefix}{name}"))).transpose()?.map(|(_, class)| class);
        let (_, mut positions) = weights.take_any(&format!("{prefix}{}", names.positions))?;
        let extra = width * usize::from(class.is_some());
        let grid = side / patch;
        if positions.len() != extra + grid * grid * width || class.as_ref().is_some_and(|class| class.len() != width) {
            return Err(config.wrong(format!("its positions do not fit images of {side} pixels")));
        }
        let behind = weights.norm(&format!("{prefix}{}", names.behind), width, epsilon)?;
        let before = names.before.map(|name| weights.norm(&format!("{prefix}{name}"), width, epsilon)).transpose()?;
        let preprocessing = Preprocessing::open(folder, if family == "dinov2" { 224.max(patch) } else { side })?;
        let (height, wide, _) =
            preprocessing.apply(homing_data::RgbPixels { width: side, height: side, pixels: vec![0; 3 * side * side] });
        if height % patch != 0 || wide % patch != 0 || height == 0 {
            return Err(
                config.wrong(format!("images of {wide} × {height} pixels do not divide into patches of {patch}"))
            );
        }
        if (height / patch, wide / patch) != (grid, grid) {
            if family != "dinov2" {
                return Err(config.wrong(format!(
                    "it is made for images of {side} pixels, but preprocessor_config.json yields {wide} × {height}"
                )));
            }
            let other = interpolated(&positions[extra..], grid, (height / patch, wide / patch), width);
            positions.truncate(extra);
            positions.extend(other);
        }
        let projection = match weights.prefix("visual_projection.weight") {
            Ok(prefix) if std::ptr::eq(names, &CLIP) => {
                let outputs = whole.size(&["projection_dim"]).or_else(|_| config.size(&["projection_dim"]))?;
                Some(weights.linear(&format!("{prefix}visual_projection"), width, outputs)?)
            }
            _ => None,
        };
        let head = if names.class.is_some() {
            Head::Class(projection)
        } else {
            Head::Attention(Box::new(AttentionHead::open(
                &mut weights,
                &format!("{prefix}head"),
                width,
                inner,
                epsilon,
            )?))
        };
        let dim = if let Head::Class(Some(projection)) = &head { projection.outputs() } else { width };
        let name = name_of(folder);
        let fingerprint = format!("{} {preprocessing:?} {}", weights.fingerprint.to_hex(), whole.value());
        Ok(Self {
            name,
            fingerprint,
            preprocessing,
            patch,
            patches,
            class,
            positions,
            before,
            transformer,
            behind,
            head,
            dim,
        })
    }

    fn embed(&self, image: homing_data::RgbPixels) -> Vec<f32> {
        let width = self.transformer.width;
        let (height, wide, numbers) = self.preprocessing.apply(image);
        let embedded = self.patches.apply(&cut(&numbers, height, wide, self.patch));
        let mut rows: Vec<f32> = self.class.iter().flatten().copied().chain(embedded).collect();
        rows.iter_mut().zip(&self.positions).for_each(|(value, position)| *value += position);
        if let Some(norm) = &self.before {
            norm.apply(&mut rows);
        }
        let length = rows.len() / width;
        self.transformer.apply(&mut rows, &[length]);
        match &self.head {
            Head::Class(projection) => {
                let class = self.behind.applied(&rows[..width]);
                projection.as_ref().map_or_else(|| class.clone(), |projection| projection.apply(&class))
            }
            Head::Attention(head) => {
                self.behind.apply(&mut rows);
                head.apply(&rows, self.transformer.heads, self.transformer.activation)
            }
        }
    }
}

impl AttentionHead {
    fn open(weights: &mut Weights, name: &str, width: usize, inner: usize, epsilon: f32) -> Result<Self> {
        let probe = weights.take(&format!("{name}.probe"), &[1, 1, width])?;
        let joint = weights.take(&format!("{name}.attention.in_proj_weight"), &[3 * width, width])?;
        let bias = weights.take(&format!("{name}.attention.in_proj_bias"), &[3 * width])?;
        let (query, others) = joint.split_at(width * width);
        let (query_bias, other_bias) = bias.split_at(width);
        Ok(Self {
            query: Linear::new(query.to_vec(), Some(query_bias.to_vec()), width).apply(&probe),
            keys_values: Linear::new(others.to_vec(), Some(other_bias.to_vec()), width),
            mix: weights.linear(&format!("{name}.attention.out_proj"), width, width)?,
            norm: weights.norm(&format!("{name}.layernorm"), width, epsilon)?,
            up: weights.linear(&format!("{name}.mlp.fc1"), width, inner)?,
            down: weights.linear(&format!("{name}.mlp.fc2"), inner, width)?,
        })
    }

    fn apply(&self, rows: &[f32], heads: usize, activation: Activation) -> Vec<f32> {
        let width = self.query.len();
        let size = width / heads;
        let joint = self.keys_values.apply(rows);
        let mut mixed = vec![0.0; width];
        for head in 0..heads {
            let part = head * size..(head + 1) * size;
            let query = &self.query[part.clone()];
            let score = |row: &[f32]| -> f32 {
                query.iter().zip(&row[part.clone()]).map(|(a, b)| a * b).sum::<f32>() / (size as f32).sqrt()
            };
            let mut scores: Vec<f32> = joint.chunks_exact(2 * width).map(score).collect();
            let count = scores.len();
            super::layers::softmax(&mut scores, count);
            for (row, score) in joint.chunks_exact(2 * width).zip(scores) {
                let values = &row[width + part.start..width + part.end];
                mixed[part.clone()].iter_mut().zip(values).for_each(|(to, value)| *to += score * value);
            }
        }
        let mut out = self.mix.apply(&mixed);
        let mut hidden = self.up.apply(&self.norm.applied(&out));
        activation.apply(&mut hidden);
        out.iter_mut().zip(self.down.apply(&hidden)).for_each(|(value, more)| *value += more);
        out
    }
}

/// Reorders a kernel of `[outputs, 3, patch, patch]` to the order of the pixels of a patch, each with its colours.
fn by_pixel(kernel: &[f32], patch: usize) -> Vec<f32> {
    let plane = patch * patch;
    let row =
        |row: &[f32]| (0..plane).flat_map(|at| [row[at], row[plane + at], row[2 * plane + at]]).collect::<Vec<_>>();
    kernel.chunks_exact(3 * plane).flat_map(row).collect()
}

/// Returns the pixels of each patch, patch by patch and row by row.
fn cut(numbers: &[f32], height: usize, width: usize, patch: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(numbers.len());
    for top in (0..height).step_by(patch) {
        for left in (0..width).step_by(patch) {
            for y in top..top + patch {
                out.extend_from_slice(&numbers[3 * (y * width + left)..3 * (y * width + left + patch)]);
            }
        }
    }
    out
}

/// Resizes a grid of positions as `torch.nn.functional.interpolate(mode="bicubic", align_corners=False)` does.
fn interpolated(positions: &[f32], grid: usize, (height, width): (usize, usize), dim: usize) -> Vec<f32> {
    let (down, across) = (taps(grid, height), taps(grid, width));
    let mut out = vec![0.0; height * width * dim];
    for (at, out) in out.chunks_exact_mut(dim).enumerate() {
        for &(y, weight_y) in &down[at / width] {
            for &(x, weight_x) in &across[at % width] {
                let from = &positions[(y * grid + x) * dim..][..dim];
                out.iter_mut().zip(from).for_each(|(out, value)| *out += weight_y * weight_x * value);
            }
        }
    }
    out
}

/// Returns the four neighbours of each new point on a line, with their weights in a cubic convolution with a = −¾.
fn taps(from: usize, to: usize) -> Vec<[(usize, f32); 4]> {
    const A: f64 = -0.75;
    let weight = |distance: f64| {
        let d = distance.abs();
        if d <= 1.0 {
            ((A + 2.0) * d - (A + 3.0)) * d * d + 1.0
        } else {
            ((A * d - 5.0 * A) * d + 8.0 * A) * d - 4.0 * A
        }
    };
    let point = |at: usize| {
        let place = (at as f64 + 0.5) * from as f64 / to as f64 - 0.5;
        let first = place.floor();
        [-1.0, 0.0, 1.0, 2.0].map(|offset| {
            let neighbour = (first + offset).clamp(0.0, (from - 1) as f64) as usize;
            (neighbour, weight(place - first - offset) as f32)
        })
    };
    (0..to).map(point).collect()
}

impl Encoder for ImageModel {
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
