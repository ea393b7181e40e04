//! Encoders in ONNX files, run by ONNX Runtime.

mod images;
mod outputs;
mod texts;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use homing_onnx::ort;
use ort::session::Session;
use ort::session::builder::SessionBuilder;
use ort::value::{DynValue, Outlet, TensorElementType};

use super::config::Config;
use crate::{Encoder, Error, Result};
use images::OnnxImages;
use texts::OnnxTexts;

/// Ending of the files.
pub(super) const ENDING: &str = "onnx";

/// Opens the encoder in a file.
pub(super) fn open(path: &Path) -> Result<Box<dyn Encoder>> {
    let model = OnnxModel::open(path)?;
    if model.inputs.iter().any(|input| input.name == texts::TOKENS) {
        return Ok(Box::new(OnnxTexts::open(model)?));
    }
    match &model.inputs[..] {
        [input] if input.shape.len() == 4 => Ok(Box::new(OnnxImages::open(model)?)),
        inputs => {
            let listed: Vec<String> = inputs.iter().map(|input| format!("{} {:?}", input.name, input.shape)).collect();
            Err(model.wrong(format!(
                "its inputs are {}, but an encoder of texts has {}, and one of images has a single input of images",
                listed.join(", "),
                texts::TOKENS
            )))
        }
    }
}

/// A model in ONNX Runtime.
struct OnnxModel {
    path: PathBuf,
    /// Folder of the tokenizer and the settings: that of the file, or the one above.
    folder: PathBuf,
    inputs: Vec<Slot>,
    outputs: Vec<Slot>,
    session: Mutex<Session>,
    /// Hash of the model.
    fingerprint: String,
}

/// An input or an output.
struct Slot {
    name: String,
    kind: TensorElementType,
    /// Extents, of which those that are not fixed are negative.
    shape: Vec<i64>,
}

impl Slot {
    fn of(outlet: &Outlet) -> Option<Self> {
        let (kind, shape) = (outlet.dtype().tensor_type()?, outlet.dtype().tensor_shape()?);
        Some(Self { name: outlet.name().to_owned(), kind, shape: shape.to_vec() })
    }

    /// Returns an extent that is fixed.
    fn fixed(&self, axis: usize) -> Option<usize> {
        self.shape.get(axis).and_then(|&extent| usize::try_from(extent).ok()).filter(|&extent| extent > 0)
    }
}

impl OnnxModel {
    fn open(path: &Path) -> Result<Self> {
        let library = homing_onnx::find().ok_or_else(|| Error::NoRuntime { path: path.to_owned() })?;
        let refused = |detail| Error::Runtime { library: library.clone(), detail };
        let environment = homing_onnx::environment(&library).map_err(refused)?;
        let broken = |detail: String| Error::Model { path: path.to_owned(), detail };
        let mut hash = blake3::Hasher::new();
        hash.update(&homing_pool::map(path)?);
        // Large models keep their weights in a file beside them.
        for ending in ["_data", ".data"] {
            let weights = path.with_file_name(format!("{}{ending}", super::file_name(path)));
            if weights.is_file() {
                hash.update(&homing_pool::map(&weights)?);
            }
        }
        let threads = rayon::current_num_threads();
        let session = SessionBuilder::new(&environment)
            .and_then(|builder| builder.with_intra_threads(threads)?.commit_from_file(path))
            .map_err(|error| broken(error.to_string()))?;
        let slots = |outlets: &[Outlet]| outlets.iter().filter_map(Slot::of).collect::<Vec<_>>();
        let (inputs, outputs) = (slots(session.inputs()), slots(session.outputs()));
        if inputs.len() < session.inputs().len() {
            return Err(broken("one of its inputs is not a tensor".to_owned()));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let has_settings = |folder: &Path| SETTINGS.iter().any(|name| folder.join(name).is_file());
        let above = folder.join("..");
        let folder = if !has_settings(folder) && has_settings(&above) { above } else { folder.to_owned() };
        let fingerprint = hash.finalize().to_hex().to_string();
        Ok(Self { path: path.to_owned(), folder, inputs, outputs, session: Mutex::new(session), fingerprint })
    }

    /// Returns the name of the model for people: that of its file, or of its folder if the file has a usual name.
    fn name(&self) -> String {
        let file = super::file_name(&self.path);
        let stem = file.trim_end_matches(&format!(".{ENDING}"));
        if stem.starts_with("model") { format!("{} ({file})", super::name_of(&self.folder)) } else { stem.to_owned() }
    }

    /// Returns a setting of `config.json`, which may be missing.
    fn config(&self) -> Result<Option<Config>> {
        Config::find(&self.folder, "config.json")
    }

    /// Runs the model, and returns the extents and numbers of an output.
    fn run(&self, inputs: Vec<(String, DynValue)>, output: &str) -> Result<(Vec<usize>, Vec<f32>)> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |error: ort::Error| self.wrong(error.to_string());
        let outputs = session.run(inputs).map_err(failed)?;
        let value = outputs.get(output).ok_or_else(|| self.wrong(format!("it returned no {output}")))?;
        let (shape, numbers) = value.try_extract_tensor::<f32>().map_err(failed)?;
        Ok((shape.iter().map(|&extent| extent as usize).collect(), numbers.to_vec()))
    }

    fn wrong(&self, detail: String) -> Error {
        Error::Model { path: self.path.clone(), detail }
    }
}

/// Files of which one lies in the folder of a model.
const SETTINGS: [&str; 3] = ["tokenizer.json", "preprocessor_config.json", "config.json"];
