//! What every reader promises of a file that it refuses.

use std::fmt::Display;

/// One line, however broken the file.
pub fn refusal_is_one_line<T, E: Display>(outcome: &Result<T, E>) {
    if let Err(error) = outcome {
        let message = error.to_string();
        assert!(!message.chars().any(char::is_control) && message.len() < 4000, "{message:?}");
    }
}
