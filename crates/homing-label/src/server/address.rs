//! The port and the token of a run, which a restart keeps.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use homing_pool::{disk, refuse_foreign};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Name of the file in the run's folder. Only its owner can read it.
const SERVER: &str = "server.json";

/// Number of characters of a token.
const TOKEN: usize = 48;

#[derive(Serialize, Deserialize)]
pub(super) struct ServerAddress {
    pub port: u16,
    pub token: String,
}

/// Returns the port and the token that the run in this folder had last time, if their file is valid.
pub(super) fn read(run: &Path) -> Option<ServerAddress> {
    let path = run.join(SERVER);
    refuse_foreign(&path).ok()?;
    let found: ServerAddress = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let is_valid = found.token.len() == TOKEN && found.token.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_valid.then_some(found)
}

/// Returns a random token.
pub(super) fn new_token() -> io::Result<String> {
    let mut bytes = [0; TOKEN / 2];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    Ok(digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect())
}

pub(super) fn write(run: &Path, address: &ServerAddress) -> Result<()> {
    let path = run.join(SERVER);
    let text = serde_json::to_vec(address).expect("an address consists of a number and a text");
    // A file that is cut short is not valid, so `read` ignores it.
    let written = open(&path).and_then(|file| disk::write_all(&file, &text));
    written.map_err(Error::io(&path, "written"))
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).open(path)
}
