//! Encoders of texts in ONNX files, with `tokenizer.json` beside the file or in the folder above.

use std::ops::Range;

use homing_onnx::ort::value::{Tensor, TensorElementType};
use tokenizers::Tokenizer;

use super::super::pooling::Pooling;
use super::super::tokens::{self, groups, open_tokenizer};
use super::outputs::{ChosenOutput, Place};
use super::{OnnxModel, Slot};
use crate::dense::normalize;
use crate::{Encoder, ItemKind, Items, Result};

/// Input of the tokens' numbers.
pub(super) const TOKENS: &str = "input_ids";

/// Number of tokens in one run of the model, of which all threads take a part.
const AT_ONCE: usize = 4096;

/// Longest text of models that do not say their longest.
const LONGEST: usize = 512;

/// A sentence encoder.
pub(super) struct OnnxTexts {
    model: OnnxModel,
    tokenizer: Tokenizer,
    padding: i64,
    output: ChosenOutput,
    pooling: Pooling,
    dim: usize,
    fingerprint: String,
}

impl OnnxTexts {
    pub(super) fn open(model: OnnxModel) -> Result<Self> {
        for input in &model.inputs {
            if !matches!(input.kind, TensorElementType::Int64 | TensorElementType::Int32) {
                return Err(model.wrong(format!("its input {} is not of whole numbers", input.name)));
            }
            if meaning(input).is_none() {
                return Err(
                    model.wrong(format!("its input {} is not known; export the encoder of texts alone", input.name))
                );
            }
        }
        let config = model.config()?;
        let size = |name: &str| config.as_ref().and_then(|config| config.find_size(name));
        // RoBERTa and its relatives count positions from behind the padding.
        let unused = if config
            .as_ref()
            .and_then(|config| config.text("model_type"))
            .is_some_and(|family| family.contains("roberta"))
        {
            2
        } else {
            0
        };
        let positions = size("max_position_embeddings").map_or(LONGEST, |most| most.saturating_sub(unused).max(1));
        let fixed = model.inputs.iter().find(|input| input.name == TOKENS).and_then(|input| input.fixed(1));
        let tokenizer = open_tokenizer(&model.folder, fixed.unwrap_or(positions), size("vocab_size"))?;
        let padding = config.as_ref().and_then(|config| config.value().get("pad_token_id")?.as_i64());
        let padding =
            padding.or_else(|| ["[PAD]", "<pad>"].iter().find_map(|token| tokenizer.token_to_id(token)).map(i64::from));
        let output = model.output(&["sentence_embedding", "token_embeddings", "last_hidden_state"])?;
        if output.place == Place::Places {
            return Err(model.wrong(format!("its output {} has 4 dimensions", output.name)));
        }
        let padding = padding.unwrap_or(0);
        let (shape, _) = run(&model, padding, &output, &[&[0, 0]])?;
        let width = shape.last().copied().unwrap_or(0);
        let pooling = Pooling::open(&model.folder, width)?;
        let dim = if output.place == Place::Whole { width } else { pooling.outputs() };
        let files = pooling.fingerprint(&model.folder)?;
        let fingerprint = format!("onnx {} {files} {}", model.fingerprint, output.name);
        Ok(Self { model, tokenizer, padding, output, pooling, dim, fingerprint })
    }

    /// Embeds sequences of tokens.
    fn embed(&self, sequences: &[&[u32]]) -> Result<Vec<f32>> {
        let (shape, values) = run(&self.model, self.padding, &self.output, sequences)?;
        let width = shape.last().copied().unwrap_or(0);
        if self.output.place == Place::Whole {
            let mut out = values[..sequences.len() * width].to_vec();
            if self.pooling.normalizes() {
                normalize(&mut out, width);
            }
            return Ok(out);
        }
        let length = values.len() / width.max(1) / shape[0].max(1);
        let lengths: Vec<usize> = sequences.iter().map(|tokens| tokens.len()).collect();
        let rows = lengths.iter().enumerate().flat_map(|(at, &own)| &values[at * length * width..][..own * width]);
        Ok(self.pooling.apply(&rows.copied().collect::<Vec<f32>>(), &lengths))
    }
}

/// Runs a model on sequences of tokens, which are filled up to the same length.
fn run(model: &OnnxModel, padding: i64, output: &ChosenOutput, sequences: &[&[u32]]) -> Result<(Vec<usize>, Vec<f32>)> {
    let tokens = model.inputs.iter().find(|input| input.name == TOKENS).expect("it was found before");
    let longest = sequences.iter().map(|tokens| tokens.len()).max().unwrap_or(0).max(1);
    let length = tokens.fixed(1).unwrap_or(longest);
    let count = tokens.fixed(0).unwrap_or(sequences.len()).max(sequences.len());
    let mut inputs = Vec::new();
    for input in &model.inputs {
        let meaning = meaning(input).expect("it was checked");
        let mut values = Vec::with_capacity(count * length);
        for at in 0..count {
            let tokens = sequences.get(at).copied().unwrap_or_default();
            values.extend((0..length).map(|place| meaning.value(tokens.get(place).copied(), padding)));
        }
        let tensor = if input.kind == TensorElementType::Int32 {
            let values: Vec<i32> = values.into_iter().map(|value| value as i32).collect();
            Tensor::from_array(([count, length], values)).map(Tensor::into_dyn)
        } else {
            Tensor::from_array(([count, length], values)).map(Tensor::into_dyn)
        };
        inputs.push((input.name.clone(), tensor.map_err(|error| model.wrong(error.to_string()))?));
    }
    model.run(inputs, &output.name)
}

/// What an input says about each token.
#[derive(Clone, Copy)]
enum Meaning {
    Token,
    IsToken,
    Kind,
}

impl Meaning {
    fn value(self, token: Option<u32>, padding: i64) -> i64 {
        match self {
            Meaning::Token => token.map_or(padding, i64::from),
            Meaning::IsToken => i64::from(token.is_some()),
            Meaning::Kind => 0,
        }
    }
}

fn meaning(input: &Slot) -> Option<Meaning> {
    Some(match &*input.name {
        TOKENS => Meaning::Token,
        "attention_mask" => Meaning::IsToken,
        "token_type_ids" => Meaning::Kind,
        _ => return None,
    })
}

impl Encoder for OnnxTexts {
    fn name(&self) -> String {
        self.model.name()
    }

    fn kind(&self) -> ItemKind {
        ItemKind::Texts
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn fingerprint(&self) -> Option<String> {
        Some(self.fingerprint.clone())
    }

    fn encode(&self, items: &Items, rows: Range<usize>) -> Result<Vec<f32>> {
        let Items::Texts(texts) = items else { unreachable!("the kind of the items was checked") };
        let tokens = tokens::of_texts(&self.tokenizer, self.pooling.prompt(), &texts[rows])?;
        let mut out = vec![0.0; tokens.len() * self.dim];
        let most = self.model.inputs.iter().find_map(|input| input.fixed(0)).unwrap_or(usize::MAX);
        for group in groups(&tokens, AT_ONCE, most) {
            let embedded = self.embed(&group.iter().map(|&at| &tokens[at][..]).collect::<Vec<_>>())?;
            for (&at, row) in group.iter().zip(embedded.chunks_exact(self.dim)) {
                out[at * self.dim..(at + 1) * self.dim].copy_from_slice(row);
            }
        }
        Ok(out)
    }
}
