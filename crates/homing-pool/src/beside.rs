//! Writes files atomically: a file appears complete or not at all.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::disk::{self, Output};
use crate::{Error, Result};

/// Prefix of the names of temporary files.
const PREFIX: &str = ".homing-";
/// Number of random letters and digits after the prefix.
const LETTERS: usize = 6;

/// Writes the file at `path` with `write`.
///
/// The content goes to a temporary file in the same folder, which is then renamed. If anything fails, nothing is left behind,
/// and an existing file stays as it was.
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
pub fn write_beside(path: &Path, write: impl FnOnce(&mut BufWriter<Output<'_>>) -> io::Result<()>) -> Result<()> {
    let failed = |source: io::Error| Error::write(path, &source);
    let target = target(path).map_err(failed)?;
    let temporary = temporary(&target).map_err(failed)?;
    let mut file = BufWriter::new(Output(temporary.as_file()));
    let written = write(&mut file).and_then(|()| file.flush());
    // After a failure, the rest of the buffer belongs to a file that is about to be removed.
    drop(file.into_parts());
    written.map_err(failed)?;
    disk::sync(temporary.as_file()).map_err(failed)?;
    disk::step().map_err(failed)?;
    temporary.persist(&target).map_err(|error| failed(error.error))?;
    sync_folder(&target);
    Ok(())
}

/// Writes the folder entry to disk, to keep the file's name if the machine loses power. Not every file system supports this.
fn sync_folder(target: &Path) {
    #[cfg(unix)]
    let _ = fs::File::open(folder(target)).and_then(|folder| folder.sync_all());
    #[cfg(not(unix))]
    let _ = target;
}

/// Whether the name of this file is that of a temporary file, which a process that was killed in [`write_beside`] left behind.
pub fn is_left_over(path: &Path) -> bool {
    let random = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(PREFIX));
    random.is_some_and(|random| random.len() == LETTERS && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Returns an error if [`write_beside`] could not write to `path`.
pub fn check_writable(path: &Path) -> Result<()> {
    // A path that ends with a slash names a folder.
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Err(Error::write(path, &is_a_folder()));
    }
    target(path).and_then(|target| temporary(&target)).map(drop).map_err(|source| Error::write(path, &source))
}

/// Follows symbolic links to the file that `path` names, whether it exists or not.
pub(crate) fn target(path: &Path) -> io::Result<PathBuf> {
    /// Maximum number of links to follow; Linux has the same limit.
    const MOST_LINKS: usize = 40;
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = folder(&target).join(next),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("its symbolic links form a circle"))
}

fn folder(target: &Path) -> &Path {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn is_a_folder() -> io::Error {
    io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")
}

fn temporary(target: &Path) -> io::Result<NamedTempFile> {
    let existing = fs::metadata(target).ok();
    match &existing {
        Some(found) if found.is_dir() => return Err(is_a_folder()),
        // A new file would replace the device or pipe for all programs.
        Some(found) if !found.is_file() => return Err(io::Error::other("it is a device or a pipe, not a file")),
        // If the folder is writable, renaming would replace even a read-only file.
        Some(found) if found.permissions().readonly() => return Err(io::Error::other("it is read-only")),
        _ => {}
    }
    disk::step()?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).rand_bytes(LETTERS);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let made = builder.tempfile_in(folder(target)).and_then(|made| {
        if let Some(existing) = existing {
            made.as_file().set_permissions(existing.permissions())?;
        }
        Ok(made)
    });
    // A message with the name of the temporary file would confuse users.
    made.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => error,
        io::ErrorKind::PermissionDenied => io::Error::new(error.kind(), "its folder is not writable"),
        io::ErrorKind::NotADirectory => io::Error::new(error.kind(), "its parent is not a folder"),
        kind => io::Error::from(kind),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn temporary_files_are_recognised_by_their_whole_name() {
        let directory = tempfile::tempdir().unwrap();
        let made = temporary(&directory.path().join("a.txt")).unwrap();
        assert!(is_left_over(made.path()), "{}", made.path().display());
        for name in [".homing-", ".homing-abc", ".homing-settings", ".homing-abc de", ".homing-abcde.", "homing-abcdef"]
        {
            assert!(!is_left_over(Path::new(name)), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_pipes_are_not_replaced() {
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
        let fail = |file: &mut BufWriter<Output<'_>>| {
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
    fn a_missing_folder_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("missing/a.txt");
        let message = check_writable(&path).unwrap_err().to_string();
        assert!(message.contains("its folder does not exist"), "{message}");
        let message = check_writable(directory.path()).unwrap_err().to_string();
        assert!(message.contains("it is a folder"), "{message}");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_new_files_have_the_usual_mode() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real.txt"), directory.path().join("link.txt"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_beside(&link, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let (plain, new) = (directory.path().join("plain.txt"), directory.path().join("new.txt"));
        fs::write(&plain, "").unwrap();
        write_beside(&new, |file| file.write_all(b"new")).unwrap();
        let mode = |path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&real), mode(&plain));
        assert_eq!(mode(&new), mode(&plain));
    }

    #[cfg(unix)]
    #[test]
    fn broken_links_are_followed_and_circular_links_are_refused() {
        use std::os::unix::fs::symlink;
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        symlink("new.txt", at("link.txt")).unwrap();
        write_beside(&at("link.txt"), |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(at("new.txt")).unwrap(), b"new");
        assert!(fs::symlink_metadata(at("link.txt")).unwrap().is_symlink());
        symlink("loop.txt", at("loop.txt")).unwrap();
        let message = write_beside(&at("loop.txt"), |file| file.write_all(b"new")).unwrap_err().to_string();
        assert!(message.contains("form a circle"), "{message}");
        assert!(fs::symlink_metadata(at("loop.txt")).unwrap().is_symlink());
    }

    #[cfg(unix)]
    #[test]
    fn existing_outputs_keep_their_mode_and_read_only_ones_their_content() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.txt");
        fs::write(&path, "old").unwrap();
        let set = |mode| fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        set(0o640);
        write_beside(&path, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        set(0o444);
        let message = check_writable(&path).unwrap_err().to_string();
        assert!(message.contains("a.txt cannot be written: it is read-only"), "{message}");
        write_beside(&path, |file| file.write_all(b"newer")).unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }
}
