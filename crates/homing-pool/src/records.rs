//! Records of text tables: finds the separator of the fields and decides whether the first line is a header.

use std::collections::HashSet;
use std::path::Path;

use ::csv::{ErrorKind, Reader, ReaderBuilder, StringRecord};

use crate::message::one_line;
use crate::{Error, Result};

/// Records of a file. An error about a record names its row.
pub(crate) struct Records<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    reader: Reader<&'a [u8]>,
    /// Offset at which the last record begins.
    start: usize,
    pub(crate) row: usize,
    pub(crate) separator: u8,
}

impl<'a> Records<'a> {
    /// Reads a table whose fields are separated by `given` or, without it, by commas, semicolons or tabs.
    pub(crate) fn new(path: &'a Path, bytes: &'a [u8], given: Option<u8>) -> Self {
        let separator = given.unwrap_or_else(|| separator(bytes));
        Self { path, bytes, reader: reader(bytes, separator), start: 0, row: 0, separator }
    }

    pub(crate) fn next(&mut self) -> Result<Option<StringRecord>> {
        let mut record = StringRecord::new();
        let row = self.row;
        self.row += 1;
        let start = self.reader.position().byte() as usize;
        let read = self.reader.read_record(&mut record);
        if !matches!(read, Ok(false)) {
            self.start = start;
        }
        if !matches!(read, Ok(true)) {
            self.refuse_open_quote()?;
        }
        match read {
            Ok(true) => Ok(Some(record)),
            Ok(false) => Ok(None),
            Err(error) => Err(match *error.kind() {
                ErrorKind::UnequalLengths { expected_len, len, .. } => Error::Ragged {
                    path: self.path.to_owned(),
                    row,
                    found: len as usize,
                    expected: expected_len as usize,
                },
                ErrorKind::Utf8 { .. } => {
                    Error::BadRow { path: self.path.to_owned(), row, detail: "it is not UTF-8 text".to_owned() }
                }
                _ => Error::BadRow { path: self.path.to_owned(), row, detail: one_line(&error.to_string()) },
            }),
        }
    }

    /// Refuses a last record that ends within quotes, because the quotes have swallowed all lines below them.
    fn refuse_open_quote(&self) -> Result<()> {
        match open_quote(self.bytes, self.start, self.separator) {
            None => Ok(()),
            Some(at) => {
                let line = self.bytes[..at].split(|byte| *byte == b'\n').count();
                Err(Error::OpenQuote { path: self.path.to_owned(), line })
            }
        }
    }
}

/// Returns the offset of a quote that is not closed before the end, in the record that begins at `start`.
fn open_quote(bytes: &[u8], start: usize, separator: u8) -> Option<usize> {
    let front = if start == 0 && bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { start };
    let (mut opened, mut begins, mut filled) = (None, true, false);
    let mut at = front;
    while let Some(&byte) = bytes.get(at) {
        if opened.is_some() {
            match byte {
                b'"' if bytes.get(at + 1) == Some(&b'"') => at += 1,
                b'"' => opened = None,
                _ => {}
            }
        } else if byte == b'\n' || byte == b'\r' {
            // Blank lines between records belong to no record.
            if filled {
                return None;
            }
        } else {
            if byte == b'"' && begins {
                opened = Some(at);
            }
            (begins, filled) = (byte == separator, true);
        }
        at += 1;
    }
    opened
}

fn reader(bytes: &[u8], separator: u8) -> Reader<&[u8]> {
    ReaderBuilder::new().has_headers(false).delimiter(separator).from_reader(bytes)
}

/// Returns the separator of the fields.
///
/// This is a comma, unless only another separator divides the first two lines into equally many fields, or unless semicolons
/// separate numbers with a decimal comma.
fn separator(bytes: &[u8]) -> u8 {
    let divides = |separator: u8| {
        let mut lines = reader(bytes, separator).into_records();
        let Some(Ok(first)) = lines.next() else { return false };
        first.len() > 1 && lines.next().is_none_or(|second| second.is_ok_and(|second| second.len() == first.len()))
    };
    let decimal_commas = || {
        let Some(Ok(first)) = reader(bytes, b';').into_records().next() else { return false };
        let numbers = first.iter().all(|field| number(field).is_some() || has_decimal_comma(field));
        first.len() > 1 && numbers && first.iter().any(has_decimal_comma)
    };
    match [b',', b';', b'\t'].into_iter().find(|&separator| divides(separator)) {
        Some(b',') | None if decimal_commas() => b';',
        Some(separator) => separator,
        None => b',',
    }
}

/// Whether `field` is a number with a comma instead of a decimal point.
pub(crate) fn has_decimal_comma(field: &str) -> bool {
    field.matches(',').count() == 1 && number(&field.replace(',', ".")).is_some()
}

/// Parses the number in a field, ignoring spaces around it.
pub(crate) fn number(field: &str) -> Option<f64> {
    field.trim().parse().ok()
}

/// Returns the field unchanged, or `None` if it is blank. Spaces around a text belong to it: two ids may differ only in them.
pub(crate) fn filled(field: &str) -> Option<&str> {
    Some(field).filter(|field| !field.trim().is_empty())
}

/// Kind of the first line of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstLine {
    /// Names of the columns: some field is not a number, or the first is empty and the others count up, as pandas writes them.
    Names,
    /// Numbers that count up from 0, as pandas names columns, or from 1.
    Counting,
    /// Other distinct whole numbers, such as years.
    Whole,
    /// Whole numbers, some of which begin with a zero, such as `001`.
    Padded,
    /// Any other numbers.
    Row,
}

impl FirstLine {
    pub(crate) fn of(first: &StringRecord) -> Self {
        let filled: Vec<&str> = first.iter().map(str::trim).filter(|field| !field.is_empty()).collect();
        if filled.iter().any(|field| number(field).is_none()) {
            return FirstLine::Names;
        }
        let counts = |start: usize| filled.iter().zip(start..).all(|(field, count)| *field == count.to_string());
        let counting = filled.len() > 1 && (counts(0) || counts(1));
        let whole = filled.iter().all(|field| is_whole(field));
        let mut seen = HashSet::new();
        match first.len() - filled.len() {
            0 if counting => FirstLine::Counting,
            1 if counting && first[0].trim().is_empty() => FirstLine::Names,
            0 if whole && filled.iter().any(|field| is_padded(field)) => FirstLine::Padded,
            0 if whole && filled.len() > 1 && filled.iter().all(|field| seen.insert(*field)) => FirstLine::Whole,
            _ => FirstLine::Row,
        }
    }

    /// Whether the first line is a header.
    ///
    /// Numbers that count up are a header if no value below them is a whole number; otherwise they may also be a row, and the
    /// table is refused. Other whole numbers are refused if no value below them is a whole number. Numbers that begin with a
    /// zero are a header if no number below them begins so.
    pub(crate) fn is_header<'a>(
        self,
        path: &Path,
        first: &StringRecord,
        below: impl IntoIterator<Item = &'a StringRecord>,
    ) -> Result<bool> {
        let cells = below.into_iter().flat_map(StringRecord::iter).map(str::trim);
        let mut cells = cells.filter(|cell| !cell.is_empty()).peekable();
        let alone = cells.peek().is_none();
        match self {
            FirstLine::Names => return Ok(true),
            FirstLine::Row => return Ok(false),
            FirstLine::Padded => return Ok(!cells.any(is_padded)),
            FirstLine::Counting if !alone && !cells.any(is_whole) => return Ok(true),
            FirstLine::Whole if alone || cells.any(is_whole) => return Ok(false),
            FirstLine::Counting | FirstLine::Whole => {}
        }
        let first = one_line(&first.iter().collect::<Vec<_>>().join(","));
        Err(Error::UnclearHeader { path: path.to_owned(), first })
    }
}

fn is_whole(cell: &str) -> bool {
    cell.parse::<i128>().is_ok()
}

fn is_padded(cell: &str) -> bool {
    cell.len() > 1 && cell.starts_with('0') && is_whole(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headed(first: &[&str], below: &[&[&str]]) -> Result<bool> {
        let below: Vec<StringRecord> = below.iter().map(|fields| fields.iter().collect()).collect();
        let first: StringRecord = first.iter().collect();
        FirstLine::of(&first).is_header(Path::new("a.csv"), &first, &below)
    }

    #[test]
    fn counting_numbers_are_a_header_if_no_whole_number_is_below_them() {
        for first in [["0", "1"], ["1", "2"]] {
            assert!(headed(&first, &[&["0.5", "1e3"], &["", "2.0"]]).unwrap());
            for below in [&[&["0.5", "3"][..]][..], &[&["4", "5"]], &[]] {
                let message = headed(&first, below).unwrap_err().to_string();
                assert!(message.contains("names of its columns or a row") && message.contains("1.0"), "{message}");
            }
        }
        assert!(headed(&["", "0", "1"], &[&["0", "3", "4"]]).unwrap());
    }

    #[test]
    fn other_numbers_are_a_row_and_other_texts_are_names() {
        for row in [&["0.5", ""][..], &["2", "2"], &["0"], &["", ""], &["1.0", "2.0"], &["2", "3.5"]] {
            assert!(!headed(row, &[&["0.5", "0.25"]]).unwrap(), "{row:?}");
        }
        for names in [&["x", "1"][..], &["id"], &["", "x"]] {
            assert!(headed(names, &[&["1", "2"]]).unwrap(), "{names:?}");
        }
    }

    #[test]
    fn whole_numbers_above_numbers_that_are_not_whole_may_be_names() {
        for first in [&["1990", "1991"][..], &["10", "20", "30"], &["3", "2", "1"], &["-1", "5"]] {
            let message = headed(first, &[&["0.5", "0.25"]]).unwrap_err().to_string();
            assert!(message.contains("names of its columns or a row"), "{message}");
            for below in [&[&["0.5", "7"][..]][..], &[]] {
                assert!(!headed(first, below).unwrap(), "{first:?} {below:?}");
            }
        }
        assert!(headed(&["001", "002"], &[&["0.5", "7"]]).unwrap());
        assert!(!headed(&["001", "002"], &[&["003", "004"]]).unwrap());
    }

    #[test]
    fn an_open_quote_is_found_where_it_opens() {
        for (text, expected) in [
            ("a,\"b", Some(2)),
            ("\"a\",\"b\"\"", Some(4)),
            ("\u{feff}\"a", Some(3)),
            ("\r\n\n\"a\nb\n", Some(3)),
            ("a,b\"c", None),
            ("\"a\"\"\",\"b\"", None),
            ("\"a\"b\"\n", None),
            ("a\n\"b", None),
            ("", None),
        ] {
            assert_eq!(open_quote(text.as_bytes(), 0, b','), expected, "{text:?}");
        }
    }

    #[test]
    fn the_separator_divides_lines_into_equally_many_fields() {
        for (text, expected) in [
            ("x,y\n1,2\n", b','),
            ("x;y\n1;2\n", b';'),
            ("x\ty\n1\t2\n", b'\t'),
            ("x\n1\n", b','),
            ("", b','),
            ("a;b,c\n1;2,3\n", b','),
            ("0,5;1,5\n2,5;3\n", b';'),
            ("x;y, z\n1;2\n", b';'),
            ("\"a;b\",c\n\"d;e\",f\n", b','),
            ("id;v\na;[1,2]\n", b';'),
        ] {
            assert_eq!(separator(text.as_bytes()), expected, "{text:?}");
        }
    }
}
