//! Reads any bytes with any extension as a column of texts, a table of numbers or a list of rows. Errors must be one line.
#![no_main]

#[path = "../outcome.rs"]
mod outcome;

use homing_pool::{Format, NumberTable, RowList, column_from_bytes};
use libfuzzer_sys::fuzz_target;
use outcome::refusal_is_one_line;

fuzz_target!(|data: &[u8]| {
    let Some((&format, file)) = data.split_first() else { return };
    let format = Format::ALL.get(usize::from(format) % (Format::ALL.len() + 1)).copied();
    for name in [None, Some("id"), Some("embedding")] {
        refusal_is_one_line(&column_from_bytes(format, file.to_vec(), name));
    }
    let Some(format) = format else { return refusal_is_one_line(&RowList::from_text(file)) };
    let values = NumberTable::from_bytes(format, file.to_vec());
    if let Ok(values) = &values {
        assert!(values.rows > 0 && values.numbers.len().is_multiple_of(values.rows));
    }
    refusal_is_one_line(&values);
});
