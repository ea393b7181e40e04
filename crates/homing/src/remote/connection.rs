//! The shards of a pool as a coordinator reaches them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::wire::Answer;

/// Carries messages to the processes that hold the shards.
pub trait Transport: Send + Sync {
    /// Sends the same message to some shards at once, and returns their answers in the same order.
    ///
    /// A process that was lost may be replaced by another one with the same rows, and the message sent again. An error is one
    /// sentence that includes the remedy; it ends the selection.
    fn ask(&self, shards: &[usize], message: &[u8]) -> Result<Vec<Vec<u8>>, String>;
}

/// The shards of a pool.
pub(super) struct Connection<T> {
    transport: T,
    /// The end of each shard's rows.
    ends: Vec<usize>,
    /// The shards that have rows.
    asked: Vec<usize>,
    failure: OnceLock<String>,
}

impl<T: Transport> Connection<T> {
    /// Connects shards with rows up to these ends.
    pub fn new(transport: T, ends: Vec<usize>) -> Self {
        let start = |shard: usize| if shard == 0 { 0 } else { ends[shard - 1] };
        let asked = (0..ends.len()).filter(|&shard| ends[shard] > start(shard)).collect();
        Self { transport, ends, asked, failure: OnceLock::new() }
    }

    /// Returns the first row of a shard.
    pub fn first(&self, shard: usize) -> usize {
        if shard == 0 { 0 } else { self.ends[shard - 1] }
    }

    /// Returns why the shards failed, if they did.
    pub fn failure(&self) -> Option<&String> {
        self.failure.get()
    }

    pub fn rows(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Returns the shards that have rows.
    pub fn asked(&self) -> &[usize] {
        &self.asked
    }

    /// Returns a number that no other selection of this process has, whatever pool it is from.
    pub fn next_session() -> u64 {
        static SESSIONS: AtomicU64 = AtomicU64::new(0);
        SESSIONS.fetch_add(1, Ordering::Relaxed)
    }

    pub fn fail(&self, reason: String) {
        self.failure.get_or_init(|| reason);
    }

    pub fn fail_by_kind(&self) {
        self.fail("a machine has answered another question; install the same version of Homing on all machines".into());
    }

    pub fn ask_all(&self, message: &[u8]) -> Vec<Answer> {
        self.ask(&self.asked, message)
    }

    /// Asks some shards, and returns their answers; none if one of them failed.
    pub fn ask(&self, shards: &[usize], message: &[u8]) -> Vec<Answer> {
        if self.failure.get().is_some() || shards.is_empty() {
            return Vec::new();
        }
        match self.transport.ask(shards, message) {
            Ok(answers) if answers.len() == shards.len() => {
                let mut read = Vec::with_capacity(answers.len());
                for bytes in &answers {
                    match Answer::read(bytes) {
                        Ok(Answer::Failed(reason)) => self.fail(reason),
                        Ok(answer) => read.push(answer),
                        Err(why) => self.fail(format!("an answer of a machine cannot be read: {}", why.0)),
                    }
                }
                if self.failure.get().is_some() { Vec::new() } else { read }
            }
            Ok(_) => {
                self.fail_by_kind();
                Vec::new()
            }
            Err(reason) => {
                self.fail(reason);
                Vec::new()
            }
        }
    }

    pub fn shard_of(&self, row: usize) -> usize {
        self.ends.partition_point(|&end| end <= row)
    }
}
