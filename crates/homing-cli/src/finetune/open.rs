//! Opens data sets.

use std::path::Path;

use anyhow::{Result, anyhow};
use homing_data::{Data, Dataset, OpenOptions, SETS};
use homing_train::{RunData, RunSpec};

use super::encoded;
use crate::digits;
use crate::terminal::Bar;

/// Name of the digits that the program contains.
const DIGITS: &str = "digits";

/// Opens the data of a run, with a progress bar for the feature maps that a frozen trunk computes.
pub fn open_run(spec: &RunSpec, quiet: bool) -> Result<RunData> {
    let options = spec.open_options()?;
    if encoded::needs_encoder(&spec.data) {
        let (data, targets) = encoded::open(spec, &options, quiet)?;
        return Ok(RunData::new(spec, data, targets, &mut map_progress(quiet))?);
    }
    let data = open_data(&spec.data.path, &options)?;
    let targets = spec.task.targets.as_deref().map(|path| open_targets(path, &options)).transpose()?;
    Ok(RunData::new(spec, data, targets, &mut map_progress(quiet))?)
}

/// Returns a callback that draws a progress bar for each set of feature maps.
pub fn map_progress(quiet: bool) -> impl FnMut(usize, usize) {
    let mut bar: Option<Bar> = None;
    move |done, count| {
        bar.get_or_insert_with(|| Bar::counting("feature maps", count, quiet)).set(done);
        if done == count {
            bar.take().iter().for_each(Bar::finish);
        }
    }
}

/// Opens a data set from its files, or the digits that the program contains.
pub fn open_data(path: &Path, options: &OpenOptions) -> Result<Data> {
    let built_in = path.as_os_str() == DIGITS && !path.exists();
    if built_in {
        return open_digits(options);
    }
    homing_data::open(path, options).map_err(|error| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let missing = matches!(error, homing_data::Error::Unknown { .. }) || !path.exists();
        match () {
            () if missing && SETS.contains(&name) => {
                anyhow!("{error}; `homing data fetch {name}` downloads that data set")
            }
            () if !path.exists() => anyhow!("{error}; `homing data fetch` downloads {}", SETS.join(" or ")),
            () => error.into(),
        }
    })
}

fn open_digits(options: &OpenOptions) -> Result<Data> {
    let given = [
        (options.label_column.is_some(), "column of labels"),
        (options.embedding.is_some(), "column of embeddings"),
        (options.labels.is_some(), "file of labels"),
    ];
    if let Some(&(_, option)) = given.iter().find(|(given, _)| *given) {
        return Err(homing_data::Error::NotATable { path: DIGITS.into(), option }.into());
    }
    let mut data = digits::data();
    if let Some(size) = options.size {
        data.train.inputs = data.train.inputs.with_size(size)?;
        if let Some(test) = &mut data.test {
            test.inputs = test.inputs.clone().with_size(size)?;
        }
    }
    Ok(data)
}

/// Opens the examples of the task, which need no labels.
fn open_targets(path: &Path, options: &OpenOptions) -> Result<Dataset> {
    let bare = OpenOptions { labels: None, label_column: None, ..options.clone() };
    let named = OpenOptions { label_column: options.label_column.clone(), ..bare.clone() };
    let opened = open_data(path, &named).or_else(|_| open_data(path, &bare));
    Ok(opened?.train)
}
