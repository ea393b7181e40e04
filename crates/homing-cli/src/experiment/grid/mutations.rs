//! Whatever a file of an experiment contains, it is a plan or is refused with one sentence.

use std::fs;
use std::path::Path;

use anyhow::Result;
use homing_experiment::{Experiment, cells, sources};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::finetune;
use crate::refusal::Options;

/// Number of ways in which each of our files is spoilt.
const TRIES: u64 = 150;

/// Texts that replace parts of a file.
const SPOILT: [&str; 32] = [
    "-1",
    "0",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1e999",
    "nan",
    "-inf",
    "1e-320",
    "true",
    "[]",
    "[[]]",
    "{}",
    "\"\"",
    "''",
    "\"\\u001b[31m\"",
    "\"\\u0000\"",
    "\"ü\"",
    "\u{feff}",
    "\u{1b}",
    "\r",
    "\n",
    "=",
    "\"",
    "[[lines]]\n",
    "[arguments]\n",
    "seeds = 3\n",
    "against = \"random\"\n",
    "name",
    "rounds",
    "1979-05-27T07:32:00Z",
    "like = \"mnist\"\n",
];

/// Returns a position between two characters of a text.
fn place(rng: &mut ChaCha8Rng, text: &str) -> usize {
    let mut at = rng.random_range(0..=text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Returns a range of a text: a few characters, a line, or a value.
fn stretch(rng: &mut ChaCha8Rng, text: &str) -> std::ops::Range<usize> {
    let (a, b) = (place(rng, text), place(rng, text));
    match rng.random_range(0..4) {
        0 => a.min(b)..a.max(b),
        1 => {
            let start = text[..a].rfind('\n').map_or(0, |at| at + 1);
            start..text[a..].find('\n').map_or(text.len(), |at| a + at + 1)
        }
        // The value after an equals sign.
        2 => match text[a..].find("= ") {
            Some(at) => a + at + 2..text[a + at..].find('\n').map_or(text.len(), |end| a + at + end),
            None => a..a,
        },
        _ => a..a + text[a..].chars().next().map_or(0, char::len_utf8),
    }
}

fn spoilt(rng: &mut ChaCha8Rng, text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..rng.random_range(1..4) {
        let part = stretch(rng, &text);
        let new = match rng.random_range(0..4) {
            0 => String::new(),
            1 => text[part.clone()].repeat(2),
            2 => text[stretch(rng, &text)].to_owned(),
            _ => SPOILT[rng.random_range(0..SPOILT.len())].to_owned(),
        };
        text.replace_range(part, &new);
    }
    text
}

/// Reads a plan as far as that is possible without its data.
fn tried(name: &str, text: &str, folder: &Path) -> Result<()> {
    let file = format!("{name}.toml");
    for quick in [false, true] {
        let experiment = Experiment::parse(name, &file, text)?;
        let mut experiment = if quick { experiment.quick()? } else { experiment };
        experiment.caption();
        experiment.data = vec!["digits".into()];
        for cell in cells(&experiment, folder, "cpu", 0)? {
            // The arguments are those of a command line, whose messages do not name the file.
            if let Err(error) = finetune::parse(&cell.words) {
                return Err(error.context(file));
            }
        }
    }
    Ok(())
}

#[test]
fn a_spoilt_file_is_a_plan_or_gets_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("efficientnet_lite0.safetensors"), "").unwrap();
    let options = Options::of::<super::GridOptions>();
    let mut refused = 0;
    for (number, (name, text)) in (0..).zip(sources()) {
        tried(name, text, folder.path())
            .or_else(|error| match options.sentence(&error) {
                said if said.contains("no quick version") => Ok(()),
                said => Err(said),
            })
            .unwrap();
        for seed in 0..TRIES {
            let text = spoilt(&mut ChaCha8Rng::seed_from_u64(number * TRIES + seed), text);
            let Err(error) = tried(name, &text, folder.path()) else { continue };
            let said = options.sentence(&error);
            assert!(said.contains(name) && !said.contains(char::is_control), "try {seed} of {name}: {said:?}\n{text}");
            refused += 1;
        }
    }
    assert!(refused > 1000, "most of them are spoilt: {refused}");
}
