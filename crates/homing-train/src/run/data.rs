//! Data, classes and network of a run.

use std::path::{Path, PathBuf};

use homing_data::{Data, Dataset, Inputs};
use rand::SeedableRng;
use rand::seq::index;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::algorithm::RoundRecord;
use crate::device::device;
use crate::labels::{Answer, KnownLabels, LabelSource, Oracle, check_typable};
use crate::learner::Learner;
use crate::models::efficientnet::EfficientNet;
use crate::models::{self, NetworkName};
use crate::text::some_of;
use crate::weights::read_weights;
use crate::{Error, Result};

use super::RunSpec;
use super::label_file::{self, LabelFile};

/// Data of a run: the examples, the classes of the task, the network and its inputs.
pub struct RunData {
    /// The data set.
    pub data: Data,
    /// The targets, if the run was given any.
    pub targets: Option<Dataset>,
    /// Name of the network.
    pub network: NetworkName,
    /// The network's class for each class of the data; none if the class is not part of the task.
    pub classes: Vec<Option<u32>>,
    /// Inputs of the network.
    pub(super) inputs: NetworkInputs,
    /// Weights of a network with a frozen trunk.
    pretrained: Option<Box<EfficientNet>>,
    /// Labels of the pool from a table.
    labels: Option<Vec<Option<Answer>>>,
}

/// The examples themselves, or their feature maps from a frozen trunk.
pub(super) struct NetworkInputs {
    pub train: Inputs,
    pub test: Option<Inputs>,
    pub targets: Option<Inputs>,
}

impl RunData {
    /// Prepares a run from opened data and targets. `progress` receives how many feature maps a frozen trunk has computed,
    /// and their total number.
    pub fn new(
        spec: &RunSpec,
        mut data: Data,
        mut targets: Option<Dataset>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Self> {
        let source = &spec.labels;
        let table = match source {
            LabelSource::File(path) => label_file::is_table(path, spec.data.label_column.as_deref())?.then_some(path),
            LabelSource::Data | LabelSource::Person => None,
        };
        if *source != LabelSource::Person && table.is_none() && data.train.labels.iter().all(Option::is_none) {
            return Err(Error::NoLabels);
        }
        if let Some(path) = table.filter(|path| !path.exists())
            && data.train.labels.iter().any(Option::is_some)
        {
            // Nobody needs to label these data, so the path is probably wrong.
            return Err(homing_pool::Error::NotFound { path: path.clone() }.into());
        }
        if let Some(targets) = &targets
            && targets.inputs.shape() != data.train.inputs.shape()
        {
            let [targets, pool] = [targets, &data.train].map(|part| part.inputs.shape().to_vec());
            return Err(Error::TargetShape { targets, pool });
        }
        if let Some((means, spread)) = data.train.inputs.unlike_spread() {
            // A network hardly learns from columns in different units.
            for part in [Some(&mut data.train), data.test.as_mut(), targets.as_mut()].into_iter().flatten() {
                part.inputs = part.inputs.standardized(&means, &spread)?;
            }
        }
        if targets.is_none() && spec.task.classes.is_none() {
            return Err(Error::NoTask);
        }
        if data.train.classes.is_empty() {
            data.train.classes = class_names(spec, table)?;
        }
        if *source == LabelSource::Person {
            check_typable(&data.train.classes)?;
        }
        let classes = number_classes(&data.train.classes, spec.task.classes.as_deref())?;
        let labels = table.map(|path| label_file::labels(path, &data.train)).transpose()?;
        if let Some(count) = spec.task.pool_count.filter(|&count| count < data.train.len()) {
            if labels.is_some() {
                return Err(Error::SampledPool);
            }
            data.train = data.train.subset(&sample(data.train.len(), count))?;
        }
        if let Some(test) = &mut data.test {
            // The run uses no other test examples, and a trunk needs time for each image.
            let in_task = |row: &usize| test.labels[*row].is_some_and(|label| classes[label as usize].is_some());
            *test = test.subset(&(0..test.len()).filter(in_task).collect::<Vec<_>>())?;
        }
        let shape = data.train.inputs.shape();
        let network = spec.network.name.clone().unwrap_or_else(|| NetworkName::default_for(shape));
        let pretrained = open_pretrained(spec, &network)?;
        let trunk = pretrained.as_ref().map(|net| net.trunk_on(&spec.network.device)).transpose()?;
        let mut inputs_of = |part: &Dataset| match &trunk {
            Some(trunk) => models::cached_maps(trunk, &part.inputs, progress),
            None => Ok(part.inputs.clone()),
        };
        let inputs = NetworkInputs {
            train: inputs_of(&data.train)?,
            test: data.test.as_ref().map(&mut inputs_of).transpose()?,
            targets: targets.as_ref().map(&mut inputs_of).transpose()?,
        };
        Ok(Self { data, targets, network, classes, inputs, pretrained, labels })
    }

    /// Returns all settings that [`Self::new`] and the opening of the data depend on. Runs with the same scope can share
    /// their data.
    pub fn scope(spec: &RunSpec) -> String {
        let (task, network) = (&spec.task, &spec.network);
        let examples = (&spec.data, &task.targets, &task.classes, task.pool_count, &spec.labels);
        format!("{:?}", (examples, &network.name, &network.weights, &network.device))
    }

    /// Returns hashes of the examples with their classes and ids, and of the weights that the network starts from.
    pub fn fingerprint(&self, spec: &RunSpec) -> Result<Vec<String>> {
        let parts =
            [("pool", Some(&self.data.train)), ("test", self.data.test.as_ref()), ("targets", self.targets.as_ref())];
        let of = |(name, part): (&str, Option<&Dataset>)| {
            let hash = |part: &Dataset| {
                let inputs = part.inputs.fingerprint(&(0..part.len()).collect::<Vec<_>>())?;
                Ok(format!("{name} {inputs}-{}", short_hash(&(&part.labels, &part.classes, &part.ids))))
            };
            part.map(hash)
        };
        let mut hashes: Vec<String> = parts.into_iter().filter_map(of).collect::<Result<_>>()?;
        if let Some(path) = &spec.network.weights {
            hashes.push(format!("weights {}", blake3::hash(&homing_pool::map(path)?)));
        }
        Ok(hashes)
    }

    /// Returns a hash of the labels in a file. The file may grow while a run is interrupted.
    pub(super) fn label_hash(&self) -> Option<String> {
        self.labels.as_ref().map(short_hash)
    }

    /// Returns whether labels may still be missing, because they come from a person or a table.
    pub fn waits_for_labels(&self, spec: &RunSpec) -> bool {
        self.labels.is_some() || spec.labels == LabelSource::Person
    }

    /// If the labels come from the data, returns a message about the first label in `rounds` that differs from them.
    pub(super) fn other_label(&self, spec: &RunSpec, rounds: &[RoundRecord]) -> Option<String> {
        if self.waits_for_labels(spec) {
            return None;
        }
        let known = &self.data.train.labels;
        let mut picks = rounds.iter().flat_map(|round| round.picks.iter().map(|pick| (round.round, pick)));
        let (round, pick) = picks.find(|(_, pick)| pick.label.is_some() && pick.label != known[pick.row])?;
        Some(format!("the label of row {} in the record of round {round} differs from the data", pick.row))
    }

    /// Returns the source of labels for the run in `folder`, or none if a person labels.
    pub(super) fn oracle<'a>(&'a self, spec: &'a RunSpec, folder: &Path) -> Result<Option<Box<dyn Oracle + 'a>>> {
        Ok(match (&spec.labels, &self.labels) {
            (LabelSource::File(path), Some(labels)) => {
                Some(Box::new(LabelFile::open(&self.data.train, labels, path, folder)?))
            }
            (LabelSource::Person, _) => None,
            _ => Some(Box::new(KnownLabels(&self.data.train.labels))),
        })
    }

    /// Returns the network with the weights that it starts from.
    pub fn learner(&self, spec: &RunSpec) -> Result<Box<dyn Learner>> {
        let outputs = self.classes.iter().flatten().count();
        let device = device(&spec.network.device)?;
        if let Some(net) = &self.pretrained {
            return Ok(models::last_block(net, outputs, &device));
        }
        let mut learner = models::network(&self.network, self.data.train.inputs.shape(), outputs, &device)?;
        if let Some(path) = &spec.network.weights {
            learner.start_from(read_weights(path)?)?;
        }
        Ok(learner)
    }

    /// Returns whether a row of the pool belongs to the task; none if its label is not known, or if all classes belong to
    /// it.
    pub fn in_task(&self, row: usize) -> Option<bool> {
        self.data.train.labels[row]
            .filter(|_| self.classes.contains(&None))
            .map(|label| self.classes[label as usize].is_some())
    }
}

fn open_pretrained(spec: &RunSpec, network: &NetworkName) -> Result<Option<Box<EfficientNet>>> {
    let Some(design) = network.design() else { return Ok(None) };
    let Some(weights) = &spec.network.weights else {
        return Err(Error::NoWeights { network: network.to_string() });
    };
    Ok(Some(Box::new(EfficientNet::open(weights, design.clone())?)))
}

/// Returns the classes of data without labels: those of the task and those in a table of labels.
fn class_names(spec: &RunSpec, table: Option<&PathBuf>) -> Result<Vec<String>> {
    let mut names = spec.task.classes.clone().unwrap_or_default();
    if let Some(path) = table {
        names.extend(label_file::names(path)?);
    }
    if names.is_empty() {
        return Err(Error::NoClassNames);
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// Numbers the classes of the task in their order in the data; without a task, all classes.
fn number_classes(names: &[String], task: Option<&[String]>) -> Result<Vec<Option<u32>>> {
    if let Some(unknown) = task.into_iter().flatten().find(|name| !names.contains(name)) {
        return Err(Error::UnknownClass { name: unknown.clone(), known: some_of(names) });
    }
    let in_task = |name: &&String| task.is_none_or(|task| task.contains(name));
    let task_classes: Vec<&String> = names.iter().filter(in_task).collect();
    if let [only] = task_classes[..] {
        return Err(Error::OneClass { name: only.clone() });
    }
    let number = |name: &String| task_classes.iter().position(|&class| class == name).map(|at| at as u32);
    Ok(names.iter().map(number).collect())
}

/// Returns a hash of lists of numbers and names.
fn short_hash(lists: &impl Serialize) -> String {
    let text = serde_json::to_vec(lists).expect("numbers and names can be written as JSON");
    blake3::hash(&text).to_hex()[..16].to_owned()
}

/// Draws `count` of the numbers below `all`, in ascending order.
fn sample(all: usize, count: usize) -> Vec<usize> {
    let mut rows = index::sample(&mut ChaCha8Rng::seed_from_u64(0), all, count).into_vec();
    rows.sort_unstable();
    rows
}
