//! Why there is no page.

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The numbers were refused.
    #[error(transparent)]
    Numbers(#[from] homing::Error),
    /// A template and its page do not fit together.
    #[error(transparent)]
    Template(#[from] minijinja::Error),
}
