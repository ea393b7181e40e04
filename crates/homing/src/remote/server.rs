//! A shard's side: rows of this process that answer the questions of a coordinator elsewhere.

use super::bytes::Malformed;
use super::drafting::run_drafting;
use super::line::{Line, Steps, refusal};
use super::part::PoolPart;
use super::part_scoring::score_part;
use super::wire::{Answer, Command};

/// Answers the messages of a [`RemotePool`](super::RemotePool) until `receive` returns none.
///
/// A message that is malformed, of another version or out of order is answered by a sentence that says so. What a shard
/// knows of a selection is lost when this function ends; the coordinator then repeats the steps so far.
///
/// ```
/// use homing::Embeddings;
/// use homing::remote::{PoolPart, serve};
///
/// let values = [1.0f32, 0.0, 0.9, 0.1];
/// let part = PoolPart { rows: Embeddings::new(&values, 2)?, probabilities: None, first: 0 };
/// let (mut messages, mut answers) = (vec![b"no message".to_vec()], Vec::new());
/// serve(part, || messages.pop(), |answer| answers.push(answer));
/// assert_eq!(answers.len(), 1); // it says that this is no message
/// # Ok::<(), homing::Error>(())
/// ```
pub fn serve(part: PoolPart<'_>, receive: impl FnMut() -> Option<Vec<u8>>, reply: impl FnMut(Vec<u8>)) {
    let mut line = Line::new(part, receive, reply);
    let mut next = line.next();
    while let Some(request) = next {
        next = match begun(request) {
            Ok(Begun { session, first: Command::Setup(setup), rest }) => {
                line.running = Some((session, Some(setup.form)));
                run_drafting(&mut line, session, &setup, rest)
            }
            Ok(Begun { session, first: Command::Open(opening), rest }) => {
                line.running = Some((session, None));
                score_part(&mut line, session, &opening, rest)
            }
            Ok(_) | Err(Some(_)) => line.exchange(&Answer::Behind),
            Err(None) => line.exchange(&Answer::Failed(refusal(Malformed("a selection starts without its setup")))),
        };
    }
}

/// A selection that begins.
struct Begun {
    session: u64,
    first: Command,
    rest: Vec<Command>,
}

/// Returns the selection that a request begins; otherwise the number of its first step, none if that is zero.
fn begun(request: Steps) -> Result<Begun, Option<usize>> {
    let Steps { session, at, commands } = request;
    if at > 0 {
        return Err(Some(at));
    }
    let mut commands = commands.into_iter();
    match commands.next() {
        Some(first @ (Command::Setup(_) | Command::Open(_))) => Ok(Begun { session, first, rest: commands.collect() }),
        _ => Err(None),
    }
}
