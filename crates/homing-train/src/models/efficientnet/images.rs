//! Images as the trunk takes them.

use super::trunk::SIDE;
use crate::{Error, Inputs, Result};

/// The images of `rows`, 3 × 224 × 224 pixels from 0 to 255 each: bilinear, as PyTorch's `F.interpolate` with
/// `align_corners=False`; grey is repeated.
pub(super) fn resized(images: &Inputs, rows: &[usize]) -> Result<Vec<f32>> {
    let &[channels @ (1 | 3), height, width] = images.shape() else {
        let shape = images.shape();
        return Err(Error::Setting(format!("the network takes images in 1 or 3 channels, these are {shape:?}")));
    };
    let (down, across) = (taps(height), taps(width));
    let mut out = Vec::with_capacity(rows.len() * 3 * SIDE * SIDE);
    for image in images.read(rows).chunks_exact(channels * height * width) {
        for channel in 0..3 {
            let plane = &image[channel % channels * height * width..][..height * width];
            for &(top, bottom, y) in &down {
                let row = |row: usize| &plane[row * width..(row + 1) * width];
                let (top, bottom) = (row(top), row(bottom));
                let line = |row: &[f32], left: usize, right: usize, x: f32| (1.0 - x) * row[left] + x * row[right];
                out.extend(across.iter().map(|&(left, right, x)| {
                    (1.0 - y) * line(top, left, right, x) + y * line(bottom, left, right, x)
                }));
            }
        }
    }
    Ok(out)
}

/// For each pixel of the result the two it lies between, and its distance from the first.
fn taps(extent: usize) -> Vec<(usize, usize, f32)> {
    let tap = |at: usize| {
        let centre = ((at as f64 + 0.5) * extent as f64 / SIDE as f64 - 0.5).max(0.0);
        let first = (centre as usize).min(extent - 1);
        (first, (first + 1).min(extent - 1), (centre - first as f64) as f32)
    };
    (0..SIDE).map(tap).collect()
}

/// The same images have the same, and others another.
pub(super) fn fingerprint(images: &Inputs) -> blake3::Hash {
    let mut hash = blake3::Hasher::new();
    hash.update(format!("{:?} {}", images.shape(), images.len()).as_bytes());
    for row in 0..images.len() {
        let bytes: Vec<u8> = images.read(&[row]).iter().flat_map(|value| value.to_le_bytes()).collect();
        hash.update(&bytes);
    }
    hash.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_pixels_there_is_a_ramp() {
        // Centres of the pixels at 56 and 168 of 224.
        let image = resized(&Inputs::pixels([1, 1, 2], vec![0, 224]), &[0]).unwrap();
        assert_eq!(image.len(), 3 * SIDE * SIDE);
        for row in image.chunks_exact(SIDE) {
            assert!(row[..56].iter().all(|&value| value == 0.0) && row[168..].iter().all(|&value| value == 224.0));
            for at in 56..168 {
                let expected = (at as f32 + 0.5 - 56.0) / 112.0 * 224.0;
                assert!((row[at] - expected).abs() < 1e-3, "{at}: {} is not {expected}", row[at]);
            }
        }
    }
}
