//! A run of Algorithm 1 as a folder. Each file is written beside and renamed, and a round counts once its record is there.
//!
//! `rounds/0001.json` a round's picks and metrics · `model-0001.safetensors` the network behind
//! the last round, `model.safetensors` in the end · `pending.json` a batch that is being labelled.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use homing_pool::{disk, is_left_over, read_file, write_beside};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::algorithm::{Pick, Problem, Round, Settings};
use crate::history::History;
use crate::weights::most_bytes;
use crate::{Error, Result};

/// A batch that is being labelled.
const PENDING: &str = "pending.json";

/// Most bytes of a file of JSON in a run.
const MOST_JSON: u64 = 1 << 30;

/// What to do about a file that no run has written like this.
const REMEDY: &str = "restore the folder as the run left it, or start a run in another one";

/// A folder and the rounds that are done in it.
pub struct Run {
    folder: PathBuf,
    rounds: Vec<Round>,
    pending: Option<Pending>,
}

/// A batch that is being labelled.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub round: usize,
    pub picks: Vec<Pick>,
    /// How many of them have been answered for.
    pub answered: usize,
}

impl Run {
    /// Starts a run in a folder, or takes up the one that is there, which must be one of this problem with these settings.
    pub fn open(folder: &Path, problem: &Problem<'_>, settings: &Settings) -> Result<Self> {
        let records = folder.join("rounds");
        refuse_links(folder)?;
        refuse_links(&records)?;
        disk::create_dir_all(&records).map_err(Error::io(folder))?;
        let mut history = History::new(problem, settings);
        let mut rounds: Vec<Round> = Vec::new();
        loop {
            let path = record(folder, rounds.len() + 1);
            let Some(round) = read_if_there(&path)? else { break };
            history.add(&round, rounds.len() + 1).map_err(|reason| tampered(path, &reason))?;
            rounds.push(round);
        }
        let later = fs::read_dir(&records).map_err(Error::io(folder))?.flatten();
        let number = |name: &str| name.strip_suffix(".json")?.parse::<usize>().ok();
        if later.filter_map(|entry| number(&entry.file_name().to_string_lossy())).any(|number| number > rounds.len()) {
            let missing = rounds.len() + 1;
            let reason = format!("the record of round {missing} is gone but later ones are there");
            return Err(tampered(record(folder, missing), &reason));
        }
        let path = folder.join(PENDING);
        let mut pending = read_if_there::<Pending>(&path)?;
        // What is left of a round that has its record.
        pending = pending.filter(|pending| !(1..=rounds.len()).contains(&pending.round));
        if let Some(pending) = &pending {
            history.check_pending(pending, rounds.len() + 1).map_err(|reason| tampered(path, &reason))?;
        }
        Ok(Self { folder: folder.into(), rounds, pending })
    }

    /// Rounds that are done.
    pub fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Rows of the pool that have been picked, in ascending order.
    pub fn labelled(&self) -> Vec<usize> {
        let mut rows: Vec<usize> = self.rounds.iter().flat_map(|round| &round.picks).map(|pick| pick.row).collect();
        rows.sort_unstable();
        rows
    }

    /// The network behind the last round.
    pub(crate) fn weights(&self) -> Result<Option<Vec<u8>>> {
        if self.rounds.is_empty() {
            return Ok(None);
        }
        let last = self.model(self.rounds.len());
        for path in [&last, &self.final_model()] {
            if is_there(path)? {
                return Ok(Some(read_file(path, most_bytes())?));
            }
        }
        Err(tampered(last, "the network of the last round is gone"))
    }

    /// Picks that were being labelled when the run was interrupted.
    pub(crate) fn pending(&self) -> Option<Vec<Pick>> {
        self.pending.as_ref().map(|pending| pending.picks.clone())
    }

    /// How many of them have been answered for.
    pub(crate) fn answers(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.answered)
    }

    pub(crate) fn keep_pending(&mut self, picks: &[Pick], answered: usize) -> Result<()> {
        let pending = Pending { round: self.rounds.len() + 1, picks: picks.to_vec(), answered };
        write_json(&self.folder.join(PENDING), &pending)?;
        self.pending = Some(pending);
        Ok(())
    }

    /// Keeps a round: first the network, then the record that makes it count.
    pub(crate) fn commit(&mut self, round: &Round, weights: &[u8]) -> Result<()> {
        write_beside(&self.model(round.round), |file| file.write_all(weights))?;
        let path = record(&self.folder, round.round);
        write_json(&path, round)?;
        // As a run that is taken up reads it, so that both go on alike.
        self.rounds.push(read_json(&path)?);
        self.pending = None;
        remove_if_there(&self.folder.join(PENDING))?;
        match round.round {
            0 | 1 => Ok(()),
            later => remove_if_there(&self.model(later - 1)),
        }
    }

    /// Leaves what belongs to a run that is done.
    pub(crate) fn finish(&mut self) -> Result<()> {
        // Older networks, and one whose record was never written because the process was killed in between.
        for round in (1..self.rounds.len()).chain([self.rounds.len() + 1]) {
            remove_if_there(&self.model(round))?;
        }
        remove_if_there(&self.folder.join(PENDING))?;
        for folder in [&self.folder, &self.folder.join("rounds")] {
            remove_left_overs(folder)?;
        }
        let last = self.model(self.rounds.len());
        if is_there(&last)? {
            disk::rename(&last, &self.final_model()).map_err(Error::io(last))?;
        }
        Ok(())
    }

    fn model(&self, round: usize) -> PathBuf {
        self.folder.join(format!("model-{round:04}.safetensors"))
    }

    /// Where the network is once all rounds are done.
    pub fn final_model(&self) -> PathBuf {
        self.folder.join("model.safetensors")
    }
}

fn record(folder: &Path, round: usize) -> PathBuf {
    folder.join(format!("rounds/{round:04}.json"))
}

fn tampered(path: PathBuf, reason: &str) -> Error {
    Error::Malformed { path, reason: format!("{reason}; {REMEDY}") }
}

/// Refuses a folder that is a symbolic link, or holds one: what a run writes stays in its own folder.
fn refuse_links(folder: &Path) -> Result<()> {
    let refuse = |path: &Path| match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Err(tampered(path.into(), "it is a link, and a run has none")),
        _ => Ok(()),
    };
    refuse(folder)?;
    fs::read_dir(folder).into_iter().flatten().flatten().try_for_each(|entry| refuse(&entry.path()))
}

/// Removes what processes that were killed while they wrote have left in a folder.
pub fn remove_left_overs(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        let entry = entry.map_err(Error::io(folder))?;
        if is_left_over(&entry.path()) && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            remove_if_there(&entry.path())?;
        }
    }
    Ok(())
}

fn remove_if_there(path: &Path) -> Result<()> {
    if is_there(path)? { disk::remove_file(path).map_err(Error::io(path)) } else { Ok(()) }
}

/// Whether a path leads to something; an error where that cannot be told, which is not the same as nothing.
fn is_there(path: &Path) -> Result<bool> {
    path.try_exists().map_err(Error::io(path))
}

/// Writes a value as JSON, beside and renamed.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let unfit = |error| Error::Setting(format!("{} cannot be written as JSON: {error}", path.display()));
    let text = serde_json::to_string_pretty(value).map_err(unfit)?;
    Ok(write_beside(path, |file| writeln!(file, "{text}"))?)
}

/// Reads what [`write_json`] wrote.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let bytes = read_file(path, MOST_JSON)?;
    serde_json::from_slice(&bytes).map_err(|error| tampered(path.into(), &format!("it is no file of a run ({error})")))
}

fn read_if_there<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    if is_there(path)? { read_json(path).map(Some) } else { Ok(None) }
}
