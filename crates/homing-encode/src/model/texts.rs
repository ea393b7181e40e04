//! Encoders of texts: BERT, RoBERTa, XLM-RoBERTa, DistilBERT and MPNet, as sentence encoders use them.

use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;
use tokenizers::Tokenizer;

use super::config::Config;
use super::layers::{Linear, Norm};
use super::name_of;
use super::pooling::Pooling;
use super::tokens::{self, groups, open_tokenizer};
use super::transformer::{Block, DistanceBias, Transformer};
use super::weights::Weights;
use crate::{Encoder, ItemKind, Items, Result};

/// Number of tokens that one thread processes at once.
const TOKENS: usize = 512;

/// Names of the tensors of a family of models.
struct Names {
    /// Part of a tensor's name before the number of the block.
    blocks: &'static str,
    queries: &'static str,
    keys: &'static str,
    values: &'static str,
    mix: &'static str,
    first_norm: &'static str,
    up: &'static str,
    down: &'static str,
    second_norm: &'static str,
}

const BERT: Names = Names {
    blocks: "encoder.layer",
    queries: "attention.self.query",
    keys: "attention.self.key",
    values: "attention.self.value",
    mix: "attention.output.dense",
    first_norm: "attention.output.LayerNorm",
    up: "intermediate.dense",
    down: "output.dense",
    second_norm: "output.LayerNorm",
};

const MPNET: Names = Names {
    queries: "attention.attn.q",
    keys: "attention.attn.k",
    values: "attention.attn.v",
    mix: "attention.attn.o",
    first_norm: "attention.LayerNorm",
    ..BERT
};

const DISTILBERT: Names = Names {
    blocks: "transformer.layer",
    queries: "attention.q_lin",
    keys: "attention.k_lin",
    values: "attention.v_lin",
    mix: "attention.out_lin",
    first_norm: "sa_layer_norm",
    up: "ffn.lin1",
    down: "ffn.lin2",
    second_norm: "output_layer_norm",
};

/// Families of models that can be read.
pub(crate) const FAMILIES: [&str; 6] = ["bert", "roberta", "xlm-roberta", "camembert", "distilbert", "mpnet"];

/// A sentence encoder.
pub(crate) struct TextModel {
    name: String,
    fingerprint: String,
    tokenizer: Tokenizer,
    words: Vec<f32>,
    positions: Vec<f32>,
    /// Position of the first token in the table of positions.
    first_position: usize,
    norm: Norm,
    transformer: Transformer,
    pooling: Pooling,
}

impl TextModel {
    pub(crate) fn open(folder: &Path, config: &Config, family: &str) -> Result<Self> {
        let names = match family {
            "distilbert" => &DISTILBERT,
            "mpnet" => &MPNET,
            _ => &BERT,
        };
        let mut weights = Weights::open(folder)?;
        let prefix = weights.prefix("embeddings.word_embeddings.weight")?;
        let width = config.size(&["hidden_size", "dim"])?;
        let heads = config.size(&["num_attention_heads", "n_heads"])?;
        if !width.is_multiple_of(heads) {
            return Err(config.wrong(format!("{heads} heads cannot share {width} numbers")));
        }
        if config.text("position_embedding_type").is_some_and(|kind| kind != "absolute") {
            return Err(config.wrong("its position_embedding_type is not supported".to_owned()));
        }
        let epsilon = config.float("layer_norm_eps").unwrap_or(1e-12) as f32;
        let inner = config.size(&["intermediate_size", "hidden_dim"])?;
        let mut blocks = Vec::new();
        for number in 0..config.size(&["num_hidden_layers", "n_layers"])? {
            let at = |part: &str| format!("{prefix}{}.{number}.{part}", names.blocks);
            let attention = [names.queries, names.keys, names.values];
            let attention = attention.map(|name| weights.linear(&at(name), width, width));
            blocks.push(Block {
                attention: Linear::joined(attention.into_iter().collect::<Result<_>>()?),
                mix: weights.linear(&at(names.mix), width, width)?,
                up: weights.linear(&at(names.up), width, inner)?,
                down: weights.linear(&at(names.down), inner, width)?,
                first_norm: weights.norm(&at(names.first_norm), width, epsilon)?,
                second_norm: weights.norm(&at(names.second_norm), width, epsilon)?,
                scales: None,
            });
        }
        let distances = format!("{prefix}encoder.relative_attention_bias.weight");
        let distances = if weights.has(&distances) {
            let table = weights.take(&distances, &[0, heads])?;
            Some(DistanceBias { buckets: table.len() / heads, table })
        } else {
            None
        };
        let activation = config.activation(if family == "distilbert" { "activation" } else { "hidden_act" }, "gelu")?;
        let transformer = Transformer { blocks, heads, width, activation, normalizes_first: false, distances };

        let words = weights.take(&format!("{prefix}embeddings.word_embeddings.weight"), &[0, width])?;
        let mut positions = weights.take(&format!("{prefix}embeddings.position_embeddings.weight"), &[0, width])?;
        let kinds = format!("{prefix}embeddings.token_type_embeddings.weight");
        if weights.has(&kinds) {
            // All tokens are of the first kind.
            let kinds = weights.take(&kinds, &[0, width])?;
            positions
                .chunks_exact_mut(width)
                .for_each(|row| row.iter_mut().zip(&kinds).for_each(|(to, kind)| *to += kind));
        }
        let first_position = match family {
            "bert" | "distilbert" => 0,
            _ => config.value().get("pad_token_id").and_then(serde_json::Value::as_u64).unwrap_or(1) as usize + 1,
        };
        let norm = weights.norm(&format!("{prefix}embeddings.LayerNorm"), width, epsilon)?;
        let longest = (positions.len() / width).saturating_sub(first_position).max(1);
        let pooling = Pooling::open(folder, width)?;
        let fingerprint = format!("{}{}", weights.fingerprint.to_hex(), pooling.fingerprint(folder)?);
        let tokenizer = open_tokenizer(folder, longest, Some(words.len() / width))?;
        let name = name_of(folder);
        Ok(Self { name, fingerprint, tokenizer, words, positions, first_position, norm, transformer, pooling })
    }

    /// Embeds sequences of tokens: [`Pooling::outputs`] numbers each.
    fn embed(&self, sequences: &[&[u32]]) -> Vec<f32> {
        let width = self.transformer.width;
        let lengths: Vec<usize> = sequences.iter().map(|tokens| tokens.len()).collect();
        let mut rows = Vec::with_capacity(lengths.iter().sum::<usize>() * width);
        for tokens in sequences {
            for (at, &token) in tokens.iter().enumerate() {
                let word = &self.words[token as usize * width..][..width];
                let position = &self.positions[(self.first_position + at) * width..][..width];
                rows.extend(word.iter().zip(position).map(|(word, position)| word + position));
            }
        }
        self.norm.apply(&mut rows);
        self.transformer.apply(&mut rows, &lengths);
        self.pooling.apply(&rows, &lengths)
    }
}

impl Encoder for TextModel {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn kind(&self) -> ItemKind {
        ItemKind::Texts
    }

    fn dim(&self) -> usize {
        self.pooling.outputs()
    }

    fn fingerprint(&self) -> Option<String> {
        Some(self.fingerprint.clone())
    }

    fn encode(&self, items: &Items, rows: Range<usize>) -> Result<Vec<f32>> {
        let Items::Texts(texts) = items else { unreachable!("the kind of the items was checked") };
        let tokens = tokens::of_texts(&self.tokenizer, self.pooling.prompt(), &texts[rows])?;
        let groups = groups(&tokens, TOKENS, usize::MAX);
        let outputs = self.dim();
        let embedded: Vec<Vec<f32>> = groups
            .par_iter()
            .map(|group| self.embed(&group.iter().map(|&at| &tokens[at][..]).collect::<Vec<_>>()))
            .collect();
        let mut out = vec![0.0; tokens.len() * outputs];
        for (group, embedded) in groups.iter().zip(embedded) {
            for (&at, row) in group.iter().zip(embedded.chunks_exact(outputs)) {
                out[at * outputs..(at + 1) * outputs].copy_from_slice(row);
            }
        }
        Ok(out)
    }
}
