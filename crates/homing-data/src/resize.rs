//! Resizes images.

/// Largest side to which images are resized.
pub(crate) const MOST: usize = 4096;

/// Scales an image of `[channels, height, width]` until its shorter side has `size` pixels, and crops the longer side to its
/// middle.
///
/// Scaling is bilinear with pixel centres at ½: enlarging equals PyTorch's `F.interpolate(mode="bilinear",
/// align_corners=False)`, and shrinking equals the same with `antialias=True`.
pub(crate) fn fit(pixels: &[u8], [channels, height, width]: [usize; 3], size: usize) -> Vec<f32> {
    if (height, width) == (size, size) {
        return pixels.iter().map(|&pixel| f32::from(pixel)).collect();
    }
    let shorter = height.min(width);
    let across = taps(width, scaled(width, shorter, size), size);
    let down = taps(height, scaled(height, shorter, size), size);
    // Only the rows that contribute to the result are computed.
    let first = down.iter().map(|tap| tap.start).min().unwrap_or(0);
    let last = down.iter().map(|tap| tap.start + tap.weights.len()).max().unwrap_or(0);
    let mut rows = vec![0.0; (last - first) * size];
    let mut out = vec![0.0; channels * size * size];
    for (channel, out) in out.chunks_exact_mut(size * size).enumerate() {
        let plane = &pixels[channel * height * width..(channel + 1) * height * width];
        for (line, row) in plane.chunks_exact(width).skip(first).zip(rows.chunks_exact_mut(size)) {
            for (to, tap) in row.iter_mut().zip(&across) {
                let from = &line[tap.start..tap.start + tap.weights.len()];
                *to = from.iter().zip(&tap.weights).map(|(&pixel, weight)| f32::from(pixel) * weight).sum();
            }
        }
        for (out, tap) in out.chunks_exact_mut(size).zip(&down) {
            for (row, &weight) in rows.chunks_exact(size).skip(tap.start - first).zip(&tap.weights) {
                out.iter_mut().zip(row).for_each(|(out, value)| *out += weight * value);
            }
        }
    }
    out
}

/// Returns the length of a side after scaling.
fn scaled(side: usize, shorter: usize, size: usize) -> usize {
    side * size / shorter
}

/// Weights of the pixels from `start` on, which sum to 1.
struct Tap {
    start: usize,
    weights: Vec<f32>,
}

/// Returns, for each of the middle `size` of `scaled` pixels, the weights of the original `side` pixels. They form a triangle
/// whose base is two pixels wide, in the larger of the original and the scaled pixels.
fn taps(side: usize, scaled: usize, size: usize) -> Vec<Tap> {
    let scale = side as f64 / scaled as f64;
    let reach = scale.max(1.0);
    let offset = (scaled - size) / 2;
    let tap = |position: usize| {
        let centre = (position as f64 + 0.5) * scale;
        let start = (centre - reach + 0.5).max(0.0) as usize;
        let end = ((centre + reach + 0.5) as usize).min(side);
        let weight = |pixel: usize| (1.0 - ((pixel as f64 + 0.5 - centre) / reach).abs()).max(0.0);
        let sum: f64 = (start..end).map(weight).sum();
        Tap { start, weights: (start..end).map(|pixel| (weight(pixel) / sum) as f32).collect() }
    };
    (offset..offset + size).map(tap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_close(found: &[f32], expected: &[f32]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-3, "{found} is not {expected}");
        }
    }

    #[test]
    fn a_row_doubled_by_hand() {
        // Centres are at ¼ and ¾ of a pixel: the border stays, and the rest is ¾ of the nearer and ¼ of the farther pixel.
        let doubled = fit(&[0, 100, 0, 100], [1, 2, 2], 4);
        for row in doubled.chunks(4) {
            assert_close(row, &[0.0, 25.0, 75.0, 100.0]);
        }
    }

    #[test]
    fn a_row_halved_by_hand() {
        // The triangle reaches 2 pixels around 1 and 3: the weights are ¾ ¾ ¼ (and the same mirrored), divided by their sum.
        let halved = fit(&[70, 0, 0, 0].repeat(4), [1, 4, 4], 2);
        assert_close(&halved, &[30.0, 0.0, 30.0, 0.0]);
    }

    #[test]
    fn the_same_size_is_the_same_image() {
        assert_eq!(fit(&[1, 2, 3, 4], [1, 2, 2], 2), [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn the_middle_of_a_wide_image_is_kept() {
        assert_eq!(fit(&[9, 1, 2, 9, 9, 3, 4, 9], [1, 2, 4], 2), [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn a_constant_image_stays_constant() {
        for (height, width, size) in [(3, 7, 5), (50, 31, 7), (1, 1, 9), (13, 13, 12)] {
            let image = fit(&vec![200; 3 * height * width], [3, height, width], size);
            assert_close(&image, &vec![200.0; 3 * size * size]);
        }
    }

    /// `torch.nn.functional.interpolate(x, size=(s, s), mode="bilinear", align_corners=False, antialias=a)` of PyTorch 2.15
    /// for x = `torch.tensor([(i * 37 + i * i * 11) % 256 for i in range(25)], dtype=torch.float32).view(1, 1, 5, 5)`.
    #[test]
    fn pytorch_computes_the_same() {
        let image: Vec<u8> = (0..25u32).map(|i| ((i * 37 + i * i * 11) % 256) as u8).collect();
        assert_close(&fit(&image, [1, 5, 5], 7), &ENLARGED);
        assert_close(&fit(&image, [1, 5, 5], 3), &SHRUNK);
    }

    #[rustfmt::skip]
    const ENLARGED: [f32; 49] = [
        0.0, 27.4286, 68.0, 118.0, 183.7143, 149.1429, 68.0,
        116.5714, 96.3265, 77.3061, 67.7143, 178.3266, 188.6531, 143.4286,
        200.0, 161.9592, 120.6939, 88.8572, 151.102, 175.7551, 175.4286,
        190.0, 196.8571, 211.7143, 236.0, 93.1428, 69.4286, 114.0,
        207.1429, 154.4082, 147.0204, 227.4286, 140.6939, 94.7347, 79.7143,
        130.8571, 143.9184, 176.9796, 235.1429, 126.1632, 73.6326, 61.7143,
        20.0, 152.5714, 251.4286, 250.0, 81.4285, 32.0, 56.0,
    ];

    #[rustfmt::skip]
    const SHRUNK: [f32; 9] = [
        81.1837, 109.5555, 165.2245,
        179.2064, 160.8395, 113.3968,
        135.3469, 186.8571, 62.4898,
    ];
}
