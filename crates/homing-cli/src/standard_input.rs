//! Pools and targets from standard input, which are named by `-`.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use homing_pool::is_usual_column;
use tempfile::NamedTempFile;

/// A path that was typed, or a temporary file with what standard input held.
pub struct InputFile {
    path: PathBuf,
    /// Removes the file at the end.
    _temporary: Option<NamedTempFile>,
}

impl InputFile {
    /// Returns the file at `path`, or one with everything from standard input if it is `-`.
    pub fn of(path: &Path) -> Result<Self> {
        if path != Path::new("-") {
            return Ok(Self { path: path.to_owned(), _temporary: None });
        }
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).context("standard input cannot be read")?;
        if bytes.is_empty() {
            bail!("standard input is empty; pipe a table or lines of text into it, or name a file");
        }
        let mut file = tempfile::Builder::new()
            .prefix("homing-input-")
            .suffix(ending(&bytes))
            .tempfile()
            .context("standard input cannot be kept in a temporary file")?;
        file.write_all(&bytes).context("standard input cannot be kept in a temporary file")?;
        Ok(Self { path: file.path().to_owned(), _temporary: Some(file) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns the ending that says what the bytes are: the magic bytes of a format, JSON lines, a table or lines of text.
fn ending(bytes: &[u8]) -> &'static str {
    match bytes {
        [b'P', b'A', b'R', b'1', ..] => ".parquet",
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => ".arrow",
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => ".npy",
        _ => {
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]);
            let mut lines = text.lines().filter(|line| !line.trim().is_empty());
            let (first, second) = (lines.next().unwrap_or_default(), lines.next());
            match () {
                () if first.trim_start().starts_with(['{', '[']) => ".jsonl",
                () if is_table(first, second) => ".csv",
                () => ".txt",
            }
        }
    }
}

/// Whether lines are a table: the first has a usual name of a column, or another line has a number between separators.
fn is_table(first: &str, second: Option<&str>) -> bool {
    let fields = |line: &str| {
        line.split([',', ';', '\t']).map(|field| field.trim().trim_matches('"').to_owned()).collect::<Vec<_>>()
    };
    let names = fields(first);
    let is_name = |name: &String| is_usual_column(name) || matches!(name.as_str(), "id" | "ids" | "_id" | "uid");
    if second.is_some() && names.iter().all(|name| name.split_whitespace().count() == 1) && names.iter().any(is_name) {
        return true;
    }
    let row = fields(second.unwrap_or(first));
    row.len() > 1 && row.len() == names.len() && row.iter().any(|field| field.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_in_is_recognised() {
        let cases = [
            ("id,text\na,b\n", ".csv"),
            ("text\nmy tyre, it is flat\n", ".csv"),
            ("x;y\n1;2\n", ".csv"),
            ("0.5\t1.5\n", ".csv"),
            ("my tyre is flat\n", ".txt"),
            ("text\n", ".txt"),
            ("my tyre, it is flat\nchange it, please\n", ".txt"),
            ("{\"text\": \"a\"}\n", ".jsonl"),
            ("[0.5, 1]\n", ".jsonl"),
        ];
        for (text, expected) in cases {
            assert_eq!(ending(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(ending(b"PAR1\x15"), ".parquet");
        assert_eq!(ending(b"\x93NUMPY\x01"), ".npy");
    }
}
