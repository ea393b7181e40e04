//! Any bytes, under any extension: a pool, or an error of one line.
#![no_main]

use homing_pool::{Format, Pool, ReadOptions, RowList};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    // libFuzzer's hook stops at any panic, but those of the parsers are caught and become errors.
    // A panic that gets out still stops the run.
    init: std::panic::set_hook(Box::new(|_| {})),
    |data: &[u8]| {
        let Some((&format, file)) = data.split_first() else { return };
        let format = Format::ALL[usize::from(format) % Format::ALL.len()];
        match Pool::from_bytes(format, file.to_vec(), &ReadOptions::default()) {
            Ok(pool) => {
                assert!(pool.embeddings().rows() == pool.rows() && pool.rows() > 0 && pool.dim() > 0);
                assert!(pool.ids().is_none_or(|ids| ids.len() == pool.rows()));
            }
            Err(error) => assert!(!error.to_string().contains('\n')),
        }
        if let Err(error) = RowList::from_bytes(format, file.to_vec()) {
            assert!(!error.to_string().contains('\n'));
        }
    }
);
