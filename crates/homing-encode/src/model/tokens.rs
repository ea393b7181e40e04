//! From texts to sequences of tokens.

use std::path::Path;

use rayon::prelude::*;
use tokenizers::{Tokenizer, TruncationParams};

use super::config::Config;
use crate::{Error, Result};

/// Reads the tokenizer of a model that knows this many `words`. Texts are cut after as many tokens as the model's files say, at
/// most `longest`.
pub(super) fn open_tokenizer(folder: &Path, longest: usize, words: Option<usize>) -> Result<Tokenizer> {
    let path = folder.join("tokenizer.json");
    let wrong = |detail: String| Error::Model { path: path.clone(), detail };
    if !path.is_file() {
        let detail = "it has no tokenizer.json; save the tokenizer in its fast form".to_owned();
        return Err(Error::Model { path: folder.to_owned(), detail });
    }
    let mut tokenizer = Tokenizer::from_file(&path).map_err(|error| wrong(error.to_string()))?;
    let given = |name: &str, key: &str| -> Result<Option<usize>> {
        Ok(Config::find(folder, name)?.and_then(|config| config.find_size(key)))
    };
    let most = match given("sentence_bert_config.json", "max_seq_length")? {
        Some(most) => most,
        None => given("tokenizer_config.json", "model_max_length")?.unwrap_or(longest),
    };
    let truncation = TruncationParams { max_length: most.min(longest), ..TruncationParams::default() };
    tokenizer.with_truncation(Some(truncation)).map_err(|error| wrong(error.to_string()))?;
    tokenizer.with_padding(None);
    let known = tokenizer.get_vocab(true).values().copied().max().map_or(0, |most| most as usize + 1);
    match words {
        Some(words) if known > words => Err(wrong(format!("it has {known} tokens, but the model knows {words}"))),
        _ => Ok(tokenizer),
    }
}

/// Returns the tokens of texts, each with `prompt` before it.
pub(super) fn of_texts(tokenizer: &Tokenizer, prompt: &str, texts: &[String]) -> Result<Vec<Vec<u32>>> {
    let unread = |error: tokenizers::Error| Error::Tokens { detail: error.to_string() };
    let tokens =
        |text: &String| Ok(tokenizer.encode_fast(format!("{prompt}{text}"), true).map_err(unread)?.get_ids().to_vec());
    texts.par_iter().map(tokens).collect()
}

/// Divides sequences into groups of about the same length, which have at most `tokens` tokens when each is as long as the longest of
/// its group, and at most `count` sequences. Long sequences come first, so that no thread has a long one left at the end.
pub(super) fn groups(sequences: &[Vec<u32>], tokens: usize, count: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..sequences.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(sequences[at].len()));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut free = 0;
    for at in order {
        if free == 0 {
            groups.push(Vec::new());
            free = (tokens / sequences[at].len().max(1)).clamp(1, count.max(1));
        }
        free -= 1;
        groups.last_mut().expect("a group was added").push(at);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_bounded_and_contain_each_sequence_once() {
        let sequences: Vec<Vec<u32>> = [3, 9, 1, 4, 20, 0, 2].map(|length| vec![0; length]).to_vec();
        assert_eq!(groups(&sequences, 10, 9), [vec![4], vec![1], vec![3, 0], vec![6, 2, 5]]);
        assert_eq!(groups(&sequences, 1000, 3), [vec![4, 1, 3], vec![0, 6, 2], vec![5]]);
        assert!(groups(&[], 10, 1).is_empty());
    }
}
