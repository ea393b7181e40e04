//! Runs that are cells of an experiment, identified by everything that their results depend on.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use homing_train::{RunData, RunSpec};

use super::open::open_run;

/// Returns how long a run waits for another one in its folder. A cell waits, because a process that an interrupted experiment
/// left behind ends by itself.
pub fn patience(cell: Option<&str>) -> Duration {
    Duration::from_secs(if cell.is_some() { 10 } else { 0 })
}

/// Checks named runs with their data, computes the feature maps of a frozen trunk that they share, and returns their keys.
pub fn prepare(runs: &[(String, RunSpec)]) -> Result<Vec<String>> {
    let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, (_, spec)) in runs.iter().enumerate() {
        alike.entry(RunData::scope(spec)).or_default().push(at);
    }
    let mut keys = vec![String::new(); runs.len()];
    for group in alike.into_values() {
        let (name, first) = &runs[group[0]];
        let data = open_run(first, false).with_context(|| name.clone())?;
        let hashes = data.fingerprint(first).with_context(|| name.clone())?;
        let mut checked: Vec<RunSpec> = Vec::new();
        for at in group {
            let (name, spec) = &runs[at];
            // Checking one seed is enough: every seed draws its examples in the same way.
            let any_seed = RunSpec { seed: 0, ..spec.clone() };
            if !checked.contains(&any_seed) {
                spec.check_with(&data).with_context(|| name.clone())?;
                checked.push(any_seed);
            }
            keys[at] = spec.key(&data, &hashes);
        }
    }
    Ok(keys)
}

/// Refuses a cell whose key differs from the one that the experiment computed.
pub fn check(expected: Option<&str>, spec: &RunSpec, data: &RunData, hashes: &[String]) -> Result<()> {
    if expected.is_some_and(|expected| spec.key(data, hashes) != expected) {
        bail!("the files that it reads have changed since the experiment started; run the experiment again");
    }
    Ok(())
}
