//! Calls into parsers of other crates.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

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
    catch_unwind(AssertUnwindSafe(parse))
        .unwrap_or_else(|_| Err(Error::malformed(path, format, "its contents contradict each other")))
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
