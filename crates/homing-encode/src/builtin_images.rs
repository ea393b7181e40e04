//! The built-in encoder of images: small pixels and the directions of edges, reduced to the directions in which the images of
//! the pool differ most (principal components).

use std::ops::Range;

use homing_data::{Inputs, RgbPixels};
use image::RgbImage;
use image::imageops::{FilterType, resize};
use rayon::prelude::*;

use crate::dense::{eigen, gram, normalize, product};
use crate::{Encoder, ItemKind, Items, Result};

/// Side in pixels to which an image is resized before its edges are computed.
const SIDE: usize = 32;

/// Side in pixels of a cell in which the directions of edges are counted. The image of small pixels has the same side.
const CELL: usize = 4;
const CELLS: usize = SIDE / CELL;

/// Number of directions of edges that are distinguished, from 0° to 180°.
const DIRECTIONS: usize = 8;

/// Number of features of an image, before principal components reduce them.
const FEATURES: usize = CELLS * CELLS * (3 + DIRECTIONS);

/// Largest number of dimensions of an embedding.
const DIM: usize = 256;

/// Largest number of images from which the encoder learns. In a larger pool, evenly spaced images are taken.
const LEARNED: usize = 20_000;

/// An encoder of images that needs no weights and learns from a pool.
pub(crate) struct BuiltInImages {
    mean: Vec<f32>,
    /// Features × directions.
    directions: Vec<f32>,
    dim: usize,
}

impl BuiltInImages {
    /// Learns from the images of a pool.
    pub(crate) fn new(images: &Inputs) -> Result<Self> {
        let learned = images.len().min(LEARNED);
        let rows: Vec<usize> = (0..learned).map(|at| at * images.len() / learned.max(1)).collect();
        let mut values = features(images, &rows)?;
        let mut mean = vec![0.0_f64; FEATURES];
        for row in values.chunks_exact(FEATURES) {
            mean.iter_mut().zip(row).for_each(|(mean, &value)| *mean += f64::from(value) / learned as f64);
        }
        let mean: Vec<f32> = mean.into_iter().map(|mean| mean as f32).collect();
        subtract(&mut values, &mean);
        let (variances, vectors) = eigen(&gram(&values, FEATURES), FEATURES);
        let least = variances.first().copied().unwrap_or(0.0) * 1e-9;
        let dim = variances.iter().take(DIM).take_while(|&&variance| variance > least).count();
        let directions =
            vectors.chunks_exact(FEATURES).flat_map(|row| &row[..dim]).map(|&value| value as f32).collect();
        Ok(Self { mean, directions, dim })
    }
}

fn subtract(rows: &mut [f32], mean: &[f32]) {
    rows.par_chunks_mut(mean.len()).for_each(|row| row.iter_mut().zip(mean).for_each(|(value, mean)| *value -= mean));
}

fn features(images: &Inputs, rows: &[usize]) -> Result<Vec<f32>> {
    let each: Vec<Vec<f32>> = rows.par_iter().map(|&row| Ok(features_of(images.rgb(row)?))).collect::<Result<_>>()?;
    Ok(each.concat())
}

/// Returns the colours of small pixels, and how strong the edges of each direction are in each cell.
fn features_of(image: RgbPixels) -> Vec<f32> {
    let RgbPixels { width, height, pixels } = image;
    let whole =
        RgbImage::from_raw(width as u32, height as u32, pixels).expect("an image has as many pixels as it says");
    let side = SIDE as u32;
    let edges = if (width, height) == (SIDE, SIDE) { whole } else { resize(&whole, side, side, FilterType::Triangle) };
    let small = resize(&edges, CELLS as u32, CELLS as u32, FilterType::Triangle);
    let grey: Vec<f32> =
        edges.pixels().map(|pixel| pixel.0.iter().map(|&value| f32::from(value)).sum::<f32>() / 765.0).collect();
    let mut cells = vec![0.0_f32; CELLS * CELLS * DIRECTIONS];
    for y in 0..SIDE {
        for x in 0..SIDE {
            let at = |x: usize, y: usize| grey[y.min(SIDE - 1) * SIDE + x.min(SIDE - 1)];
            let across = at(x + 1, y) - at(x.saturating_sub(1), y);
            let down = at(x, y + 1) - at(x, y.saturating_sub(1));
            let strength = across.hypot(down);
            let angle = down.atan2(across).rem_euclid(std::f32::consts::PI) / std::f32::consts::PI;
            let direction = angle * DIRECTIONS as f32;
            let (first, share) = (direction as usize, direction.fract());
            let cell = (y / CELL * CELLS + x / CELL) * DIRECTIONS;
            cells[cell + first % DIRECTIONS] += strength * (1.0 - share);
            cells[cell + (first + 1) % DIRECTIONS] += strength * share;
        }
    }
    // Square roots keep a few strong edges from outweighing all others.
    cells.iter_mut().for_each(|value| *value = value.sqrt() / CELL as f32);
    let colours = small.pixels().flat_map(|pixel| pixel.0).map(|value| f32::from(value) / 255.0 * 0.5);
    colours.chain(cells).collect()
}

impl Encoder for BuiltInImages {
    fn name(&self) -> String {
        "the built-in encoder of images".to_owned()
    }

    fn kind(&self) -> ItemKind {
        ItemKind::Images
    }

    fn dim(&self) -> usize {
        self.dim.max(1)
    }

    fn encode(&self, items: &Items, rows: Range<usize>) -> Result<Vec<f32>> {
        let Items::Images(images) = items else { unreachable!("the kind of the items was checked") };
        let rows: Vec<usize> = rows.collect();
        let mut values = features(images, &rows)?;
        if self.dim == 0 {
            return Ok(vec![0.0; rows.len()]);
        }
        subtract(&mut values, &self.mean);
        let mut embeddings = product(&values, FEATURES, &self.directions, self.dim);
        normalize(&mut embeddings, self.dim);
        Ok(embeddings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Images of 40 × 30 pixels with stripes: upright ones for even numbers, level ones for odd numbers.
    fn striped(count: usize) -> Inputs {
        let pixel = |image: usize, x: usize, y: usize| {
            let along = if image.is_multiple_of(2) { x } else { y };
            if (along / 5 + image / 2).is_multiple_of(2) { 200 + (image % 7) as u8 } else { 20 }
        };
        let image = |i: usize| (0..30).flat_map(move |y| (0..40).map(move |x| pixel(i, x, y)));
        Inputs::pixels([1, 30, 40], (0..count).flat_map(image).collect::<Vec<u8>>())
    }

    #[test]
    fn images_with_the_same_edges_are_close() {
        let images = striped(20);
        let encoder = BuiltInImages::new(&images).unwrap();
        let values = encoder.encode(&Items::Images(images), 0..20).unwrap();
        let row = |at: usize| &values[at * encoder.dim()..(at + 1) * encoder.dim()];
        let cosine = |a: usize, b: usize| row(a).iter().zip(row(b)).map(|(a, b)| a * b).sum::<f32>();
        assert!(cosine(0, 2) > 0.0 && cosine(0, 1) < 0.0, "{} {}", cosine(0, 2), cosine(0, 1));
        assert!((cosine(3, 3) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn equal_images_have_nothing_to_tell_apart() {
        let images = Inputs::pixels([3, 4, 4], vec![9u8; 3 * 16 * 5]);
        let encoder = BuiltInImages::new(&images).unwrap();
        assert_eq!(encoder.encode(&Items::Images(images), 1..3).unwrap(), vec![0.0; 2 * encoder.dim()]);
    }
}
