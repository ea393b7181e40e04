//! Labelled examples as an archive with one folder per class.

use std::collections::HashSet;
use std::io::{self, Cursor, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::board::Board;
use crate::data::{LabelData, Shown};

/// Longest name of a folder or a file, in characters.
const LONGEST: usize = 100;

/// Largest archive, in bytes. It is made in memory.
const LARGEST: usize = 2 << 30;

/// Name of the list of examples that could not be read.
const MISSING: &str = "not-readable.txt";

/// Returns a ZIP archive of the labelled examples: images as they are stored, and texts as text files.
pub(crate) fn archive(board: &Board, data: &LabelData) -> io::Result<Vec<u8>> {
    let failed = |error: zip::result::ZipError| io::Error::other(error.to_string());
    let mut folders = HashSet::new();
    let folders: Vec<String> = board.classes().iter().map(|class| unused(&mut folders, &safe(class), "")).collect();
    let mut names: Vec<HashSet<String>> = vec![HashSet::new(); folders.len()];
    let mut missing = Vec::new();
    let mut size = 0;
    let mut out = ZipWriter::new(Cursor::new(Vec::new()));
    for (row, class) in board.labels() {
        let id = &data.pool.ids[row];
        let (bytes, ending, method) = match data.pool.contents.show(row) {
            Ok(Shown::Image { bytes, media_type }) => (bytes, image_ending(media_type), CompressionMethod::Stored),
            Ok(Shown::Text(text)) => (text.into_bytes().into(), ".txt", CompressionMethod::Deflated),
            Ok(Shown::Nothing) => (id.clone().into_bytes().into(), ".txt", CompressionMethod::Deflated),
            Err(_) => {
                writeln!(missing, "{id}")?;
                continue;
            }
        };
        size += bytes.len();
        if size > LARGEST {
            return Err(io::Error::other(
                "the labelled examples together are larger than 2 GiB; export a table instead",
            ));
        }
        let class = class as usize;
        let (name, ending) = named(id, ending);
        let name = unused(&mut names[class], &name, ending);
        out.start_file(format!("{}/{name}", folders[class]), SimpleFileOptions::default().compression_method(method))
            .map_err(failed)?;
        out.write_all(&bytes)?;
    }
    if !missing.is_empty() {
        out.start_file(MISSING, SimpleFileOptions::default()).map_err(failed)?;
        out.write_all(&missing)?;
    }
    Ok(out.finish().map_err(failed)?.into_inner())
}

fn image_ending(media_type: &str) -> &'static str {
    match media_type {
        "image/jpeg" => ".jpg",
        "image/webp" => ".webp",
        "image/gif" => ".gif",
        _ => ".png",
    }
}

/// Returns the name of a file for an id, which may be a path, and the ending to add.
fn named<'a>(id: &str, ending: &'a str) -> (String, &'a str) {
    let last = id.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or(id);
    let own = Path::new(last).extension().map(|own| own.to_string_lossy().to_lowercase()).unwrap_or_default();
    let has_ending = own == ending[1..] || (ending == ".jpg" && own == "jpeg");
    let stem = if has_ending { last.rsplit_once('.').map_or(last, |(stem, _)| stem) } else { last };
    (safe(stem), ending)
}

/// Replaces what file systems do not allow in names.
fn safe(name: &str) -> String {
    let is_bad = |c: char| c.is_control() || "/\\:*?\"<>|".contains(c);
    let clean: String = name.chars().take(LONGEST).map(|c| if is_bad(c) { '_' } else { c }).collect();
    let clean = clean.trim().trim_end_matches('.').trim_start_matches('.');
    if clean.is_empty() { "_".to_owned() } else { clean.to_owned() }
}

/// Returns `name` with its ending, with a number between them if that name is taken. File systems may ignore case.
fn unused(taken: &mut HashSet<String>, name: &str, ending: &str) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}{ending}"));
    let mut names = std::iter::once(format!("{name}{ending}")).chain(numbered);
    names.find(|name| taken.insert(name.to_lowercase())).expect("there is always a further number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_differ() {
        assert_eq!(safe("../../etc/passwd"), "_.._etc_passwd");
        assert_eq!(safe(".."), "_");
        assert_eq!(safe("a\u{0}b: c? "), "a_b_ c_");
        assert_eq!(named("photos/cat/Tom.JPEG", ".jpg"), ("Tom".to_owned(), ".jpg"));
        assert_eq!(named("digit 5", ".png"), ("digit 5".to_owned(), ".png"));
        assert_eq!(named("v1.5", ".txt"), ("v1.5".to_owned(), ".txt"));
        let mut taken = HashSet::new();
        let all = ["a", "A", "b", "a"].map(|name| unused(&mut taken, name, ".png"));
        assert_eq!(all, ["a.png", "A-2.png", "b.png", "a-3.png"]);
    }
}
