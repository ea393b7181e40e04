//! A run that is served, and requests to it.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use homing::Linear;
use homing_label::{Contents, Examples, LabelData, OpenOptions, Rows, Server, Session, open_examples};
use homing_pool::ReadOptions;
use serde_json::Value;

/// Returns rows of numbers that look random.
pub fn numbers(rows: usize, dim: usize) -> Vec<f32> {
    let mut seed = 7u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    (0..rows * dim).map(|_| next()).collect()
}

fn examples(prefix: &str, rows: usize, values: Vec<f32>, contents: Contents) -> Examples {
    let ids = (0..rows).map(|row| format!("{prefix}{row}")).collect();
    Examples::new(ids, Rows::Numbers { dim: values.len() / rows, values }, contents)
}

/// Returns `rows` texts with three targets, of which some text is HTML.
pub fn texts(rows: usize) -> LabelData {
    let shown = (0..rows).map(|row| format!("text {row} <script>alert(1)</script> & \"more\"")).collect();
    let pool = examples("row-", rows, numbers(rows, 6), Contents::Texts(shown));
    let targets =
        examples("target-", 3, numbers(3, 6), Contents::Texts(vec!["one".into(), "two".into(), "<b>".into()]));
    LabelData::new("texts".into(), pool, Some(targets), Box::new(Linear)).unwrap()
}

/// Returns images in a folder.
pub fn images(root: &Path, names: &[&str]) -> LabelData {
    let contents =
        Contents::Files { root: root.to_owned(), names: names.iter().map(|&name| name.to_owned()).collect() };
    let pool = examples("image-", names.len(), numbers(names.len(), 4), contents);
    LabelData::new("images".into(), pool, None, Box::new(Linear)).unwrap()
}

/// Returns five texts of a table with further columns, which is written to a folder.
pub fn table(folder: &Path) -> LabelData {
    let path = folder.join("pool.csv");
    let text = "id,text,source,length,label,x,y\n\
                r0,one,web,3,a,0.1,0.2\nr1,two,bücher,3,b,0.3,0.1\nr2,three,web,5,a,0.5,0.9\nr3,four,,4,b,0.2,0.8\nr4,five,web,4,a,0.7,0.1\n";
    std::fs::write(&path, text).unwrap();
    let read = ReadOptions::default().side_by_side(["x".to_owned(), "y".to_owned()]);
    let options = OpenOptions { read, ..OpenOptions::default() };
    let opened = open_examples(&path, &options).unwrap();
    LabelData::new("table".into(), opened.examples, None, Box::new(Linear)).unwrap()
}

pub fn classes() -> Vec<String> {
    vec!["a".into(), "b".into()]
}

/// A served run, which stops when it is dropped.
pub struct Served {
    pub authority: String,
    pub token: String,
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Response {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.body)))
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

impl Served {
    pub fn start(run: &Path, data: LabelData) -> Self {
        let rule = if data.targets.is_some() { "itl" } else { "undirected-itl" };
        let session = Session::open(run, data, &classes(), &rule.parse().unwrap()).unwrap();
        let server = Server::bind(run, "127.0.0.1".parse().unwrap(), 0).unwrap();
        let address = server.address();
        let (authority, token) = address.strip_prefix("http://").unwrap().split_once("/?token=").unwrap();
        let (authority, token) = (authority.to_owned(), token.to_owned());
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || server.run(&session, || stopped.load(Ordering::Relaxed)).unwrap());
        Self { authority, token, stop, thread: Some(thread) }
    }

    pub fn connect(&self) -> TcpStream {
        let connection = TcpStream::connect(&self.authority).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        connection
    }

    /// Sends a request with exactly these headers.
    pub fn bare(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let mut text = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        headers.iter().for_each(|(name, value)| write!(text, "{name}: {value}\r\n").expect("a text takes all"));
        text.push_str("\r\n");
        let mut connection = self.connect();
        connection.write_all(text.as_bytes()).unwrap();
        // The server may refuse a request before it has read the body.
        let _ = connection.write_all(body);
        let mut all = Vec::new();
        let _ = connection.read_to_end(&mut all);
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").expect("a response has a head");
        let head = String::from_utf8(all[..end].to_vec()).unwrap().to_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut body = all[end + 4..].to_vec();
        if head.contains("transfer-encoding: chunked") {
            body = unchunked(&body);
        }
        Response { status, head, body }
    }

    pub fn send(&self, method: &str, target: &str, body: &str) -> Response {
        let bearer = format!("Bearer {}", self.token);
        let headers = [("Host", &*self.authority), ("Authorization", &*bearer), ("Content-Type", "application/json")];
        self.bare(method, target, &headers, body.as_bytes())
    }

    pub fn get(&self, target: &str) -> Response {
        self.send("GET", target, "")
    }

    pub fn post(&self, target: &str, body: &Value) -> Response {
        self.send("POST", target, &body.to_string())
    }

    pub fn next_id(&self) -> String {
        self.get("/api/next").json()["items"][0]["id"].as_str().unwrap().to_owned()
    }
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(end) = body.windows(2).position(|two| two == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            break;
        }
        out.extend(&body[end + 2..end + 2 + length]);
        body = &body[end + 4 + length..];
    }
    out
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}
