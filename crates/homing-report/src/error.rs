//! Errors of this crate.

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reason why a report or a page could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The computation of the numbers failed.
    #[error(transparent)]
    Numbers(#[from] homing::Error),
    /// A template could not be rendered with the variables that it received.
    #[error(transparent)]
    Template(#[from] minijinja::Error),
}
