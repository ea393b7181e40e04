//! Encoders of images in ONNX files, with `preprocessor_config.json` beside the file or in the folder above.

use std::ops::Range;

use homing_onnx::ort::value::{Tensor, TensorElementType};
use rayon::prelude::*;

use super::super::pictures::Preprocessing;
use super::OnnxModel;
use super::outputs::{ChosenOutput, Place};
use crate::dense::normalize;
use crate::{Encoder, ItemKind, Items, Result};

/// Side of images if neither the model nor its settings say one.
const SIDE: usize = 224;

/// Number of images in one run of the model.
const AT_ONCE: usize = 16;

/// Families of models whose embedding is the token for the whole image.
const TOKEN_FAMILIES: [&str; 3] = ["vit", "deit", "dinov2"];

/// An encoder of images.
pub(super) struct OnnxImages {
    model: OnnxModel,
    preprocessing: Preprocessing,
    /// Whether the numbers of a pixel lie together.
    by_pixel: bool,
    output: ChosenOutput,
    dim: usize,
    fingerprint: String,
}

impl OnnxImages {
    pub(super) fn open(model: OnnxModel) -> Result<Self> {
        let input = &model.inputs[0];
        if input.kind != TensorElementType::Float32 {
            return Err(model.wrong(format!("its input {} is not of 32-bit floating-point numbers", input.name)));
        }
        let by_pixel = match (input.fixed(1), input.fixed(3)) {
            (Some(3) | None, _) => false,
            (_, Some(3)) => true,
            _ => return Err(model.wrong(format!("its input {} has no three colours: {:?}", input.name, input.shape))),
        };
        let (height, width) = if by_pixel { (1, 2) } else { (2, 3) };
        let config = model.config()?;
        let named = config.as_ref().and_then(|config| config.find_size("image_size"));
        let side = input.fixed(height).or(named).unwrap_or(SIDE);
        let preprocessing = Preprocessing::open(&model.folder, side)?;
        let made =
            preprocessing.apply(homing_data::RgbPixels { width: side, height: side, pixels: vec![0; 3 * side * side] });
        for (axis, found) in [(height, made.0), (width, made.1)] {
            if let Some(expected) = input.fixed(axis).filter(|&expected| expected != found) {
                return Err(model.wrong(format!(
                    "it expects images of {expected} pixels, but preprocessor_config.json yields {found}"
                )));
            }
        }
        let family = config.as_ref().and_then(|config| config.text("model_type")).unwrap_or_default();
        let usual: &[&str] = if TOKEN_FAMILIES.contains(&family) {
            &["last_hidden_state", "pooler_output"]
        } else {
            &["image_embeds", "pooler_output", "last_hidden_state"]
        };
        let output = model.output(usual)?;
        let fingerprint = format!("onnx {} {preprocessing:?} {}", model.fingerprint, output.name);
        let mut encoder = Self { model, preprocessing, by_pixel, output, dim: 0, fingerprint };
        encoder.dim = encoder.embed(&[made])?.len();
        Ok(encoder)
    }

    /// Embeds images of the same size, given as height, width and numbers, pixel by pixel.
    fn embed(&self, images: &[(usize, usize, Vec<f32>)]) -> Result<Vec<f32>> {
        let input = &self.model.inputs[0];
        let (height, width) = (images[0].0, images[0].1);
        let count = input.fixed(0).unwrap_or(images.len()).max(images.len());
        let mut values = Vec::with_capacity(count * 3 * height * width);
        for at in 0..count {
            let (.., pixels) = &images[at.min(images.len() - 1)];
            if self.by_pixel {
                values.extend_from_slice(pixels);
            } else {
                (0..3).for_each(|colour| values.extend(pixels.iter().skip(colour).step_by(3)));
            }
        }
        let shape = if self.by_pixel { [count, height, width, 3] } else { [count, 3, height, width] };
        let tensor = Tensor::from_array((shape, values)).map_err(|error| self.model.wrong(error.to_string()))?;
        let (shape, values) = self.model.run(vec![(input.name.clone(), tensor.into_dyn())], &self.output.name)?;
        let each = values.len() / count;
        let embedding = |values: &[f32]| -> Vec<f32> {
            match self.output.place {
                Place::Whole => values.to_vec(),
                Place::Tokens => values[..shape[2]].to_vec(),
                Place::Places => {
                    let mean = |plane: &[f32]| plane.iter().sum::<f32>() / plane.len() as f32;
                    values.chunks_exact(shape[2] * shape[3]).map(mean).collect()
                }
            }
        };
        Ok(values.chunks_exact(each).take(images.len()).flat_map(embedding).collect())
    }
}

impl Encoder for OnnxImages {
    fn name(&self) -> String {
        self.model.name()
    }

    fn kind(&self) -> ItemKind {
        ItemKind::Images
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn fingerprint(&self) -> Option<String> {
        Some(self.fingerprint.clone())
    }

    fn encode(&self, items: &Items, rows: Range<usize>) -> Result<Vec<f32>> {
        let Items::Images(images) = items else { unreachable!("the kind of the items was checked") };
        let most = self.model.inputs[0].fixed(0).unwrap_or(AT_ONCE).min(AT_ONCE);
        let mut out = Vec::with_capacity(rows.len() * self.dim);
        for start in rows.clone().step_by(most) {
            let group = start..(start + most).min(rows.end);
            let read = |row: usize| Ok(self.preprocessing.apply(images.rgb(row)?));
            let prepared: Vec<(usize, usize, Vec<f32>)> = group.into_par_iter().map(read).collect::<Result<_>>()?;
            // Images that are not resized may differ in their size.
            for alike in prepared.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
                out.extend(self.embed(alike)?);
            }
        }
        normalize(&mut out, self.dim);
        Ok(out)
    }
}
