//! The folder of one rule with one seed. Each file is written under a temporary name and then renamed. A round counts when
//! its record exists.
//!
//! - `rounds/0001.json`: the picks and metrics of a round.
//! - `model-0001.safetensors`: the network after the last round; it is called `model.safetensors` when all rounds are done.
//! - `moments-0001.bin`: the moments of the optimiser after the last round, if it is kept over rounds; removed when all
//!   rounds are done.
//! - `pending.json`: the batch that is being labelled.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use homing_pool::{disk, is_left_over, read_file, write_beside};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::algorithm::{LabelledPick, Problem, RoundRecord, Settings};
use crate::weights::most_bytes;
use crate::{Error, Result};

use super::history::{History, Pending};

/// File of the batch that is being labelled.
const PENDING: &str = "pending.json";

/// Limit on the bytes of a JSON file.
const MOST_JSON: u64 = 1 << 30;

/// The folder of one rule with one seed, and its finished rounds.
pub struct RuleRun {
    folder: PathBuf,
    rounds: Vec<RoundRecord>,
    pending: Option<Pending>,
}

impl RuleRun {
    /// Starts a run in a folder, or continues the one that is there, which must match the problem and the settings.
    pub fn open(folder: &Path, problem: &Problem<'_>, settings: &Settings) -> Result<Self> {
        let records = folder.join("rounds");
        refuse_links(folder)?;
        refuse_links(&records)?;
        disk::create_dir_all(&records).map_err(Error::io(folder))?;
        let mut history = History::new(problem, settings);
        let mut rounds: Vec<RoundRecord> = Vec::new();
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
            let reason = format!("the record of round {missing} is missing, but later records exist");
            return Err(tampered(record(folder, missing), &reason));
        }
        let path = folder.join(PENDING);
        let mut pending = read_if_there::<Pending>(&path)?;
        // A batch of a round that already has its record is out of date.
        pending = pending.filter(|pending| !(1..=rounds.len()).contains(&pending.round));
        if let Some(pending) = &pending {
            history.check_pending(pending, rounds.len() + 1).map_err(|reason| tampered(path, &reason))?;
        }
        Ok(Self { folder: folder.into(), rounds, pending })
    }

    /// Returns the finished rounds.
    pub fn rounds(&self) -> &[RoundRecord] {
        &self.rounds
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the rows of the pool that have been picked, in ascending order.
    pub fn labelled(&self) -> Vec<usize> {
        let mut rows: Vec<usize> = self.rounds.iter().flat_map(|round| &round.picks).map(|pick| pick.row).collect();
        rows.sort_unstable();
        rows
    }

    /// Returns the network after the last round.
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
        Err(tampered(last, "the network of the last round is missing"))
    }

    /// Returns the moments of the optimiser after the last round; none if the network has not learned yet.
    pub(crate) fn moments(&self) -> Result<Option<Vec<u8>>> {
        if self.rounds.iter().all(|round| round.curve.is_none()) {
            return Ok(None);
        }
        let path = self.optimizer(self.rounds.len());
        if is_there(&path)? {
            return Ok(Some(read_file(&path, most_bytes())?));
        }
        Err(tampered(path, "the moments of the optimiser after the last round are missing"))
    }

    /// Returns the picks that were being labelled when the run was interrupted, and the mean of k(x, x) over the candidates.
    pub(crate) fn pending(&self) -> Option<(Vec<LabelledPick>, Option<f64>)> {
        self.pending.as_ref().map(|pending| (pending.picks.clone(), pending.mean_var))
    }

    /// Returns how many of these picks have an answer.
    pub(crate) fn answers(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.answered)
    }

    pub(crate) fn keep_pending(
        &mut self,
        picks: &[LabelledPick],
        answered: usize,
        mean_var: Option<f64>,
    ) -> Result<()> {
        let pending = Pending { round: self.rounds.len() + 1, picks: picks.to_vec(), answered, mean_var };
        write_json(&self.folder.join(PENDING), &pending)?;
        self.pending = Some(pending);
        Ok(())
    }

    /// Saves a round: first the network and the moments of the optimiser, then the record that makes the round count.
    pub(crate) fn commit(&mut self, round: &RoundRecord, weights: &[u8], moments: Option<&[u8]>) -> Result<()> {
        write_beside(&self.model(round.round), |file| file.write_all(weights))?;
        if let Some(moments) = moments {
            write_beside(&self.optimizer(round.round), |file| file.write_all(moments))?;
        }
        let path = record(&self.folder, round.round);
        write_json(&path, round)?;
        // Read back, so that this run continues with the same numbers as a resumed one.
        self.rounds.push(read_json(&path)?);
        self.pending = None;
        remove_if_there(&self.folder.join(PENDING))?;
        match round.round {
            0 | 1 => Ok(()),
            later => {
                remove_if_there(&self.model(later - 1))?;
                remove_if_there(&self.optimizer(later - 1))
            }
        }
    }

    /// Removes temporary files after the last round, and gives the network its final name.
    pub(crate) fn finish(&mut self) -> Result<()> {
        // Older networks, and one without a record, because the process was killed before it wrote the record.
        for round in (1..self.rounds.len()).chain([self.rounds.len() + 1]) {
            remove_if_there(&self.model(round))?;
        }
        (1..=self.rounds.len() + 1).try_for_each(|round| remove_if_there(&self.optimizer(round)))?;
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

    fn optimizer(&self, round: usize) -> PathBuf {
        self.folder.join(format!("moments-{round:04}.bin"))
    }

    /// Returns the path of the network after all rounds.
    pub fn final_model(&self) -> PathBuf {
        self.folder.join("model.safetensors")
    }
}

fn record(folder: &Path, round: usize) -> PathBuf {
    folder.join(format!("rounds/{round:04}.json"))
}

fn tampered(path: PathBuf, reason: &str) -> Error {
    Error::Record { path, reason: reason.into() }
}

/// Refuses a folder that is a symbolic link or contains one, so that a run writes only in its own folder.
fn refuse_links(folder: &Path) -> Result<()> {
    let refuse = |path: &Path| match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            Err(tampered(path.into(), "it is a symbolic link, which a run never creates"))
        }
        _ => Ok(()),
    };
    refuse(folder)?;
    fs::read_dir(folder).into_iter().flatten().flatten().try_for_each(|entry| refuse(&entry.path()))
}

/// Removes temporary files that killed processes have left in a folder.
pub(super) fn remove_left_overs(folder: &Path) -> Result<()> {
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

/// Returns whether a path exists, or an error if that cannot be determined.
fn is_there(path: &Path) -> Result<bool> {
    path.try_exists().map_err(Error::io(path))
}

/// Writes a value as JSON, under a temporary name that is then renamed.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Error::io(path)(error.into()))?;
    Ok(write_beside(path, |file| writeln!(file, "{text}"))?)
}

/// Reads a file that [`write_json`] wrote.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let bytes = read_file(path, MOST_JSON)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| tampered(path.into(), &format!("it is not a file of a run ({error})")))
}

fn read_if_there<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    if is_there(path)? { read_json(path).map(Some) } else { Ok(None) }
}
