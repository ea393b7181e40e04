//! Reads any bytes with any extension as a pool and as a list of rows. Errors must be one line.
#![no_main]

#[path = "../outcome.rs"]
mod outcome;

use homing_pool::{Format, Pool, ReadOptions, RowList};
use libfuzzer_sys::fuzz_target;
use outcome::refusal_is_one_line;

fuzz_target!(|data: &[u8]| {
    let Some((&format, file)) = data.split_first() else { return };
    let format = Format::ALL[usize::from(format) % Format::ALL.len()];
    let pool = Pool::from_bytes(format, file.to_vec(), &ReadOptions::default());
    if let Ok(pool) = &pool {
        assert!(pool.embeddings().rows() == pool.rows() && pool.rows() > 0 && pool.dim() > 0);
        assert!(pool.ids().is_none_or(|ids| ids.len() == pool.rows()));
        let _ = pool.embeddings().check_finite("pool");
    }
    refusal_is_one_line(&pool);
    let list = RowList::from_bytes(format, file.to_vec());
    refusal_is_one_line(&list);
    if let (Ok(list), Ok(pool)) = (list, &pool) {
        refusal_is_one_line(&list.rows_of(Some(pool)));
    }
});
