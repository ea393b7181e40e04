//! Limits the memory that decoding a file may take.

use std::cell::OnceCell;
use std::path::Path;

use crate::memory::allowed;
use crate::{Error, Result};

/// Bytes that a text takes in addition to its characters: an entry in a list that grows by half or more, and heap overhead.
const TEXT_OVERHEAD: u64 = 64;

/// Bytes that may be used without determining how much memory is available.
const ALWAYS_ALLOWED: u64 = 16 << 20;

/// Divisor of the available memory: one part is for decoded data. Lists are copied as they grow, and processing the rows and
/// other programs on the machine need memory as well.
const DIVISOR: u64 = 2;

/// Memory that decoded data may take, and how much of it is in use.
#[derive(Debug, Default)]
pub(crate) struct MemoryBudget {
    /// Total number of bytes allowed, determined when it is first needed.
    allowed: OnceCell<u64>,
    taken: u64,
}

impl MemoryBudget {
    /// Creates a budget of the memory that may be used now.
    pub(crate) fn now() -> Self {
        Self::default()
    }

    /// Refuses the file at `path` if `bytes` more bytes would exceed the limit.
    pub(crate) fn check(&self, path: &Path, bytes: u64) -> Result<()> {
        let needed = self.taken.saturating_add(bytes);
        if needed <= ALWAYS_ALLOWED {
            return Ok(());
        }
        let allowed =
            *self.allowed.get_or_init(|| allowed().map_or(u64::MAX, |left| left.saturating_add(self.taken) / DIVISOR));
        if needed <= allowed { Ok(()) } else { Err(Error::NotEnoughMemory { path: path.to_owned(), needed, allowed }) }
    }

    /// Like `check`, and counts the bytes as used.
    pub(crate) fn take(&mut self, path: &Path, bytes: u64) -> Result<()> {
        self.check(path, bytes)?;
        self.taken += bytes;
        Ok(())
    }

    /// Adds `text` to `texts` if it fits.
    pub(crate) fn keep(&mut self, path: &Path, text: &str, texts: &mut Vec<String>) -> Result<()> {
        self.take(path, TEXT_OVERHEAD + text.len() as u64)?;
        texts.push(text.to_owned());
        Ok(())
    }

    /// Reserves memory for `more` further values in `values`.
    ///
    /// If the budget allows it, the capacity doubles or grows to `most` values, whichever is more.
    pub(crate) fn grow<T>(&mut self, path: &Path, values: &mut Vec<T>, more: usize, most: usize) -> Result<()> {
        let (held, wanted) = (values.capacity(), values.len().saturating_add(more));
        if wanted <= held {
            return Ok(());
        }
        let mut refusal = Ok(());
        for capacity in [wanted.max(most).max(held.saturating_mul(2)), wanted] {
            let bytes = (capacity - held).saturating_mul(size_of::<T>()) as u64;
            refusal = self.check(path, bytes);
            if refusal.is_ok() && values.try_reserve_exact(capacity - values.len()).is_ok() {
                return self.take(path, bytes);
            }
        }
        refusal.and(Err(Error::TooLarge { path: path.to_owned() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn budget(allowed: u64) -> MemoryBudget {
        MemoryBudget { allowed: OnceCell::from(allowed), taken: 0 }
    }

    #[test]
    fn used_bytes_count_and_refused_bytes_do_not() {
        let path = Path::new("a.parquet");
        let mut budget = budget(100 * MIB);
        budget.take(path, 60 * MIB).unwrap();
        let message = budget.take(path, 50 * MIB).unwrap_err().to_string();
        assert!(
            message
                .starts_with("a.parquet needs at least 110 MiB of memory when it is decoded, but only 100 MiB may be")
        );
        budget.take(path, 40 * MIB).unwrap();
        assert!(budget.keep(path, "a", &mut Vec::new()).is_err());
    }

    #[test]
    fn only_needed_memory_is_reserved_if_more_does_not_fit() {
        let path = Path::new("a.parquet");
        let most = 100 * MIB as usize / 8;
        for allowed in [100 * MIB, u64::MAX] {
            let mut budget = budget(allowed);
            let mut values: Vec<u64> = Vec::new();
            budget.grow(path, &mut values, 1, usize::MAX).unwrap();
            assert_eq!((values.capacity(), budget.taken), (1, 8));
            values.push(1);
            budget.grow(path, &mut values, 3, 0).unwrap();
            assert_eq!((values.capacity(), budget.taken), (4, 32));
            budget.grow(path, &mut values, 4, 0).unwrap();
            assert_eq!((values.capacity(), budget.taken), (8, 64));
            assert_eq!(budget.grow(path, &mut values, most, 0).is_err(), allowed < u64::MAX);
        }
    }
}
