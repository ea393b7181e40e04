//! What the paper's experiments on the same data have in common.

use anyhow::{Result, bail};
use serde::Deserialize;
use toml::Table;

use super::plan::Quick;

/// Data, and how a network learns from them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    pub data: Vec<String>,
    pub seeds: u64,
    pub notes: Vec<String>,
    pub arguments: Table,
    pub quick: Quick,
}

impl Setting {
    /// One that the binary carries.
    pub fn named(name: &str) -> Result<Self> {
        let text = match name {
            "mnist" => include_str!("../../../../../experiments/settings/mnist.toml"),
            "cifar" => include_str!("../../../../../experiments/settings/cifar.toml"),
            _ => bail!("there is no setting {name:?}; like takes mnist or cifar"),
        };
        Ok(toml::from_str(text)?)
    }
}
