//! Memory that decoding a file may take.

use std::cell::OnceCell;
use std::path::Path;

use crate::memory::allowed;
use crate::{Error, Result};

/// Bytes that a text takes besides its letters: its place in a list that grows by half or more, and in the heap.
const TEXT: u64 = 64;

/// Bytes that are there without asking.
const UNASKED: u64 = 16 << 20;

/// Of so many parts of the memory that may be used, one is for what is decoded: lists move as they grow, what is done with
/// the rows takes memory as well, and so does whatever else runs on the machine.
const SHARE: u64 = 2;

/// How much of the memory that this process may use is taken by what has been decoded so far.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// In all, once it is asked for.
    allowed: OnceCell<u64>,
    taken: u64,
}

impl Room {
    /// All that may be used for it from now on.
    pub(crate) fn now() -> Self {
        Self::default()
    }

    /// Refuses the file at `path` where `bytes` more than are taken would be too many.
    pub(crate) fn check(&self, path: &Path, bytes: u64) -> Result<()> {
        let needed = self.taken.saturating_add(bytes);
        if needed <= UNASKED {
            return Ok(());
        }
        let allowed =
            *self.allowed.get_or_init(|| allowed().map_or(u64::MAX, |left| left.saturating_add(self.taken) / SHARE));
        if needed <= allowed { Ok(()) } else { Err(Error::NoRoom { path: path.to_owned(), needed, allowed }) }
    }

    /// As `check`, and takes them.
    pub(crate) fn take(&mut self, path: &Path, bytes: u64) -> Result<()> {
        self.check(path, bytes)?;
        self.taken += bytes;
        Ok(())
    }

    /// Adds `text` to `texts`.
    pub(crate) fn keep(&mut self, path: &Path, text: &str, texts: &mut Vec<String>) -> Result<()> {
        self.take(path, TEXT + text.len() as u64)?;
        texts.push(text.to_owned());
        Ok(())
    }

    /// Makes room for `more` values behind those in `values`: for as many again, or for `most`, where that can be had.
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

    const MB: u64 = 1 << 20;

    fn room(allowed: u64) -> Room {
        Room { allowed: OnceCell::from(allowed), taken: 0 }
    }

    #[test]
    fn what_is_taken_counts_and_what_is_refused_does_not() {
        let path = Path::new("a.parquet");
        let mut room = room(100 * MB);
        room.take(path, 60 * MB).unwrap();
        let message = room.take(path, 50 * MB).unwrap_err().to_string();
        assert!(message.starts_with("a.parquet takes at least 115 MB of memory once it is decoded, but 104 MB may be"));
        room.take(path, 40 * MB).unwrap();
        assert!(room.keep(path, "a", &mut Vec::new()).is_err());
    }

    #[test]
    fn room_is_made_for_what_there_is_where_more_cannot_be_had() {
        let path = Path::new("a.parquet");
        let most = 100 * MB as usize / 8;
        for allowed in [100 * MB, u64::MAX] {
            let mut room = room(allowed);
            let mut values: Vec<u64> = Vec::new();
            room.grow(path, &mut values, 1, usize::MAX).unwrap();
            assert_eq!((values.capacity(), room.taken), (1, 8));
            values.push(1);
            room.grow(path, &mut values, 3, 0).unwrap();
            assert_eq!((values.capacity(), room.taken), (4, 32));
            room.grow(path, &mut values, 4, 0).unwrap();
            assert_eq!((values.capacity(), room.taken), (8, 64));
            assert_eq!(room.grow(path, &mut values, most, 0).is_err(), allowed < u64::MAX);
        }
    }
}
