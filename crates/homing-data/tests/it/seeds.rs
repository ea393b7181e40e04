//! Writes the seeds for `fuzz/run`.

use std::path::PathBuf;

use image::{GrayImage, ImageFormat, RgbImage};

use crate::sample::*;

/// Writes files, each after the byte that tells `fuzz/targets/data.rs` its kind.
#[test]
#[ignore = "makes the inputs in fuzz/seeds"]
fn write_seeds() {
    let Some(folder) = std::env::var_os("SEEDS").map(PathBuf::from) else { return };
    let picture = || RgbImage::from_fn(5, 4, |x, y| image::Rgb([x as u8 * 40, y as u8 * 60, 7]));
    let gray = GrayImage::from_fn(5, 4, |x, y| image::Luma([(x * y) as u8 * 10]));
    let sheet = RgbImage::from_pixel(960, 640, image::Rgb([1, 2, 3]));
    let seeds: [(&str, u8, Vec<u8>); 11] = [
        ("mnist.tar", 0, tar(&mnist())),
        ("images.tar.gz", 0, gzip(&tar(&[("cat/1.png", plain(2, 2, [1; 3])), ("dog/1.png", plain(2, 2, [2; 3]))]))),
        ("cifar-10.bin", 1, record(&[3], 1)),
        ("cifar-100.bin", 1, record(&[3, 4], 1)),
        ("idx", 2, idx(&[3, 1, 2], &[1, 2, 3, 4, 5, 6])),
        ("colour.png", 3, image(picture(), ImageFormat::Png)),
        ("gray.png", 3, image(gray, ImageFormat::Png)),
        ("colour.jpg", 4, image(picture(), ImageFormat::Jpeg)),
        ("colour.webp", 5, image(picture(), ImageFormat::WebP)),
        ("tiles.webp", 6, image(sheet, ImageFormat::WebP)),
        ("train.bin", 7, record(&[3, 4], 1)),
    ];
    for (name, kind, bytes) in seeds {
        write(&folder, &format!("data/{name}"), [&[kind][..], &bytes].concat());
    }
}
