//! Runs the cells of an experiment on a Ray cluster, by a program in Python that speaks to it (`cluster.py`).

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;

use super::cell_folder::CellFolder;
use super::workers::{EndedCell, Workers};

const SCRIPT: &str = include_str!("cluster.py");

/// The environment variable that names the Python with Ray.
const PYTHON: &str = "HOMING_PYTHON";

/// How long the program may take to end the cells, and the time between two looks at it.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// The messages of the program, one per line.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Message {
    /// Number of cells that the cluster can run at once.
    Cpus(usize),
    /// Why no cell can run.
    Refused(String),
    /// A cell has ended.
    Ended { key: String, failure: Option<String> },
}

/// A Ray cluster that runs cells, each on one CPU.
pub struct Cluster {
    address: String,
    program: Child,
    /// The program ends, and all cells with it, when this is dropped.
    orders: Option<ChildStdin>,
    messages: Receiver<String>,
    /// The logs of cells that run.
    logs: HashMap<String, File>,
    cpus: usize,
}

impl Cluster {
    /// Connects to the cluster at an address.
    pub fn connect(address: &str) -> Result<Self> {
        let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
        let mut command = Command::new(&python);
        command.args(["-c", SCRIPT, address]).arg(std::env::current_exe()?);
        command.arg(format!("homing {}", env!("CARGO_PKG_VERSION")));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut program = command.spawn().map_err(|error| {
            let name = python.display();
            anyhow!("--ray needs Python, but {name} cannot be started ({error}); install it, or name one in {PYTHON}")
        })?;
        let orders = program.stdin.take();
        let messages = lines(program.stdout.take().context("the pipe was asked for")?);
        let address = address.to_owned();
        let mut cluster = Self { address, program, orders, messages, logs: HashMap::new(), cpus: 1 };
        match cluster.messages.recv().map_err(|_| cluster.lost()).and_then(|line| read(&line))? {
            Message::Cpus(cpus) => cluster.cpus = cpus,
            Message::Refused(why) => bail!(why),
            Message::Ended { .. } => return Err(cluster.lost()),
        }
        Ok(cluster)
    }

    /// Returns the number of cells that it can run at once.
    pub fn cpus(&self) -> usize {
        self.cpus
    }

    fn lost(&self) -> anyhow::Error {
        let address = &self.address;
        anyhow!("the connection to the Ray cluster at {address} has ended; run the experiment again to continue")
    }

    /// Takes note of a message. Returns the cell that has ended.
    fn hear(&mut self, line: &str) -> Result<EndedCell> {
        let Message::Ended { key, failure } = read(line)? else { return Err(self.lost()) };
        if let (Some(mut log), Some(why)) = (self.logs.remove(&key), &failure) {
            log.write_all(why.as_bytes()).context("the log of a cell cannot be written")?;
        }
        Ok((key, failure.is_none()))
    }
}

fn read(line: &str) -> Result<Message> {
    let unknown = |_| anyhow!("the program that speaks to Ray says {line:?}; name a Python with Ray in {PYTHON}");
    serde_json::from_str(line).map_err(unknown)
}

/// Reads lines on a thread of its own.
fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Returns arguments as text, which JSON needs.
fn texts(arguments: Vec<OsString>) -> Result<Vec<String>> {
    let text = |argument: OsString| {
        argument
            .into_string()
            .map_err(|argument| anyhow!("{} is not UTF-8; rename it to use --ray", argument.display()))
    };
    arguments.into_iter().map(text).collect()
}

impl Workers for Cluster {
    fn start(&mut self, cell: &CellFolder<'_>) -> Result<()> {
        let mut order = serde_json::to_string(&(&cell.key, texts(cell.words())?))?;
        order.push('\n');
        self.logs.insert(cell.key.clone(), cell.open_log()?);
        let sent = self.orders.as_mut().map(|orders| orders.write_all(order.as_bytes()).and_then(|()| orders.flush()));
        if matches!(sent, Some(Ok(()))) { Ok(()) } else { Err(self.lost()) }
    }

    fn ended(&mut self) -> Result<Vec<EndedCell>> {
        let mut ended = Vec::new();
        loop {
            match self.messages.try_recv() {
                Ok(line) => ended.push(self.hear(&line)?),
                Err(TryRecvError::Disconnected) if ended.is_empty() => return Err(self.lost()),
                Err(_) => return Ok(ended),
            }
        }
    }

    fn end(&mut self) {
        drop(self.orders.take());
        let since = Instant::now();
        while matches!(self.program.try_wait(), Ok(None)) && since.elapsed() < PATIENCE {
            thread::sleep(PAUSE);
        }
        let _ = self.program.kill().and_then(|()| self.program.wait());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.end();
    }
}
