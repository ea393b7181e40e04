//! Settings that the paper's experiments on the same data share.

use serde::Deserialize;
use toml::Table;

use crate::error::Fault;
use crate::experiment::QuickVersion;

/// Shared settings: the data, and how a network learns from them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SharedSettings {
    pub data: Vec<String>,
    pub seeds: u64,
    pub notes: Vec<String>,
    pub arguments: Table,
    pub quick: QuickVersion,
}

impl SharedSettings {
    /// Returns built-in settings.
    pub fn named(name: &str) -> Result<Self, Fault> {
        let text = match name {
            "mnist" => include_str!("../../../experiments/settings/mnist.toml"),
            "cifar" => include_str!("../../../experiments/settings/cifar.toml"),
            "authors-mnist" => include_str!("../../../experiments/settings/authors-mnist.toml"),
            "authors-cifar" => include_str!("../../../experiments/settings/authors-cifar.toml"),
            "authors-head" => include_str!("../../../experiments/settings/authors-head.toml"),
            _ => {
                let remedy = "use mnist, cifar, authors-mnist, authors-cifar or authors-head";
                return Err(Fault::new(format!("like = {name:?} is unknown"), remedy));
            }
        };
        Ok(toml::from_str(text).expect("the built-in settings are valid"))
    }
}
