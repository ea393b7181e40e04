//! Encoders on disk: folders in the layout of Hugging Face, with `config.json`, weights as safetensors and for texts `tokenizer.json`,
//! and ONNX files.

mod config;
mod convolutional;
mod images;
mod layers;
#[cfg(feature = "onnxruntime")]
mod onnx;
mod pictures;
mod pooling;
mod texts;
mod tokens;
mod transformer;
mod weights;

use std::path::Path;

use config::Config;
use convolutional::ConvolutionalModel;
use images::ImageModel;
use texts::TextModel;

use crate::{Encoder, Error, Result};

/// Opens the encoder in a folder or an ONNX file.
pub(crate) fn open(folder: &Path) -> Result<Box<dyn Encoder>> {
    #[cfg(feature = "onnxruntime")]
    if folder.is_file() && folder.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(onnx::ENDING)) {
        return onnx::open(folder);
    }
    if !folder.is_dir() {
        let detail =
            "it is not a folder; give a folder with a model in the layout of Hugging Face, an .onnx file, or built-in";
        let detail = detail.to_owned();
        return Err(Error::Model { path: folder.to_owned(), detail });
    }
    let config = Config::open(folder, "config.json")?;
    match config.text("model_type").unwrap_or_default() {
        family if texts::FAMILIES.contains(&family) => Ok(Box::new(TextModel::open(folder, &config, family)?)),
        family if images::FAMILIES.contains(&family) => Ok(Box::new(ImageModel::open(folder, &config, family)?)),
        family if convolutional::FAMILIES.contains(&family) => {
            Ok(Box::new(ConvolutionalModel::open(folder, &config, family)?))
        }
        family => {
            let known = [&texts::FAMILIES[..], &images::FAMILIES, &convolutional::FAMILIES].concat().join(", ");
            Err(config.wrong(format!("its model_type is {family:?}, but only these can be read: {known}")))
        }
    }
}

/// Returns the last part of a path.
#[cfg(feature = "onnxruntime")]
fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns the name of a model for people: that of its folder.
fn name_of(folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    folder.file_name().map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned())
}
