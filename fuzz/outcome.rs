//! Checks the errors of readers.

use std::fmt::Display;

/// Panics unless the error, if there is one, is one line without control characters.
pub fn refusal_is_one_line<T, E: Display>(outcome: &Result<T, E>) {
    if let Err(error) = outcome {
        let message = error.to_string();
        assert!(!message.chars().any(char::is_control) && message.len() < 4000, "{message:?}");
    }
}
