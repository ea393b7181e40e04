//! Checks whether data fits into memory before it is allocated.

use homing_pool::memory_allowed;

/// Bytes that fit into memory on every machine, so the system need not be asked.
const LITTLE: u64 = 64 << 20;
/// Maximum number of bytes that fit if the system does not report its memory.
const MOST: u64 = 1 << 40;

/// Whether this many bytes fit into the memory that this process may use; `None` means more than can be counted.
pub fn fits_memory(bytes: Option<u64>) -> bool {
    bytes.is_some_and(|bytes| bytes <= LITTLE || bytes <= memory_allowed().unwrap_or(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sizes_fit_and_uncountable_ones_do_not() {
        assert!(fits_memory(Some(0)) && fits_memory(Some(LITTLE)));
        assert!(!fits_memory(None));
        assert!(!fits_memory(Some(u64::MAX)));
    }
}
