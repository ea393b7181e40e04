//! Counts the words and parts of words of a text.

use std::collections::BTreeMap;

/// Kinds of features, whose hashes must differ.
#[derive(Clone, Copy)]
enum Feature {
    Word = 1,
    Pair,
    Part,
}

/// Lengths of the parts of words in characters. A mark is added before and after each word.
const PARTS: std::ops::RangeInclusive<usize> = 3..=5;

/// Longest part of a text that is read, in characters.
const LONGEST: usize = 20_000;

/// How often each feature of a text occurs, in the order of the features' hashes.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Counts {
    /// Words and pairs of neighbouring words.
    pub(crate) words: Vec<(u64, f32)>,
    /// Parts of words.
    pub(crate) parts: Vec<(u64, f32)>,
}

/// Counts the features of a text. Upper and lower case do not matter. Characters of scripts without spaces are words.
pub(crate) fn count(text: &str) -> Counts {
    let (mut words, mut parts): (BTreeMap<u64, u32>, BTreeMap<u64, u32>) = Default::default();
    let text: String = text.chars().take(LONGEST).collect::<String>().to_lowercase();
    let mut last: Option<&str> = None;
    for word in split(&text) {
        *words.entry(hash(Feature::Word, &[word])).or_default() += 1;
        if let Some(last) = last {
            *words.entry(hash(Feature::Pair, &[last, word])).or_default() += 1;
        }
        last = Some(word);
        let marked: Vec<char> = std::iter::once(' ').chain(word.chars()).chain([' ']).collect();
        for length in PARTS {
            for part in marked.windows(length) {
                let part: String = part.iter().collect();
                *parts.entry(hash(Feature::Part, &[&part])).or_default() += 1;
            }
        }
    }
    let listed = |counts: BTreeMap<u64, u32>| counts.into_iter().map(|(hash, count)| (hash, count as f32)).collect();
    Counts { words: listed(words), parts: listed(parts) }
}

/// Splits a text into words: letters and digits that belong together, or one character of a script without spaces.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let first = rest.chars().next()?;
        let end = if stands_alone(first) {
            first.len_utf8()
        } else {
            rest.find(|c: char| !c.is_alphanumeric() || stands_alone(c)).unwrap_or(rest.len())
        };
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

/// Whether a character belongs to Chinese or Japanese, which are written without spaces.
fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn hash(feature: Feature, texts: &[&str]) -> u64 {
    // FNV-1a: the same on every machine, and good enough to tell words apart.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut byte = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    byte(feature as u8);
    for text in texts {
        text.bytes().for_each(&mut byte);
        byte(0xff);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_at_everything_that_is_no_letter_or_digit() {
        let words = |text| split(text).collect::<Vec<_>>();
        assert_eq!(words("it's a flat-tyre, n°4!"), ["it", "s", "a", "flat", "tyre", "n", "4"]);
        assert_eq!(words("我的tyre 平"), ["我", "的", "tyre", "平"]);
        assert!(words(" …\n").is_empty());
    }

    #[test]
    fn features_are_counted() {
        let counts = count("Tyre tyre");
        let mut numbers: Vec<f32> = counts.words.iter().map(|&(_, count)| count).collect();
        numbers.sort_by(f32::total_cmp);
        // The word twice, and one pair.
        assert_eq!(numbers, [1.0, 2.0]);
        // " ty" "tyr" "yre" "re " " tyr" "tyre" "yre " " tyre" "tyre ", each twice.
        assert_eq!(counts.parts.len(), 9);
        assert!(counts.parts.iter().all(|&(_, count)| count == 2.0));
        assert_eq!(count("TYRE, tyre."), counts);
        assert_ne!(count("tire tire"), counts);
    }
}
