//! The folder of a run, and the file with the settings that the run was started with.

use std::io::Write;
use std::path::Path;

use homing_pool::{disk, refuse_foreign, write_beside};
use serde::{Deserialize, Serialize};

use crate::data::LabelData;
use crate::log::EVENTS;
use crate::{Error, Result};

/// Name of the file with the settings of a run.
pub const SETTINGS: &str = "run.json";

/// The settings that a run was started with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    /// Version of the folder's format.
    pub version: u32,
    /// Name of the pool.
    pub pool: String,
    /// Number of rows of the pool.
    pub rows: usize,
    /// Hash of the pool.
    pub fingerprint: String,
    /// Rule that chooses.
    pub rule: String,
    /// Classes that the run started with.
    #[serde(default)]
    pub classes: Vec<String>,
}

impl RunFile {
    pub(crate) fn of(data: &LabelData, rule: &str) -> Result<Self> {
        Ok(Self {
            version: 1,
            pool: data.name.clone(),
            rows: data.rows(),
            fingerprint: data.fingerprint()?,
            rule: rule.to_owned(),
            classes: Vec::new(),
        })
    }

    /// Reads the settings of the run in a folder.
    pub fn read(run: &Path) -> Result<Self> {
        let path = run.join(SETTINGS);
        if !path.is_file() {
            return Err(Error::NotARun { run: run.to_owned() });
        }
        let bytes = std::fs::read(&path).map_err(Error::io(&path, "read"))?;
        serde_json::from_slice(&bytes).map_err(|error| Error::Io {
            path,
            action: "read as the settings of a run",
            source: std::io::Error::other(error.to_string()),
        })
    }
}

/// Starts a run in a folder, or checks that the run there is about the same data. Returns the classes that it started with.
pub(crate) fn open_folder(run: &Path, file: &RunFile, classes: &[String]) -> Result<Vec<String>> {
    let path = run.join(SETTINGS);
    refuse_foreign(run)?;
    refuse_foreign(&path)?;
    if path.exists() {
        let found = RunFile::read(run)?;
        let differs = |what, found: &dyn ToString, expected: &dyn ToString| Error::OtherData {
            run: run.to_owned(),
            what,
            found: found.to_string(),
            expected: expected.to_string(),
        };
        if found.rows != file.rows {
            return Err(differs("a pool of so many rows:", &file.rows, &found.rows));
        }
        if found.fingerprint != file.fingerprint {
            return Err(differs("the pool", &file.pool, &format!("{} (its ids or embeddings differ)", found.pool)));
        }
        return Ok(found.classes);
    }
    let is_empty =
        !run.exists() || (run.is_dir() && std::fs::read_dir(run).map_err(Error::io(run, "read"))?.next().is_none());
    if !is_empty && !run.join(EVENTS).exists() {
        return Err(Error::NotARun { run: run.to_owned() });
    }
    disk::create_dir_all(run).map_err(Error::io(run, "created"))?;
    let file = RunFile { classes: classes.to_vec(), ..file.clone() };
    let text = serde_json::to_vec_pretty(&file).expect("settings consist of texts and numbers");
    write_beside(&path, |out| out.write_all(&text))?;
    Ok(file.classes)
}
