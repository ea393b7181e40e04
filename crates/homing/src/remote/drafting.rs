//! Selections with many picks per pass, on a shard of threads.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::line::{Line, Steps, broken, run_steps};
use super::part::PoolPart;
use super::wire::{Answer, Command, OwnedPass, OwnedSetup};
use crate::engine::speculative::thread_shard;
use crate::shard::{CHECKPOINTS, Pass, Projection, Ranking, SecondStart, Shard, Start, Trial};

/// Runs a selection with many picks per pass. Returns the steps that begin another one.
pub(super) fn run_drafting(
    line: &mut Line<'_, impl FnMut() -> Option<Vec<u8>>, impl FnMut(Vec<u8>)>,
    session: u64,
    setup: &OwnedSetup,
    commands: Vec<Command>,
) -> Option<Steps> {
    let part = line.part;
    let view = part.view(setup.offset.as_deref(), setup.to_unit);
    let norms = line.rows.norms(setup.offset.as_deref(), setup.to_unit);
    let shard = || thread_shard(view, setup.form, setup.noise_var, setup.is_double, norms);
    let made = catch_unwind(AssertUnwindSafe(shard));
    let Ok(shard) = made else { return line.exchange(&broken()) };
    let mut selection = Drafting { part, shard, written: None, tried: None, has_started: false };
    run_steps(line, session, commands, |command| selection.answer(command))
}

/// A selection with many picks per pass.
struct Drafting<'a> {
    part: PoolPart<'a>,
    shard: Box<dyn Shard + 'a>,
    /// The checkpoints that the last pass has written.
    written: Option<[usize; CHECKPOINTS + 1]>,
    /// Number of steps of the last trial, once warm rows are chosen.
    tried: Option<usize>,
    has_started: bool,
}

impl Drafting<'_> {
    /// Does a step; `None` if it does not fit the steps before.
    fn answer(&mut self, command: Command) -> Option<Answer> {
        let first = self.part.first;
        if !self.has_started && !matches!(command, Command::Start { .. }) {
            return None;
        }
        Some(match command {
            Command::Start { data, second, closed } => {
                self.start(&data, &second, &closed);
                Answer::Done
            }
            Command::Verify(pass) => self.verify(&pass),
            Command::Keep(checkpoint) => {
                self.is_written(checkpoint).then(|| self.shard.keep(checkpoint))?;
                Answer::Done
            }
            Command::Rank { lists, pending, after, count, taken } => {
                if lists.iter().any(|&(checkpoint, _)| checkpoint > 0 && !self.is_written(checkpoint)) {
                    return None;
                }
                let taken = self.part.own(&taken);
                let after = after.as_deref();
                let ranking = Ranking { lists: &lists, pending: &pending, after, count, taken: &taken };
                let mut ranked = self.shard.rank(&ranking);
                ranked.iter_mut().for_each(|one| one.row += first);
                self.tried = Some(0);
                Answer::Ranked(ranked)
            }
            Command::Try { steps, after, excluded } => {
                self.tried?;
                let excluded = self.part.own(&excluded);
                let trial = Trial { steps: &steps, after: after.as_deref(), excluded: &excluded };
                let mut rivals = self.shard.try_steps(&trial);
                rivals.iter_mut().for_each(|rival| rival.row += first);
                self.tried = Some(steps.len());
                Answer::Rivals(rivals)
            }
            Command::Rewind(at) => {
                (at < self.tried?).then(|| self.shard.rewind(at))?;
                self.tried = Some(0);
                Answer::Done
            }
            _ => return None,
        })
    }

    /// Returns whether the last pass has written a checkpoint. Of equal ones, it writes the first.
    fn is_written(&self, checkpoint: usize) -> bool {
        self.written.is_some_and(|written| {
            let at = written.get(checkpoint);
            at.is_some() && written.iter().position(|one| Some(one) == at) == Some(checkpoint)
        })
    }

    fn start(&mut self, data: &Projection, second: &SecondStart, closed: &[usize]) {
        let mut open = vec![true; self.part.rows.rows()];
        self.part.own(closed).into_iter().for_each(|row| open[row] = false);
        self.shard.start(&Start { data, second, open: &open });
        (self.has_started, self.written, self.tried) = (true, None, None);
    }

    fn verify(&mut self, pass: &OwnedPass) -> Answer {
        let range = self.part.range();
        let own = pass.excluded.iter().filter(|(row, _)| range.contains(row));
        let excluded: Vec<(usize, usize)> = own.map(|&(row, until)| (row - range.start, until)).collect();
        let steps: Vec<_> = pass.steps.iter().collect();
        let mut found = self.shard.verify(&Pass {
            steps: &steps,
            made: pass.made,
            after: pass.after.as_deref(),
            root: pass.root.as_ref(),
            decisions: &pass.decisions,
            checkpoints: pass.checkpoints,
            excluded: &excluded,
        });
        found.rows.iter_mut().for_each(|(_, row)| *row += range.start);
        self.written = Some(pass.checkpoints);
        Answer::Challengers(found)
    }
}
