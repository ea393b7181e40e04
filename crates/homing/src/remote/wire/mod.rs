//! Messages between a coordinator and its shards, as bytes.
//!
//! A message starts with four letters and the version of the format. Numbers are little-endian, and lengths take seven bits
//! per byte. What is read back has the shapes that a shard relies on: a message that lacks them is refused as a whole.

mod answer;
mod command;
mod numbers;
mod question;

use super::bytes::{Malformed, Read, Reader, Writer};
use crate::shard::KeyForm;
use numbers::Shape;

pub(super) use answer::{Answer, PartSurvey};
pub(super) use command::{
    Command, OwnedOpening, OwnedPass, OwnedSetup, best_command, keep_command, observe_command, open_command,
    rank_command, rewind_command, setup_command, start_command, top_command, try_command, verify_command,
};
pub(super) use question::{Column, Question};

const LETTERS: &[u8; 4] = b"HOMS";

/// Version of the format. Coordinator and shards must have the same.
const VERSION: u8 = 2;

const UNKNOWN: Malformed = Malformed("it holds an unknown question");

/// A message to a shard.
#[derive(Debug)]
pub(super) enum Request {
    /// A question about the rows alone.
    Plain(Question),
    /// Steps of a selection, of which the first has the number `at`.
    Steps { session: u64, at: usize, commands: Vec<Command> },
}

fn header(kind: u8) -> Writer {
    let mut writer = Writer(LETTERS.to_vec());
    writer.u8(VERSION);
    writer.u8(kind);
    writer
}

/// Checks the start of a message, and returns its kind.
fn opened(bytes: &[u8]) -> Read<(u8, Reader<'_>)> {
    let mut reader = Reader(bytes);
    if reader.take(LETTERS.len())? != LETTERS {
        return Err(Malformed("it does not start as one"));
    }
    if reader.u8()? != VERSION {
        return Err(Malformed("it has another version; install the same version of Homing on all machines"));
    }
    Ok((reader.u8()?, reader))
}

/// Returns a message with steps, of which the first has the number `at`.
pub(super) fn steps_message(session: u64, at: usize, commands: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = header(1);
    writer.u64(session);
    writer.whole(at);
    writer.whole(commands.len());
    for command in commands {
        writer.whole(command.len());
        writer.0.extend(command);
    }
    writer.0
}

impl Request {
    /// Reads a message to a shard of rows of `dim` numbers, given the number of the running selection and its rule's key.
    /// Later steps of another selection cannot be read and are left out.
    pub fn read(bytes: &[u8], dim: usize, running: Option<(u64, Option<KeyForm>)>) -> Read<Self> {
        let (kind, mut reader) = opened(bytes)?;
        let request = match kind {
            0 => Request::Plain(Question::read(&mut reader, dim)?),
            1 => {
                let (session, at) = (reader.u64()?, reader.whole()?);
                let form = match running {
                    Some((number, form)) if number == session => form,
                    _ if at > 0 => return Ok(Request::Steps { session, at, commands: Vec::new() }),
                    _ => None,
                };
                let mut shape = Shape { dim, form };
                let commands = reader.list(2, |reader| {
                    let len = reader.length(1)?;
                    let mut inner = Reader(reader.take(len)?);
                    let command = Command::read(&mut inner, &mut shape)?;
                    inner.end().map(|()| command)
                })?;
                if commands.is_empty() {
                    return Err(Malformed("it holds no step"));
                }
                Request::Steps { session, at, commands }
            }
            _ => return Err(UNKNOWN),
        };
        reader.end().map(|()| request)
    }
}
