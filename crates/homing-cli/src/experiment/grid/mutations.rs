//! Whatever stands in a file of an experiment, it is a plan or gets one sentence.

use std::fs;
use std::path::Path;

use anyhow::Result;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::cells::cells;
use super::plan::{OWN, Plan};
use crate::finetune;

/// Ways to spoil each of our files.
const TRIES: u64 = 300;

/// What is put in the place of something else.
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

/// A place in a text that is between two characters.
fn place(rng: &mut ChaCha8Rng, text: &str) -> usize {
    let mut at = rng.random_range(0..=text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A stretch of a text: a few characters, a line, or what stands between two characters.
fn stretch(rng: &mut ChaCha8Rng, text: &str) -> std::ops::Range<usize> {
    let (a, b) = (place(rng, text), place(rng, text));
    match rng.random_range(0..4) {
        0 => a.min(b)..a.max(b),
        1 => {
            let start = text[..a].rfind('\n').map_or(0, |at| at + 1);
            start..text[a..].find('\n').map_or(text.len(), |at| a + at + 1)
        }
        // Behind an equals sign: a value.
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

/// As far as a plan goes without its data.
fn tried(name: &str, text: &str, folder: &Path) -> Result<()> {
    let file = format!("{name}.toml");
    for quick in [false, true] {
        let plan = Plan::parse(name, &file, text)?;
        let mut plan = if quick { plan.quick()? } else { plan };
        plan.caption();
        plan.data = vec!["digits".into()];
        for cell in cells(&plan, folder, "cpu", 0)? {
            // The arguments are those of a command line, which refuses them in its own words.
            if let Err(error) = finetune::parsed(&cell.words) {
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
    let mut refused = 0;
    for (number, (name, text)) in (0..).zip(OWN) {
        tried(name, text, folder.path())
            .or_else(|error| match format!("{error:#}") {
                said if said.contains("no quick version") => Ok(()),
                said => Err(said),
            })
            .unwrap();
        for seed in 0..TRIES {
            let text = spoilt(&mut ChaCha8Rng::seed_from_u64(number * TRIES + seed), text);
            let Err(error) = tried(name, &text, folder.path()) else { continue };
            let said = format!("{error:#}");
            assert!(said.contains(name) && !said.contains(char::is_control), "try {seed} of {name}: {said:?}\n{text}");
            refused += 1;
        }
    }
    assert!(refused > 1000, "most of them are spoilt: {refused}");
}
