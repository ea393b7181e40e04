//! Parts of messages: formats paths, names and sizes as single lines of text.

use std::path::Path;

/// Formats `path` as one line for a message and escapes characters that a terminal would interpret.
pub fn display_path(path: &Path) -> String {
    let mut line = String::new();
    for character in path.to_string_lossy().chars() {
        if is_obeyed(character) { line.extend(character.escape_default()) } else { line.push(character) }
    }
    line
}

/// Whether a terminal interprets `character` instead of showing it, for example to move the cursor or to change colours or the
/// direction of writing.
fn is_obeyed(character: char) -> bool {
    let turns = matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || turns || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Formats `text` as one line of bounded length for a message, without characters that a terminal would interpret.
pub fn one_line(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut words = String::new();
    for word in text.split(|c: char| c.is_whitespace() || is_obeyed(c)).filter(|word| !word.is_empty()) {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
        if words.len() > 4 * LONGEST {
            break;
        }
    }
    match words.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

/// Formats `text` as one line in quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", one_line(text))
}

/// Names what a row is compared with: the rows before it, or the header for the first row.
pub(crate) fn before(row: usize) -> &'static str {
    if row == 0 { "the header before it has" } else { "the rows before it have" }
}

/// Formats a number of bytes.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..10_240 => format!("{count} bytes"),
        10_240..10_485_760 => format!("{} KiB", count >> 10),
        10_485_760..10_737_418_240 => format!("{} MiB", count >> 20),
        _ => format!("{} GiB", count >> 30),
    }
}

/// Lists names in quotes between `before` and `after`. A long list is cut and ends with the number of further names.
pub(crate) fn listed(before: &str, names: &[String], after: &str) -> String {
    const MOST: usize = 20;
    if names.is_empty() {
        return if after.is_empty() { format!("{before}none") } else { String::new() };
    }
    let quoted = names.iter().take(MOST).map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(MOST);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{before}{quoted}{rest}{after}")
}

/// Suggests the one of `names` that a quoted name is probably meant to be; empty if none is similar.
pub(crate) fn nearest(quoted: &str, names: &[String]) -> String {
    let meant = quoted.trim_matches('\'').to_lowercase();
    let distance = |name: &&String| strsim::damerau_levenshtein(&name.to_lowercase(), &meant);
    match names.iter().filter(|name| !name.is_empty()).min_by_key(distance) {
        Some(name) if 3 * distance(&name) <= meant.chars().count() => {
            format!(" (did you mean '{}'?)", one_line(name))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn a_detail_is_one_line_of_bounded_length() {
        assert_eq!(one_line("a\n  b\tc\u{7}"), "a b c");
        assert_eq!(one_line(&"é".repeat(500)).chars().count(), 121);
    }

    #[test]
    fn characters_that_a_terminal_interprets_are_escaped_in_paths() {
        let path = Path::new("a\u{1b}[31m\nb\u{202e}ü c.csv");
        assert_eq!(display_path(path), "a\\u{1b}[31m\\nb\\u{202e}ü c.csv");
        let message = Error::NotFound { path: path.to_owned() }.to_string();
        assert!(!message.chars().any(is_obeyed), "{message}");
    }

    #[test]
    fn the_nearest_name_is_suggested_if_it_is_near() {
        let names = ["id", "text", "Label", ""].map(str::to_owned);
        assert_eq!(nearest("'txt'", &names), " (did you mean 'text'?)");
        assert_eq!(nearest("'label'", &names), " (did you mean 'Label'?)");
        for other in ["'source'", "'xy'", "''"] {
            assert_eq!(nearest(other, &names), "", "{other}");
        }
    }

    #[test]
    fn long_lists_of_names_are_cut() {
        let names: Vec<String> = (0..23).map(|i| i.to_string()).collect();
        assert!(listed("", &names, "").ends_with("'19' and 3 more"));
        assert_eq!(listed("", &[], ""), "none");
        assert_eq!(listed(" (", &[], ")"), "");
    }
}
