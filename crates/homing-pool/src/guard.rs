//! Calls into parsers of other crates.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Once;

use crate::{Error, Result};

/// Runs `parse`; an error or a panic of it means that the file at `path` is malformed.
///
/// The parsers of the file formats index and allocate by numbers in the file, and some assert where a
/// broken file should be an error. What they leave behind when they panic is dropped, never looked at.
pub(crate) fn guarded<T, E: ToString>(
    path: &Path,
    format: &'static str,
    parse: impl FnOnce() -> Result<T, E>,
) -> Result<T> {
    caught(path, format, || parse().map_err(|error| Error::malformed(path, format, &error)))
}

/// As `guarded`, for a `parse` whose errors are explained already.
pub(crate) fn caught<T>(path: &Path, format: &'static str, parse: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_panic(parse).unwrap_or_else(|| Err(Error::malformed(path, format, "its contents contradict each other")))
}

/// What `parse` returns; none where it panics, of which nothing is printed.
///
/// For parsers of other crates, which a broken file may lead astray: what they leave behind is dropped, never looked at.
pub fn catch_panic<T>(parse: impl FnOnce() -> T) -> Option<T> {
    let _silence = Silence::begin();
    catch_unwind(AssertUnwindSafe(parse)).ok()
}

thread_local! {
    /// Whether a panic of this thread will be caught and explained.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, panics of this thread print nothing; those of other threads do.
struct Silence {
    before: bool,
}

impl Silence {
    fn begin() -> Self {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let others = panic::take_hook();
            panic::set_hook(Box::new(move |panic| {
                if !CAUGHT.get() {
                    others(panic);
                }
            }));
        });
        Self { before: CAUGHT.replace(true) }
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        CAUGHT.set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_malformed_file() {
        let message = guarded(Path::new("a.parquet"), "Parquet", || -> Result<(), String> { panic!("on purpose") })
            .unwrap_err()
            .to_string();
        assert!(message.starts_with("a.parquet is not a valid Parquet file"), "{message}");
    }
}
