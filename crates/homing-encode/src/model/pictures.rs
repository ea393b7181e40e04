//! Turns images into the numbers that a model expects, as its `preprocessor_config.json` says.

use std::ops::Range;
use std::path::Path;

use homing_data::RgbPixels;
use image::RgbImage;
use image::imageops::{FilterType, crop_imm, resize};
use rayon::prelude::*;
use serde_json::Value;

use super::config::Config;
use crate::dense::normalize;
use crate::{Items, Result};

/// Embeds some of the images one by one, in parallel, and scales the embeddings to unit length.
pub(super) fn embed_images(
    items: &Items,
    rows: Range<usize>,
    dim: usize,
    embed: impl Fn(RgbPixels) -> Vec<f32> + Sync,
) -> Result<Vec<f32>> {
    let Items::Images(images) = items else { unreachable!("the kind of the items was checked") };
    let each: Vec<Vec<f32>> = rows.into_par_iter().map(|row| Ok(embed(images.rgb(row)?))).collect::<Result<_>>()?;
    let mut out = each.concat();
    normalize(&mut out, dim);
    Ok(out)
}

/// Steps from an image to rows of red, green and blue.
#[derive(Clone, Debug)]
pub(crate) struct Preprocessing {
    size: Size,
    filter: FilterType,
    /// Height and width of the middle that is kept.
    crop: Option<(u32, u32)>,
    /// Factor of the pixels, which are from 0 to 255.
    factor: f32,
    mean: [f32; 3],
    deviation: [f32; 3],
}

/// How an image is resized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    /// The shorter side gets this length.
    Shorter(u32),
    /// Height and width, whatever the proportions are.
    Whole(u32, u32),
    Unchanged,
}

/// Means and deviations of ImageNet.
const IMAGENET: ([f32; 3], [f32; 3]) = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]);

impl Preprocessing {
    /// Reads `preprocessor_config.json`. Without it, images are resized to `side` × `side` pixels and normalised as for ImageNet.
    pub(crate) fn open(folder: &Path, side: usize) -> Result<Self> {
        let side = side as u32;
        let usual = Self {
            size: Size::Whole(side, side),
            filter: FilterType::CatmullRom,
            crop: None,
            factor: 1.0 / 255.0,
            mean: IMAGENET.0,
            deviation: IMAGENET.1,
        };
        let Some(config) = Config::find(folder, "preprocessor_config.json")? else { return Ok(usual) };
        let is_on = |name: &str| config.flag(name).unwrap_or(true);
        let number = |value: &Value, name: &str| value.get(name).and_then(Value::as_u64).map(|size| size as u32);
        let extent = |name: &str| -> Option<(u32, u32)> {
            let value = config.value().get(name)?;
            let whole = value.as_u64().map(|size| (size as u32, size as u32));
            whole.or_else(|| Some((number(value, "height")?, number(value, "width")?)))
        };
        let kind =
            config.text("image_processor_type").or_else(|| config.text("feature_extractor_type")).unwrap_or_default();
        let shorter = config.value().get("size").and_then(|size| number(size, "shortest_edge"));
        let size = match (shorter, extent("size")) {
            _ if !is_on("do_resize") => Size::Unchanged,
            (Some(shorter), _) => Size::Shorter(shorter),
            // These resize the shorter side even if the size is a bare number.
            (None, Some((height, _))) if config.value()["size"].is_u64() && kind.starts_with("CLIP") => {
                Size::Shorter(height)
            }
            (None, Some((height, width))) => Size::Whole(height, width),
            (None, None) => usual.size,
        };
        let mut crop = extent("crop_size").filter(|_| config.flag("do_center_crop").unwrap_or(false));
        let mut size = size;
        if kind.starts_with("ConvNext") || kind.starts_with("ConvNeXT") {
            // Small images are first resized to a larger square, of which this share is kept.
            if let Size::Shorter(side) = size {
                let share = config.float("crop_pct").unwrap_or(224.0 / 256.0);
                if side < 384 {
                    (size, crop) = (Size::Shorter((f64::from(side) / share) as u32), Some((side, side)));
                } else {
                    size = Size::Whole(side, side);
                }
            }
        }
        let filter = match config.value().get("resample").and_then(Value::as_u64) {
            Some(0) => FilterType::Nearest,
            Some(1) => FilterType::Lanczos3,
            Some(2) => FilterType::Triangle,
            Some(3) | None => FilterType::CatmullRom,
            Some(other) => return Err(config.wrong(format!("its resample {other} is not supported"))),
        };
        let channels = |name: &str, usual: [f32; 3]| -> [f32; 3] {
            let list = config.value().get(name).and_then(Value::as_array);
            let number =
                |at: usize| list.and_then(|list| list.get(at)?.as_f64()).map_or(usual[at], |value| value as f32);
            [number(0), number(1), number(2)]
        };
        let (mut mean, mut deviation) = ([0.0; 3], [1.0; 3]);
        if is_on("do_normalize") {
            (mean, deviation) = (channels("image_mean", IMAGENET.0), channels("image_std", IMAGENET.1));
        }
        let factor =
            if is_on("do_rescale") { config.float("rescale_factor").unwrap_or(1.0 / 255.0) as f32 } else { 1.0 };
        let most = 4096;
        let sizes = match size {
            Size::Shorter(side) => [side, 1],
            Size::Whole(height, width) => [height, width],
            Size::Unchanged => [1, 1],
        };
        if sizes
            .iter()
            .chain(crop.iter().flat_map(|(height, width)| [height, width]))
            .any(|side| !(1..=most).contains(side))
        {
            return Err(config.wrong(format!("its sizes are not from 1 to {most}")));
        }
        Ok(Self { size, filter, crop, factor, mean, deviation })
    }

    /// Returns height, width and the numbers of an image, pixel by pixel.
    pub(crate) fn apply(&self, image: RgbPixels) -> (usize, usize, Vec<f32>) {
        let RgbPixels { width, height, pixels } = image;
        let image =
            RgbImage::from_raw(width as u32, height as u32, pixels).expect("an image has as many pixels as it says");
        let (width, height) = image.dimensions();
        let (new_width, new_height) = match self.size {
            Size::Unchanged => (width, height),
            Size::Whole(height, width) => (width, height),
            Size::Shorter(side) => {
                let longer = |long: u32, short: u32| (u64::from(side) * u64::from(long) / u64::from(short)) as u32;
                if width <= height { (side, longer(height, width)) } else { (longer(width, height), side) }
            }
        };
        let resized = if (new_width, new_height) == (width, height) {
            image
        } else {
            resize(&image, new_width, new_height, self.filter)
        };
        let cropped = match self.crop {
            Some((height, width)) => middle(&resized, height, width),
            None => resized,
        };
        let number =
            |(at, &pixel): (usize, &u8)| (f32::from(pixel) * self.factor - self.mean[at % 3]) / self.deviation[at % 3];
        let (width, height) = cropped.dimensions();
        (height as usize, width as usize, cropped.as_raw().iter().enumerate().map(number).collect())
    }
}

/// Returns the middle of an image, with black around it if it is smaller.
fn middle(image: &RgbImage, height: u32, width: u32) -> RgbImage {
    let (has_width, has_height) = image.dimensions();
    let (top, left) = (has_height.saturating_sub(height) / 2, has_width.saturating_sub(width) / 2);
    let part = crop_imm(image, left, top, width.min(has_width), height.min(has_height)).to_image();
    if part.dimensions() == (width, height) {
        return part;
    }
    let mut out = RgbImage::new(width, height);
    let (below, right) = (height.saturating_sub(has_height) / 2, width.saturating_sub(has_width) / 2);
    image::imageops::replace(&mut out, &part, i64::from(right), i64::from(below));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An image of `tests/reference/models.py`, pixel by pixel.
    fn image(width: usize, height: usize) -> RgbPixels {
        let value = |y: usize, x: usize, channel: usize| {
            let wave = (x as f64 / 5.0 + 5.0).sin() + (y as f64 / 3.0 + channel as f64).cos();
            (127.5 + 60.0 * wave).floor() as u8
        };
        let pixel = |at: usize| [0, 1, 2].map(|channel| value(at / width, at % width, channel));
        RgbPixels { width, height, pixels: (0..width * height).flat_map(pixel).collect() }
    }

    #[test]
    fn images_are_resized_and_cropped_as_by_transformers() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/models");
        let golden: Value = serde_json::from_slice(&std::fs::read(folder.join("golden.json")).unwrap()).unwrap();
        let steps = Preprocessing::open(&folder.join("clip"), 16).unwrap();
        for (width, height) in [(40, 30), (21, 50)] {
            let expected: Vec<f32> =
                serde_json::from_value(golden[format!("clip {width}x{height}")]["pixels"].clone()).unwrap();
            let (rows, columns, found) = steps.apply(image(width, height));
            assert_eq!((rows, columns, found.len()), (16, 16, expected.len()));
            for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
                // Two steps of 1/255, divided by the deviation of the channel.
                let tolerance = 2.0 / 255.0 / steps.deviation[at % 3] + 1e-3;
                assert!((found - expected).abs() < tolerance, "{width} × {height}, {at}: {found} {expected}");
            }
        }
    }

    #[test]
    fn small_images_are_cropped_with_black_around_them() {
        let image = RgbImage::from_raw(1, 1, vec![9, 8, 7]).unwrap();
        let out = middle(&image, 3, 3);
        assert_eq!(out.get_pixel(1, 1).0, [9, 8, 7]);
        assert_eq!(out.pixels().filter(|pixel| pixel.0 == [0; 3]).count(), 8);
    }
}
