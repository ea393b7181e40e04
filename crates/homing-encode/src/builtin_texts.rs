//! The built-in encoder of texts: words and parts of words, weighted by how rare they are in the pool, and reduced to the
//! directions in which the texts of the pool differ most (latent semantic analysis).

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;

use crate::dense::normalize;
use crate::ngrams::{Counts, count};
use crate::svd::{SparseRow, right_singular_vectors, times};
use crate::{Encoder, ItemKind, Items, Result};

/// Largest number of dimensions of an embedding.
const DIM: usize = 512;

/// Largest number of texts from which the encoder learns. In a larger pool, evenly spaced texts are taken.
const LEARNED: usize = 30_000;

/// Largest number of features that are kept. Those that occur in the most texts are kept.
const FEATURES: usize = 200_000;

/// An encoder of texts that needs no weights and learns from a pool.
pub(crate) struct BuiltInTexts {
    /// Column and inverse document frequency of each feature.
    features: HashMap<u64, (u32, f32)>,
    /// Features × directions.
    directions: Vec<f32>,
    dim: usize,
}

impl BuiltInTexts {
    /// Learns from the texts of a pool.
    pub(crate) fn new(texts: &[String]) -> Self {
        let learned = texts.len().min(LEARNED);
        let counts: Vec<Counts> =
            (0..learned).into_par_iter().map(|at| count(&texts[at * texts.len() / learned])).collect();
        let mut frequencies: HashMap<u64, u32> = HashMap::new();
        for Counts { words, parts } in &counts {
            words.iter().chain(parts).for_each(|&(hash, _)| *frequencies.entry(hash).or_default() += 1);
        }
        // A feature that occurs in one text only says nothing about other texts, except in a pool of a few texts.
        let least = if learned < 100 { 1 } else { 2 };
        let mut common: Vec<(u64, u32)> = frequencies.into_iter().filter(|&(_, texts)| texts >= least).collect();
        common.sort_unstable_by_key(|&(hash, texts)| (std::cmp::Reverse(texts), hash));
        common.truncate(FEATURES);
        let idf = |texts: u32| ((1.0 + learned as f64) / (1.0 + f64::from(texts))).ln() as f32 + 1.0;
        let features: HashMap<u64, (u32, f32)> =
            common.iter().enumerate().map(|(column, &(hash, texts))| (hash, (column as u32, idf(texts)))).collect();
        let rows: Vec<SparseRow> = counts.par_iter().map(|counts| weighted(&features, counts)).collect();
        let (directions, dim) = right_singular_vectors(&rows, features.len(), DIM);
        Self { features, directions, dim }
    }
}

/// Returns the weights of the known features of a text. The weights of words and those of parts of words are scaled to the same length.
fn weighted(features: &HashMap<u64, (u32, f32)>, counts: &Counts) -> SparseRow {
    let weigh = |counts: &[(u64, f32)]| -> SparseRow {
        let weight = |&(hash, count): &(u64, f32)| {
            let &(column, idf) = features.get(&hash)?;
            Some((column, (1.0 + count.ln()) * idf))
        };
        let mut row: SparseRow = counts.iter().filter_map(weight).collect();
        row.sort_unstable_by_key(|&(column, _)| column);
        let length = row.iter().map(|&(_, weight)| f64::from(weight).powi(2)).sum::<f64>().sqrt() as f32;
        row.iter_mut().for_each(|(_, weight)| *weight /= length);
        row
    };
    let mut row = weigh(&counts.words);
    row.extend(weigh(&counts.parts));
    row.sort_unstable_by_key(|&(column, _)| column);
    row
}

impl Encoder for BuiltInTexts {
    fn name(&self) -> String {
        "the built-in encoder of texts".to_owned()
    }

    fn kind(&self) -> ItemKind {
        ItemKind::Texts
    }

    fn dim(&self) -> usize {
        self.dim.max(1)
    }

    fn encode(&self, items: &Items, rows: Range<usize>) -> Result<Vec<f32>> {
        let Items::Texts(texts) = items else { unreachable!("the kind of the items was checked") };
        if self.dim == 0 {
            return Ok(vec![0.0; rows.len()]);
        }
        let rows: Vec<SparseRow> = texts[rows].par_iter().map(|text| weighted(&self.features, &count(text))).collect();
        let mut embeddings = times(&rows, &self.directions, self.dim);
        normalize(&mut embeddings, self.dim);
        Ok(embeddings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn embed(pool: &[&str], texts: &[&str]) -> Vec<Vec<f32>> {
        let owned = |texts: &[&str]| -> Vec<String> { texts.iter().map(|&text| text.to_owned()).collect() };
        let encoder = BuiltInTexts::new(&owned(pool));
        let values = encoder.encode(&Items::Texts(owned(texts)), 0..texts.len()).unwrap();
        values.chunks_exact(encoder.dim()).map(<[f32]>::to_vec).collect()
    }

    fn cosine(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    const POOL: [&str; 6] = [
        "my parcel is lost",
        "where is the parcel that I ordered",
        "the parcels arrived broken",
        "reset my password",
        "I forgot the password",
        "delete the account and its passwords",
    ];

    #[test]
    fn texts_about_the_same_are_close() {
        let found = embed(&POOL, &["the parcel did not arrive", "MY PARCEL is lost!", "which password was it"]);
        let pool = embed(&POOL, &POOL);
        assert!((cosine(&found[1], &pool[0]) - 1.0).abs() < 1e-5, "case and punctuation do not matter");
        assert!(cosine(&found[0], &pool[2]) > cosine(&found[0], &pool[3]));
        assert!(cosine(&found[2], &pool[4]) > cosine(&found[2], &pool[1]));
        for row in found.iter().chain(&pool) {
            assert!((cosine(row, row) - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn the_embedding_of_a_text_depends_on_the_pool_alone_and_on_no_thread() {
        let embed = |threads: usize| {
            let texts: Vec<String> = (0..700).map(|i| format!("{} number {i}", POOL[i % 6])).collect();
            homing::thread_pool(Some(threads)).unwrap().install(|| {
                let encoder = BuiltInTexts::new(&texts);
                encoder.encode(&Items::Texts(texts.clone()), 300..400).unwrap()
            })
        };
        assert_eq!(embed(1), embed(3));
    }

    #[test]
    fn texts_without_words_are_embedded_as_zeros() {
        let found = embed(&POOL, &["", "…", "xyzzy"]);
        assert!(found.iter().flatten().all(|&value| value == 0.0));
        assert_eq!(embed(&["", "?"], &["a"]), [[0.0]]);
    }
}
