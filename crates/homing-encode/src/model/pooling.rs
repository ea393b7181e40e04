//! Combines the outputs for all tokens into one embedding, as the files of a sentence encoder say.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::config::Config;
use super::layers::Linear;
use super::weights::Weights;
use crate::dense::normalize;
use crate::{Error, Result};

/// How the outputs for all tokens are combined into the embedding of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Mean,
    First,
    Last,
    Max,
    /// The sum, divided by the square root of the number of tokens.
    MeanSqrt,
}

/// The steps after the transformer: pooling, dense layers, normalisation.
pub(crate) struct Pooling {
    kinds: Vec<Kind>,
    dense: Vec<(Linear, bool)>,
    normalizes: bool,
    width: usize,
    prompt: String,
}

const MODULES: &str = "modules.json";

impl Pooling {
    /// Reads `modules.json` and what it lists. A model without it has the mean of all tokens, normalised to length 1.
    pub(crate) fn open(folder: &Path, width: usize) -> Result<Self> {
        let mut pooling =
            Self { kinds: vec![Kind::Mean], dense: Vec::new(), normalizes: true, width, prompt: prompt(folder)? };
        let Some(modules) = Config::find(folder, MODULES)? else { return Ok(pooling) };
        pooling.normalizes = false;
        for module in modules.value().as_array().into_iter().flatten() {
            let field = |name: &str| module.get(name).and_then(Value::as_str).unwrap_or_default();
            let at = below(folder, field("path"))?;
            match field("type").rsplit('.').next().unwrap_or_default() {
                "Transformer" => {}
                "Pooling" => pooling.kinds = kinds(&Config::open(&at, "config.json")?)?,
                "Normalize" => pooling.normalizes = true,
                "Dense" => pooling.dense.push(dense(&at, pooling.outputs())?),
                other => return Err(modules.wrong(format!("its module {other} is not supported"))),
            }
        }
        Ok(pooling)
    }

    pub(crate) fn outputs(&self) -> usize {
        self.dense.last().map_or(self.kinds.len() * self.width, |(linear, _)| linear.outputs())
    }

    /// Returns whether embeddings are scaled to length 1.
    #[cfg(feature = "onnxruntime")]
    pub(crate) fn normalizes(&self) -> bool {
        self.normalizes
    }

    /// Returns the prompt that is put before every text.
    pub(crate) fn prompt(&self) -> &str {
        &self.prompt
    }

    /// Returns a hash of the files that decide on the embedding besides the weights.
    pub(crate) fn fingerprint(&self, folder: &Path) -> Result<String> {
        let mut hash = blake3::Hasher::new();
        hash.update(format!("{:?} {} {}", self.kinds, self.normalizes, self.prompt).as_bytes());
        for name in ["config.json", "tokenizer.json", MODULES, "sentence_bert_config.json", "tokenizer_config.json"] {
            let path = folder.join(name);
            if path.is_file() {
                hash.update(&homing_pool::map(&path)?);
            }
            hash.update(&[0]);
        }
        Ok(hash.finalize().to_hex().to_string())
    }

    /// Returns the embeddings of sequences that lie one after the other, with these lengths.
    pub(crate) fn apply(&self, rows: &[f32], lengths: &[usize]) -> Vec<f32> {
        let mut pooled = Vec::with_capacity(lengths.len() * self.kinds.len() * self.width);
        let mut start = 0;
        for &length in lengths {
            let tokens = &rows[start * self.width..(start + length) * self.width];
            for kind in &self.kinds {
                pooled.extend(self.pool(*kind, tokens));
            }
            start += length;
        }
        for (linear, is_bounded) in &self.dense {
            pooled = linear.apply(&pooled);
            if *is_bounded {
                pooled.iter_mut().for_each(|value| *value = value.tanh());
            }
        }
        if self.normalizes {
            normalize(&mut pooled, self.outputs());
        }
        pooled
    }

    fn pool(&self, kind: Kind, tokens: &[f32]) -> Vec<f32> {
        let count = tokens.len() / self.width;
        let rows = || tokens.chunks_exact(self.width);
        let fold = |start: f32, join: fn(f32, f32) -> f32| {
            let mut out = vec![start; self.width];
            rows().for_each(|row| out.iter_mut().zip(row).for_each(|(out, &value)| *out = join(*out, value)));
            out
        };
        let scaled = |divisor: f32| fold(0.0, |sum, value| sum + value).into_iter().map(|sum| sum / divisor).collect();
        match kind {
            _ if count == 0 => vec![0.0; self.width],
            Kind::Mean => scaled(count as f32),
            Kind::MeanSqrt => scaled((count as f32).sqrt()),
            Kind::First => tokens[..self.width].to_vec(),
            Kind::Last => tokens[tokens.len() - self.width..].to_vec(),
            Kind::Max => fold(f32::NEG_INFINITY, f32::max),
        }
    }
}

/// Returns the folder of a module, which lies in the folder of the model.
fn below(folder: &Path, name: &str) -> Result<PathBuf> {
    if Path::new(name).components().all(|part| matches!(part, std::path::Component::Normal(_))) {
        return Ok(folder.join(name));
    }
    let detail = format!("its {MODULES} names the folder {name:?}, which does not lie in it");
    Err(Error::Model { path: folder.to_owned(), detail })
}

fn kinds(config: &Config) -> Result<Vec<Kind>> {
    let modes = [
        ("pooling_mode_cls_token", "cls", Kind::First),
        ("pooling_mode_max_tokens", "max", Kind::Max),
        ("pooling_mode_mean_tokens", "mean", Kind::Mean),
        ("pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", Kind::MeanSqrt),
        ("pooling_mode_lasttoken", "lasttoken", Kind::Last),
    ];
    if let Some(mode) = config.text("pooling_mode") {
        let kind = modes.iter().find(|(_, name, _)| *name == mode).map(|&(.., kind)| kind);
        return kind
            .map(|kind| vec![kind])
            .ok_or_else(|| config.wrong(format!("its pooling_mode {mode} is not supported")));
    }
    let kinds: Vec<Kind> =
        modes.iter().filter(|(key, ..)| config.flag(key) == Some(true)).map(|&(.., kind)| kind).collect();
    if kinds.is_empty() { Err(config.wrong("it names no pooling that is supported".to_owned())) } else { Ok(kinds) }
}

fn dense(folder: &Path, inputs: usize) -> Result<(Linear, bool)> {
    let config = Config::open(folder, "config.json")?;
    let is_bounded = match config.text("activation_function").and_then(|name| name.rsplit('.').next()) {
        Some("Tanh") => true,
        Some("Identity") => false,
        _ => return Err(config.wrong("its activation_function is not supported".to_owned())),
    };
    let outputs = config.size(&["out_features"])?;
    Ok((Weights::open(folder)?.linear("linear", inputs, outputs)?, is_bounded))
}

/// Returns the default prompt of a sentence encoder, which is empty for most.
fn prompt(folder: &Path) -> Result<String> {
    let Some(config) = Config::find(folder, "config_sentence_transformers.json")? else { return Ok(String::new()) };
    let name = config.text("default_prompt_name");
    let prompt = name.and_then(|name| config.value().get("prompts")?.get(name)?.as_str());
    Ok(prompt.unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_pooled_as_the_kinds_say() {
        let kinds = vec![Kind::First, Kind::Max, Kind::Mean, Kind::MeanSqrt, Kind::Last];
        let pooling = Pooling { kinds, dense: Vec::new(), normalizes: false, width: 1, prompt: String::new() };
        let found = pooling.apply(&[1.0, 5.0, 3.0, 3.0, 7.0], &[4, 1]);
        assert_eq!(found, [1.0, 5.0, 3.0, 6.0, 3.0, 7.0, 7.0, 7.0, 7.0, 7.0]);
    }
}
