//! Weights of a model in safetensors files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use homing_pool::map;
use safetensors::{Dtype, SafeTensors};

use super::layers::{Linear, Norm};
use crate::{Error, Result};

/// Tensors of a model, in single precision.
pub(crate) struct Weights {
    folder: PathBuf,
    tensors: HashMap<String, (Vec<usize>, Vec<f32>)>,
    /// Hash of the files' contents.
    pub(crate) fingerprint: blake3::Hash,
}

/// Usual name of the file of weights, if there is only one.
const WHOLE: &str = "model.safetensors";

impl Weights {
    /// Reads the weights in a folder: `model.safetensors`, all parts of a model that is split, or the only `.safetensors` file.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let wrong = |detail: String| Error::Model { path: folder.to_owned(), detail };
        let mut files: Vec<PathBuf> = if folder.join(WHOLE).is_file() {
            vec![folder.join(WHOLE)]
        } else {
            let listed = std::fs::read_dir(folder).map_err(|error| wrong(error.to_string()))?;
            let files = listed.filter_map(|entry| Some(entry.ok()?.path()));
            files.filter(|path| path.extension().is_some_and(|extension| extension == "safetensors")).collect()
        };
        files.sort();
        let is_part = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains("-of-"));
        if files.is_empty() {
            return Err(wrong(format!("it has no {WHOLE}; save the model with safetensors")));
        }
        if files.len() > 1 && !files.iter().all(is_part) {
            return Err(wrong(format!("it has several .safetensors files; call one of them {WHOLE}")));
        }
        let mut hash = blake3::Hasher::new();
        let mut tensors = HashMap::new();
        for path in files {
            let bytes = map(&path)?;
            hash.update(&bytes);
            let broken = |detail: String| Error::Model { path: path.clone(), detail };
            let file = SafeTensors::deserialize(&bytes).map_err(|error| broken(error.to_string()))?;
            for (name, view) in file.iter() {
                if let Some(values) = numbers(view.dtype(), view.data()) {
                    tensors.insert(name.to_owned(), (view.shape().to_vec(), values));
                }
            }
        }
        Ok(Self { folder: folder.to_owned(), tensors, fingerprint: hash.finalize() })
    }

    /// Returns the prefix of `name` in the names of the tensors, such as `bert.`.
    pub(crate) fn prefix(&self, name: &str) -> Result<String> {
        let names = self.tensors.keys().filter_map(|known| known.strip_suffix(name));
        let mut prefixes: Vec<&str> = names.filter(|prefix| prefix.is_empty() || prefix.ends_with('.')).collect();
        prefixes.sort_by_key(|prefix| prefix.len());
        let found = prefixes.first().map(|&prefix| prefix.to_owned());
        found.ok_or_else(|| self.wrong(format!("its weights have no tensor {name}")))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// Takes the tensor called `name`, which must have this shape; 0 in the shape allows any extent.
    pub(crate) fn take(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let (found, values) =
            self.tensors.remove(name).ok_or_else(|| self.wrong(format!("its weights have no tensor {name}")))?;
        let fits = found.len() == shape.len()
            && found.iter().zip(shape).all(|(found, &wanted)| wanted == 0 || *found == wanted);
        if !fits {
            return Err(
                self.wrong(format!("its tensor {name} has the shape {found:?}, but config.json implies {shape:?}"))
            );
        }
        if !values.iter().all(|value| value.is_finite()) {
            return Err(self.wrong(format!("its tensor {name} holds numbers that are not finite")));
        }
        Ok(values)
    }

    /// Takes the tensor called `name`, whatever its shape is.
    pub(crate) fn take_any(&mut self, name: &str) -> Result<(Vec<usize>, Vec<f32>)> {
        let dims = self.tensors.get(name).map_or(0, |(shape, _)| shape.len());
        let shape = self.tensors.get(name).map_or_else(Vec::new, |(shape, _)| shape.clone());
        Ok((shape, self.take(name, &vec![0; dims])?))
    }

    /// Takes a linear layer with `name.weight` and, if there is one, `name.bias`.
    pub(crate) fn linear(&mut self, name: &str, inputs: usize, outputs: usize) -> Result<Linear> {
        let weight = self.take(&format!("{name}.weight"), &[outputs, inputs])?;
        let bias = format!("{name}.bias");
        let bias = if self.has(&bias) { Some(self.take(&bias, &[outputs])?) } else { None };
        Ok(Linear::new(weight, bias, inputs))
    }

    /// Takes a layer normalisation.
    pub(crate) fn norm(&mut self, name: &str, width: usize, epsilon: f32) -> Result<Norm> {
        let scale = self.take(&format!("{name}.weight"), &[width])?;
        let shift = self.take(&format!("{name}.bias"), &[width])?;
        Ok(Norm { scale, shift, epsilon })
    }

    pub(crate) fn wrong(&self, detail: String) -> Error {
        Error::Model { path: self.folder.clone(), detail }
    }
}

fn numbers(dtype: Dtype, bytes: &[u8]) -> Option<Vec<f32>> {
    Some(match dtype {
        Dtype::F32 => bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect(),
        Dtype::F16 => bytes.as_chunks::<2>().0.iter().map(|&bytes| f16::from_le_bytes(bytes).to_f32()).collect(),
        Dtype::BF16 => bytes.as_chunks::<2>().0.iter().map(|&bytes| bf16::from_le_bytes(bytes).to_f32()).collect(),
        Dtype::F64 => bytes.as_chunks::<8>().0.iter().map(|&bytes| f64::from_le_bytes(bytes) as f32).collect(),
        _ => return None,
    })
}
