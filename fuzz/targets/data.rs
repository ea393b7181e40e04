//! Reads any bytes as a data set: an archive, an idx file, a CIFAR file, tiles or an image of a class. Errors must be one line.
#![no_main]

#[path = "../outcome.rs"]
mod outcome;

use std::path::Path;

use homing_data::{OpenOptions, open_bytes};
use libfuzzer_sys::fuzz_target;
use outcome::refusal_is_one_line;

/// Files that the first byte selects: the name of the file that the other bytes become, and whether it is in an archive.
const FILES: [(&str, bool); 8] = [
    ("set.tar", false),
    ("set.bin", false),
    ("images", false),
    ("cat/1.png", true),
    ("cat/1.jpg", true),
    ("cat/1.webp", true),
    ("class_00.webp", true),
    ("train.bin", true),
];

fn archive(name: &str, file: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    header.set_size(file.len() as u64);
    header.set_mode(0o644);
    let mut archive = tar::Builder::new(Vec::new());
    archive.append_data(&mut header, name, file).expect("writing an archive to memory cannot fail");
    archive.into_inner().expect("writing an archive to memory cannot fail")
}

fuzz_target!(|data: &[u8]| {
    let Some((&kind, file)) = data.split_first() else { return };
    let (name, packed) = FILES[usize::from(kind) % FILES.len()];
    let (name, bytes) = if packed { ("set.tar", archive(name, file)) } else { (name, file.to_vec()) };
    let data = open_bytes(Path::new(name), bytes.into(), &OpenOptions::default());
    if let Ok(data) = &data {
        assert_eq!(data.train.labels.len(), data.train.inputs.len());
        assert_eq!(data.train.ids.len(), data.train.inputs.len());
        let images = data.train.inputs.read(&[0]);
        assert!(images.as_ref().is_ok_and(|image| image.len() == data.train.inputs.size()) || images.is_err());
        refusal_is_one_line(&images);
        refusal_is_one_line(&data.train.inputs.resized(&[0], 8));
        refusal_is_one_line(&data.train.inputs.thumbnail(0));
    }
    refusal_is_one_line(&data);
});
