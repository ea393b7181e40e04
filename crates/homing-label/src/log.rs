//! Keeps the events of a run in an append-only file. Each event is on the disk before its request is answered.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use homing_pool::{disk, refuse_foreign};
use serde::{Deserialize, Serialize};

use crate::{Error, Refusal, Result};

/// Name of the file of events in a run's folder.
pub const EVENTS: &str = "events.jsonl";

/// What an annotator did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The annotator gave examples a label.
    Label {
        /// Ids of the examples.
        ids: Vec<String>,
        /// Name of the class.
        label: String,
    },
    /// The annotator skipped examples. Nothing is learned from them.
    Skip {
        /// Ids of the examples.
        ids: Vec<String>,
    },
    /// The annotator said that examples do not belong to the task. This is information about the task.
    Exclude {
        /// Ids of the examples.
        ids: Vec<String>,
    },
    /// The annotator could not tell the class of examples.
    Unsure {
        /// Ids of the examples.
        ids: Vec<String>,
    },
    /// The annotator undid an earlier event.
    Undo {
        /// Number of that event.
        of: u64,
    },
    /// The annotator restored an event that had been undone.
    Redo {
        /// Number of that event.
        of: u64,
    },
    /// The annotator added a class.
    Class {
        /// Its name.
        name: String,
    },
}

/// One line of the file of events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Number of the event, counted from 1.
    pub seq: u64,
    /// Time in milliseconds since 1970.
    pub at: u64,
    /// Name of the person.
    pub annotator: String,
    /// Information about the targets that the label was expected to add when the example was chosen, in nats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub information: Option<f64>,
    /// What the person did.
    #[serde(flatten)]
    pub event: Event,
}

/// Returns the time in milliseconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

/// Returns the records in the bytes of an event file, and how many bytes their lines take. A last line without a line break
/// was never answered, because a process ended while it was written; it does not count.
fn parse(path: &Path, bytes: &[u8]) -> Result<(Vec<Record>, usize)> {
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let mut records: Vec<Record> = Vec::new();
    for line in bytes[..whole].split_inclusive(|&byte| byte == b'\n') {
        let number = records.len() as u64 + 1;
        let broken = |reason: String| Error::BrokenLog { path: path.to_owned(), line: number, reason };
        let record: Record = serde_json::from_slice(line).map_err(|error| broken(error.to_string()))?;
        if record.seq != number {
            return Err(broken(format!("its number is {}, not {number}", record.seq)));
        }
        records.push(record);
    }
    Ok((records, whole))
}

/// Reads the events of the run in a folder, which another process may have open.
pub fn read_events(run: &Path) -> Result<Vec<Record>> {
    let path = run.join(EVENTS);
    if !path.is_file() {
        return Err(Error::NotARun { run: run.to_owned() });
    }
    let bytes = std::fs::read(&path).map_err(Error::io(&path, "read"))?;
    Ok(parse(&path, &bytes)?.0)
}

/// An event that is to be written to the disk.
struct Pending {
    line: Vec<u8>,
    done: Box<dyn FnOnce(Result<(), Refusal>) + Send>,
}

/// The open file of events, which this process alone may write.
#[derive(Debug)]
pub(crate) struct EventLog {
    path: PathBuf,
    sender: Option<Sender<Pending>>,
    writer: Option<thread::JoinHandle<()>>,
}

impl EventLog {
    /// Opens the file, creates it if it is missing, locks it, and returns its records. Half a line at its end is cut off.
    pub fn open(run: &Path) -> Result<(Self, Vec<Record>)> {
        let path = run.join(EVENTS);
        refuse_foreign(&path)?;
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(Error::io(&path, "opened"))?;
        // A file system without locks cannot exclude other processes.
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(Error::Locked { run: run.to_owned() });
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(Error::io(&path, "read"))?;
        let (records, whole) = parse(&path, &bytes)?;
        if whole < bytes.len() {
            disk::set_len(&file, whole as u64).map_err(Error::io(&path, "shortened"))?;
        }
        file.seek(SeekFrom::End(0)).map_err(Error::io(&path, "read"))?;
        disk::sync(&file).map_err(Error::io(&path, "written"))?;
        // The name of a new file must be on the disk as well.
        if let Ok(folder) = File::open(run) {
            let _ = folder.sync_all();
        }
        let (sender, receiver) = channel();
        let writer = thread::Builder::new()
            .name("homing events".into())
            .spawn(move || write_all(&file, &receiver))
            .map_err(Error::io(&path, "written"))?;
        Ok((Self { path, sender: Some(sender), writer: Some(writer) }, records))
    }

    /// Hands a record to the writer, which calls `done` once it is on the disk. Records are written in the order of the
    /// calls.
    pub fn append(&self, record: &Record, done: impl FnOnce(Result<(), Refusal>) + Send + 'static) {
        let mut line = serde_json::to_vec(record).expect("a record consists of texts and numbers");
        line.push(b'\n');
        self.send(Pending { line, done: Box::new(done) });
    }

    /// Calls `done` once everything that was appended before is on the disk.
    pub fn wait(&self, done: impl FnOnce(Result<(), Refusal>) + Send + 'static) {
        self.send(Pending { line: Vec::new(), done: Box::new(done) });
    }

    fn send(&self, pending: Pending) {
        let sent = self.sender.as_ref().map(|sender| sender.send(pending));
        if let Some(Err(unsent)) = sent {
            let reason = format!("{} is closed", self.path.display());
            (unsent.0.done)(Err(Refusal::NotWritten { reason }));
        }
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        drop(self.sender.take());
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// Writes records until the log is dropped. All records that wait are written together and synced once.
fn write_all(file: &File, receiver: &Receiver<Pending>) {
    let mut failure: Option<Refusal> = None;
    while let Ok(first) = receiver.recv() {
        let mut waiting = vec![first];
        waiting.extend(receiver.try_iter());
        if failure.is_none() {
            let lines = waiting.iter().map(|pending| &pending.line[..]).collect::<Vec<_>>().concat();
            let written = disk::write_all(file, &lines).and_then(|()| disk::sync(file));
            // It is not known how much of the event is on the disk, so nothing may be written after it.
            failure = written.err().map(|error| Refusal::NotWritten { reason: error.to_string() });
        }
        for pending in waiting {
            (pending.done)(failure.clone().map_or(Ok(()), Err));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(seq: u64) -> Record {
        let event = Event::Label { ids: vec![format!("row {seq}")], label: "a".into() };
        Record { seq, at: 7, annotator: "ada".into(), information: None, event }
    }

    fn append(log: &EventLog, record: &Record) -> Result<(), Refusal> {
        let (sender, receiver) = channel();
        log.append(record, move |result| sender.send(result).unwrap());
        receiver.recv().unwrap()
    }

    #[test]
    fn what_was_appended_is_read_again() {
        let run = tempfile::tempdir().unwrap();
        let (log, records) = EventLog::open(run.path()).unwrap();
        assert!(records.is_empty());
        append(&log, &record(1)).unwrap();
        append(&log, &Record { seq: 2, event: Event::Undo { of: 1 }, ..record(1) }).unwrap();
        drop(log);
        let (_, records) = EventLog::open(run.path()).unwrap();
        assert_eq!(records[0], record(1));
        assert_eq!(records[1].event, Event::Undo { of: 1 });
        assert_eq!(read_events(run.path()).unwrap(), records);
    }

    #[test]
    fn half_a_line_at_the_end_is_cut_off_and_the_next_event_follows() {
        let run = tempfile::tempdir().unwrap();
        let (log, _) = EventLog::open(run.path()).unwrap();
        append(&log, &record(1)).unwrap();
        drop(log);
        let path = run.path().join(EVENTS);
        let whole = std::fs::read(&path).unwrap();
        for cut in 1..whole.len() {
            let torn = [&whole[..], &whole[..cut]].concat();
            std::fs::write(&path, &torn[..torn.len().min(whole.len() + cut.min(whole.len() - 1))]).unwrap();
            let (log, records) = EventLog::open(run.path()).unwrap();
            assert_eq!(records, [record(1)]);
            drop(log);
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
    }

    #[test]
    fn a_broken_line_in_the_middle_is_refused_by_its_number() {
        let run = tempfile::tempdir().unwrap();
        let line = |seq| serde_json::to_string(&record(seq)).unwrap();
        for (text, expected) in [
            (format!("{}\nnonsense\n{}\n", line(1), line(2)), "line 2"),
            (format!("{}\n{}\n", line(1), line(3)), "its number is 3, not 2"),
        ] {
            std::fs::write(run.path().join(EVENTS), text).unwrap();
            let message = EventLog::open(run.path()).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn a_second_process_is_refused() {
        let run = tempfile::tempdir().unwrap();
        let _log = EventLog::open(run.path()).unwrap();
        let message = EventLog::open(run.path()).unwrap_err().to_string();
        assert!(message.contains("another process"), "{message}");
    }
}
