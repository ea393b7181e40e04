//! Data sets by their paths, and what a frozen trunk makes of them.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use homing_data::{Data, Dataset, Inputs, OpenOptions, SETS};
use homing_train::models::efficientnet::{EfficientNet, Trunk, cache_folder, feature_maps};
use homing_train::{Examples, device};
use serde::{Deserialize, Serialize};

use crate::digits;
use crate::terminal::Bar;

/// The name of the digits that the binary carries.
const DIGITS: &str = "digits";

/// How data sets are read.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[command(next_help_heading = "Data")]
pub struct Open {
    /// Side in pixels that the images of a folder are resized to.
    #[arg(long, value_name = "PIXELS")]
    size: Option<usize>,
    /// Column or tensor of the labels.
    #[arg(long, value_name = "NAME")]
    label_column: Option<String>,
    /// Column or tensor of the embeddings.
    #[arg(long, value_name = "NAME")]
    embedding_column: Option<String>,
    /// File with a label for each row of an embeddings file.
    #[arg(long, value_name = "FILE")]
    pub label_file: Option<PathBuf>,
}

impl Open {
    pub fn size(&self) -> Option<usize> {
        self.size
    }

    pub fn options(&self) -> OpenOptions {
        OpenOptions {
            size: self.size,
            label_column: self.label_column.clone(),
            embedding: self.embedding_column.clone(),
            labels: self.label_file.clone(),
        }
    }
}

/// A data set from its files, or the digits that the binary carries.
pub fn open_data(path: &Path, options: &OpenOptions) -> Result<Data> {
    let built_in = path.as_os_str() == DIGITS && !path.exists();
    if built_in {
        return open_digits(options);
    }
    homing_data::open(path, options).map_err(|error| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let missing = matches!(error, homing_data::Error::Unknown { .. }) || !path.exists();
        match () {
            () if missing && SETS.contains(&name) => {
                anyhow!("{error}; `homing data fetch {name}` downloads that data set")
            }
            () if !path.exists() => anyhow!("{error}; `homing data fetch` downloads {}", SETS.join(" or ")),
            () => error.into(),
        }
    })
}

fn open_digits(options: &OpenOptions) -> Result<Data> {
    let given = [
        (options.label_column.is_some(), "column of labels"),
        (options.embedding.is_some(), "column of embeddings"),
        (options.labels.is_some(), "file of labels"),
    ];
    if let Some(&(_, option)) = given.iter().find(|(given, _)| *given) {
        return Err(homing_data::Error::NotATable { path: DIGITS.into(), option }.into());
    }
    let mut data = digits::data();
    if let Some(size) = options.size {
        data.train.inputs = data.train.inputs.with_size(size)?;
        if let Some(test) = &mut data.test {
            test.inputs = test.inputs.clone().with_size(size)?;
        }
    }
    Ok(data)
}

/// Examples of the task, whose labels need not be there.
pub fn open_targets(path: &Path, options: &OpenOptions) -> Result<Dataset> {
    let bare = OpenOptions { labels: None, label_column: None, ..options.clone() };
    let named = OpenOptions { label_column: options.label_column.clone(), ..bare.clone() };
    let opened = open_data(path, &named).or_else(|_| open_data(path, &bare));
    Ok(opened?.train)
}

/// The frozen part of a network: on a CPU in ONNX Runtime where ORT_DYLIB_PATH names its library.
pub fn trunk(net: &EfficientNet, name: &str) -> Result<Trunk> {
    #[cfg(feature = "onnxruntime")]
    if let Some(path) = std::env::var_os("ORT_DYLIB_PATH").filter(|_| name == "cpu") {
        return Ok(net.trunk_in_onnx(Path::new(&path))?);
    }
    Ok(net.trunk(&device(name)?))
}

/// What a frozen trunk makes of images, from the cache or computed now.
pub fn maps(trunk: &Trunk, images: &Inputs, quiet: bool) -> Result<Inputs> {
    let rows: Vec<usize> = (0..images.len()).collect();
    let bar = Bar::counting("feature maps", rows.len(), quiet);
    let maps = feature_maps(trunk, Examples { inputs: images, rows: &rows }, &cache_folder()?, |done| {
        bar.set(done);
        ControlFlow::Continue(())
    })?;
    bar.finish();
    maps.context("the feature maps were not finished")
}
