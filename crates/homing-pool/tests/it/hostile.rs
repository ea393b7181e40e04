//! Broken files are refused with one sentence, and none of them crashes the program.

use crate::samples::*;
use homing_pool::{Format, NumberTable, Pool, ReadOptions, RowList, column_from_bytes};
use proptest::prelude::*;

/// Opens `bytes`, and reads everything in the pool if that succeeds.
fn survives(name: &str, format: Format, bytes: Vec<u8>) {
    for refusal in [
        RowList::from_bytes(format, bytes.clone()).err(),
        RowList::from_text(&bytes).err(),
        NumberTable::from_bytes(format, bytes.clone()).err(),
        column_from_bytes(Some(format), bytes.clone(), None).err(),
        column_from_bytes(Some(format), bytes.clone(), Some("id")).err(),
    ] {
        let message = refusal.map(|error| error.to_string()).unwrap_or_default();
        assert!(!message.contains('\n') && message.len() < 2000, "{name}: {message}");
    }
    match Pool::from_bytes(format, bytes, &ReadOptions::default()) {
        Ok(pool) => {
            assert!(pool.rows() > 0 && pool.dim() > 0, "{name}");
            assert_eq!(pool.embeddings().rows(), pool.rows(), "{name}");
            let _ = pool.embeddings().check_finite("pool");
            assert!(pool.ids().is_none_or(|ids| ids.len() == pool.rows()), "{name}");
        }
        Err(error) => {
            let message = error.to_string();
            assert!(!message.contains('\n') && message.len() < 2000, "{name}: {message}");
        }
    }
}

#[test]
fn every_prefix_of_every_sample() {
    for (name, format, bytes) in every() {
        for end in 0..bytes.len() {
            survives(name, format, bytes[..end].to_vec());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn samples_with_bytes_changed(
        sample in 0..every().len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (name, format, mut bytes) = every().swap_remove(sample);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()) + 1);
        }
        survives(name, format, bytes);
    }

    #[test]
    fn samples_under_another_name(sample in 0..every().len(), other in 0..every().len()) {
        let (name, _, bytes) = every().swap_remove(sample);
        let (_, format, _) = every().swap_remove(other);
        survives(name, format, bytes);
    }
}

/// Writes the samples as seeds for `fuzz/run`: one byte for the format, then the file.
#[test]
#[ignore = "writes the inputs in fuzz/seeds"]
fn write_seeds() {
    let Some(folder) = std::env::var_os("SEEDS").map(std::path::PathBuf::from) else { return };
    let folder = folder.join("readers");
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, format: usize, bytes: &[u8]| {
        std::fs::write(folder.join(name), [&[format as u8], bytes].concat()).unwrap();
    };
    for (name, format, bytes) in every() {
        write(name, Format::ALL.iter().position(|&other| other == format).unwrap(), &bytes);
    }
    for (name, text) in [("numbers.txt", "3\n1\n"), ("index.txt", "index\n3\n"), ("ids.txt", "id\na\nb\n")] {
        write(name, Format::ALL.len(), text.as_bytes());
    }
}
