//! A labelling run: it takes answers, keeps them on the disk, and chooses the next examples.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use homing::Strategy;

use crate::board::{Answer, Board};
use crate::data::LabelData;
use crate::folder::{RunFile, open_folder};
use crate::head::Head;
use crate::log::{EVENTS, Event, EventLog, Record, now};
use crate::map::Map;
use crate::planner::{CHAIN, Chain, Conditions, PlannedPick, Planner, Progress};
use crate::trainer::{CurvePoint, Trainer};
use crate::{Refusal, Result};

/// Time for which an example is offered to one annotator only.
const LEASE: Duration = Duration::from_mins(5);

/// Number of picks that are kept ready in addition to those that annotators see.
const AHEAD: usize = CHAIN / 2;

/// Largest number of picks that are chosen at a time, for many people who answer fast.
const LONGEST_CHAIN: usize = 1024;

/// Longest name of a class or an annotator, in characters.
const LONGEST_NAME: usize = 100;

/// Result of an answer that is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Number of the event.
    pub seq: u64,
    /// Whether the same answer was saved before, so that nothing was added.
    pub is_repeated: bool,
}

/// A labelling run that is open in this process.
pub struct Session {
    shared: Arc<Shared>,
    workers: Vec<thread::JoinHandle<()>>,
    added_classes: Vec<String>,
}

type Listener = Box<dyn Fn(u64) + Send + Sync>;

pub(crate) struct Shared {
    pub run: PathBuf,
    pub data: LabelData,
    log: EventLog,
    state: Mutex<State>,
    changed: Condvar,
    map: OnceLock<Result<Map, String>>,
    listeners: Mutex<Vec<Listener>>,
}

/// The state that changes with every answer.
pub(crate) struct State {
    pub board: Board,
    pub chain: Chain,
    /// Rows about which somebody decided what the chain does not allow, so that it must be chosen anew.
    misfits: HashSet<usize>,
    pub progress: Progress,
    pub head: Option<Arc<Head>>,
    pub curve: Vec<CurvePoint>,
    leases: HashMap<usize, (String, Instant)>,
    /// Counts the changes that a person can see.
    pub version: u64,
    /// Counts the events.
    events: u64,
    /// The reason, if picks can no longer be chosen.
    pub failure: Option<String>,
    is_closing: bool,
}

impl State {
    pub fn conditions(&self) -> Conditions {
        Conditions { observed: self.board.observed(), aside: self.board.set_aside() }
    }

    /// Returns the picks of the chain that nobody has answered.
    pub fn open_picks(&self) -> impl Iterator<Item = &PlannedPick> {
        self.chain.picks.iter().filter(|pick| !self.board.decisions().contains_key(&pick.row))
    }

    fn leased_to_others(&self, row: usize, annotator: &str) -> bool {
        self.leases.get(&row).is_some_and(|(to, since)| to != annotator && since.elapsed() < LEASE)
    }

    /// Applies an event that was checked.
    fn apply(&mut self, record: Record, rows: Vec<usize>) {
        let changed = self.board.apply(record, rows).expect("the event was checked");
        for row in changed {
            if self.chain.allows(row, self.board.decisions().get(&row)) {
                self.misfits.remove(&row);
            } else {
                self.misfits.insert(row);
            }
        }
        self.events += 1;
    }

    /// Whether the rest of the chain is what would be chosen now.
    fn chain_holds(&self) -> bool {
        self.misfits.is_empty() && (!self.chain.picks.is_empty() || self.chain.is_complete)
    }

    /// Number of picks that should wait behind those on somebody's screen. Several people empty the chain faster.
    fn ahead(&self) -> usize {
        AHEAD.max(self.leases.len())
    }

    /// Returns the number of picks that nobody has answered and nobody sees.
    fn free_picks(&self) -> usize {
        self.open_picks().filter(|pick| !self.leases.contains_key(&pick.row)).count()
    }

    fn needs_more(&self) -> bool {
        !self.chain.is_complete && self.free_picks() < self.ahead()
    }

    /// Returns the picks of the chain that a longer chain begins with: those that nobody has answered, and the latest answered
    /// ones, which an undo may open again.
    fn kept_picks(&self) -> Vec<PlannedPick> {
        let is_open = |pick: &PlannedPick| !self.board.decisions().contains_key(&pick.row);
        let answered = self.chain.picks.iter().filter(|pick| !is_open(pick)).count();
        let mut forgotten = answered.saturating_sub(CHAIN);
        let is_kept = |pick: &&PlannedPick| {
            let is_forgotten = forgotten > 0 && !is_open(pick);
            forgotten -= usize::from(is_forgotten);
            !is_forgotten
        };
        self.chain.picks.iter().filter(is_kept).cloned().collect()
    }
}

/// Picks to show.
pub struct Next {
    /// The picks, best first.
    pub picks: Vec<PlannedPick>,
    /// Whether they were chosen before the latest answer, because choosing again takes longer than a person should wait.
    pub is_provisional: bool,
}

impl Session {
    /// Opens the run in the folder `run`, or starts it. `classes` are added to those of the run.
    pub fn open(run: &Path, data: LabelData, classes: &[String], strategy: &Strategy) -> Result<Self> {
        let file = RunFile::of(&data, strategy.name())?;
        let classes_file = open_folder(run, &file, classes)?;
        let (log, records) = EventLog::open(run)?;
        let mut board = Board::new(classes_file);
        board.replay(records, |id| data.row_of(id), &run.join(EVENTS))?;
        let missing: Vec<String> = classes.iter().filter(|class| !board.classes().contains(class)).cloned().collect();
        let state = State {
            board,
            chain: Chain::default(),
            misfits: HashSet::new(),
            progress: Progress::default(),
            head: None,
            curve: Vec::new(),
            leases: HashMap::new(),
            version: 0,
            events: 0,
            failure: None,
            is_closing: false,
        };
        let shared = Arc::new(Shared {
            run: run.to_owned(),
            data,
            log,
            state: Mutex::new(state),
            changed: Condvar::new(),
            map: OnceLock::new(),
            listeners: Mutex::new(Vec::new()),
        });
        for name in &missing {
            let added = shared.submit_now("homing", Event::Class { name: name.clone() });
            added.map_err(|refusal| crate::Error::Io {
                path: run.join(EVENTS),
                action: "written",
                source: std::io::Error::other(refusal.to_string()),
            })?;
        }
        let work = |name: &str, work: fn(&Shared, &Strategy)| {
            let (shared, strategy) = (Arc::clone(&shared), strategy.clone());
            let spawned = thread::Builder::new().name(name.into()).spawn(move || work(&shared, &strategy));
            spawned.map_err(crate::Error::io(run, "worked on"))
        };
        let workers = vec![work("homing planner", plan)?, work("homing classifier", train)?];
        Ok(Self { shared, workers, added_classes: missing })
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Returns the classes that opening has added to a run that was there before.
    pub fn added_classes(&self) -> &[String] {
        &self.added_classes
    }

    /// Returns the data of the run.
    pub fn data(&self) -> &LabelData {
        &self.shared.data
    }

    /// Saves an answer. Returns when it is on the disk.
    pub fn submit(&self, annotator: &str, event: Event) -> Result<Saved, Refusal> {
        self.shared.submit_now(annotator, event)
    }

    /// Returns up to `count` examples for an annotator, and keeps them from others for a while.
    pub fn next(&self, annotator: &str, count: usize, patience: Duration) -> Next {
        self.shared.next(annotator, count, patience)
    }

    /// Waits until the picks and the numbers are up to date, or for `patience`.
    pub fn settle(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let mut state = self.shared.lock();
        loop {
            let fresh = state.chain_holds() || state.failure.is_some();
            if fresh && state.progress.observations == state.board.observations() {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.lock().is_closing = true;
        self.shared.changed.notify_all();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `listener` with a growing number after every change.
    pub fn listen(&self, listener: Listener) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    /// Tells the listeners that something has changed.
    fn announce(&self, mut state: MutexGuard<'_, State>) {
        state.version += 1;
        let version = state.version;
        drop(state);
        self.changed.notify_all();
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|listener| listener(version));
    }

    fn submit_now(&self, annotator: &str, event: Event) -> Result<Saved, Refusal> {
        let (sender, receiver) = channel();
        self.submit(annotator, event, move |saved| _ = sender.send(saved));
        receiver.recv().unwrap_or_else(|_| Err(Refusal::NotWritten { reason: "the run is closed".into() }))
    }

    /// Takes an answer, and calls `done` once it is on the disk.
    pub fn submit(&self, annotator: &str, event: Event, done: impl FnOnce(Result<Saved, Refusal>) + Send + 'static) {
        let mut state = self.lock();
        let (event, rows) = match self.checked(&state, annotator, event) {
            Ok(checked) => checked,
            Err(refusal) => return done(Err(refusal)),
        };
        if let Some(seq) = repeated(&state.board, annotator, &event, &rows) {
            // The first answer may still be on its way to the disk.
            self.log.wait(move |result| done(result.map(|()| Saved { seq, is_repeated: true })));
            return;
        }
        let gain = |row: &usize| state.chain.picks.iter().find(|pick| pick.row == *row).map(|pick| pick.gain);
        let is_answer = matches!(event, Event::Label { .. } | Event::Exclude { .. });
        let information = rows.first().filter(|_| is_answer && rows.len() == 1).and_then(gain);
        let seq = state.board.next_seq();
        let record = Record { seq, at: now(), annotator: annotator.to_owned(), information, event };
        for row in &rows {
            state.leases.remove(row);
        }
        state.apply(record.clone(), rows);
        // The order of the lines is that of the numbers, because the lock is held.
        self.log.append(&record, move |result| done(result.map(|()| Saved { seq, is_repeated: false })));
        self.announce(state);
    }

    /// Checks an event, and returns it with its rows.
    fn checked(&self, state: &State, annotator: &str, event: Event) -> Result<(Event, Vec<usize>), Refusal> {
        check_name("name of an annotator", annotator)?;
        let event = match event {
            Event::Undo { .. } => Event::Undo { of: state.board.undoable(annotator)? },
            Event::Redo { .. } => Event::Redo { of: state.board.redoable(annotator)? },
            event => event,
        };
        match &event {
            Event::Label { label, .. } if !state.board.classes().contains(label) => {
                return Err(Refusal::UnknownClass { label: label.clone(), classes: state.board.classes().to_vec() });
            }
            Event::Class { name } => {
                check_name("name of a class", name)?;
                if state.board.classes().contains(name) {
                    return Err(Refusal::BadName { what: "new class", name: name.clone() });
                }
                return Ok((event, Vec::new()));
            }
            Event::Undo { .. } | Event::Redo { .. } => return Ok((event, Vec::new())),
            _ => {}
        }
        let mut rows = Vec::new();
        let mut named = HashSet::new();
        for id in event.ids() {
            let row = self.data.row_of(id).ok_or_else(|| Refusal::UnknownId { id: id.clone() })?;
            if named.insert(row) {
                rows.push(row);
            }
        }
        if rows.is_empty() { Err(Refusal::NoIds) } else { Ok((event, rows)) }
    }

    pub fn next(&self, annotator: &str, count: usize, patience: Duration) -> Next {
        let until = Instant::now() + patience;
        let mut state = self.lock();
        loop {
            let holds = state.misfits.is_empty();
            let free: Vec<PlannedPick> = state
                .open_picks()
                .filter(|pick| !state.leased_to_others(pick.row, annotator))
                .take(count)
                .cloned()
                .collect();
            let is_ready = (holds && (free.len() == count || state.chain.is_complete)) || state.failure.is_some();
            let left = until.saturating_duration_since(Instant::now());
            if is_ready || left.is_zero() {
                let at = Instant::now();
                for pick in &free {
                    state.leases.insert(pick.row, (annotator.to_owned(), at));
                }
                state.leases.retain(|_, (_, since)| since.elapsed() < LEASE);
                // The planner may have to choose further picks.
                self.changed.notify_all();
                return Next { picks: free, is_provisional: !holds };
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns the map of the pool, which is computed at the first call.
    pub fn map(&self) -> Result<&Map, String> {
        let map = self.map.get_or_init(|| Map::of(&self.data).map_err(|error| error.to_string()));
        map.as_ref().map_err(Clone::clone)
    }
}

/// Returns the number of the event that said the same before, if nothing has changed since.
fn repeated(board: &Board, annotator: &str, event: &Event, rows: &[usize]) -> Option<u64> {
    let answer = match event {
        Event::Label { label, .. } => Answer::Label(board.classes().iter().position(|class| class == label)? as u32),
        Event::Skip { .. } => Answer::Skipped,
        Event::Exclude { .. } => Answer::Excluded,
        Event::Unsure { .. } => Answer::Unsure,
        Event::Undo { .. } | Event::Redo { .. } | Event::Class { .. } => return None,
    };
    let before: Option<Vec<(u64, Answer)>> = rows.iter().map(|&row| board.answer_of(row, annotator)).collect();
    let before = before?;
    before.iter().all(|&(_, earlier)| earlier == answer).then(|| before.first().map_or(0, |&(seq, _)| seq))
}

pub(crate) fn check_name(what: &'static str, name: &str) -> Result<(), Refusal> {
    let is_good =
        !name.trim().is_empty() && name.chars().count() <= LONGEST_NAME && !name.chars().any(char::is_control);
    if is_good { Ok(()) } else { Err(Refusal::BadName { what, name: name.chars().take(LONGEST_NAME).collect() }) }
}

/// Returns how many picks to choose next after `length`. If people have used up the chain while it was continued, a longer one
/// costs less per pick. `was_continued` is false if the chain was chosen anew, and `free` are the picks that were left meanwhile.
fn next_length(length: usize, was_continued: bool, free: usize) -> usize {
    match free {
        _ if !was_continued => CHAIN,
        0 => (2 * length).min(LONGEST_CHAIN),
        _ => (length / 2).max(CHAIN),
    }
}

/// Keeps the chain of picks and the numbers about the targets up to date until the run is closed.
fn plan(shared: &Shared, strategy: &Strategy) {
    let mut planner = Planner::new(strategy.clone());
    let mut seen = None;
    let mut length = CHAIN;
    let mut state = shared.lock();
    while !state.is_closing {
        let holds = state.chain_holds();
        let wants_chain = !holds || state.needs_more();
        if state.failure.is_some() || (!wants_chain && seen == Some(state.events)) {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        let mut chosen = Ok(None);
        if wants_chain {
            let conditions = state.conditions();
            let earlier = if holds { state.kept_picks() } else { Vec::new() };
            let count = length.max(2 * state.ahead());
            drop(state);
            chosen = planner.choose(&shared.data, &conditions, earlier, count).map(Some);
            state = shared.lock();
            length = next_length(length, holds, state.free_picks());
        }
        let updated = match chosen {
            Ok(chain) => {
                if let Some(chain) = chain {
                    // Picks that were chosen before the latest answers can be used if they would be chosen now as well.
                    let misfits = chain.misfits(&state.board);
                    if misfits.is_empty() || state.chain.picks.is_empty() {
                        (state.chain, state.misfits) = (chain, misfits);
                        shared.announce(state);
                        state = shared.lock();
                    }
                }
                let conditions = state.conditions();
                seen = Some(state.events);
                let next: Vec<PlannedPick> = state.open_picks().cloned().collect();
                planner.set_information(state.board.information());
                drop(state);
                let progress = planner.progress(&shared.data, &conditions, &next);
                state = shared.lock();
                progress.map(|progress| state.progress = progress)
            }
            Err(error) => Err(error),
        };
        state.failure = updated.err().map(|error| error.to_string());
        shared.announce(state);
        state = shared.lock();
    }
}

/// Trains the classifier when enough labels have been added, until the run is closed.
fn train(shared: &Shared, _: &Strategy) {
    let mut trainer = Trainer::default();
    let mut trained: Vec<(usize, u32)> = Vec::new();
    let mut seen = None;
    let mut state = shared.lock();
    while !state.is_closing {
        let count = state.board.counts_of_answers().labelled;
        // More labels make training slower and each label less important. The count does not show a changed label.
        let step = 1 + count / 50;
        let may_be_due = count <= trained.len() || count.abs_diff(trained.len()) >= step;
        let mut labels = None;
        if may_be_due && seen != Some(state.events) {
            seen = Some(state.events);
            labels = Some(state.board.labels()).filter(|labels| *labels != trained);
        }
        let Some(labels) = labels else {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        let classes = state.board.classes().len();
        drop(state);
        let head = trainer.train(&shared.data, &labels, classes).unwrap_or_default();
        trained = labels;
        state = shared.lock();
        state.head = head.map(Arc::new);
        state.curve = trainer.curve().to_vec();
        shared.announce(state);
        state = shared.lock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_grow_while_people_use_them_up_and_shrink_when_they_do_not() {
        let mut length = CHAIN;
        for expected in [64, 128, 256, 512, 1024, 1024] {
            length = next_length(length, true, 0);
            assert_eq!(length, expected);
        }
        assert_eq!(next_length(length, true, 5), 512);
        assert_eq!(next_length(CHAIN, true, 5), CHAIN);
        assert_eq!(next_length(length, false, 0), CHAIN, "a skip wants a quick answer");
    }
}
