//! Whether something fits into memory, asked before it is allocated.

use homing_pool::memory_allowed;

/// What fits on any machine that this runs on, so that nobody needs to be asked.
const LITTLE: u64 = 64 << 20;
/// What fits on no machine, where the system does not tell.
const MOST: u64 = 1 << 40;

/// Whether so many bytes fit into the memory that this process may use; none stands for more than can be counted.
pub fn fits_memory(bytes: Option<u64>) -> bool {
    bytes.is_some_and(|bytes| bytes <= LITTLE || bytes <= memory_allowed().unwrap_or(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_little_fits_and_what_cannot_be_counted_does_not() {
        assert!(fits_memory(Some(0)) && fits_memory(Some(LITTLE)));
        assert!(!fits_memory(None));
        assert!(!fits_memory(Some(u64::MAX)));
    }
}
