//! Limits of the numbers that the computations accept.

use crate::{Error, Result};

/// Range of the largest row norm of an input. The theory's constants need sixth powers of it that f64 can hold. Every
/// nonzero single-precision row lies within the range.
pub(crate) const LEAST_SIZE: f64 = 1e-50;
pub(crate) const MOST_SIZE: f64 = 1e50;

/// Smallest variance that is distinguished from zero. Below it, the variances it is compared with have lost all digits.
pub(crate) const LEAST_VAR: f64 = 1e-280;

/// Largest number of picks per call, and of targets drawn per round.
pub(crate) const MOST: usize = 100_000_000;

/// Refuses a number of picks or draws that would take forever.
pub(crate) fn check_count(what: &'static str, count: usize) -> Result<()> {
    if count <= MOST { Ok(()) } else { Err(Error::TooMany { what, count, most: MOST }) }
}
