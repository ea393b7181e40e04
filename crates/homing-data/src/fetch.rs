//! Downloads common data sets.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use homing_pool::disk;
use sha2::{Digest, Sha256};
use ureq::Agent;

use crate::{Error, Result};

/// Names of the data sets that [`fetch`] can download.
pub const SETS: [&str; 2] = ["mnist", "cifar100"];

/// Addresses of the MNIST files; the original one comes last because it often refuses.
const MNIST: [&str; 3] = [
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://yann.lecun.com/exdb/mnist/",
];
const CIFAR: [&str; 1] = ["https://www.cs.toronto.edu/~kriz/"];

/// Name, length in bytes and SHA-256 of each file.
const MNIST_FILES: [(&str, u64, &str); 4] = [
    ("train-images-idx3-ubyte.gz", 9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
    ("train-labels-idx1-ubyte.gz", 28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    ("t10k-images-idx3-ubyte.gz", 1_648_877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
    ("t10k-labels-idx1-ubyte.gz", 4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
];
const CIFAR_FILES: [(&str, u64, &str); 1] =
    [("cifar-100-binary.tar.gz", 168_513_733, "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec")];

/// Time after which a silent server counts as failed.
const SILENCE: Duration = Duration::from_secs(30);

/// Number of failures without progress after which an address is given up.
const FAILURES: usize = 2;

/// A file to download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    /// Name of the file in the folder.
    pub file: String,
    /// Addresses of the file, tried in this order.
    pub urls: Vec<String>,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Checksum of the file in lower-case hexadecimal.
    pub sha256: String,
}

/// Progress of a download.
#[derive(Clone, Copy, Debug)]
pub struct DownloadProgress<'a> {
    /// Name of the file.
    pub file: &'a str,
    /// Bytes that have been downloaded.
    pub done: u64,
    /// Length of the file in bytes.
    pub total: u64,
}

/// Returns the files of a data set.
pub fn downloads(name: &str) -> Result<Vec<Download>> {
    let (bases, files) = match name {
        "mnist" => (&MNIST[..], &MNIST_FILES[..]),
        "cifar100" => (&CIFAR[..], &CIFAR_FILES[..]),
        _ => return Err(Error::UnknownSet { name: name.to_owned(), known: SETS.join(" or ") }),
    };
    let source = |&(file, bytes, sha256): &(&str, u64, &str)| Download {
        file: file.to_owned(),
        urls: bases.iter().map(|base| format!("{base}{file}")).collect(),
        bytes,
        sha256: sha256.to_owned(),
    };
    Ok(files.iter().map(source).collect())
}

/// Downloads the data set `name` (see [`SETS`]) into `folder`, which [`crate::open`] can then read.
///
/// Existing files are kept. An interrupted download continues where it stopped, in the same call or in the next one. A file
/// appears under its name only when it is complete and its checksum is correct. `progress` is called for each piece and may stop
/// the download.
pub fn fetch(
    name: &str,
    folder: &Path,
    progress: impl FnMut(DownloadProgress<'_>) -> ControlFlow<()>,
) -> Result<Vec<PathBuf>> {
    fetch_files(&downloads(name)?, folder, progress)
}

/// Like [`fetch`], but downloads the given files.
pub fn fetch_files(
    downloads: &[Download],
    folder: &Path,
    mut progress: impl FnMut(DownloadProgress<'_>) -> ControlFlow<()>,
) -> Result<Vec<PathBuf>> {
    let there = folder.exists();
    disk::create_dir_all(folder).map_err(|source| Error::Write { path: folder.to_owned(), source })?;
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_resolve(Some(SILENCE))
        .timeout_connect(Some(SILENCE))
        .timeout_recv_response(Some(SILENCE))
        .timeout_per_read(Some(SILENCE))
        .user_agent("homing");
    let agent = config.build().new_agent();
    let fetch = |source| DownloadRun { agent: &agent, source, folder, progress: &mut progress }.run();
    let fetched = downloads.iter().map(fetch).collect::<Result<_>>();
    if fetched.is_err() && !there {
        // This removes the folder only if it is empty.
        let _ = fs::remove_dir(folder);
    }
    fetched
}

struct DownloadRun<'a> {
    agent: &'a Agent,
    source: &'a Download,
    folder: &'a Path,
    progress: &'a mut dyn FnMut(DownloadProgress<'_>) -> ControlFlow<()>,
}

/// Reason why a download ended early.
enum DownloadFailure {
    /// Another attempt or another address may succeed.
    Network(String),
    /// No further attempt can succeed.
    Final(Error),
}

impl From<ureq::Error> for DownloadFailure {
    fn from(error: ureq::Error) -> Self {
        DownloadFailure::Network(error.to_string())
    }
}

impl DownloadRun<'_> {
    fn run(mut self) -> Result<PathBuf> {
        let path = self.folder.join(&self.source.file);
        if path.is_file() && sha256(&path)? == self.source.sha256 {
            return Ok(path);
        }
        let part = self.folder.join(format!(".{}.part", self.source.file));
        let (mut failures, mut wrong) = (Vec::new(), None);
        for url in &self.source.urls {
            let mut failed = 0;
            while failed < FAILURES {
                let before = length(&part);
                match self.attempt(url, &part) {
                    Ok(()) => {
                        let found = sha256(&part)?;
                        if found == self.source.sha256 {
                            disk::rename(&part, &path).map_err(|source| Error::Write { path: path.clone(), source })?;
                            return Ok(path);
                        }
                        discard(&part)?;
                        // Bytes from an earlier download may have caused the wrong checksum.
                        if before == 0 {
                            let (file, expected) = (self.source.file.clone(), self.source.sha256.clone());
                            wrong = Some(Error::Checksum { file, url: url.clone(), expected, found });
                            break;
                        }
                    }
                    Err(DownloadFailure::Final(error)) => return Err(error),
                    Err(DownloadFailure::Network(reason)) if length(&part) > before => drop(reason),
                    Err(DownloadFailure::Network(reason)) => {
                        failed += 1;
                        if failed == FAILURES {
                            failures.push(format!("{url}: {reason}"));
                        }
                    }
                }
            }
        }
        if length(&part) == 0 {
            discard(&part)?;
        }
        let unreachable =
            || Error::Unreachable { file: self.source.file.clone(), failures, folder: self.folder.to_owned() };
        Err(wrong.unwrap_or_else(unreachable))
    }

    /// Downloads the bytes that are missing in `part`.
    fn attempt(&mut self, url: &str, part: &Path) -> Result<(), DownloadFailure> {
        let total = self.source.bytes;
        let mut done = length(part);
        if done == total {
            return Ok(());
        }
        let mut request = self.agent.get(url);
        if (1..total).contains(&done) {
            request = request.header("range", format!("bytes={done}-"));
        } else {
            done = 0;
        }
        let response = request.call()?;
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        match response.status().as_u16() {
            200 => done = 0,
            206 if header("content-range").is_some_and(|range| range.starts_with(&format!("bytes {done}-"))) => {}
            206 => {
                return Err(DownloadFailure::Network("it returned another part of the file than requested".to_owned()));
            }
            status => return Err(DownloadFailure::Network(format!("it returned status {status}"))),
        }
        if let Some(offered) = header("content-length").and_then(|length| length.parse::<u64>().ok())
            && offered != total - done
        {
            return Err(DownloadFailure::Network(format!(
                "it offers {offered} bytes but {} are missing",
                total - done
            )));
        }
        let write_error = |source| DownloadFailure::Final(Error::Write { path: part.to_owned(), source });
        let file = open_part(part).map_err(write_error)?;
        disk::set_len(&file, done).map_err(write_error)?;
        // Reading one extra byte reveals a file that is longer than expected.
        let mut body = response.into_body().into_reader().take(total - done + 1);
        let mut buffer = vec![0; 1 << 16];
        loop {
            let read = match body.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(DownloadFailure::Network(error.to_string())),
            };
            disk::write_all(&file, &buffer[..read]).map_err(write_error)?;
            done += read as u64;
            if (self.progress)(DownloadProgress { file: &self.source.file, done, total }).is_break() {
                return Err(DownloadFailure::Final(Error::Stopped { file: self.source.file.clone() }));
            }
        }
        disk::sync(&file).map_err(write_error)?;
        if done < total {
            return Err(DownloadFailure::Network(format!("the connection ended after {done} of {total} bytes")));
        }
        Ok(())
    }
}

/// Opens the partial file of a download and locks it for this process.
fn open_part(path: &Path) -> io::Result<File> {
    // The metadata comes from the path, because opening a pipe would wait for its other end.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::other("it is not a regular file"));
    }
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::Error::other("another process is downloading it")),
        // If the file system does not support locks, the download continues without one.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn discard(path: &Path) -> Result<()> {
    match disk::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::Write { path: path.to_owned(), source }),
        _ => Ok(()),
    }
}

fn sha256(path: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let failed = |source| Error::Folder { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(failed)?;
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => break,
            read => hash.update(&buffer[..read]),
        }
    }
    let mut digits = String::new();
    for byte in hash.finalize() {
        write!(digits, "{byte:02x}").expect("writing to a string cannot fail");
    }
    Ok(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_has_addresses_and_checksums() {
        for name in SETS {
            for source in downloads(name).unwrap() {
                assert!(source.urls.iter().all(|url| url.starts_with("https://") && url.ends_with(&source.file)));
                assert!(source.sha256.len() == 64 && source.sha256.bytes().all(|byte| byte.is_ascii_hexdigit()));
                assert!(source.bytes > 0);
            }
        }
        let message = downloads("imagenet").unwrap_err().to_string();
        assert_eq!(message, "the data set 'imagenet' cannot be downloaded; choose mnist or cifar100");
    }
}
