//! The output of a model that holds the embeddings.

use homing_onnx::ort::value::TensorElementType;

use super::{OnnxModel, Slot};
use crate::Result;

/// Which part of a model's output is the embedding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The output has one embedding per item.
    Whole,
    /// The output has numbers for each token.
    Tokens,
    /// The output has numbers for each place of an image, channel by channel.
    Places,
}

/// An output that was chosen.
#[derive(Clone, Debug)]
pub(super) struct ChosenOutput {
    pub(super) name: String,
    pub(super) place: Place,
}

impl OnnxModel {
    /// Chooses the first of `usual` names that exists, or the first output of numbers that is no classification.
    pub(super) fn output(&self, usual: &[&str]) -> Result<ChosenOutput> {
        let numbers = || self.outputs.iter().filter(|output| output.kind == TensorElementType::Float32);
        let named = usual.iter().find_map(|name| numbers().find(|output| output.name == *name));
        let chosen = named.or_else(|| numbers().find(|output| output.name != "logits")).or_else(|| numbers().next());
        let output = chosen.ok_or_else(|| {
            self.wrong("it has no output of 32-bit floating-point numbers; export it in that precision".to_owned())
        })?;
        let place = place(output).ok_or_else(|| {
            self.wrong(format!("its output {} has {} dimensions instead of 2 to 4", output.name, output.shape.len()))
        })?;
        Ok(ChosenOutput { name: output.name.clone(), place })
    }
}

fn place(output: &Slot) -> Option<Place> {
    match output.shape.len() {
        2 => Some(Place::Whole),
        3 => Some(Place::Tokens),
        4 => Some(Place::Places),
        _ => None,
    }
}
