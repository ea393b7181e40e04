//! Broken files are refused by one sentence; none of them stops the program.

mod samples;

use homing_pool::{Format, Pool, ReadOptions, RowList};
use proptest::prelude::*;
use samples::*;

/// Opens `bytes`, and looks at everything in a pool that they make.
fn survives(name: &str, format: Format, bytes: Vec<u8>) {
    let _ = RowList::from_bytes(format, bytes.clone()).map_err(|error| error.to_string());
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

/// Writes the samples where `fuzz/run` looks for its first inputs: a byte for the format, then the file.
#[test]
#[ignore = "makes the first inputs of fuzz/run"]
fn write_seeds() {
    let directory = std::path::PathBuf::from(std::env::var_os("SEEDS").expect("SEEDS names a directory"));
    std::fs::create_dir_all(&directory).unwrap();
    for (name, format, bytes) in every() {
        let position = Format::ALL.iter().position(|&f| f == format).unwrap();
        let mut seed = vec![position as u8];
        seed.extend(bytes);
        std::fs::write(directory.join(name), seed).unwrap();
    }
}
