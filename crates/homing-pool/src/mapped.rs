//! A file's bytes, mapped into memory: the one place of this project with `unsafe` code.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;
use memmap2::Mmap;

use crate::{Error, Result};

/// The bytes of the file at `path`, which has some, read by the operating system when they are looked at.
///
/// The file must not be rewritten in place while they are.
pub fn map(path: &Path) -> Result<Bytes> {
    let (file, _) = open(path)?;
    match map_file(&file) {
        Ok(map) => Ok(Bytes::from_owner(lost::Watched::new(path, map))),
        Err(source) if source.kind() == io::ErrorKind::OutOfMemory => Err(Error::TooLarge { path: path.to_owned() }),
        Err(source) => Err(Error::read(path, source)),
    }
}

/// The file at `path` and its length, which is not zero.
pub(crate) fn open(path: &Path) -> Result<(File, u64)> {
    match open_regular(path)? {
        (_, 0) => Err(Error::EmptyFile { path: path.to_owned() }),
        found => Ok(found),
    }
}

/// The bytes of the regular file at `path`, at most `most`.
pub fn read_file(path: &Path, most: u64) -> Result<Vec<u8>> {
    let (file, found) = open_regular(path)?;
    if found > most {
        return Err(Error::TooLong { path: path.to_owned(), found, most });
    }
    let mut bytes = Vec::new();
    // A file that grows meanwhile is cut off, and what reads it will say so.
    file.take(most).read_to_end(&mut bytes).map_err(|source| Error::read(path, source))?;
    Ok(bytes)
}

/// The regular file at `path` and its length.
fn open_regular(path: &Path) -> Result<(File, u64)> {
    // Asked of the path: to open a pipe would wait for its other end.
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
    // SAFETY: the bytes are only ever read, as numbers or text for which every bit pattern is checked or valid. Where the file
    // is cut short meanwhile, reading them ends the process.
    unsafe { Mmap::map(file) }
}

/// From now on, a mapped file that is cut short while it is looked at, or whose disk fails, ends this process with a sentence
/// for `say` and the exit code 2, where it would end without a word.
///
/// This replaces the handler of a signal (SIGBUS), so it is for programs to call once, and not for libraries. Systems other
/// than Linux end the process as ever.
pub fn explain_lost_files(say: fn(&str)) -> io::Result<()> {
    lost::explain(say)
}

#[cfg(not(target_os = "linux"))]
mod lost {
    use std::{io, path::Path};

    use memmap2::Mmap;

    pub(super) struct Watched;

    impl Watched {
        #[expect(clippy::new_ret_no_self, reason = "nothing is watched here")]
        pub(super) fn new(_: &Path, map: Mmap) -> Mmap {
            map
        }
    }

    pub(super) fn explain(_: fn(&str)) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_os = "linux")]
mod lost {
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

    /// Where the handler of the signal tells of it.
    static ALARM: OnceLock<UnixStream> = OnceLock::new();

    /// The files that are mapped now, and how long they were when they were.
    static MAPPED: LazyLock<Mutex<HashMap<u64, (PathBuf, u64)>>> = LazyLock::new(Mutex::default);

    fn mapped() -> MutexGuard<'static, HashMap<u64, (PathBuf, u64)>> {
        MAPPED.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A mapping that is among those that can be named.
    pub(super) struct Watched {
        map: Mmap,
        number: u64,
    }

    impl Watched {
        pub(super) fn new(path: &Path, map: Mmap) -> Self {
            static COUNT: AtomicU64 = AtomicU64::new(0);
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            if ALARM.get().is_some() {
                mapped().insert(number, (path.to_owned(), map.len() as u64));
            }
            Self { map, number }
        }
    }

    impl AsRef<[u8]> for Watched {
        fn as_ref(&self) -> &[u8] {
            &self.map
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            if ALARM.get().is_some() {
                mapped().remove(&self.number);
            }
        }
    }

    pub(super) fn explain(say: fn(&str)) -> io::Result<()> {
        let (alarm, mut heard) = UnixStream::pair()?;
        if ALARM.set(alarm).is_err() {
            return Ok(());
        }
        let watch = move || {
            if heard.read_exact(&mut [0]).is_ok() {
                say(&loss().to_string());
                process::exit(2);
            }
        };
        thread::Builder::new().name("mapped files".to_owned()).stack_size(256 * 1024).spawn(watch)?;
        handle()
    }

    /// What happened to the files that are mapped.
    fn loss() -> Error {
        let mapped = mapped();
        let shorter = |(path, had): &&(PathBuf, u64)| fs::metadata(path).is_ok_and(|now| now.len() < *had);
        match mapped.values().find(shorter) {
            Some((path, had)) => Error::CutShort {
                path: path.clone(),
                had: *had,
                has: fs::metadata(path).map_or(0, |metadata| metadata.len()),
            },
            None => {
                Error::Lost { names: mapped.values().map(|(path, _)| path.to_string_lossy().into_owned()).collect() }
            }
        }
    }

    #[allow(unsafe_code, reason = "the standard library has no way to handle a signal")]
    fn handle() -> io::Result<()> {
        let handler: extern "C" fn(libc::c_int) = tell;
        // SAFETY: an all-zero `sigaction` is a valid one without flags, and its mask is set before it is used. The handler
        // does only what a handler may do (see there), and its type is the one that an action without SA_SIGINFO has.
        let outcome = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as libc::sighandler_t;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut())
        };
        if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Tells of the signal, and waits for the end of the process: to return would be to fault again.
    ///
    /// It takes no lock and no memory, since it may have interrupted anything: it reads an atomic, writes and sleeps.
    extern "C" fn tell(_: libc::c_int) {
        if let Some(mut alarm) = ALARM.get() {
            let _ = alarm.write(&[1]);
        }
        loop {
            thread::sleep(Duration::from_secs(3600));
        }
    }
}
