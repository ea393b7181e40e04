//! All shards of a pool elsewhere as one: every question goes to all of them at once, and their answers are merged.

use super::connection::{Connection, Transport};
use super::wire::{
    Answer, best_command, keep_command, observe_command, open_command, rank_command, rewind_command, setup_command,
    start_command, steps_message, top_command, try_command, verify_command,
};
use crate::engine::speculative::thread_precision;
use crate::shard::{
    CHALLENGERS, Challengers, KeyForm, Opening, Pass, Precision, Ranked, Ranking, Rival, Scored, Scoring, Shard,
    ShardSetup, Start, Trial,
};

/// How often the steps so far are repeated for a shard that was started anew, before one question counts as failed.
const MOST_REPEATS: usize = 100;

/// A selection that all shards take part in, with all of its steps.
struct Session<'p, T> {
    connection: &'p Connection<T>,
    number: u64,
    log: Vec<Vec<u8>>,
    /// Number of steps that were sent.
    sent: usize,
}

impl<'p, T: Transport> Session<'p, T> {
    fn new(connection: &'p Connection<T>, first: Vec<u8>) -> Self {
        Self { connection, number: Connection::<T>::next_session(), log: vec![first], sent: 0 }
    }

    /// Adds a step without an answer, which is sent with the next one.
    fn tell(&mut self, command: Vec<u8>) {
        self.log.push(command);
    }

    /// Adds a step, and returns the answers of all shards; none if one of them failed. A shard that was started anew does all
    /// steps so far.
    fn ask(&mut self, command: Vec<u8>) -> Vec<Answer> {
        self.tell(command);
        let message = steps_message(self.number, self.sent, &self.log[self.sent..]);
        self.sent = self.log.len();
        let mut answers = self.connection.ask_all(&message);
        for _ in 0..MOST_REPEATS {
            let is_behind = |answer: &Answer| matches!(answer, Answer::Behind);
            let behind: Vec<usize> = (0..answers.len()).filter(|&i| is_behind(&answers[i])).collect();
            if behind.is_empty() {
                return answers;
            }
            let shards: Vec<usize> = behind.iter().map(|&i| self.connection.asked()[i]).collect();
            let repeated = self.connection.ask(&shards, &steps_message(self.number, 0, &self.log));
            if repeated.len() < behind.len() {
                return Vec::new();
            }
            behind.into_iter().zip(repeated).for_each(|(i, answer)| answers[i] = answer);
        }
        self.connection
            .fail("a shard was started anew too often while it answered one question; look into its log".into());
        Vec::new()
    }

    /// Adds a step, and returns what `take` finds in the answers. An answer of another kind fails the pool.
    fn ask_for<A>(&mut self, command: Vec<u8>, take: impl Fn(Answer) -> Option<A>) -> Vec<A> {
        let answers = self.ask(command);
        let found: Option<Vec<A>> = answers.into_iter().map(take).collect();
        found.unwrap_or_else(|| {
            self.connection.fail_by_kind();
            Vec::new()
        })
    }
}

/// All rows, for selections with many picks per pass.
pub(super) struct RemoteShards<'p, T> {
    session: Session<'p, T>,
    precision: Precision,
}

/// Number of challengers above which passes in f64 cost less than sending the rows.
const MOST_CHALLENGERS: usize = CHALLENGERS / 4;

impl<'p, T: Transport> RemoteShards<'p, T> {
    pub fn new(connection: &'p Connection<T>, dim: usize, setup: &ShardSetup<'_>, form: KeyForm) -> Self {
        let precision = thread_precision(dim, setup);
        let precision = Precision { challengers: MOST_CHALLENGERS, ..precision };
        Self { session: Session::new(connection, setup_command(setup, form)), precision }
    }
}

impl<T: Transport> Shard for RemoteShards<'_, T> {
    fn rows(&self) -> usize {
        self.session.connection.rows()
    }

    fn precision(&self) -> Precision {
        self.precision
    }

    fn start(&mut self, start: &Start<'_>) {
        self.session.tell(start_command(start));
    }

    fn verify(&mut self, pass: &Pass<'_>) -> Challengers {
        let answers = self.session.ask_for(verify_command(pass), |answer| match answer {
            Answer::Challengers(found) => Some(found),
            _ => None,
        });
        let complete = answers.iter().map(|answer| answer.complete).min().unwrap_or(0);
        let rows = answers.into_iter().flat_map(|answer| answer.rows);
        let rows = rows.filter(|&(t, row)| t < pass.decisions.len() && row < self.rows()).collect();
        Challengers { rows, complete: complete.min(pass.decisions.len()) }
    }

    fn keep(&mut self, checkpoint: usize) {
        self.session.tell(keep_command(checkpoint));
    }

    fn rank(&mut self, ranking: &Ranking<'_>) -> Vec<Ranked> {
        let shards = self.session.connection.asked().len();
        let lists: Vec<(usize, usize)> =
            ranking.lists.iter().map(|&(checkpoint, count)| (checkpoint, share(count, shards))).collect();
        let ranking = Ranking { lists: &lists, ..*ranking };
        let answers = self.session.ask_for(rank_command(&ranking), |answer| match answer {
            Answer::Ranked(ranked) => Some(ranked),
            _ => None,
        });
        let mut ranked = answers.concat();
        ranked.retain(|one| one.row < self.rows());
        ranked.sort_unstable_by(Ranked::order);
        ranked.truncate(ranking.count);
        ranked
    }

    fn try_steps(&mut self, trial: &Trial<'_>) -> Vec<Rival> {
        let answers = self.session.ask_for(try_command(trial), |answer| match answer {
            Answer::Rivals(rivals) => Some(rivals),
            _ => None,
        });
        let mut rivals = answers.concat();
        rivals.retain(|rival| rival.at < trial.steps.len() && rival.row < self.rows());
        rivals
    }

    fn rewind(&mut self, at: usize) {
        self.session.tell(rewind_command(at));
    }
}

/// Returns how many warm rows each of several shards chooses: more than its part, because the best rows are not spread evenly.
fn share(count: usize, shards: usize) -> usize {
    (5 * count).div_ceil(4 * shards.max(1)).min(count)
}

/// All rows, for selections with one pass per pick.
pub(super) struct RemoteScoring<'p, T> {
    session: Session<'p, T>,
}

impl<'p, T: Transport> RemoteScoring<'p, T> {
    pub fn new(connection: &'p Connection<T>, opening: &Opening<'_>) -> Self {
        Self { session: Session::new(connection, open_command(opening)) }
    }

    fn scored(&mut self, command: Vec<u8>) -> Vec<Scored> {
        let answers = self.session.ask_for(command, |answer| match answer {
            Answer::Scored(scored) => Some(scored),
            _ => None,
        });
        let mut scored = answers.concat();
        scored.retain(|one| one.row < self.session.connection.rows());
        scored
    }
}

impl<T: Transport> Scoring for RemoteScoring<'_, T> {
    fn best(&mut self, picks: u64) -> Vec<Scored> {
        self.scored(best_command(picks))
    }

    fn top(&mut self, count: usize, picks: u64) -> Vec<Scored> {
        self.scored(top_command(count, picks))
    }

    fn observe(&mut self, row: usize, point: &[f64]) {
        self.session.tell(observe_command(row, point));
    }
}
