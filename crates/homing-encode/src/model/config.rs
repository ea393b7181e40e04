//! The JSON files beside a model.

use std::path::{Path, PathBuf};

use homing_pool::read_file;
use serde_json::Value;

use super::layers::Activation;
use crate::{Error, Result};

/// Largest JSON file that is read.
const LONGEST: u64 = 16 << 20;

/// A JSON file of a model, or an object in it.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    path: PathBuf,
    value: Value,
}

impl Config {
    /// Reads a file that must exist.
    pub(crate) fn open(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(name);
        if !path.is_file() {
            let detail = format!("it has no {name}; give a folder with a model in the layout of Hugging Face");
            return Err(Error::Model { path: folder.to_owned(), detail });
        }
        let value = serde_json::from_slice(&read_file(&path, LONGEST)?)
            .map_err(|error| Error::Model { path: path.clone(), detail: error.to_string() })?;
        Ok(Self { path, value })
    }

    /// Reads a file that may be missing.
    pub(crate) fn find(folder: &Path, name: &str) -> Result<Option<Self>> {
        folder.join(name).is_file().then(|| Self::open(folder, name)).transpose()
    }

    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the object called `name`, or this one if there is none.
    pub(crate) fn part(&self, name: &str) -> Self {
        match self.value.get(name) {
            Some(value @ Value::Object(_)) => Self { path: self.path.clone(), value: value.clone() },
            _ => self.clone(),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.value.get(name)?.as_str()
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.value.get(name)?.as_bool()
    }

    pub(crate) fn float(&self, name: &str) -> Option<f64> {
        self.value.get(name)?.as_f64()
    }

    pub(crate) fn find_size(&self, name: &str) -> Option<usize> {
        usize::try_from(self.value.get(name)?.as_u64()?).ok().filter(|&size| size > 0)
    }

    /// Returns the first of these settings that exists, which must be a number from 1 to a million.
    pub(crate) fn size(&self, names: &[&str]) -> Result<usize> {
        let found = names.iter().find_map(|name| self.find_size(name)).filter(|&size| size <= 1_000_000);
        found.ok_or_else(|| self.wrong(format!("it needs a number called {}", names[0])))
    }

    /// Returns a list of sizes.
    pub(crate) fn sizes(&self, name: &str) -> Result<Vec<usize>> {
        let list = self.value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        let sizes: Option<Vec<usize>> = list.iter().map(|size| usize::try_from(size.as_u64()?).ok()).collect();
        let sizes = sizes.filter(|sizes| !sizes.is_empty() && sizes.iter().all(|size| (1..=1_000_000).contains(size)));
        sizes.ok_or_else(|| self.wrong(format!("it needs a list of numbers called {name}")))
    }

    pub(crate) fn activation(&self, name: &str, usual: &str) -> Result<Activation> {
        let found = self.text(name).unwrap_or(usual);
        Activation::named(found).ok_or_else(|| self.wrong(format!("{name} is {found}, which is not supported")))
    }

    pub(crate) fn wrong(&self, detail: String) -> Error {
        Error::Model { path: self.path.clone(), detail }
    }
}
