//! Encoders on disk, in the layout of Hugging Face: `config.json`, weights as safetensors, and for texts `tokenizer.json`.

mod config;
mod convolutional;
mod images;
mod layers;
mod pictures;
mod pooling;
mod texts;
mod transformer;
mod weights;

use std::path::Path;

use config::Config;
use convolutional::ConvolutionalModel;
use images::ImageModel;
use texts::TextModel;

use crate::{Encoder, Error, Result};

/// Opens the encoder in a folder.
pub(crate) fn open(folder: &Path) -> Result<Box<dyn Encoder>> {
    if !folder.is_dir() {
        let detail =
            "it is not a folder; give a folder with a model in the layout of Hugging Face, or built-in".to_owned();
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

/// Returns the name of a model for people: that of its folder.
fn name_of(folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    folder.file_name().map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned())
}
