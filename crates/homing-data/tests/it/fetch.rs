//! Downloads from a local server.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use homing_data::{Download, DownloadProgress, Error, fetch_files};

use crate::sample::assert_says;

/// SHA-256 of [`content`], computed by `sha256sum`.
const SHA256: &str = "94cd1d1bb9f2d4fd420b7b43fd050392c70bb269a268f806cce386d26c95717b";

fn content() -> Vec<u8> {
    (0..300_000u32).map(|i| (i.wrapping_mul(i) >> 3) as u8).collect()
}

/// How the server answers.
#[derive(Clone, Copy)]
enum Manner {
    /// It sends whole files and ranges of them.
    Good,
    /// It sends files and ranges, but closes each connection after this many bytes.
    Hasty(usize),
    /// It does not support ranges, and closes each connection after this many bytes.
    Forgetful(usize),
    /// It sends other bytes of the same length.
    Wrong,
    /// It answers that the file was not found.
    Missing,
}

/// A server, its address, and the ranges that were requested from it.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<Option<usize>>>>,
}

impl Server {
    fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/file.bin", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                // The client may close the connection at any time.
                let _ = stream.and_then(|stream| answer(stream, manner, &log));
            }
        });
        Self { url, asked }
    }

    fn asked(&self) -> Vec<Option<usize>> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, manner: Manner, log: &Mutex<Vec<Option<usize>>>) -> std::io::Result<()> {
    let mut start = None;
    for line in BufReader::new(stream.try_clone()?).lines() {
        let line = line?.to_ascii_lowercase();
        if let Some(range) = line.strip_prefix("range: bytes=") {
            start = range.trim_end_matches('-').parse().ok();
        }
        if line.is_empty() {
            break;
        }
    }
    log.lock().unwrap().push(start);
    let whole = content();
    let (body, most) = match manner {
        Manner::Good => (whole, usize::MAX),
        Manner::Hasty(most) | Manner::Forgetful(most) => (whole, most),
        Manner::Wrong => (whole.iter().map(|byte| byte ^ 1).collect(), usize::MAX),
        Manner::Missing => {
            return write!(stream, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    };
    let from = if matches!(manner, Manner::Forgetful(_)) { 0 } else { start.unwrap_or(0) };
    let rest = &body[from..];
    if from > 0 {
        write!(
            stream,
            "HTTP/1.1 206 Partial Content\r\ncontent-range: bytes {from}-{}/{}\r\n",
            body.len() - 1,
            body.len()
        )?;
    } else {
        write!(stream, "HTTP/1.1 200 OK\r\n")?;
    }
    write!(stream, "content-length: {}\r\nconnection: close\r\n\r\n", rest.len())?;
    stream.write_all(&rest[..rest.len().min(most)])
}

fn source(servers: &[&Server]) -> Vec<Download> {
    vec![Download {
        file: "file.bin".to_owned(),
        urls: servers.iter().map(|server| server.url.clone()).collect(),
        bytes: content().len() as u64,
        sha256: SHA256.to_owned(),
    }]
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn go_on(_: DownloadProgress<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn a_file_is_downloaded_once() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("new/folder");
    let server = Server::start(Manner::Good);
    let mut last = (0, 0);
    let record = |progress: DownloadProgress<'_>| {
        assert!(progress.file == "file.bin" && progress.done > last.0);
        last = (progress.done, progress.total);
        ControlFlow::Continue(())
    };
    let paths = fetch_files(&source(&[&server]), &into, record).unwrap();
    assert_eq!(last, (300_000, 300_000));
    assert_eq!(fs::read(&paths[0]).unwrap(), content());
    assert_eq!(names(&into), ["file.bin"]);
    fetch_files(&source(&[&server]), &into, go_on).unwrap();
    assert_eq!(server.asked(), [None]);
    // A file that has been changed since is replaced.
    fs::write(&paths[0], "changed").unwrap();
    fetch_files(&source(&[&server]), &into, go_on).unwrap();
    assert_eq!(fs::read(&paths[0]).unwrap(), content());
}

#[test]
fn an_interrupted_connection_continues_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(Manner::Hasty(120_000));
    let paths = fetch_files(&source(&[&server]), folder.path(), go_on).unwrap();
    assert_eq!(fs::read(&paths[0]).unwrap(), content());
    let asked = server.asked();
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert_eq!((asked[0], asked[1], asked[2]), (None, Some(120_000), Some(240_000)));
}

#[test]
fn a_stopped_download_continues_in_the_next_call() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(Manner::Good);
    let mut reached = 0;
    let stop = |progress: DownloadProgress<'_>| {
        reached = progress.done;
        if progress.done > 100_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let error = fetch_files(&source(&[&server]), folder.path(), stop).unwrap_err();
    assert!(matches!(error, Error::Stopped { .. }), "{error}");
    assert_eq!(names(folder.path()), [".file.bin.part"]);
    let paths = fetch_files(&source(&[&server]), folder.path(), go_on).unwrap();
    assert_eq!(fs::read(&paths[0]).unwrap(), content());
    assert_eq!(server.asked(), [None, Some(reached as usize)]);
    assert_eq!(names(folder.path()), ["file.bin"]);
}

#[test]
fn a_server_without_ranges_sends_the_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".file.bin.part"), &content()[..1000]).unwrap();
    let server = Server::start(Manner::Forgetful(usize::MAX));
    let paths = fetch_files(&source(&[&server]), folder.path(), go_on).unwrap();
    assert_eq!(fs::read(&paths[0]).unwrap(), content());
    // A server that also breaks off never makes progress, but the next address does.
    let folder = tempfile::tempdir().unwrap();
    let (bad, good) = (Server::start(Manner::Forgetful(5000)), Server::start(Manner::Good));
    let paths = fetch_files(&source(&[&bad, &good]), folder.path(), go_on).unwrap();
    assert_eq!(fs::read(&paths[0]).unwrap(), content());
    assert_eq!(good.asked(), [Some(5000)]);
}

#[test]
fn a_wrong_checksum_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = Server::start(Manner::Wrong);
    let message = fetch_files(&source(&[&wrong]), folder.path(), go_on).unwrap_err().to_string();
    assert_says(&message, &[&wrong.url, "has the SHA-256", SHA256, "discarded"]);
    assert!(names(folder.path()).is_empty());
    // An existing file is not touched by a failed download.
    fs::write(folder.path().join("file.bin"), "mine").unwrap();
    fetch_files(&source(&[&wrong]), folder.path(), go_on).unwrap_err();
    assert_eq!(fs::read(folder.path().join("file.bin")).unwrap(), b"mine");
    // A partial download from another server is discarded, and the file is downloaded again.
    fs::write(folder.path().join(".file.bin.part"), [1; 5000]).unwrap();
    let good = Server::start(Manner::Good);
    fetch_files(&source(&[&wrong, &good]), folder.path(), go_on).unwrap();
    assert_eq!(fs::read(folder.path().join("file.bin")).unwrap(), content());
    assert_eq!(names(folder.path()), ["file.bin"]);
}

#[test]
fn without_a_server_the_message_lists_the_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Server::start(Manner::Missing);
    let mut downloads = source(&[&missing]);
    // Nothing listens on this port.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    downloads[0].urls.push(format!("http://{nobody}/file.bin"));
    let message = fetch_files(&downloads, folder.path(), go_on).unwrap_err().to_string();
    let folder_name = folder.path().display().to_string();
    assert_says(
        &message,
        &["file.bin could not be downloaded", "status 404", &nobody.to_string(), "check the network", &folder_name],
    );
    assert!(!message.contains('\n') && names(folder.path()).is_empty(), "{message}");
    let fresh = folder.path().join("fresh");
    fetch_files(&downloads, &fresh, go_on).unwrap_err();
    assert!(!fresh.exists(), "a folder that nothing came into is not left behind");
}
