//! Builds small files of every kind.

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

use homing_data::{Data, OpenOptions, open};
use image::{DynamicImage, ImageFormat, RgbImage};

pub fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

pub fn idx(shape: &[u32], values: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, shape.len() as u8];
    bytes.extend(shape.iter().flat_map(|extent| extent.to_be_bytes()));
    bytes.extend(values);
    bytes
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn tar(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, &bytes[..]).unwrap();
    }
    builder.into_inner().unwrap()
}

pub fn image(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    image.into().write_to(&mut out, format).unwrap();
    out.into_inner()
}

/// Returns a PNG of a single colour.
pub fn plain(width: u32, height: u32, colour: [u8; 3]) -> Vec<u8> {
    image(RgbImage::from_pixel(width, height, image::Rgb(colour)), ImageFormat::Png)
}

/// Returns MNIST-like files with five images of two pixels, and their labels.
pub fn mnist() -> [(&'static str, Vec<u8>); 4] {
    [
        ("train-images-idx3-ubyte", idx(&[3, 1, 2], &[1, 2, 3, 4, 5, 6])),
        ("train-labels-idx1-ubyte", idx(&[3], &[1, 0, 2])),
        ("t10k-images-idx3-ubyte", idx(&[2, 1, 2], &[7, 8, 9, 10])),
        ("t10k-labels-idx1-ubyte", idx(&[2], &[2, 1])),
    ]
}

/// Returns a CIFAR record whose pixels are all `pixel`.
pub fn record(labels: &[u8], pixel: u8) -> Vec<u8> {
    [labels, &[pixel; 3072]].concat()
}

pub fn opened(path: &Path) -> Data {
    open(path, &OpenOptions::default()).unwrap()
}

/// Returns the error message for `path`, which must be one sentence.
pub fn refusal_with(path: &Path, options: &OpenOptions) -> String {
    let message = open(path, options).map(|_| ()).unwrap_err().to_string();
    assert!(!message.contains('\n') && message.contains("; "), "{message}");
    message
}

pub fn refusal(path: &Path) -> String {
    refusal_with(path, &OpenOptions::default())
}

#[track_caller]
pub fn assert_says(message: &str, words: &[&str]) {
    for word in words {
        assert!(message.contains(word), "no {word:?} in: {message}");
    }
}
