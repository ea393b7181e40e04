//! Guards calls of parsers in other crates against panics.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Once;

use crate::{Error, Result};

/// Runs `parse` and turns its error or panic into the error that the file at `path` is malformed.
///
/// The parsers of the file formats use numbers from the file as indices and sizes, and some of them assert where they should
/// return an error about a broken file. The state that a panicking parser leaves behind is dropped and never used.
pub(crate) fn guarded<T, E: ToString>(
    path: &Path,
    format: &'static str,
    parse: impl FnOnce() -> Result<T, E>,
) -> Result<T> {
    caught(path, format, || parse().map_err(|error| Error::malformed(path, format, &error)))
}

/// Like `guarded`, for a `parse` that returns errors of this crate.
pub(crate) fn caught<T>(path: &Path, format: &'static str, parse: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_panic(parse).unwrap_or_else(|| Err(Error::malformed(path, format, "its contents contradict each other")))
}

/// Runs `parse`; returns `None` if it panics, without printing the panic.
///
/// This is for parsers of other crates, which may panic on a broken file. The state that they leave behind is dropped and never
/// used.
pub fn catch_panic<T>(parse: impl FnOnce() -> T) -> Option<T> {
    let _silenced = SilencedPanics::begin();
    catch_unwind(AssertUnwindSafe(parse)).ok()
}

thread_local! {
    /// Whether a panic of this thread will be caught and turned into an error.
    static IS_SILENT: Cell<bool> = const { Cell::new(false) };
}

/// Suppresses the messages of panics in this thread while it is alive; other threads are not affected.
struct SilencedPanics {
    before: bool,
}

impl SilencedPanics {
    fn begin() -> Self {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let others = panic::take_hook();
            panic::set_hook(Box::new(move |panic| {
                if !IS_SILENT.get() {
                    others(panic);
                }
            }));
        });
        Self { before: IS_SILENT.replace(true) }
    }
}

impl Drop for SilencedPanics {
    fn drop(&mut self) {
        IS_SILENT.set(self.before);
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
