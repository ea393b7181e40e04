//! A run of Algorithm 1 as a folder. Each file is written beside and renamed, and a round counts once its record is there.
//!
//! `rounds/0001.json` a round's picks and metrics · `model-0001.safetensors` the network behind
//! the last round, `model.safetensors` in the end · `pending.json` a batch that is being labelled.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use homing_pool::{is_left_over, write_beside};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::algorithm::{Pick, Round};
use crate::{Error, Result};

/// A folder and the rounds that are done in it.
pub struct Run {
    folder: PathBuf,
    rounds: Vec<Round>,
    pending: Option<Pending>,
}

/// A batch that is being labelled.
#[derive(Clone, Serialize, Deserialize)]
struct Pending {
    round: usize,
    picks: Vec<Pick>,
    /// How many of them have been answered for.
    answered: usize,
}

impl Run {
    /// Starts a run in a folder, or takes up the one that is there.
    pub fn open(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder.join("rounds")).map_err(Error::io(folder))?;
        let mut rounds: Vec<Round> = Vec::new();
        while let Some(round) = read_if_there(&record(folder, rounds.len() + 1))? {
            rounds.push(round);
        }
        let later = fs::read_dir(folder.join("rounds")).map_err(Error::io(folder))?.flatten();
        let number = |name: &str| name.strip_suffix(".json")?.parse::<usize>().ok();
        if later.filter_map(|entry| number(&entry.file_name().to_string_lossy())).any(|number| number > rounds.len()) {
            let (path, missing) = (record(folder, rounds.len() + 1), rounds.len() + 1);
            let reason =
                format!("the record of round {missing} is gone but later ones are there; restore it, or start anew");
            return Err(Error::Malformed { path, reason });
        }
        let pending = read_if_there::<Pending>(&folder.join("pending.json"))?;
        let pending = pending.filter(|pending| pending.round == rounds.len() + 1);
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
        let path = if last.exists() { last } else { self.final_model() };
        fs::read(&path).map(Some).map_err(Error::io(path))
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
        write_json(&self.folder.join("pending.json"), &pending)?;
        self.pending = Some(pending);
        Ok(())
    }

    /// Keeps a round: first the network, then the record that makes it count.
    pub(crate) fn commit(&mut self, round: &Round, weights: &[u8]) -> Result<()> {
        write_beside(&self.model(round.round), |file| file.write_all(weights))?;
        write_json(&record(&self.folder, round.round), round)?;
        self.rounds.push(round.clone());
        self.pending = None;
        self.tidy()
    }

    /// Leaves what belongs to a run that is done.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.tidy()?;
        let last = self.model(self.rounds.len());
        if last.exists() {
            fs::rename(&last, self.final_model()).map_err(Error::io(last))?;
        }
        Ok(())
    }

    /// Removes what an interruption or a later round has made useless.
    fn tidy(&self) -> Result<()> {
        let keep = self.model(self.rounds.len());
        for folder in [self.folder.clone(), self.folder.join("rounds")] {
            for entry in fs::read_dir(&folder).map_err(Error::io(&folder))? {
                let path = entry.map_err(Error::io(&folder))?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let old_model = name.starts_with("model-") && path != keep;
                if old_model || name == "pending.json" || is_left_over(&path) {
                    fs::remove_file(&path).map_err(Error::io(&path))?;
                }
            }
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

/// Writes a value as JSON, beside and renamed.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).expect("plain data");
    Ok(write_beside(path, |file| writeln!(file, "{text}"))?)
}

/// Reads what [`write_json`] wrote.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).map_err(Error::io(path))?;
    let malformed = |error: serde_json::Error| Error::Malformed {
        path: path.into(),
        reason: format!("{error}; it is no file of a run"),
    };
    serde_json::from_str(&text).map_err(malformed)
}

fn read_if_there<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    if path.exists() { read_json(path).map(Some) } else { Ok(None) }
}
