//! The line from a shard to its coordinator: messages, their order, and answers to those that are no messages.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::bytes::Malformed;
use super::part::PoolPart;
use super::rows::RowAnswers;
use super::wire::{Answer, Command, Question, Request};
use crate::shard::KeyForm;

/// Steps of a selection that have arrived.
pub(super) struct Steps {
    pub session: u64,
    pub at: usize,
    pub commands: Vec<Command>,
}

/// The line to the coordinator, which answers questions about the rows alone by itself.
pub(super) struct Line<'a, R, S> {
    receive: R,
    reply: S,
    pub part: PoolPart<'a>,
    /// The number of the running selection and its rule's key.
    pub running: Option<(u64, Option<KeyForm>)>,
    pub rows: RowAnswers,
}

/// Says that bytes are no message.
pub(super) fn refusal(Malformed(why): Malformed) -> String {
    format!("a message between machines cannot be read: {why}")
}

impl<'a, R: FnMut() -> Option<Vec<u8>>, S: FnMut(Vec<u8>)> Line<'a, R, S> {
    pub fn new(part: PoolPart<'a>, receive: R, reply: S) -> Self {
        Self { receive, reply, part, running: None, rows: RowAnswers::default() }
    }

    /// Sends an answer, and returns the next steps.
    pub fn exchange(&mut self, answer: &Answer) -> Option<Steps> {
        (self.reply)(answer.to_bytes());
        self.next()
    }

    /// Returns the next steps.
    pub fn next(&mut self) -> Option<Steps> {
        loop {
            let message = (self.receive)()?;
            let answer = match Request::read(&message, self.part.rows.dim(), self.running) {
                Ok(Request::Steps { session, at, commands }) => return Some(Steps { session, at, commands }),
                Ok(Request::Plain(question)) => self.answer(question),
                Err(error) => Answer::Failed(refusal(error)),
            };
            (self.reply)(answer.to_bytes());
        }
    }

    fn answer(&mut self, question: Question) -> Answer {
        let answer = catch_unwind(AssertUnwindSafe(|| self.rows.answer(self.part, question)));
        checked(self.part, answer.unwrap_or_else(|_| broken()))
    }
}

/// The answer to a message whose numbers fit no selection.
pub(super) fn broken() -> Answer {
    Answer::Failed(refusal(Malformed("its numbers belong to no selection")))
}

/// Returns an answer, unless a read has failed: the answer would then be based on zeros.
pub(super) fn checked(part: PoolPart<'_>, answer: Answer) -> Answer {
    let views = [Some(part.rows), part.probabilities];
    match views.into_iter().flatten().find_map(|view| view.check_read().err()) {
        Some(error) => Answer::Failed(error.to_string()),
        None => answer,
    }
}

/// Does the steps of one selection as they arrive, in their order and each once. Returns the steps that begin another one.
pub(super) fn run_steps(
    line: &mut Line<'_, impl FnMut() -> Option<Vec<u8>>, impl FnMut(Vec<u8>)>,
    session: u64,
    commands: Vec<Command>,
    mut answer: impl FnMut(Command) -> Option<Answer>,
) -> Option<Steps> {
    // The setup was the first step.
    let (mut done, mut commands) = (1, commands);
    loop {
        let mut last = Answer::Done;
        for command in commands {
            let found = catch_unwind(AssertUnwindSafe(|| answer(command))).unwrap_or(None);
            let Some(found) = found else { return line.exchange(&broken()) };
            last = found;
            done += 1;
        }
        let last = checked(line.part, last);
        let mut steps = line.exchange(&last)?;
        // The same steps arrive again if their answer was lost.
        let is_repeated = |steps: &Steps| steps.at > 0 && steps.at < done && steps.at + steps.commands.len() == done;
        while steps.session == session && is_repeated(&steps) {
            steps = line.exchange(&last)?;
        }
        if steps.session != session || steps.at != done {
            return Some(steps);
        }
        commands = steps.commands;
    }
}
