//! A stack of transformer blocks, for texts and images.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::layers::{Activation, Linear, Norm, softmax};

/// Attention to all positions of a sequence, then two layers for each position.
pub(crate) struct Block {
    /// Queries, keys and values, one after the other.
    pub(crate) attention: Linear,
    pub(crate) mix: Linear,
    pub(crate) up: Linear,
    pub(crate) down: Linear,
    pub(crate) first_norm: Norm,
    pub(crate) second_norm: Norm,
    /// Factors of what attention and the two layers add, if the model has any.
    pub(crate) scales: Option<[Vec<f32>; 2]>,
}

/// The blocks of a model, and the settings that they share.
pub(crate) struct Transformer {
    pub(crate) blocks: Vec<Block>,
    pub(crate) heads: usize,
    pub(crate) width: usize,
    pub(crate) activation: Activation,
    /// Whether the input of each part of a block is normalised, as in ViT, instead of its output, as in BERT.
    pub(crate) normalizes_first: bool,
    /// What the distance of two positions adds to their attention, per head: `bias(distance) = table[bucket][head]`.
    pub(crate) distances: Option<DistanceBias>,
}

/// Biases of attention by distance, in buckets that become wider with the distance (T5, MPNet).
pub(crate) struct DistanceBias {
    /// Buckets × heads.
    pub(crate) table: Vec<f32>,
    pub(crate) buckets: usize,
}

impl DistanceBias {
    /// Returns the bucket of the key at `key` for the query at `query`.
    fn bucket(&self, query: usize, key: usize) -> usize {
        const FARTHEST: f64 = 128.0;
        let half = self.buckets / 2;
        let (side, distance) = if key > query { (half, key - query) } else { (0, query - key) };
        let exact = half / 2;
        if distance < exact {
            return side + distance;
        }
        let share = (distance as f64 / exact as f64).ln() / (FARTHEST / exact as f64).ln();
        side + (exact + (share * (half - exact) as f64) as usize).min(half - 1)
    }
}

impl Transformer {
    /// Applies all blocks to sequences that lie one after the other, with these lengths.
    pub(crate) fn apply(&self, rows: &mut [f32], lengths: &[usize]) {
        for block in &self.blocks {
            self.attend(block, rows, lengths);
            let before = self.normalizes_first.then(|| block.second_norm.applied(rows));
            let mut hidden = block.up.apply(before.as_deref().unwrap_or(rows));
            self.activation.apply(&mut hidden);
            let more = block.down.apply(&hidden);
            add(rows, &more, block.scales.as_ref().map(|scales| &scales[1][..]));
            if !self.normalizes_first {
                block.second_norm.apply(rows);
            }
        }
    }

    fn attend(&self, block: &Block, rows: &mut [f32], lengths: &[usize]) {
        let before = self.normalizes_first.then(|| block.first_norm.applied(rows));
        let joint = block.attention.apply(before.as_deref().unwrap_or(rows));
        let mut mixed = vec![0.0; rows.len()];
        let mut start = 0;
        for &length in lengths {
            let (width, from) = (self.width, start * self.width);
            let joint = &joint[3 * from..3 * (from + length * width)];
            self.heads(joint, &mut mixed[from..from + length * width], length);
            start += length;
        }
        let more = block.mix.apply(&mixed);
        add(rows, &more, block.scales.as_ref().map(|scales| &scales[0][..]));
        if !self.normalizes_first {
            block.first_norm.apply(rows);
        }
    }

    /// Mixes the values of one sequence by the products of queries and keys, head by head.
    fn heads(&self, joint: &[f32], out: &mut [f32], length: usize) {
        let size = self.width / self.heads;
        let joint = MatRef::from_row_major_slice(joint, length, 3 * self.width);
        let mut out = MatMut::from_row_major_slice_mut(out, length, self.width);
        let factor = 1.0 / (size as f32).sqrt();
        let mut weights = vec![0.0; length * length];
        for head in 0..self.heads {
            let part = |kind: usize| joint.subcols(kind * self.width + head * size, size);
            let (queries, keys, values) = (part(0), part(1), part(2));
            let to = MatMut::from_row_major_slice_mut(&mut weights, length, length);
            matmul(to, Accum::Replace, queries, keys.transpose(), factor, Par::Seq);
            if let Some(bias) = &self.distances {
                for (at, weight) in weights.iter_mut().enumerate() {
                    *weight += bias.table[bias.bucket(at / length, at % length) * self.heads + head];
                }
            }
            softmax(&mut weights, length);
            let weights = MatRef::from_row_major_slice(&weights, length, length);
            matmul(out.as_mut().subcols_mut(head * size, size), Accum::Replace, weights, values, 1.0, Par::Seq);
        }
    }
}

/// Adds what a part of a block computed, times a factor per column if there is one.
fn add(rows: &mut [f32], more: &[f32], scale: Option<&[f32]>) {
    match scale {
        None => rows.iter_mut().zip(more).for_each(|(value, more)| *value += more),
        Some(scale) => {
            for (row, more) in rows.chunks_exact_mut(scale.len()).zip(more.chunks_exact(scale.len())) {
                row.iter_mut().zip(more).zip(scale).for_each(|((value, more), scale)| *value += scale * more);
            }
        }
    }
}
