//! Maps files into memory, and handles the signal of a mapping that is lost. This is the only module of the crate with
//! `unsafe` code.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;
use memmap2::Mmap;

use crate::{Error, Result};

/// Maps the file at `path`, which must not be empty; the operating system reads its bytes when they are accessed.
///
/// The file must not be rewritten in place while the mapping is in use.
pub fn map(path: &Path) -> Result<Bytes> {
    let (file, _) = open(path)?;
    match map_file(&file) {
        Ok(map) => Ok(Bytes::from_owner(lost_files::MappedFile::new(path, map))),
        Err(source) if source.kind() == io::ErrorKind::OutOfMemory => Err(Error::TooLarge { path: path.to_owned() }),
        Err(source) => Err(Error::read(path, source)),
    }
}

/// Opens the file at `path` and returns its length, which must not be zero.
pub(crate) fn open(path: &Path) -> Result<(File, u64)> {
    match open_regular(path)? {
        (_, 0) => Err(Error::EmptyFile { path: path.to_owned() }),
        found => Ok(found),
    }
}

/// Reads the regular file at `path`, which may have at most `most` bytes.
pub fn read_file(path: &Path, most: u64) -> Result<Vec<u8>> {
    let (file, found) = open_regular(path)?;
    if found > most {
        return Err(Error::TooLong { path: path.to_owned(), found, most });
    }
    let mut bytes = Vec::new();
    // A file that grows in the meantime is cut off, and its parser reports that.
    file.take(most).read_to_end(&mut bytes).map_err(|source| Error::read(path, source))?;
    Ok(bytes)
}

/// Opens the regular file at `path` and returns its length.
fn open_regular(path: &Path) -> Result<(File, u64)> {
    // The metadata comes from the path, because opening a pipe would wait for its other end.
    let metadata = fs::metadata(path).map_err(|source| Error::read(path, source))?;
    if metadata.is_dir() {
        return Err(Error::Directory { path: path.to_owned() });
    }
    if !metadata.is_file() {
        return Err(Error::NotRegular { path: path.to_owned() });
    }
    let file = File::open(path).map_err(|source| Error::read(path, source))?;
    Ok((file, metadata.len()))
}

#[allow(
    unsafe_code,
    reason = "a mapping is only as constant as its file; as with any mapped reader, pools must not be rewritten in place while they are read"
)]
fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: the bytes are only read, as numbers or text for which every bit pattern is checked or valid. If the file
    // is cut short in the meantime, reading them ends the process.
    unsafe { Mmap::map(file) }
}

/// Installs a handler that calls `refuse` with an explanation when a mapped file is cut short or its disk fails.
///
/// The process then ends with exit code 2; without the handler it would end without a message. This replaces the handler of a
/// signal (SIGBUS), so programs should call it once, and libraries should not. On systems other than Linux it has no effect.
pub fn explain_lost_files(refuse: impl Fn(&Error) + Send + 'static) -> io::Result<()> {
    lost_files::explain(refuse)
}

#[cfg(not(target_os = "linux"))]
mod lost_files {
    use std::{io, path::Path};

    use memmap2::Mmap;

    use crate::Error;

    pub(super) struct MappedFile;

    impl MappedFile {
        #[expect(clippy::new_ret_no_self, reason = "mappings are not watched on this system")]
        pub(super) fn new(_: &Path, map: Mmap) -> Mmap {
            map
        }
    }

    pub(super) fn explain(_: impl Fn(&Error)) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_os = "linux")]
mod lost_files {
    use std::collections::HashMap;
    use std::io::{self, Read, Write};
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
    use std::time::Duration;
    use std::{fs, process, ptr, thread};

    use memmap2::Mmap;

    use crate::Error;

    /// Socket to which the signal handler writes.
    static ALARM: OnceLock<UnixStream> = OnceLock::new();

    /// Files that are mapped now, with their lengths at the time of mapping.
    static MAPPED: LazyLock<Mutex<HashMap<u64, (PathBuf, u64)>>> = LazyLock::new(Mutex::default);

    fn mapped() -> MutexGuard<'static, HashMap<u64, (PathBuf, u64)>> {
        MAPPED.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A mapping that is registered, to be named in an error.
    pub(super) struct MappedFile {
        map: Mmap,
        number: u64,
    }

    impl MappedFile {
        pub(super) fn new(path: &Path, map: Mmap) -> Self {
            static COUNT: AtomicU64 = AtomicU64::new(0);
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            if ALARM.get().is_some() {
                mapped().insert(number, (path.to_owned(), map.len() as u64));
            }
            Self { map, number }
        }
    }

    impl AsRef<[u8]> for MappedFile {
        fn as_ref(&self) -> &[u8] {
            &self.map
        }
    }

    impl Drop for MappedFile {
        fn drop(&mut self) {
            if ALARM.get().is_some() {
                mapped().remove(&self.number);
            }
        }
    }

    pub(super) fn explain(refuse: impl Fn(&Error) + Send + 'static) -> io::Result<()> {
        let (alarm, mut signals) = UnixStream::pair()?;
        if ALARM.set(alarm).is_err() {
            return Ok(());
        }
        let watch = move || {
            if signals.read_exact(&mut [0]).is_ok() {
                refuse(&loss());
                process::exit(2);
            }
        };
        thread::Builder::new().name("mapped files".to_owned()).stack_size(256 * 1024).spawn(watch)?;
        handle()
    }

    /// Determines what happened to the mapped files.
    fn loss() -> Error {
        let mapped = mapped();
        let shorter = |(path, had): &&(PathBuf, u64)| fs::metadata(path).is_ok_and(|now| now.len() < *had);
        match mapped.values().find(shorter) {
            Some((path, had)) => Error::CutShort {
                path: path.clone(),
                had: *had,
                has: fs::metadata(path).map_or(0, |metadata| metadata.len()),
            },
            None => Error::MappingLost {
                names: mapped.values().map(|(path, _)| path.to_string_lossy().into_owned()).collect(),
            },
        }
    }

    #[allow(unsafe_code, reason = "the standard library has no way to handle a signal")]
    fn handle() -> io::Result<()> {
        let handler: extern "C" fn(libc::c_int) = raise_alarm;
        // SAFETY: an all-zero `sigaction` is valid and has no flags, and its mask is set before it is used. The handler
        // does only what a handler may do (see there), and it has the type that an action without SA_SIGINFO needs.
        let outcome = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as libc::sighandler_t;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut())
        };
        if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Reports the signal and waits for the process to end; returning would cause the same fault again.
    ///
    /// The handler takes no lock and allocates no memory, because it may have interrupted anything. It reads an atomic, writes
    /// and sleeps.
    extern "C" fn raise_alarm(_: libc::c_int) {
        if let Some(mut alarm) = ALARM.get() {
            let _ = alarm.write(&[1]);
        }
        loop {
            thread::sleep(Duration::from_hours(1));
        }
    }
}
