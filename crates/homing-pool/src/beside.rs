//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::{Error, Result};

/// How the names of temporary files begin.
const PREFIX: &str = ".homing-";

/// Writes the file at `path` by `write`: into a temporary file beside it, which then takes its name.
/// When anything fails, nothing is left behind, and a file that was there stays as it was.
///
/// ```
/// use std::io::Write;
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("report.html");
/// homing_pool::write_beside(&path, |file| file.write_all(b"<p>done</p>"))?;
/// assert_eq!(std::fs::read(&path)?, b"<p>done</p>");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_beside(path: &Path, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<()> {
    let failed = |source: io::Error| Error::write(path, &source);
    let target = target(path);
    let temporary = temporary(&target).map_err(failed)?;
    let mut file = BufWriter::new(temporary.as_file());
    write(&mut file).and_then(|()| file.flush()).map_err(failed)?;
    drop(file);
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(&target).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Whether a process that was killed in [`write_beside`] has left this file behind.
pub fn is_left_over(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
}

/// Refuses a `path` that [`write_beside`] could not write.
pub fn check_writable(path: &Path) -> Result<()> {
    temporary(&target(path)).map(drop).map_err(|source| Error::write(path, &source))
}

/// The file that `path` names, behind symbolic links.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn temporary(target: &Path) -> io::Result<NamedTempFile> {
    match fs::metadata(target) {
        Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        // A new file in the place of a device or a pipe would take it from everybody else.
        Ok(found) if !found.is_file() => return Err(io::Error::other("it is a device or a pipe, not a file")),
        _ => {}
    }
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(permissions);
    let made = builder.tempfile_in(directory);
    // The name of the temporary file would puzzle.
    made.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::new(error.kind(), "its directory does not exist"),
        io::ErrorKind::PermissionDenied => io::Error::new(error.kind(), "its directory is not writable"),
        io::ErrorKind::NotADirectory => io::Error::new(error.kind(), "its parent is not a directory"),
        kind => io::Error::from(kind),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_stays_as_it_is() {
        use std::os::unix::fs::FileTypeExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let message = check_writable(&path).unwrap_err().to_string();
        assert!(message.contains("socket cannot be written: it is a device or a pipe"), "{message}");
        write_beside(&path, |file| file.write_all(b"page")).unwrap_err();
        assert!(fs::metadata(&path).unwrap().file_type().is_socket());
    }

    #[test]
    fn a_failure_leaves_nothing_behind_and_the_old_file_untouched() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.txt");
        let fail = |file: &mut BufWriter<&File>| {
            file.write_all(b"half")?;
            Err(io::Error::other("the disk is full"))
        };
        let message = write_beside(&path, fail).unwrap_err().to_string();
        assert!(message.contains("a.txt cannot be written: the disk is full"), "{message}");
        assert!(names(directory.path()).is_empty());
        fs::write(&path, "old").unwrap();
        write_beside(&path, fail).unwrap_err();
        assert_eq!(names(directory.path()), ["a.txt"]);
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn a_missing_directory_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("missing/a.txt");
        let message = check_writable(&path).unwrap_err().to_string();
        assert!(message.contains("its directory does not exist"), "{message}");
        let message = check_writable(directory.path()).unwrap_err().to_string();
        assert!(message.contains("directory"), "{message}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_written_through_and_the_file_can_be_shared() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real.txt"), directory.path().join("link.txt"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_beside(&link, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let plain = directory.path().join("plain.txt");
        fs::write(&plain, "").unwrap();
        let mode = |path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&real), mode(&plain));
    }
}
